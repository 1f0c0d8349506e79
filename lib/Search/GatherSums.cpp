//===- GatherSums.cpp - All_reduces made of all_gathers -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GatherSums.h"

#include "Solver/Constants.h"
#include "Solver/Quotient.h"

#include "sccl/Model/GatheredSums.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

CollectiveFamily GatherSums::gatherFamily() const {
  return {CollectiveKind::AllGather, 0, problem.family.groups};
}

size_t GatherSums::ranksTogether() const {
  const RankGroups &groups = problem.family.groups;
  return groups.empty() ? problem.topology.numRanks() : groups.front().size();
}

bool GatherSums::isAddedOnArrival() const {
  return ranksTogether() <= tuned::mostAddedOnArrival();
}

/// In groups of different sizes their C would differ. Where no rank relays for
/// others, engines find what two all_gathers make.
bool GatherSums::isTried() const {
  return isAsked(Maker::gather_sums) &&
         problem.family.kind == CollectiveKind::AllReduce &&
         (isAddedOnArrival() || problem.mayRelay()) &&
         std::ranges::all_of(problem.family.groups, [&](const auto &group) {
           return group.size() == ranksTogether();
         });
}

/// Programs of many ranks take seconds, which this is not worth.
bool GatherSums::mayBeBelow(const Rational &known, unsigned steps,
                            uint64_t work) const {
  Result<Collective> smallest =
      smallestCollective(gatherFamily(), problem.topology.numRanks());
  if (problem.hasManyRanks() || problem.mayRelay() || !smallest)
    return true;
  Result<LowerBound> bound =
      lowerBound(problem.topology, *smallest, steps,
                 LowerBoundOptions{problem.limitsOf(work)});
  return !bound || (bound->value && *bound->value < known);
}

void GatherSums::findGathers(uint64_t work) {
  FrontierOptions options = problem.options;
  options.k.reset();
  options.watch = nullptr;
  options.improved = nullptr;
  options.trees = nullptr;
  options.probeWork = options.stepWork = work;
  auto search = [&](const Topology &topology) {
    options.timeoutSeconds = problem.deadline.remainingLimit();
    Result<Frontier> frontier =
        searchFrontier(topology, gatherFamily(), options);
    return frontier ? std::move(frontier->points) : Points();
  };
  gathers = search(problem.topology);
  if (problem.mayRelay())
    onReversed = isOwnReverse(problem.topology)
                     ? *gathers
                     : search(problem.topology.reversed());
}

std::optional<FrontierPoint>
GatherSums::makePoint(Result<Implementation> sum,
                      const FrontierPoint &gather) const {
  if (!sum)
    return std::nullopt;
  return checkedPoint(problem.topology, std::move(*sum),
                      "compose/" + gather.engine, gather.seconds);
}

std::optional<FrontierPoint> GatherSums::addedOnArrival(unsigned steps) const {
  auto gather = std::ranges::find(*gathers, steps, &FrontierPoint::steps);
  if (gather == gathers->end() || !isAddedOnArrival())
    return std::nullopt;
  Result<Implementation> whole =
      gather->implement(gatherFamily(), problem.topology.numRanks());
  return makePoint(whole ? sumOnArrival(*whole) : Error{whole.error()},
                   *gather);
}

std::optional<FrontierPoint> GatherSums::joined(unsigned steps) const {
  struct Pair {
    const FrontierPoint *before, *after;
    double cost() const {
      return before->bandwidth().toDouble() + after->bandwidth().toDouble();
    }
  };
  std::vector<Pair> pairs;
  for (const FrontierPoint &before : onReversed)
    for (const FrontierPoint &after : *gathers)
      if (before.steps + after.steps == steps &&
          std::lcm(uint64_t(before.chunks), uint64_t(after.chunks)) *
                  ranksTogether() <=
              FrontierOptions::maxMaxChunks)
        pairs.push_back({&before, &after});
  auto best = std::ranges::min_element(pairs, {}, &Pair::cost);
  if (best == pairs.end())
    return std::nullopt;
  const CollectiveFamily family = gatherFamily();
  unsigned ranks = problem.topology.numRanks();
  Result<Implementation> before = best->before->implement(family, ranks),
                         after = best->after->implement(family, ranks);
  if (!before || !after)
    return std::nullopt;
  return makePoint(composeAllReduce(*before, *after), *best->after);
}

std::optional<FrontierPoint>
GatherSums::at(unsigned steps, const std::optional<Rational> &known,
               uint64_t work) {
  if (!isTried() || (!gathers && known && !mayBeBelow(*known, steps, work)))
    return std::nullopt;
  if (!gathers)
    findGathers(work);
  std::optional<FrontierPoint> one = addedOnArrival(steps), two = joined(steps);
  bool isTwo = two && (!one || two->bandwidth() < one->bandwidth());
  return isTwo ? two : one;
}
