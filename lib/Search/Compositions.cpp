//===- Compositions.cpp - What known schedules make together --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compositions.h"

#include "Exchanges.h"

#include "Solver/Quotient.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/GatheredSums.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

CollectiveFamily Compositions::gatherFamily() const {
  return {CollectiveKind::AllGather, 0, problem.family.groups};
}

/// True if one all_gather turned round and another make the collective: in
/// groups of different sizes their C would differ.
bool Compositions::isComposed() const {
  const CollectiveFamily &family = problem.family;
  return family.kind == CollectiveKind::AllReduce &&
         std::ranges::all_of(family.groups, [&](const auto &group) {
           return group.size() == family.groups.front().size();
         });
}

size_t Compositions::ranksTogether() const {
  const RankGroups &groups = problem.family.groups;
  return groups.empty() ? problem.topology.numRanks() : groups.front().size();
}

/// True if an all_gather of as many steps, whose arrivals are added up, may be
/// as cheap as two of fewer steps. Each rank gets as much as all others have,
/// where a sum takes twice that of one.
bool Compositions::isGatherTried() const {
  constexpr size_t few = 4;
  return ranksTogether() <= few;
}

/// What programs say about the parts.
void Compositions::boundParts(uint64_t work) {
  auto boundsOn = [&](const Topology &topology) {
    LeastCosts least(1);
    Result<Collective> smallest =
        smallestCollective(gatherFamily(), topology.numRanks());
    std::optional<LowerBounds> bounds;
    if (smallest)
      bounds.emplace(topology, *smallest);
    LowerBoundOptions options{problem.limitsOf(work)};
    for (unsigned steps = 1; steps <= problem.options.maxSteps; ++steps) {
      least.push_back(0);
      Result<LowerBound> bound =
          bounds ? bounds->at(steps, options) : Error{"no collective"};
      if (bound && bound->value)
        least.back() = bound->value->toDouble();
      else if (bound)
        least.back().reset();
    }
    return least;
  };
  leastOfGathers = boundsOn(problem.topology);
  leastOnReversed = isOwnReverse(problem.topology)
                        ? leastOfGathers
                        : boundsOn(problem.topology.reversed());
}

/// False if no composition of `steps` steps can be cheaper than `known`, or
/// there is none. Programs of many ranks take seconds, which this is not worth.
bool Compositions::mayBeBelow(const std::optional<Rational> &known,
                              unsigned steps, uint64_t work) {
  constexpr double slack = 1e-9; // of sums of fractions that are not exact
  if (problem.hasManyRanks())
    return true;
  if (leastOfGathers.empty())
    boundParts(work);
  auto isBelow = [&](double least) {
    return !known || least < known->toDouble() * (1 + slack);
  };
  if (std::optional<double> least = leastOfGathers[steps];
      isGatherTried() && least && isBelow(*least))
    return true;
  for (unsigned first = 1; first < steps; ++first) {
    std::optional<double> before = leastOnReversed[first],
                          after = leastOfGathers[steps - first];
    if (before && after &&
        isBelow((*before + *after) / double(ranksTogether())))
      return true;
  }
  return false;
}

void Compositions::findParts(uint64_t work) {
  hasParts = true;
  // Where searches for parts are in vain, trees are put together.
  if (problem.isLeftToTrees(/*hasSchedule=*/false))
    return;
  FrontierOptions options = problem.options;
  options.maxSteps -= isGatherTried() ? 0 : 1;
  options.k.reset();
  options.watch = nullptr;
  options.improved = nullptr;
  options.trees = nullptr;
  options.probeWork = options.stepWork = work;
  auto search = [&](const Topology &topology) {
    options.timeoutSeconds = problem.deadline.remainingLimit();
    Result<Frontier> frontier =
        searchFrontier(topology, gatherFamily(), options);
    return frontier ? std::move(frontier->points)
                    : std::vector<FrontierPoint>();
  };
  allGathers = search(problem.topology);
  onReversed = isOwnReverse(problem.topology)
                   ? allGathers
                   : search(problem.topology.reversed());
}

Result<Implementation>
Compositions::implement(const FrontierPoint &allGather) const {
  Result<Collective> gather =
      gatherFamily().make(problem.topology.numRanks(), allGather.chunks);
  if (!gather)
    return Error{gather.error()};
  return Implementation{std::move(*gather), allGather.schedule.get()};
}

/// The all_gather of `steps` steps, with what arrives added up.
std::optional<FrontierPoint> Compositions::gathered(unsigned steps) const {
  for (const FrontierPoint &gather : allGathers) {
    if (gather.steps != steps || !isGatherTried())
      continue;
    Result<Implementation> whole = implement(gather);
    Result<Implementation> sum =
        whole ? sumOnArrival(*whole) : Error{whole.error()};
    if (!sum || checkSchedule(problem.topology, sum->collective, sum->schedule))
      return std::nullopt;
    return FrontierPoint{gather.chunks,
                         steps,
                         gather.rounds,
                         std::move(sum->schedule),
                         "compose/" + gather.engine,
                         gather.seconds,
                         nullptr};
  }
  return std::nullopt;
}

/// Their C made the same.
std::optional<FrontierPoint>
Compositions::join(const FrontierPoint &first,
                   const FrontierPoint &second) const {
  uint64_t chunks = std::lcm(uint64_t(first.chunks), second.chunks);
  if (chunks * ranksTogether() > FrontierOptions::maxMaxChunks)
    return std::nullopt;
  Result<Implementation> before = implement(first), after = implement(second);
  if (!before || !after)
    return std::nullopt;
  Result<Implementation> joined = composeAllReduce(*before, *after);
  if (!joined ||
      checkSchedule(problem.topology, joined->collective, joined->schedule))
    return std::nullopt;
  unsigned rounds = joined->schedule.rounds();
  return FrontierPoint{joined->collective.chunks(),
                       first.steps + second.steps,
                       rounds,
                       std::move(joined->schedule),
                       "compose/" + second.engine,
                       first.seconds + second.seconds,
                       nullptr};
}

std::optional<FrontierPoint> Compositions::exchange(unsigned steps) {
  if (!isPlainAllReduce(problem))
    return std::nullopt;
  return steps == 1 ? exchangeOnce(problem) : products.at(steps);
}

std::optional<FrontierPoint>
Compositions::at(unsigned steps, const std::optional<Rational> &known,
                 uint64_t work) {
  if (steps == 1 || !isComposed() ||
      (!hasParts && !mayBeBelow(known, steps, work)))
    return exchange(steps);
  if (!hasParts)
    findParts(work);
  using Pair = std::pair<const FrontierPoint *, const FrontierPoint *>;
  std::vector<Pair> pairs;
  for (const FrontierPoint &first : onReversed)
    for (const FrontierPoint &second : allGathers)
      if (first.steps + second.steps == steps)
        pairs.emplace_back(&first, &second);
  auto cost = [](const Pair &pair) {
    return pair.first->bandwidth().toDouble() +
           pair.second->bandwidth().toDouble();
  };
  std::ranges::stable_sort(pairs, {}, cost);
  std::optional<FrontierPoint> best = exchange(steps);
  for (auto [first, second] : pairs)
    if (std::optional<FrontierPoint> point = join(*first, *second)) {
      if (!best || !(best->bandwidth() < point->bandwidth()))
        best = std::move(point);
      break;
    }
  if (std::optional<FrontierPoint> sum = gathered(steps);
      sum && (!best || sum->bandwidth() < best->bandwidth()))
    best = std::move(sum);
  return best;
}
