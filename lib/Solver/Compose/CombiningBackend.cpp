//===- CombiningBackend.cpp - Inversion and composition -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the other engines about a collective that does not combine, and makes
// its schedules into those of one that does.
//
// Inversion is exact. Where each chunk is summed up at one rank only (reduce,
// reduce_scatter), a schedule with S steps and R rounds exists if and only if
// one of the inverse collective exists on the reversed topology:
//
//  - A schedule of the inverse brings each chunk to each rank at most once, so
//    the sends of a chunk form a tree, in which sends come later the further
//    they are from the root. Turned round, each rank sends its sum to its
//    parent after all its children did so: every contribution arrives once.
//  - Conversely, the contribution of each rank gets to the destination over
//    sends of ascending steps. Turned round, these are a way for the chunk from
//    there to that rank; of several ways to a rank the first is enough. Sends
//    are only left out, so the bandwidth suffices.
//
// Composition is not: an all_reduce need not have a middle in which each chunk
// is complete at one rank, see DirectAllReduceBackend.cpp. If no composition
// exists, the answer is unknown. Where ranks can take in the inputs of all
// others one by one, an all_gather is tried as well, whose arrivals are added
// up (GatheredSums.h).
//
//===----------------------------------------------------------------------===//

#include "Solver/Backends.h"
#include "Solver/Constants.h"
#include "Solver/Quotient.h"
#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/GatheredSums.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Optimize/Deadline.h"

#include <algorithm>
#include <map>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Questions to other engines
//===----------------------------------------------------------------------===//

namespace {
/// Asks about one collective on one topology for various S and R, and remembers
/// that more rounds never hurt.
class Oracle {
public:
  Oracle(Topology topology, Collective collective, std::string engine)
      : topology(std::move(topology)), collective(std::move(collective)),
        engine(std::move(engine)) {}

  /// The work of new answers is charged to `deadline`.
  const SynthesisResult &ask(unsigned steps, unsigned rounds,
                             const SolverOptions &options,
                             const Deadline &deadline);
  /// The schedule of a `Satisfied` with exactly `rounds` rounds.
  Implementation implementation(unsigned steps, unsigned rounds) const;

private:
  struct Known {
    unsigned rounds;
    SynthesisResult result;
  };

  Topology topology;
  Collective collective;
  std::string engine;
  std::map<unsigned, Known> possible; ///< per S the fewest rounds known
  std::map<unsigned, Known> refuted;  ///< per S the most rounds known
  SynthesisResult undecided;
};
} // namespace

const SynthesisResult &Oracle::ask(unsigned steps, unsigned rounds,
                                   const SolverOptions &options,
                                   const Deadline &deadline) {
  if (auto it = possible.find(steps);
      it != possible.end() && it->second.rounds <= rounds)
    return it->second.result;
  if (auto it = refuted.find(steps);
      it != refuted.end() && it->second.rounds >= rounds)
    return it->second.result;
  SynthesisResult result =
      synthesize({topology, collective, steps, rounds}, options, engine);
  deadline.charge(result.work);
  std::map<unsigned, Known> *memory = nullptr;
  if (std::holds_alternative<Satisfied>(result.outcome))
    memory = &possible;
  else if (std::holds_alternative<Unsatisfiable>(result.outcome))
    memory = &refuted;
  if (!memory)
    return undecided = std::move(result);
  Known &known = (*memory)[steps] = {rounds, std::move(result)};
  return known.result;
}

Implementation Oracle::implementation(unsigned steps, unsigned rounds) const {
  const Known &known = possible.at(steps);
  Schedule schedule = std::get<Satisfied>(known.result.outcome).schedule;
  schedule.steps.back().rounds += rounds - known.rounds;
  return {collective, std::move(schedule)};
}

//===----------------------------------------------------------------------===//
// Inversion
//===----------------------------------------------------------------------===//

static SynthesisResult answerByInversion(const Instance &instance,
                                         const Collective &inverse,
                                         const SolverOptions &options,
                                         const std::string &engine,
                                         const Deadline &deadline) {
  Instance question{instance.topology.reversed(), inverse, instance.steps,
                    instance.rounds};
  SynthesisResult result = synthesize(question, options, engine);
  deadline.charge(result.work);
  if (auto *no = std::get_if<Unsatisfiable>(&result.outcome))
    no->reason = "its inverse '" + inverse.name() +
                 "' on the reversed topology is impossible: " + no->reason;
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  if (!satisfied)
    return result;
  Result<Implementation> inverted =
      invert({inverse, std::move(satisfied->schedule)});
  if (inverted)
    result.outcome = Satisfied{std::move(inverted->schedule)};
  else
    result.outcome = Failed{inverted.error()};
  return result;
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

namespace {
/// Looks for an all_reduce made of the inverse of one schedule of a collective
/// and another schedule of it.
class SplitSearch {
public:
  SplitSearch(const Instance &instance, const Collective &part,
              const SolverOptions &options, const std::string &engine,
              const Deadline &deadline)
      : instance(instance), options(options), deadline(deadline),
        forward(instance.topology, part, engine),
        backward(instance.topology.reversed(), part, engine),
        isSymmetric(isOwnReverse(instance.topology)) {}

  /// Nothing if all splits are refuted.
  std::optional<SynthesisResult> run();

private:
  enum class Verdict { Fits, FirstTooLong, SecondTooLong, Stop };

  bool tryStepSplit(unsigned firstSteps);
  Verdict judge(unsigned firstSteps, unsigned firstRounds);
  bool isPossible(Oracle &oracle, unsigned steps, unsigned rounds);
  Outcome join(unsigned firstSteps, unsigned firstRounds);
  Oracle &reversedOracle() { return isSymmetric ? forward : backward; }

  const Instance &instance;
  const SolverOptions &options;
  const Deadline &deadline;
  Oracle forward, backward;
  const bool isSymmetric;
  SynthesisResult last;               ///< of the last question
  std::optional<SynthesisResult> end; ///< what the search ends with
  std::optional<SynthesisResult> undecided;
};
} // namespace

/// Asks for one of the parts. If it is not decided, makes a note of that.
bool SplitSearch::isPossible(Oracle &oracle, unsigned steps, unsigned rounds) {
  SolverOptions share = options;
  share.timeoutSeconds = deadline.remainingLimit();
  // A part that is hard to refute must leave work for the other splits.
  if (options.maxWork > 0)
    share.maxWork = std::max<uint64_t>(deadline.remainingWork() / 4, 1);
  last = oracle.ask(steps, rounds, share, deadline);
  if (std::holds_alternative<Failed>(last.outcome))
    end = last;
  // One that more work may decide is worth more than one that none will.
  if (const auto *unknown = std::get_if<Unknown>(&last.outcome);
      unknown && (!undecided || unknown->needsMoreWork))
    undecided = last;
  return std::holds_alternative<Satisfied>(last.outcome);
}

SplitSearch::Verdict SplitSearch::judge(unsigned firstSteps,
                                        unsigned firstRounds) {
  if (deadline.expired()) {
    end = SynthesisResult{gaveUp(deadline), last.engine};
    return Verdict::Stop;
  }
  Verdict verdict = Verdict::Fits;
  if (!isPossible(reversedOracle(), firstSteps, firstRounds))
    verdict = Verdict::FirstTooLong;
  else if (!isPossible(forward, instance.steps - firstSteps,
                       instance.rounds - firstRounds))
    verdict = Verdict::SecondTooLong;
  return end ? Verdict::Stop : verdict;
}

/// Moves rounds to the part that lacks them, until the other lacks them or has
/// none left: then no split of the rounds will do.
bool SplitSearch::tryStepSplit(unsigned firstSteps) {
  unsigned spare = instance.rounds - instance.steps;
  unsigned least = firstSteps, most = firstSteps + spare;
  unsigned rounds = least + spare * uint64_t(firstSteps) / instance.steps;
  std::optional<Verdict> direction;
  while (true) {
    Verdict verdict = judge(firstSteps, rounds);
    if (verdict == Verdict::Fits) {
      end = SynthesisResult{join(firstSteps, rounds), last.engine};
      return true;
    }
    if (verdict == Verdict::Stop)
      return true;
    if (direction && *direction != verdict)
      return false;
    direction = verdict;
    bool up = verdict == Verdict::FirstTooLong;
    if (rounds == (up ? most : least))
      return false;
    rounds += up ? 1 : -1;
  }
}

Outcome SplitSearch::join(unsigned firstSteps, unsigned firstRounds) {
  Result<Implementation> first =
      invert(reversedOracle().implementation(firstSteps, firstRounds));
  if (!first)
    return Failed{first.error()};
  Result<Implementation> joined =
      compose(*first, forward.implementation(instance.steps - firstSteps,
                                             instance.rounds - firstRounds));
  if (!joined)
    return Failed{joined.error()};
  return Satisfied{std::move(joined->schedule)};
}

std::optional<SynthesisResult> SplitSearch::run() {
  // From parts of equal length to the most unequal.
  unsigned middle = instance.steps / 2;
  for (unsigned distance = 0; distance <= instance.steps; ++distance)
    for (unsigned first : {middle - distance, middle + distance}) {
      // A difference below zero wraps around and is too large as well.
      bool isSplit = first >= 1 && first < instance.steps;
      if (isSplit && (distance > 0 || first == middle) && tryStepSplit(first))
        return end;
      if (distance == 0)
        break;
    }
  return undecided;
}

/// For an all_reduce in groups: each chunk starts at one rank of its group, and
/// each of these has as many as the others, or nearly.
static std::optional<Collective> spreadInGroups(const Collective &allReduce) {
  unsigned chunks = allReduce.chunks(), first = 0;
  RankChunkSet pre(allReduce.numRanks(), allReduce.numChunks());
  for (const std::vector<unsigned> &group : allReduce.groups()) {
    for (uint64_t chunk = 0; chunk < chunks; ++chunk)
      pre.insert(group[chunk * group.size() / chunks], first + chunk);
    first += chunks;
  }
  Result<Collective> part = Collective::makeCustom(
      "spread", chunks, /*combining=*/false, std::move(pre), allReduce.post());
  if (!part)
    return std::nullopt;
  return std::move(*part);
}

/// The collectives whose inverse, followed by themselves, make an all_reduce.
/// With many chunks, all_gather and the direct search are the better ways, and
/// broadcasts are hard to refute.
static std::vector<Collective> listParts(const Instance &instance) {
  unsigned numRanks = instance.collective.numRanks();
  unsigned chunks = instance.collective.chunks();
  std::vector<Collective> parts;
  if (!instance.collective.groups().empty()) {
    if (std::optional<Collective> part = spreadInGroups(instance.collective))
      parts.push_back(std::move(*part));
    return parts;
  }
  auto add = [&](CollectiveKind kind, unsigned count, unsigned root) {
    if (Result<Collective> part = Collective::make(kind, numRanks, count, root))
      parts.push_back(std::move(*part));
  };
  if (chunks % numRanks == 0)
    add(CollectiveKind::AllGather, chunks / numRanks, 0);
  if (chunks >= numRanks)
    return parts;
  std::vector<unsigned> orbits =
      rankOrbits(automorphismGenerators(instance.topology), numRanks);
  for (unsigned root = 0; root < numRanks; ++root)
    if (orbits[root] == root)
      add(CollectiveKind::Broadcast, chunks, root);
  return parts;
}

//===----------------------------------------------------------------------===//
// Sums on arrival
//===----------------------------------------------------------------------===//

/// False if some rank cannot receive the inputs of all others one by one.
static bool mayBeGathered(const Instance &instance) {
  const Topology &topology = instance.topology;
  const Collective &sum = instance.collective;
  for (unsigned rank = 0; rank < sum.numRanks(); ++rank) {
    uint64_t most = 0, needed = 0;
    for (unsigned link : topology.inLinks(rank))
      most = std::min<uint64_t>(most + topology.capacity(link), UINT32_MAX);
    RankGroups groups = sum.groups();
    for (const std::vector<unsigned> &group : groups)
      if (std::ranges::count(group, rank))
        needed = (group.size() - 1) * uint64_t(sum.chunks());
    if (groups.empty())
      needed = (sum.numRanks() - 1) * uint64_t(sum.chunks());
    if (most * instance.rounds < needed)
      return false;
  }
  return true;
}

/// An all_gather whose arrivals are added up; nothing if there is none.
static std::optional<SynthesisResult>
answerByGathering(const Instance &instance, const SolverOptions &options,
                  const std::string &engine, const Deadline &deadline) {
  const Collective &sum = instance.collective;
  CollectiveFamily family{CollectiveKind::AllGather, 0, sum.groups()};
  Result<Collective> gather = family.make(sum.numRanks(), sum.chunks());
  if (!gather || !mayBeGathered(instance))
    return std::nullopt;
  SolverOptions share = options;
  share.timeoutSeconds = deadline.remainingLimit();
  if (options.maxWork > 0)
    share.maxWork = std::max<uint64_t>(deadline.remainingWork() / 2, 1);
  Instance question{instance.topology, std::move(*gather), instance.steps,
                    instance.rounds};
  SynthesisResult result = synthesize(question, share, engine);
  deadline.charge(result.work);
  if (std::holds_alternative<Unsatisfiable>(result.outcome))
    return std::nullopt;
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  if (!satisfied)
    return result;
  Result<Implementation> added =
      sumOnArrival({question.collective, std::move(satisfied->schedule)});
  if (!added)
    return std::nullopt;
  result.outcome = Satisfied{std::move(added->schedule)};
  return result;
}

/// True if groups are small. Their ranks often meet by way of relays only,
/// where arrivals that are added up are the best there is.
static bool isAmongFew(const Collective &sum) {
  return !sum.groups().empty() &&
         std::ranges::all_of(sum.groups(), [](const auto &group) {
           return group.size() <= tuned::mostAddedOnArrival();
         });
}

static std::optional<SynthesisResult>
answerByParts(const Instance &instance, const SolverOptions &options,
              const std::string &engine, const Deadline &deadline) {
  std::optional<SynthesisResult> undecided;
  for (const Collective &part : listParts(instance)) {
    std::optional<SynthesisResult> result =
        SplitSearch(instance, part, options, engine, deadline).run();
    if (result && !std::holds_alternative<Unknown>(result->outcome))
      return *result;
    if (result)
      undecided = std::move(result);
    if (deadline.expired())
      return SynthesisResult{gaveUp(deadline), engine};
  }
  return undecided;
}

static SynthesisResult answerByComposition(const Instance &instance,
                                           const SolverOptions &options,
                                           const std::string &engine,
                                           const Deadline &deadline) {
  std::vector ways = {answerByParts, answerByGathering};
  if (isAmongFew(instance.collective))
    std::ranges::reverse(ways);
  std::optional<SynthesisResult> undecided;
  for (auto *answer : ways) {
    std::optional<SynthesisResult> result =
        answer(instance, options, engine, deadline);
    if (result && !std::holds_alternative<Unknown>(result->outcome))
      return *result;
    if (result && !undecided)
      undecided = std::move(result);
    if (deadline.expired())
      return {gaveUp(deadline), engine};
  }
  if (undecided)
    return *undecided;
  return {
      Unknown{"neither a composition of an inverted all_gather or broadcast "
              "with another nor an all_gather to add up exists, which does "
              "not exclude other schedules"},
      engine};
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class CombiningBackend final : public SolverBackend {
public:
  explicit CombiningBackend(std::string_view partEngine)
      : SolverBackend({.name = "compose",
                       .workUnit = "the work of the parts",
                       .takesReductions = true,
                       .refutes = true,
                       .asksOthers = true,
                       .takesSwitches = true,
                       .hasSeed = true,
                       .limitsMemory = true}),
        partEngine(partEngine) {}

  std::string whyNot(const Instance &instance) const override {
    if (std::string refusal = SolverBackend::whyNot(instance); !refusal.empty())
      return refusal;
    if (instance.collective.groupKind() == CollectiveKind::AllReduce)
      return "";
    return inverseOf(instance.collective).error();
  }

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    std::string part;
    // Parts are other questions, which nobody has been asked yet.
    SolverOptions ofParts = options;
    ofParts.without.clear();
    SynthesisResult result =
        runEngine(*this, instance, options, [&](const Deadline &deadline) {
          SynthesisResult found = answer(instance, ofParts, deadline);
          part = std::move(found.engine);
          return std::move(found.outcome);
        });
    if (!part.empty())
      result.engine += "/" + part;
    return result;
  }

private:
  SynthesisResult answer(const Instance &instance, const SolverOptions &options,
                         const Deadline &deadline) const {
    if (instance.collective.groupKind() == CollectiveKind::AllReduce)
      return answerByComposition(instance, options, partEngine, deadline);
    Result<Collective> inverse = inverseOf(instance.collective);
    if (!inverse)
      return {Failed{inverse.error()}, ""};
    return answerByInversion(instance, *inverse, options, partEngine, deadline);
  }

  const std::string partEngine;
};
} // namespace

std::unique_ptr<SolverBackend>
sccl::createCombiningBackend(std::string_view partEngine) {
  return std::make_unique<CombiningBackend>(partEngine);
}
