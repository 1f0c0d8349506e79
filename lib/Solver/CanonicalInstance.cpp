//===- CanonicalInstance.cpp - One instance for all numberings ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CanonicalInstance.h"

#include "Model/CanonicalOrder.h"

#include <algorithm>

using namespace sccl;

/// Links and limits in ascending order.
static Topology renumber(const Topology &topology, const Permutation &order) {
  struct Moved {
    unsigned src, dst, link;
    auto operator<=>(const Moved &) const = default;
  };
  std::vector<Moved> links;
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    auto [src, dst] = topology.links()[link];
    links.push_back({order[src], order[dst], link});
  }
  std::ranges::sort(links);
  Topology result(topology.name(), topology.numRanks());
  std::vector<unsigned> image(links.size());
  for (const Moved &moved : links)
    image[moved.link] = *result.addLink(moved.src, moved.dst);
  std::vector<std::pair<std::vector<unsigned>, unsigned>> limits;
  for (const BandwidthLimit &limit : topology.limits()) {
    auto &[set, bandwidth] = limits.emplace_back();
    for (unsigned link : limit.links)
      set.push_back(image[link]);
    std::ranges::sort(set);
    bandwidth = limit.bandwidth;
  }
  std::ranges::sort(limits);
  for (auto &[set, bandwidth] : limits)
    (void)*result.addLimit(std::move(set), bandwidth);
  return result;
}

static Permutation orderOf(const Instance &given) {
  const Collective &collective = given.collective;
  // With many ranks the given order is often one along the machine, which finds
  // the rounds of many steps: a broadcast on line:300 took 2.7 s with it, and no
  // end was seen with bliss's.
  constexpr unsigned mostRanks = 64;
  if (collective.kind() == CollectiveKind::Custom || collective.combining() ||
      collective.numRanks() > mostRanks)
    return {};
  std::optional<unsigned> root;
  if (isRooted(collective.kind()))
    root = collective.root();
  return canonicalOrder(given.topology, root);
}

static Instance renumber(const Instance &instance, const Permutation &order) {
  if (order.empty())
    return instance;
  const Collective &collective = instance.collective;
  bool hasRoot = isRooted(collective.kind());
  return {renumber(instance.topology, order),
          *Collective::make(collective.kind(), collective.numRanks(),
                            collective.chunks(),
                            hasRoot ? order[collective.root()] : 0),
          instance.steps, instance.rounds};
}

CanonicalInstance::CanonicalInstance(const Instance &instance)
    : order(orderOf(instance)), given(order.size()),
      renumbered(renumber(instance, order)) {
  for (unsigned rank = 0; rank < order.size(); ++rank)
    given[order[rank]] = rank;
}

/// Numbers of chunks as `Collective::make` documents them.
unsigned CanonicalInstance::originalChunk(unsigned chunk) const {
  const Collective &collective = renumbered.collective;
  unsigned perRank = collective.chunks();
  unsigned perPair = collective.chunksPerSegment();
  auto pairImage = [&](unsigned segments) {
    return given[segments / perPair] * perPair + segments % perPair;
  };
  switch (collective.kind()) {
  case CollectiveKind::AllGather:
  case CollectiveKind::Gather:
    return given[chunk / perRank] * perRank + chunk % perRank;
  case CollectiveKind::Scatter:
    return pairImage(chunk);
  case CollectiveKind::AllToAll:
    return given[chunk / perRank] * perRank + pairImage(chunk % perRank);
  default:
    return chunk;
  }
}

Schedule CanonicalInstance::original(Schedule schedule) const {
  if (order.empty())
    return schedule;
  for (Step &step : schedule.steps)
    for (Send &send : step.sends) {
      send.chunk = originalChunk(send.chunk);
      send.src = given[send.src];
      send.dst = given[send.dst];
    }
  schedule.normalize();
  return schedule;
}
