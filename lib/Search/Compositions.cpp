//===- Compositions.cpp - What known schedules make together --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compositions.h"

#include "Solver/Quotient.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Composition.h"
#include "sccl/Model/Scaling.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

void Compositions::findParts(uint64_t work) {
  hasParts = true;
  if (problem.family.kind != CollectiveKind::AllReduce ||
      problem.options.maxSteps < 2)
    return;
  FrontierOptions options = problem.options;
  options.maxSteps -= 1;
  options.k.reset();
  options.watch = nullptr;
  options.improved = nullptr;
  options.probeWork = options.stepWork = work;
  auto search = [&](const Topology &topology) {
    options.timeoutSeconds = problem.deadline.remainingLimit();
    Result<Frontier> frontier =
        searchFrontier(topology, {CollectiveKind::AllGather}, options);
    return frontier ? std::move(frontier->points)
                    : std::vector<FrontierPoint>();
  };
  allGathers = search(problem.topology);
  onReversed = isOwnReverse(problem.topology)
                   ? allGathers
                   : search(problem.topology.reversed());
}

/// Their C made the same.
std::optional<FrontierPoint>
Compositions::join(const FrontierPoint &first,
                   const FrontierPoint &second) const {
  uint64_t chunks = std::lcm(uint64_t(first.chunks), second.chunks);
  unsigned ranks = problem.topology.numRanks();
  if (chunks * ranks > FrontierOptions::maxMaxChunks)
    return std::nullopt;
  Result<Collective> gather =
      Collective::make(CollectiveKind::AllGather, ranks, unsigned(chunks));
  if (!gather)
    return std::nullopt;
  auto scaled = [&](const FrontierPoint &point) {
    unsigned factor = unsigned(chunks) / point.chunks;
    return Implementation{*gather, cutChunks(point.schedule, factor, factor)};
  };
  Result<Implementation> joined =
      composeAllReduce(scaled(first), scaled(second));
  if (!joined ||
      checkSchedule(problem.topology, joined->collective, joined->schedule))
    return std::nullopt;
  return FrontierPoint{joined->collective.chunks(),
                       first.steps + second.steps,
                       joined->schedule.rounds(),
                       std::move(joined->schedule),
                       "compose/" + second.engine,
                       first.seconds + second.seconds,
                       std::nullopt};
}

std::optional<FrontierPoint> Compositions::at(unsigned steps, uint64_t work) {
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
  for (auto [first, second] : pairs)
    if (std::optional<FrontierPoint> point = join(*first, *second))
      return point;
  return std::nullopt;
}
