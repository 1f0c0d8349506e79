//===- StepSearch.cpp - The cheapest schedule of S steps ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSearch.h"

#include "Search/Constants.h"
#include "TreePoints.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Composition.h"
#include "sccl/Model/Scaling.h"

#include <algorithm>
#include <utility>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// The smallest R for `chunks` chunks that the bound allows.
uint64_t StepSearch::leastRounds(uint64_t chunks) const {
  if (!least)
    return steps;
  __int128 scaled = __int128(least->numerator()) * chunks;
  uint64_t rounds =
      uint64_t((scaled + least->denominator() - 1) / least->denominator());
  return std::max<uint64_t>(steps, rounds);
}

/// As many rounds as nobody needs more than: in each step, all chunks over all
/// links.
uint64_t StepSearch::roundsForAll(uint64_t chunks) const {
  uint64_t all = chunks / problem().unit() * problem().smallest.numChunks();
  uint64_t most = 1;
  for (const BandwidthLimit &limit : problem().topology.limits())
    most = std::max(most, (all * limit.links.size() + limit.bandwidth - 1) /
                              limit.bandwidth);
  return steps * most;
}

/// The C that engines see: what they take grows with it.
unsigned StepSearch::sizeOf(unsigned chunks) const {
  return chunks % (problem().scale * problem().unit()) == 0
             ? chunks / problem().scale
             : chunks;
}

/// All C to try, those first that make the smallest problems. C follows the
/// unit of the bandwidths.
std::vector<unsigned> StepSearch::chunkCounts() const {
  unsigned unit = problem().unit();
  unsigned most = std::max(problem().mostChunks(), unit);
  std::vector<unsigned> counts;
  for (unsigned count = unit; count <= most; count += unit) {
    counts.push_back(count);
    if (problem().scale > 1)
      counts.push_back(count * problem().scale);
  }
  std::ranges::sort(counts, {}, [&](unsigned count) {
    return std::pair(sizeOf(count), count);
  });
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// Those that meet the bound; the smallest are the easiest.
std::vector<StepCandidate> StepSearch::meetingBound(unsigned mostTried) const {
  std::vector<StepCandidate> meeting;
  if (!least)
    return meeting;
  for (unsigned chunks : chunkCounts()) {
    uint64_t rounds = leastRounds(chunks);
    if (rounds > Instance::maxRounds)
      continue;
    StepCandidate candidate{chunks, unsigned(rounds)};
    if (candidate.bandwidth() == *least && meeting.size() < mostTried)
      meeting.push_back(candidate);
  }
  return meeting;
}

/// Those of the paper's procedure, with R of at most S + k, cheapest first.
std::vector<StepCandidate> StepSearch::withinSpareRounds() const {
  std::vector<StepCandidate> candidates;
  uint64_t most =
      std::min<uint64_t>(steps + *problem().options.k, Instance::maxRounds);
  for (unsigned chunks : chunkCounts())
    for (uint64_t rounds = leastRounds(chunks); rounds <= most; ++rounds)
      candidates.push_back({chunks, unsigned(rounds)});
  std::ranges::stable_sort(candidates, {}, &StepCandidate::bandwidth);
  return candidates;
}

//===----------------------------------------------------------------------===//
// Questions to engines
//===----------------------------------------------------------------------===//

/// More rounds never hurt, so that a refutation holds for fewer.
bool StepSearch::isWorthAsking(const StepCandidate &candidate,
                               std::string_view engine) const {
  if (auto no = refuted.find(candidate.chunks);
      no != refuted.end() && candidate.rounds <= no->second)
    return false;
  auto before =
      tried.find({candidate.chunks, candidate.rounds, std::string(engine)});
  return before == tried.end() || before->second < probeWork;
}

/// Engines that were asked by name for `candidate`, with as much work.
std::vector<std::string_view>
StepSearch::askedBefore(const StepCandidate &candidate) const {
  std::vector<std::string_view> names;
  for (const auto &backend : solverBackends())
    if (!backend->traits().prefersParts &&
        !isWorthAsking(candidate, backend->name()))
      names.push_back(backend->name());
  return names;
}

void StepSearch::note(const StepCandidate &candidate, std::string_view engine,
                      const SynthesisResult &result) {
  if (std::holds_alternative<Unsatisfiable>(result.outcome)) {
    unsigned &most = refuted[candidate.chunks];
    most = std::max(most, candidate.rounds);
  } else if (const auto *unknown = std::get_if<Unknown>(&result.outcome)) {
    undecided = true;
    tried[{candidate.chunks, candidate.rounds, std::string(engine)}] =
        unknown->needsMoreWork ? probeWork : Deadline::unlimited;
    isOpen |= unknown->needsMoreWork;
  } else if (const auto *failed = std::get_if<Failed>(&result.outcome)) {
    tried[{candidate.chunks, candidate.rounds, std::string(engine)}] =
        Deadline::unlimited;
    if (failureMessage.empty() && engine == problem().options.engine)
      failureMessage = failed->message;
  }
}

StepSearch::Point StepSearch::makePoint(const StepCandidate &candidate,
                                        Schedule schedule,
                                        const SynthesisResult &result) {
  best = candidate.bandwidth();
  return FrontierPoint{
      candidate.chunks, steps,          candidate.rounds, std::move(schedule),
      result.engine,    result.seconds, nullptr};
}

/// A schedule for `candidate`, if it is cheaper than what is known.
StepSearch::Point StepSearch::ask(const StepCandidate &candidate,
                                  std::string_view engine) {
  if (!isCheaper(candidate) || !isWorthAsking(candidate, engine))
    return std::nullopt;
  unsigned pieces = candidate.chunks / sizeOf(candidate.chunks);
  Result<Collective> collective =
      problem().collectiveOf(candidate.chunks / pieces);
  if (!collective)
    return std::nullopt;
  Result<Instance> instance = Instance::make(
      pieces > 1 ? problem().reduced : problem().topology,
      std::move(*collective), steps, candidate.rounds, problem().options.order);
  if (!instance)
    return std::nullopt;
  if (problem().options.watch)
    problem().options.watch({steps, candidate.chunks, candidate.rounds});
  SolverOptions solver = problem().options.solver;
  solver.maxWork = probeWork;
  solver.useBounds = false;
  solver.without = askedBefore(candidate);
  solver.timeoutSeconds = problem().deadline.remainingLimit();
  SynthesisResult result = synthesize(*instance, solver, engine);
  used += result.work;
  note(candidate, engine, result);
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  if (!satisfied)
    return std::nullopt;
  return makePoint(candidate,
                   cutChunks(satisfied->schedule, pieces, /*roundsFactor=*/1),
                   result);
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// The first of `candidates` that has a schedule.
StepSearch::Point
StepSearch::searchInOrder(const std::vector<StepCandidate> &candidates,
                          std::string_view engine) {
  for (const StepCandidate &candidate : candidates) {
    if (problem().deadline.isOver())
      break;
    if (Point point = ask(candidate, engine))
      return point;
  }
  return std::nullopt;
}

/// Whether `engine` gives up early and takes what is asked for, or its inverse.
/// What refutes is asked in turn with the others, if they are asked at all,
/// `areOthersAsked`.
static bool isBrief(const SolverBackend &engine, const FrontierProblem &problem,
                    unsigned steps, bool areOthersAsked) {
  const EngineTraits &traits = engine.traits();
  if (!traits.endsEarly || (traits.refutes && areOthersAsked))
    return false;
  Instance instance{problem.topology, problem.smallest, steps, steps};
  if (engine.whyNot(instance).empty())
    return true;
  Result<Collective> inverse = inverseOf(problem.smallest);
  return inverse && problem.smallest.combining() &&
         engine.whyNot({problem.topology, *inverse, steps, steps}).empty();
}

/// By engines that give up early: others find an all_reduce only after a long
/// search, if at all, and may spend it on a candidate whose multiple is easy;
/// for trees from one root they are faster where all steps have a single round.
StepSearch::Point
StepSearch::searchBriefly(const std::vector<StepCandidate> &meeting) {
  if (problem().options.engine != "auto" || meeting.empty() ||
      problem().hasOrder() ||
      (problem().isOneToAll() && meeting.front().rounds == steps))
    return std::nullopt;
  // Where trees have come close, they are not waited for as long.
  uint64_t most = problem().options.probeWork / (hasGlance ? 16 : 1);
  uint64_t usual = std::exchange(probeWork, std::max(probeWork, most));
  // After a glance they have their turn only where trees are not close.
  bool areOthersAsked =
      !hasGlance && !problem().isLeftToTrees(/*hasSchedule=*/true);
  Point point;
  for (const auto &backend : solverBackends())
    if (!point && isBrief(*backend, problem(), steps, areOthersAsked))
      point = searchInOrder(meeting, backend->name());
  probeWork = usual;
  return point;
}

/// What a packing of trees may take in a step.
static uint64_t treeWork(const FrontierProblem &problem) {
  if (!problem.isOneToAll())
    return 5'000'000;
  // From one root each rank is looked at for itself at last, which is slow;
  // of many ranks only halves are, and trees of fewer steps are known.
  return problem.isHuge() ? 1'200'000 : 2'000'000;
}

/// The cheapest that a packing of trees gives, for all C and R at once. C
/// follows the number of ranks where each has chunks of its own.
StepSearch::Point StepSearch::fromTrees() {
  if (std::exchange(triedTrees, true) || !problem().wantsTrees())
    return std::nullopt;
  if (problem().options.watch)
    problem().options.watch({steps});
  unsigned scale = problem().scale;
  // Like compositions, what meets the bound may have more chunks.
  unsigned maxChunks = problem().mostChunks();
  unsigned most = FrontierOptions::maxMaxChunks / scale, maxExact = maxChunks;
  if (!problem().packsSomeRanks() || problem().hasManyRanks())
    maxExact = problem().asksTreesFirst() ? most : maxChunks;
  else if (!problem().options.hasty && !problem().options.maxChunksIsFirm)
    maxExact = most * problem().unit();
  // An all_reduce has some for each rank.
  if (problem().family.kind == CollectiveKind::AllReduce)
    maxChunks = std::min(maxChunks, FrontierOptions::maxMaxChunks / scale /
                                        problem().topology.numRanks());
  TreeSynthesis::Wanted wanted{steps, maxChunks, maxExact,
                               problem().options.maxSends, best};
  if (best)
    wanted.below =
        Rational(best->numerator() * int64_t(scale), best->denominator());
  uint64_t work = std::min(treeWork(problem()), 5 * problem().options.stepWork);
  SearchLimits limits = problem().limitsOf(work);
  return problem().treesToAll() ? fromTreesToAll(wanted, limits)
                                : fromTreesToSome(wanted, limits);
}

StepSearch::Point
StepSearch::fromTreesToAll(const TreeSynthesis::Wanted &wanted,
                           const SearchLimits &limits) {
  const TreeSynthesis &synthesis = *problem().treesToAll();
  Deadline clock(limits);
  TreeSynthesis::Packed packed = synthesis.pack(wanted, limits);
  auto pointOf = [&](std::optional<TreeSchedule> &trees) {
    return trees ? makeTreePoint(problem(), synthesis.packedOn(),
                                 std::move(*trees), clock.elapsedSeconds())
                 : std::nullopt;
  };
  // Who says how many chunks there may be has no use for more.
  if (!problem().options.maxChunksIsFirm)
    for (std::optional<TreeSchedule> *trees : {&packed.exact, &packed.ofMany})
      if (std::optional<TreePoint> some = pointOf(*trees))
        inTrees.push_back(std::move(*some));
  std::optional<TreePoint> whole = pointOf(packed.whole);
  if (!whole)
    return std::nullopt;
  Point point = asFrontierPoint(problem(), *whole);
  if (point)
    best = point->bandwidth();
  return point;
}

std::optional<FrontierPoint> sccl::checkedPoint(const Topology &topology,
                                                Implementation found,
                                                std::string engine,
                                                double seconds) {
  auto &[collective, schedule] = found;
  if (checkSchedule(topology, collective, schedule))
    return std::nullopt;
  unsigned steps = unsigned(schedule.steps.size()), rounds = schedule.rounds();
  return FrontierPoint{
      collective.chunks(), steps,   rounds, std::move(schedule),
      std::move(engine),   seconds, nullptr};
}

StepSearch::Point
StepSearch::fromTreesToSome(const TreeSynthesis::Wanted &wanted,
                            const SearchLimits &limits) {
  Deadline clock(limits);
  std::optional<Implementation> found =
      problem().treesToSome()->best(wanted, limits);
  if (!found)
    return std::nullopt;
  unsigned scale = problem().scale;
  uint64_t chunks = uint64_t(found->collective.chunks()) * scale;
  Result<Collective> collective =
      chunks <= uint64_t(FrontierOptions::maxMaxChunks) * problem().unit()
          ? problem().collectiveOf(unsigned(chunks))
          : Result<Collective>(Error{"too many chunks"});
  Schedule schedule = cutChunks(found->schedule, scale, /*roundsFactor=*/1);
  if (!collective)
    return std::nullopt;
  Point point = checkedPoint(
      problem().topology, {std::move(*collective), std::move(schedule)},
      std::string(problem().treeEngine()), clock.elapsedSeconds());
  if (point)
    best = point->bandwidth();
  return point;
}

/// Any schedule at all, with the smallest C.
StepSearch::Point StepSearch::findAny(uint64_t limit) {
  unsigned chunks = chunkCounts().front();
  constexpr unsigned maxMore = 1u << 12;
  uint64_t fewest = leastRounds(chunks);
  uint64_t most = std::max(fewest, roundsForAll(chunks));
  for (unsigned more = 0; more <= maxMore; more = std::max(2 * more, 1u)) {
    uint64_t rounds = std::min(fewest + more, most);
    if (rounds > Instance::maxRounds || isSpent(limit))
      break;
    if (Point point = ask({chunks, unsigned(rounds)}, problem().options.engine))
      return point;
    if (rounds == most)
      break;
  }
  return std::nullopt;
}

/// Cheaper schedules of `chunks` chunks: the easiest first, then by halves of
/// what is left down to the bound.
StepSearch::Point StepSearch::improveWith(unsigned chunks, uint64_t limit) {
  // Strictly less than the best.
  __int128 scaled = __int128(best->numerator()) * chunks;
  uint64_t most =
      uint64_t((scaled + best->denominator() - 1) / best->denominator()) - 1;
  uint64_t fewest = leastRounds(chunks);
  Point found;
  uint64_t rounds = most;
  while (fewest <= most && rounds <= Instance::maxRounds) {
    if (isSpent(limit))
      break;
    if (Point point =
            ask({chunks, unsigned(rounds)}, problem().options.engine)) {
      found = std::move(point);
      most = rounds - 1;
    } else if (!found) {
      break;
    } else {
      fewest = rounds + 1;
    }
    rounds = (fewest + most) / 2;
  }
  return found;
}

/// Cheaper schedules than the best so far, whatever their C.
StepSearch::Point StepSearch::improve(uint64_t limit) {
  Point found;
  if (!best)
    found = findAny(limit);
  if (!best)
    return found;
  for (unsigned chunks : chunkCounts()) {
    if (isSpent(limit))
      break;
    if (Point point = improveWith(chunks, limit))
      found = std::move(point);
    if (best == least)
      break;
  }
  return found;
}

/// True if what is there will do where not much time is to be spent.
bool StepSearch::isCloseEnough() const { return isWithin(tuned::closeCost()); }

/// True if not much time is to be spent, and what is there costs at most
/// `factor` times the bound.
bool StepSearch::isWithin(double factor) const {
  return problem().leavesClose() && best && least &&
         best->toDouble() <= least->toDouble() * factor;
}

/// True if there is no work, or no time, left for more, or no need.
bool StepSearch::isSpent(uint64_t limit) {
  if (isCloseEnough())
    return true;
  bool isOut = used >= limit;
  isOpen |= isOut;
  return isOut || problem().deadline.isOver();
}

StepSearch::Point StepSearch::glance(std::optional<Rational> known) {
  best = known;
  Point found = problem().asksTreesFirst() ? fromTrees() : std::nullopt;
  hasGlance = found && problem().hasManyRanks();
  return found;
}

StepSearch::Point StepSearch::withFewerChunks(const LowerBound &bound,
                                              const FrontierPoint &known,
                                              uint64_t work) {
  least = bound.value;
  best.reset();
  probeWork = work;
  std::vector<StepCandidate> candidates = meetingBound();
  std::erase_if(candidates, [&](const StepCandidate &candidate) {
    return candidate.chunks >= known.chunks;
  });
  return searchInOrder(candidates, problem().options.engine);
}

StepSearch::Point StepSearch::run(const SharedBound &bound,
                                  std::optional<Rational> known,
                                  const Effort &effort) {
  least = bound ? bound->value : std::nullopt;
  best = known;
  probeWork = effort.probeWork;
  used = 0;
  isOpen = false;
  if (problem().options.k)
    return searchInOrder(withinSpareRounds(), problem().options.engine);
  if (isCloseEnough())
    return std::nullopt;
  // What meets the bound settles the matter.
  std::vector<StepCandidate> meeting = meetingBound(effort.mostTried);
  if (Point point = searchBriefly(meeting))
    return point;
  // Where others search long for one C and R, trees answer for all at once.
  bool isLarge = problem().hasManyRanks();
  Point found;
  if (isLarge)
    found = fromTrees();
  // Other engines may improve on that, when each S has a schedule; of gathers
  // at least those that give up early, which have had little work so far.
  if (found || std::exchange(hasGlance, false)) {
    isOpen = best != least && !problem().isLeftToTrees(/*hasSchedule=*/false);
    return found;
  }
  if (problem().isLeftToTrees(best.has_value()))
    return std::nullopt;
  if (problem().leavesClose() && !isCloseEnough())
    found = fromTrees();
  if (isCloseEnough())
    return found;
  // What no number of steps can beat is seldom there with few, nor is anything
  // much better than trees that are not far from it.
  if (!problem().leavesClose() || effort.isOfSteps) {
    if (Point point = searchInOrder(meeting, problem().options.engine))
      return point;
  } else if (found && isWithin(tuned::fairCost())) {
    return found;
  }
  if (Point point = improve(used + effort.stepWork))
    found = std::move(point);
  if (!isLarge && isOpen)
    if (Point point = fromTrees())
      return point;
  return found;
}
