//===- TreeSynthesis.cpp - Schedules packed of trees ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cheapest.h"
#include "TreePacking.h"

#include "sccl/Solver/Trees.h"

#include <algorithm>
#include <cmath>

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

struct TreeSynthesis::State {
  State(const Topology &given, Kind kind, unsigned root)
      : given(given), kind(kind), root(root),
        topology(packedKind(kind) == kind ? given : given.reversed()),
        problem{topology, packedKind(kind), root, 1} {
    chooseGroup(problem);
  }
  PackingProblem problemWith(unsigned steps, bool pipelined,
                             std::optional<LinkWindow> window = {}) const {
    PackingProblem result = problem;
    result.steps = steps;
    result.window = std::move(window);
    result.rounds = pipelined ? Rounds::InAll : Rounds::PerStep;
    return result;
  }
  LinkWindow reversed(LinkWindow window, unsigned steps) const;

  const Topology &given;
  const Kind kind;
  const unsigned root;
  const Topology topology; ///< on which trees spread chunks
  PackingProblem problem;
};

TreeSynthesis::TreeSynthesis(const Topology &topology, Kind kind, unsigned root)
    : state(std::make_unique<State>(topology, kind, root)) {}

TreeSynthesis::~TreeSynthesis() = default;

/// `window` of links of the given topology, on the reversed one.
LinkWindow TreeSynthesis::State::reversed(LinkWindow window,
                                          unsigned steps) const {
  LinkWindow result{std::vector<bool>(window.links.size()),
                    steps - 1 - window.last, steps - 1 - window.first};
  for (unsigned link = 0; link < window.links.size(); ++link) {
    auto [src, dst] = given.links()[link];
    result.links[*topology.findLink(dst, src)] = window.links[link];
  }
  return result;
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

/// So much that something is left for whole chunks.
static Deadline mostOf(SearchLimits limits) {
  limits.maxWork -= limits.maxWork / 4;
  limits.timeoutSeconds *= 0.75;
  return Deadline(limits);
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

  static constexpr uint64_t few = 16;
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
  bool isFew = wanted.maxChunks <= few, canMix = kind != Kind::AllReduce;
  if (isFew && canMix)
    for (uint64_t chunks = unit; chunks <= std::min(most, few * unit);
         chunks += unit)
      if (isWorth(chunks))
        offer(packing.roundMixed(chunks, deadline));
  if (unit > usual || (isFew && !canMix))
    offerForEach();
}

/// A tree for each chunk. Where many chunks are allowed, few are seldom as
/// cheap, and little time goes into them.
void WholeSchedules::offerForEach() {
  constexpr uint64_t shareOfWork = 32;
  // Images of more sends take seconds to compare, and so many chunks of a sum
  // lose little by rounding.
  constexpr uint64_t maxImageSends = uint64_t(1) << 16;
  bool isSum = kind == Kind::AllReduce;
  uint64_t sends = packing.question().group.size() * ranks * (isSum ? 2 : 1);
  if ((wanted.maxChunks > few || isSum) && sends > maxImageSends)
    return;
  SearchLimits less = limits;
  less.timeoutSeconds = deadline.remainingLimit();
  if (wanted.maxChunks > few)
    less.maxWork /= shareOfWork;
  Deadline part(less);
  for (uint64_t factor = 1; factor <= std::min<uint64_t>(wanted.maxChunks, few);
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
  constexpr double luck = 0.5;
  double leastLoss = INFINITY;
  for (uint64_t chunks = most / unit * unit; chunks >= first; chunks -= unit) {
    double expected =
        value + (std::isinf(leastLoss) ? 0 : luck * leastLoss) / double(chunks);
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

/// What is exact, rounded, if that is notably cheaper than the best. Where that
/// has trillions of chunks, some hundred thousand lose next to nothing.
std::optional<TreeSchedule> WholeSchedules::roundedOfMany() const {
  constexpr uint64_t mostSends = Schedule::maxSends / 4;
  constexpr double notable = 0.999;
  if (!exact || fits(kind, exact->chunks, ranks, Schedule::maxSends))
    return std::nullopt;
  uint64_t chunks = unit;
  while (fits(kind, chunks * 2, ranks, mostSends))
    chunks *= 2;
  std::optional<TreeSchedule> found = packing.round(chunks, deadline);
  if (found &&
      best.isBelow(double(found->costRounds()) / double(chunks) / notable))
    return found;
  return std::nullopt;
}

TreeSynthesis::Packed WholeSchedules::cheapest() {
  offerFew();
  bool isCoarse = unit > usual && most > few * unit;
  offerUpTo(isCoarse ? few * unit : most);
  offerExact();
  if (isCoarse)
    offerDownTo((few + 1) * unit);
  if (best.meets(value))
    exact.reset();
  std::optional<TreeSchedule> ofMany = roundedOfMany();
  return {best.take(), std::move(exact), std::move(ofMany)};
}

/// How cells are made finer: in halves, one by one, or first the one and then
/// the other.
static std::vector<bool> waysToRefine(const PackingProblem &problem) {
  if (problem.kind != Kind::Broadcast ||
      problem.topology.numRanks() <= maxSingleCells)
    return {false};
  // In few steps few boxes pass on what they get.
  if (problem.steps <= 3)
    return {true, false};
  return {true};
}

TreeSynthesis::Packed TreeSynthesis::pack(const Wanted &wanted,
                                          const SearchLimits &limits) const {
  constexpr double tolerance = 1e-9;
  Deadline deadline(limits);
  std::optional<double> below;
  if (wanted.below)
    below = packedCost(state->kind, *wanted.below, state->topology.numRanks());
  std::optional<LinkWindow> window = wanted.window;
  // What is turned round runs backwards.
  if (window && packedKind(state->kind) != state->kind)
    window = state->reversed(std::move(*window), wanted.steps);
  PackingProblem problem =
      state->problemWith(wanted.steps, wanted.pipelined, std::move(window));
  std::unique_ptr<TreePacking> packing;
  std::optional<double> value;
  for (bool inHalves : waysToRefine(problem)) {
    problem.inHalves = inHalves;
    auto other = std::make_unique<TreePacking>(problem, deadline);
    std::optional<double> found = other->generate(std::nullopt, mostOf(limits));
    if (packing && (!found || (value && *value <= *found)))
      continue;
    packing = std::move(other);
    value = found;
  }
  if (!value || (below && *value >= *below * (1 - tolerance)))
    return {};
  return WholeSchedules(*packing, *value, wanted, below, limits, deadline)
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

std::optional<TreeSchedule>
TreeSynthesis::rounded(unsigned steps, uint64_t chunks,
                       const SearchLimits &limits) const {
  Deadline deadline(limits);
  TreePacking packing(state->problemWith(steps, /*pipelined=*/false), deadline);
  if (!packing.generate(std::nullopt, mostOf(limits)))
    return std::nullopt;
  return packing.round(chunks, deadline);
}
