//===- Baselines.cpp - The ring algorithms of NCCL ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only all_gather and broadcast are built; the others are inverses of them on
// the rings turned round, and compositions.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Baselines.h"

#include "sccl/Model/Composition.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

static Ring turned(Ring ring) {
  std::reverse(ring.begin(), ring.end());
  return ring;
}

static std::vector<Ring> turned(std::vector<Ring> rings) {
  for (Ring &ring : rings)
    ring = turned(std::move(ring));
  return rings;
}

/// Why these are not rings of `topology`.
static std::optional<Error> checkRings(const Topology &topology,
                                       const std::vector<Ring> &rings) {
  if (rings.empty())
    return Error{"a ring algorithm needs at least 1 ring"};
  if (topology.numRanks() < 2)
    return Error{"a ring algorithm needs at least 2 ranks, got " +
                 std::to_string(topology.numRanks())};
  Ring all(topology.numRanks());
  std::iota(all.begin(), all.end(), 0u);
  for (const Ring &ring : rings) {
    Ring sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != all)
      return Error{"a ring must visit each of " +
                   std::to_string(topology.numRanks()) + " ranks once"};
    for (size_t i = 0; i < ring.size(); ++i) {
      unsigned src = ring[i], dst = ring[(i + 1) % ring.size()];
      if (!topology.findLink(src, dst))
        return Error{"a ring uses link " + linkText(src, dst) +
                     ", which topology '" + topology.name() +
                     "' does not have"};
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

/// Each rank passes on what it got last, on each ring one chunk of each rank.
static Result<Implementation> makeAllGather(unsigned numRanks,
                                            const std::vector<Ring> &rings) {
  unsigned chunks = static_cast<unsigned>(rings.size());
  Result<Collective> collective =
      Collective::make(CollectiveKind::AllGather, numRanks, chunks);
  if (!collective)
    return Error{collective.error()};
  Schedule schedule;
  for (unsigned step = 0; step + 1 < numRanks; ++step) {
    Step &now = schedule.steps.emplace_back();
    for (unsigned i = 0; i < chunks; ++i)
      for (unsigned at = 0; at < numRanks; ++at) {
        unsigned source = rings[i][(at + numRanks - step) % numRanks];
        now.sends.push_back(
            {source * chunks + i, rings[i][at], rings[i][(at + 1) % numRanks]});
      }
  }
  schedule.normalize();
  return Implementation{std::move(*collective), std::move(schedule)};
}

/// The chunks of each ring leave the root one after another.
static Result<Implementation> makeBroadcast(unsigned numRanks,
                                            const std::vector<Ring> &rings,
                                            unsigned chunksPerRing,
                                            unsigned root) {
  uint64_t chunks = uint64_t(rings.size()) * chunksPerRing;
  if (chunks > Collective::maxPairs)
    return Error{std::to_string(chunks) + " chunks are more than " +
                 std::to_string(Collective::maxPairs)};
  Result<Collective> collective = Collective::make(
      CollectiveKind::Broadcast, numRanks, static_cast<unsigned>(chunks), root);
  if (!collective)
    return Error{collective.error()};
  Schedule schedule;
  schedule.steps.resize(numRanks - 2 + chunksPerRing);
  for (unsigned i = 0; i < rings.size(); ++i) {
    Ring ring = rings[i];
    std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), root),
                ring.end());
    for (unsigned j = 0; j < chunksPerRing; ++j)
      for (unsigned hop = 0; hop + 1 < numRanks; ++hop)
        schedule.steps[j + hop].sends.push_back(
            {i * chunksPerRing + j, ring[hop], ring[hop + 1]});
  }
  schedule.normalize();
  return Implementation{std::move(*collective), std::move(schedule)};
}

static Result<Implementation> invertIfMade(Result<Implementation> made) {
  return made ? invert(*made) : made;
}

static Result<Implementation> makeRings(unsigned numRanks,
                                        const std::vector<Ring> &rings,
                                        CollectiveKind kind,
                                        unsigned chunksPerRing, unsigned root) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return makeAllGather(numRanks, rings);
  case CollectiveKind::ReduceScatter:
    return invertIfMade(makeAllGather(numRanks, turned(rings)));
  case CollectiveKind::Broadcast:
    return makeBroadcast(numRanks, rings, chunksPerRing, root);
  case CollectiveKind::Reduce:
    return invertIfMade(
        makeBroadcast(numRanks, turned(rings), chunksPerRing, root));
  case CollectiveKind::AllReduce: {
    Result<Implementation> onReversed = makeAllGather(numRanks, turned(rings));
    Result<Implementation> allGather = makeAllGather(numRanks, rings);
    if (!onReversed || !allGather)
      return onReversed ? allGather : onReversed;
    return composeAllReduce(*onReversed, *allGather);
  }
  case CollectiveKind::AllToAll:
  case CollectiveKind::Gather:
  case CollectiveKind::Scatter:
  case CollectiveKind::Custom:
    break;
  }
  return Error{"there is no ring algorithm for " +
               std::string(collectiveName(kind))};
}

Result<Implementation> sccl::makeRingBaseline(const Topology &topology,
                                              const std::vector<Ring> &rings,
                                              CollectiveKind kind,
                                              unsigned chunksPerRing,
                                              unsigned root) {
  if (std::optional<Error> error = checkRings(topology, rings))
    return *error;
  Result<Implementation> made =
      makeRings(topology.numRanks(), rings, kind, chunksPerRing, root);
  if (made)
    fitRounds(made->schedule, topology);
  return made;
}
