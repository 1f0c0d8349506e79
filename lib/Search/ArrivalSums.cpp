//===- ArrivalSums.cpp - All_gathers whose arrivals are added up ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArrivalSums.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/GatheredSums.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>

using namespace sccl;

CollectiveFamily ArrivalSums::gatherFamily() const {
  return {CollectiveKind::AllGather, 0, problem.family.groups};
}

/// In groups of different sizes their C would differ.
bool ArrivalSums::isTried() const {
  constexpr size_t few = 4;
  const RankGroups &groups = problem.family.groups;
  size_t ranks =
      groups.empty() ? problem.topology.numRanks() : groups.front().size();
  return isAsked(Maker::arrival_sums) && ranks <= few &&
         problem.family.kind == CollectiveKind::AllReduce &&
         std::ranges::all_of(
             groups, [&](const auto &group) { return group.size() == ranks; });
}

/// Programs of many ranks take seconds, which this is not worth.
bool ArrivalSums::mayBeBelow(const Rational &known, unsigned steps,
                             uint64_t work) const {
  Result<Collective> smallest =
      smallestCollective(gatherFamily(), problem.topology.numRanks());
  if (problem.hasManyRanks() || !smallest)
    return true;
  Result<LowerBound> bound =
      lowerBound(problem.topology, *smallest, steps,
                 LowerBoundOptions{problem.limitsOf(work)});
  return !bound || (bound->value && *bound->value < known);
}

void ArrivalSums::findGathers(uint64_t work) {
  FrontierOptions options = problem.options;
  options.k.reset();
  options.watch = nullptr;
  options.improved = nullptr;
  options.trees = nullptr;
  options.probeWork = options.stepWork = work;
  options.timeoutSeconds = problem.deadline.remainingLimit();
  Result<Frontier> frontier =
      searchFrontier(problem.topology, gatherFamily(), options);
  gathers.emplace();
  if (frontier)
    gathers = std::move(frontier->points);
}

std::optional<FrontierPoint>
ArrivalSums::at(unsigned steps, const std::optional<Rational> &known,
                uint64_t work) {
  if (!isTried() || (!gathers && known && !mayBeBelow(*known, steps, work)))
    return std::nullopt;
  if (!gathers)
    findGathers(work);
  auto gather = std::ranges::find(*gathers, steps, &FrontierPoint::steps);
  if (gather == gathers->end())
    return std::nullopt;
  Result<Collective> collective =
      gatherFamily().make(problem.topology.numRanks(), gather->chunks);
  if (!collective)
    return std::nullopt;
  Result<Implementation> sum =
      sumOnArrival({std::move(*collective), gather->schedule.get()});
  if (!sum || checkSchedule(problem.topology, sum->collective, sum->schedule))
    return std::nullopt;
  return FrontierPoint{gather->chunks,
                       steps,
                       gather->rounds,
                       std::move(sum->schedule),
                       "compose/" + gather->engine,
                       gather->seconds,
                       nullptr};
}
