//===- Exchanges.cpp - Sums by all-to-all exchanges -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"

#include "sccl/Check/ScheduleChecker.h"

using namespace sccl;

bool sccl::isPlainAllReduce(const FrontierProblem &problem) {
  return problem.family.isPlain() &&
         problem.family.kind == CollectiveKind::AllReduce;
}

std::optional<FrontierPoint> sccl::pointOfSums(const FrontierProblem &problem,
                                               unsigned chunks,
                                               Schedule schedule) {
  const Topology &topology = problem.topology;
  Result<Collective> collective =
      Collective::make(CollectiveKind::AllReduce, topology.numRanks(), chunks);
  if (!collective)
    return std::nullopt;
  fitRounds(schedule, topology);
  schedule.normalize();
  if (checkSchedule(topology, *collective, schedule))
    return std::nullopt;
  unsigned rounds = schedule.rounds(), steps = unsigned(schedule.steps.size());
  return FrontierPoint{chunks,    steps, rounds, std::move(schedule),
                       "compose", 0,     nullptr};
}

std::optional<FrontierPoint>
sccl::exchangeOnce(const FrontierProblem &problem) {
  const Topology &topology = problem.topology;
  size_t ranks = topology.numRanks();
  if (!isPlainAllReduce(problem) ||
      topology.links().size() != ranks * (ranks - 1))
    return std::nullopt;
  Schedule schedule;
  Step &step = schedule.steps.emplace_back();
  for (const Link &link : topology.links())
    step.sends.push_back(
        {0, link.src, link.dst, SendAction::Reduce, SendPayload::Input});
  return pointOfSums(problem, 1, std::move(schedule));
}
