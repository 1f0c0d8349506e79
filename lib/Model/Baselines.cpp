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

static std::string linkText(unsigned src, unsigned dst) {
  return std::to_string(src) + " -> " + std::to_string(dst);
}

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

/// How often the rings use each link, if each visits every rank once.
static Result<std::vector<unsigned>> countUses(const Topology &topology,
                                               const std::vector<Ring> &rings) {
  std::vector<unsigned> uses(topology.links().size());
  for (const Ring &ring : rings) {
    Ring sorted = ring, all(topology.numRanks());
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0u);
    if (sorted != all)
      return Error{"a ring must visit each of " +
                   std::to_string(topology.numRanks()) + " ranks once"};
    for (size_t i = 0; i < ring.size(); ++i) {
      unsigned src = ring[i], dst = ring[(i + 1) % ring.size()];
      std::optional<unsigned> link = topology.findLink(src, dst);
      if (!link)
        return Error{"a ring uses link " + linkText(src, dst) +
                     ", which topology '" + topology.name() +
                     "' does not have"};
      ++uses[*link];
    }
  }
  return uses;
}

static std::optional<Error> checkRings(const Topology &topology,
                                       const std::vector<Ring> &rings) {
  if (rings.empty())
    return Error{"a ring algorithm needs at least 1 ring"};
  if (topology.numRanks() < 2)
    return Error{"a ring algorithm needs at least 2 ranks, got " +
                 std::to_string(topology.numRanks())};
  Result<std::vector<unsigned>> uses = countUses(topology, rings);
  if (!uses)
    return Error{uses.error()};
  for (const BandwidthLimit &limit : topology.limits()) {
    uint64_t load = 0;
    for (unsigned link : limit.links)
      load += (*uses)[link];
    if (load <= limit.bandwidth)
      continue;
    const Link &link = topology.links()[limit.links.front()];
    return Error{std::to_string(load) + " rings go through the limit on link " +
                 linkText(link.src, link.dst) +
                 (limit.links.size() > 1 ? " and others" : "") +
                 ", its bandwidth is " + std::to_string(limit.bandwidth)};
  }
  return std::nullopt;
}

/// True if the rings leave no bandwidth of any link unused.
static bool useAllLinks(const Topology &topology,
                        const std::vector<Ring> &rings) {
  Result<std::vector<unsigned>> uses = countUses(topology, rings);
  if (!uses)
    return false;
  for (unsigned link = 0; link < topology.links().size(); ++link)
    if ((*uses)[link] != topology.capacity(link))
      return false;
  return true;
}

Result<std::vector<Ring>> sccl::findRings(const Topology &topology) {
  Ring cycle(topology.numRanks());
  std::iota(cycle.begin(), cycle.end(), 0u);
  // The cycles of NVLinks in a DGX-1, two links wide and one link wide.
  Ring wide = {0, 1, 4, 5, 6, 7, 2, 3}, narrow = {0, 2, 1, 3, 6, 4, 7, 5};
  std::vector<Ring> dgx1 = {wide,         wide,   turned(wide),
                            turned(wide), narrow, turned(narrow)};
  std::vector<std::vector<Ring>> candidates = {
      {cycle, turned(cycle)}, {cycle}, {turned(cycle)}, std::move(dgx1)};
  for (std::vector<Ring> &rings : candidates)
    if (useAllLinks(topology, rings) && !checkRings(topology, rings))
      return std::move(rings);
  return Error{"no rings are known that use all links of topology '" +
               topology.name() + "'"};
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

Result<Implementation> sccl::makeRingBaseline(const Topology &topology,
                                              const std::vector<Ring> &rings,
                                              CollectiveKind kind,
                                              unsigned chunksPerRing,
                                              unsigned root) {
  if (std::optional<Error> error = checkRings(topology, rings))
    return *error;
  unsigned numRanks = topology.numRanks();
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
