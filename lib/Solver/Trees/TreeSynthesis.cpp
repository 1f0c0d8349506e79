//===- TreeSynthesis.cpp - Schedules packed of trees ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cheapest.h"
#include "Solver/Constants.h"
#include "TreePacking.h"

#include "sccl/Solver/Trees.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

using namespace sccl;
using namespace sccl::trees;

using Kind = CollectiveKind;

bool TreeSynthesis::takes(Kind kind) {
  return kind == Kind::AllGather || kind == Kind::ReduceScatter ||
         kind == Kind::Broadcast || kind == Kind::Reduce ||
         kind == Kind::AllReduce;
}

/// The collective whose trees are packed.
static Kind packedKind(Kind kind) {
  return kind == Kind::ReduceScatter ? Kind::AllGather
         : kind == Kind::Reduce      ? Kind::Broadcast
                                     : kind;
}

/// So much that something is left for whole chunks.
static Deadline mostOf(SearchLimits limits) {
  limits.maxWork -= limits.maxWork / 4;
  limits.timeoutSeconds *= 0.75;
  return Deadline(limits);
}

namespace {
/// Trees in fractions of chunks.
struct Fractions {
  std::unique_ptr<TreePacking> packing;
  std::optional<double> value; ///< R/C; nothing without trees
  uint64_t work = 0;           ///< it took
};
} // namespace

struct TreeSynthesis::State {
  State(const Topology &given, Kind kind, unsigned root)
      : given(given), kind(kind), root(root),
        topology(packedKind(kind) == kind ? given : given.reversed()),
        problem{topology, packedKind(kind), root, 1} {
    chooseGroup(problem);
  }
  PackingProblem problemWith(unsigned steps, bool pipelined) const {
    PackingProblem result = problem;
    result.steps = steps;
    result.rounds = pipelined ? Rounds::InAll : Rounds::PerStep;
    return result;
  }
  std::shared_ptr<Fractions> fractionsOf(const Wanted &wanted,
                                         const SearchLimits &limits);

  const Topology &given;
  const Kind kind;
  const unsigned root;
  const Topology topology; ///< on which trees spread chunks
  PackingProblem problem;

private:
  std::shared_ptr<Fractions> climb(unsigned steps, const SearchLimits &limits);

  std::mutex mutex;
  uint64_t workOfEach = 0;                         ///< of `climbed`
  std::vector<std::shared_ptr<Fractions>> climbed; ///< by steps, from 1 on
};

TreeSynthesis::TreeSynthesis(const Topology &topology, Kind kind, unsigned root)
    : state(std::make_unique<State>(topology, kind, root)) {}

TreeSynthesis::~TreeSynthesis() = default;

//===----------------------------------------------------------------------===//
// Fractions of chunks
//===----------------------------------------------------------------------===//

/// How cells are made finer: in halves, one by one, or first the one and then
/// the other.
static std::vector<bool> waysToRefine(const PackingProblem &problem) {
  if (!problem.isHuge())
    return {false};
  // In few steps few boxes pass on what they get.
  if (problem.steps <= 3)
    return {true, false};
  return {true};
}

/// `known` are trees of fewer steps to begin with.
static std::shared_ptr<Fractions> generate(PackingProblem problem,
                                           const std::vector<ChunkTree> &known,
                                           const SearchLimits &limits) {
  Deadline deadline(limits);
  auto best = std::make_shared<Fractions>();
  for (bool inHalves : waysToRefine(problem)) {
    problem.inHalves = inHalves;
    auto packing = std::make_unique<TreePacking>(problem, deadline);
    // One by one the search gets stuck where it begins.
    if (inHalves)
      packing->beginWith(known);
    Deadline most = mostOf(limits);
    std::optional<double> value = packing->generate(std::nullopt, most);
    best->work += most.work();
    if (best->packing && (!value || (best->value && *best->value <= *value)))
      continue;
    best->packing = std::move(packing);
    best->value = value;
  }
  return best;
}

/// On very many ranks it takes long to come to trees that are any good, and it
/// is begun with those of one step less.
std::shared_ptr<Fractions>
TreeSynthesis::State::climb(unsigned steps, const SearchLimits &limits) {
  std::lock_guard lock(mutex);
  Deadline deadline(limits);
  if (std::exchange(workOfEach, limits.maxWork) != limits.maxWork)
    climbed.clear();
  while (climbed.size() < steps) {
    SearchLimits left = limits;
    left.timeoutSeconds = deadline.remainingLimit();
    std::vector<ChunkTree> known;
    if (!climbed.empty() && climbed.back()->value)
      known = climbed.back()->packing->usedTrees();
    climbed.push_back(generate(
        problemWith(climbed.size() + 1, /*pipelined=*/false), known, left));
  }
  return climbed[steps - 1];
}

std::shared_ptr<Fractions>
TreeSynthesis::State::fractionsOf(const Wanted &wanted,
                                  const SearchLimits &limits) {
  if (problem.isHuge() && !wanted.pipelined)
    return climb(wanted.steps, limits);
  return generate(problemWith(wanted.steps, wanted.pipelined), {}, limits);
}

//===----------------------------------------------------------------------===//
// The cheapest within limits
//===----------------------------------------------------------------------===//

/// True if C of `chunks` is not too long to write out.
static bool fits(Kind kind, uint64_t chunks, unsigned ranks,
                 uint64_t maxSends) {
  uint64_t origins = kind == Kind::AllGather ? ranks : 1;
  uint64_t sends = uint64_t(ranks - 1) * (kind == Kind::AllReduce ? 2 : 1);
  return chunks <= maxSends / (origins * sends);
}

/// R/C of the packed collective for a C of the one asked for.
static double packedCost(Kind kind, const Rational &cost, unsigned ranks) {
  return cost.toDouble() * (kind == Kind::ReduceScatter ? ranks : 1);
}

namespace {
/// Collects schedules for whole numbers of chunks, and keeps the cheapest.
class WholeSchedules {
public:
  WholeSchedules(TreePacking &packing, double value,
                 const TreeSynthesis::Wanted &wanted,
                 std::optional<double> below, const SearchLimits &limits,
                 const Deadline &deadline)
      : packing(packing), kind(packing.question().kind),
        ranks(packing.question().topology.numRanks()), value(value),
        wanted(wanted), limits(limits), deadline(deadline), best(below),
        usual(kind == Kind::AllReduce ? ranks : 1), unit(packing.chunkUnit()),
        most(wanted.maxChunks * usual) {
    // Groups that keep ranks take many chunks.
    if (unit > usual)
      most = std::max<uint64_t>(most, wanted.maxExactChunks);
  }

  TreeSynthesis::Packed cheapest();

private:
  void offer(std::optional<TreeSchedule> found);
  bool isWorth(uint64_t chunks) const;
  void offerFew();
  void offerForEach();
  void offerUpTo(uint64_t last);
  void offerExact();
  void offerDownTo(uint64_t first);
  std::optional<TreeSchedule> roundedOfMany() const;
  bool isNotable(const TreeSchedule &found) const;

  TreePacking &packing;
  const Kind kind;
  const unsigned ranks;
  const double value; ///< R/C in fractions of chunks
  const TreeSynthesis::Wanted &wanted;
  const SearchLimits &limits; ///< of `deadline`
  const Deadline &deadline;
  Cheapest<TreeSchedule> best;
  std::optional<TreeSchedule> exact;
  const uint64_t usual, unit;
  uint64_t most;
};
} // namespace

void WholeSchedules::offer(std::optional<TreeSchedule> found) {
  if (!found || !fits(kind, found->chunks, ranks, wanted.maxSends))
    return;
  double cost = double(found->costRounds()) / double(found->chunks);
  best.offer(std::move(*found), cost);
}

/// False if, even with no loss by rounding up, it is no better.
bool WholeSchedules::isWorth(uint64_t chunks) const {
  return !deadline.expired() && !best.meets(value) &&
         fits(kind, chunks, ranks, wanted.maxSends) &&
         best.isBelow(std::ceil(value * double(chunks) - 1e-6) /
                      double(chunks));
}

/// What pays where chunks are few.
void WholeSchedules::offerFew() {
  bool isFew = wanted.maxChunks <= tuned::fewChunks(),
       canMix = kind != Kind::AllReduce;
  if (isFew && canMix)
    for (uint64_t chunks = unit;
         chunks <= std::min(most, tuned::fewChunks() * unit); chunks += unit)
      if (isWorth(chunks))
        offer(packing.roundMixed(chunks, deadline));
  if (unit > usual || (isFew && !canMix))
    offerForEach();
}

/// A tree for each chunk. Where many chunks are allowed, few are seldom as
/// cheap, and little time goes into them.
void WholeSchedules::offerForEach() {
  // Images of more sends take seconds to compare, and so many chunks of a sum
  // lose little by rounding.
  bool isSum = kind == Kind::AllReduce;
  uint64_t sends = packing.question().group.size() * ranks * (isSum ? 2 : 1);
  if ((wanted.maxChunks > tuned::fewChunks() || isSum) &&
      sends > tuned::mostImageSends())
    return;
  SearchLimits less = limits;
  less.timeoutSeconds = deadline.remainingLimit();
  if (wanted.maxChunks > tuned::fewChunks())
    less.maxWork /= tuned::fewChunks();
  Deadline part(less);
  for (uint64_t factor = 1;
       factor <= std::min<uint64_t>(wanted.maxChunks, tuned::fewChunks());
       ++factor)
    if (uint64_t chunks = factor * usual; isWorth(chunks) && !part.expired())
      offer(packing.roundForEach(chunks, best.limitOf(chunks), part));
  deadline.charge(part.work());
}

void WholeSchedules::offerUpTo(uint64_t last) {
  for (uint64_t chunks = unit; chunks <= last; chunks += unit)
    if (isWorth(chunks))
      offer(packing.round(chunks, deadline));
}

void WholeSchedules::offerExact() {
  if (best.meets(value))
    return;
  exact = packing.exact(deadline);
  if (exact && exact->chunks <= wanted.maxExactChunks)
    offer(exact);
}

/// Where a unit is many chunks, from `most` down to `first`: all lose about as
/// many rounds, which matters least to many chunks.
void WholeSchedules::offerDownTo(uint64_t first) {
  // Rounding is not much luckier than that.
  double leastLoss = INFINITY;
  for (uint64_t chunks = most / unit * unit; chunks >= first; chunks -= unit) {
    double expected =
        value +
        (std::isinf(leastLoss) ? 0 : tuned::roundingLuck() * leastLoss) /
            double(chunks);
    if (!isWorth(chunks) || !best.isBelow(expected))
      continue;
    std::optional<TreeSchedule> found = packing.round(chunks, deadline);
    if (!found)
      continue;
    leastLoss = std::min(leastLoss,
                         double(found->costRounds()) - value * double(chunks));
    offer(std::move(found));
  }
}

/// What the program says, rounded. Where that has trillions of chunks exactly,
/// or too many to count with, some thousands lose little.
std::optional<TreeSchedule> WholeSchedules::roundedOfMany() const {
  constexpr uint64_t mostSends = Schedule::maxSends / 4;
  bool suffices = exact ? fits(kind, exact->chunks, ranks, Schedule::maxSends)
                        : !packing.question().isHuge();
  if (best.meets(value) || suffices)
    return std::nullopt;
  uint64_t chunks = unit;
  while (fits(kind, chunks * 2, ranks, mostSends))
    chunks *= 2;
  return packing.round(chunks, deadline);
}

/// Whether `found` is worth its many chunks.
bool WholeSchedules::isNotable(const TreeSchedule &found) const {
  return best.isBelow(double(found.costRounds()) / double(found.chunks) /
                      tuned::notableCost());
}

TreeSynthesis::Packed WholeSchedules::cheapest() {
  bool isCoarse = unit > usual && most > tuned::fewChunks() * unit;
  // Of hundreds of trees many chunks make something, and few take long.
  std::optional<TreeSchedule> ofMany;
  if (packing.question().isHuge() &&
      packing.usedTrees().size() > tuned::fewChunks()) {
    ofMany = roundedOfMany();
    if (isCoarse)
      offerDownTo((tuned::fewChunks() + 1) * unit);
  }
  offerFew();
  offerUpTo(isCoarse ? tuned::fewChunks() * unit : most);
  offerExact();
  if (isCoarse)
    offerDownTo((tuned::fewChunks() + 1) * unit);
  if (best.meets(value))
    exact.reset();
  if (!ofMany)
    ofMany = roundedOfMany();
  if (ofMany && !isNotable(*ofMany))
    ofMany.reset();
  return {best.take(), std::move(exact), std::move(ofMany)};
}

TreeSynthesis::Packed TreeSynthesis::pack(const Wanted &wanted,
                                          const SearchLimits &limits) const {
  constexpr double tolerance = 1e-9;
  Deadline deadline(limits);
  std::optional<double> below;
  if (wanted.below)
    below = packedCost(state->kind, *wanted.below, state->topology.numRanks());
  std::shared_ptr<Fractions> found = state->fractionsOf(wanted, limits);
  const std::optional<double> &value = found->value;
  if (state->problem.isHuge())
    deadline.charge(found->work);
  if (!value || (below && *value >= *below * (1 - tolerance)))
    return {};
  return WholeSchedules(*found->packing, *value, wanted, below, limits,
                        deadline)
      .cheapest();
}

std::optional<Implementation>
TreeSynthesis::best(const Wanted &wanted, const SearchLimits &limits) const {
  std::optional<TreeSchedule> found = pack(wanted, limits).whole;
  if (!found)
    return std::nullopt;
  Result<Implementation> result =
      writeOut(*found, state->kind, state->topology.numRanks(), state->root);
  if (!result)
    return std::nullopt;
  return std::move(*result);
}

const Topology &TreeSynthesis::packedOn() const { return state->topology; }

std::optional<TreeSchedule>
TreeSynthesis::exact(unsigned steps, const SearchLimits &limits) const {
  Deadline deadline(limits);
  TreePacking packing(state->problemWith(steps, /*pipelined=*/false), deadline);
  if (!packing.generate(std::nullopt, deadline))
    return std::nullopt;
  return packing.exact(deadline);
}
