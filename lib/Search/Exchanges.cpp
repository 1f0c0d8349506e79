//===- Exchanges.cpp - Sums by all-to-all exchanges -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Composition.h"

#include <algorithm>
#include <array>

using namespace sccl;

static bool isPlainAllReduce(const FrontierProblem &problem) {
  return problem.family.isPlain() &&
         problem.family.kind == CollectiveKind::AllReduce;
}

/// `steps` as a point; nothing if that is not an all_reduce of `chunks` chunks.
static std::optional<FrontierPoint>
makePoint(const FrontierProblem &problem, unsigned chunks, Schedule schedule) {
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
  return makePoint(problem, 1, std::move(schedule));
}

/// The links out of `rank`, in two parts: those to ranks that have a link from
/// `beside`, to which there is one, or are it; and the others.
static std::array<std::vector<unsigned>, 2>
partsBeside(const Topology &topology, unsigned rank, unsigned beside) {
  std::array<std::vector<unsigned>, 2> parts;
  for (unsigned link : topology.outLinks(rank)) {
    unsigned to = topology.links()[link].dst;
    bool isBeside = to == beside || topology.findLink(beside, to);
    parts[isBeside ? 0 : 1].push_back(link);
  }
  return parts;
}

/// The links within sets of either kind; nothing if there is one kind only.
/// Nobody has looked whether they make a grid.
static std::optional<std::array<std::vector<unsigned>, 2>>
linksOfGrid(const Topology &topology) {
  std::array<std::vector<unsigned>, 2> kinds;
  if (topology.outLinks(0).empty())
    return std::nullopt;
  // Of each rank one of the first kind.
  std::vector<unsigned> beside(topology.numRanks(), Topology::unreachable);
  beside[0] = topology.links()[topology.outLinks(0).front()].dst;
  std::vector<unsigned> queue = {0};
  for (size_t next = 0; next < queue.size(); ++next) {
    unsigned rank = queue[next];
    auto parts = partsBeside(topology, rank, beside[rank]);
    for (unsigned kind : {0u, 1u}) {
      if (parts[kind].empty())
        return std::nullopt;
      for (unsigned link : parts[kind]) {
        kinds[kind].push_back(link);
        unsigned to = topology.links()[link].dst;
        if (beside[to] != Topology::unreachable)
          continue;
        // In a grid, whoever is beside the one is beside the other.
        beside[to] = rank;
        if (kind == 1)
          for (unsigned other : topology.outLinks(to))
            if (unsigned dst = topology.links()[other].dst;
                dst != rank && !topology.findLink(rank, dst))
              beside[to] = dst;
        queue.push_back(to);
      }
    }
  }
  return kinds;
}

std::optional<FrontierPoint>
sccl::exchangeTwice(const FrontierProblem &problem) {
  const Topology &topology = problem.topology;
  if (!isPlainAllReduce(problem) || topology.numRanks() < 4)
    return std::nullopt;
  auto kinds = linksOfGrid(topology);
  if (!kinds)
    return std::nullopt;
  Schedule schedule;
  for (unsigned at : {0u, 1u}) {
    Step &step = schedule.steps.emplace_back();
    for (unsigned chunk : {0u, 1u})
      for (unsigned link : (*kinds)[at ^ chunk])
        step.sends.push_back({chunk, topology.links()[link].src,
                              topology.links()[link].dst, SendAction::Reduce});
  }
  return makePoint(problem, 2, std::move(schedule));
}
