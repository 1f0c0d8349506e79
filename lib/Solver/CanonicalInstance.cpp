//===- CanonicalInstance.cpp - One instance for all numberings ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CanonicalInstance.h"

#include "Model/CanonicalOrder.h"
#include "Solver/Constants.h"

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

static Permutation orderOf(const Topology &topology,
                           const Collective &collective) {
  // With many ranks the given order is often one along the machine, which finds
  // the rounds of many steps: a broadcast on line:300 took 2.7 s with it, and
  // no end was seen with bliss's.
  if (topology.numRanks() > tuned::mostCanonicalRanks())
    return {};
  if (!topology.switches().empty())
    return {};
  return canonicalOrder(topology, collective);
}

namespace {
/// A chunk, after the ranks that have it and those that are to have it.
struct PlacedChunk {
  std::vector<unsigned> before, after;
  unsigned chunk;
  auto operator<=>(const PlacedChunk &) const = default;
};
} // namespace

/// The chunks of `collective`, with the ranks that `order` makes of theirs, or
/// their own; chunks of the same ranks are neighbours.
static std::vector<PlacedChunk> placedChunks(const Collective &collective,
                                             const Permutation &order) {
  auto placesIn = [&](const RankChunkSet &set, unsigned chunk) {
    std::vector<unsigned> ranks = set.ranksOf(chunk);
    for (unsigned &rank : ranks)
      rank = order.empty() ? rank : order[rank];
    std::ranges::sort(ranks);
    return ranks;
  };
  std::vector<PlacedChunk> chunks;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    chunks.push_back({placesIn(collective.pre(), chunk),
                      placesIn(collective.post(), chunk), chunk});
  std::ranges::sort(chunks);
  return chunks;
}

static Collective renumber(const Collective &collective,
                           const Permutation &order) {
  unsigned ranks = collective.numRanks();
  if (collective.kind() != CollectiveKind::Custom)
    return *Collective::make(
        collective.kind(), ranks, collective.chunks(),
        isRooted(collective.kind()) ? order[collective.root()] : 0);
  RankChunkSet pre(ranks, collective.numChunks()), post = pre;
  unsigned number = 0;
  for (const PlacedChunk &chunk : placedChunks(collective, order)) {
    for (unsigned rank : chunk.before)
      pre.insert(rank, number);
    for (unsigned rank : chunk.after)
      post.insert(rank, number);
    ++number;
  }
  return *Collective::makeCustom(collective.name(), collective.chunks(),
                                 collective.combining(), std::move(pre),
                                 std::move(post));
}

CanonicalNumbers::CanonicalNumbers(const Topology &topology,
                                   const Collective &collective)
    : order(orderOf(topology, collective)), given(order.size()) {
  for (unsigned rank = 0; rank < order.size(); ++rank)
    given[order[rank]] = rank;
}

Topology CanonicalNumbers::of(const Topology &topology) const {
  return order.empty() ? topology : renumber(topology, order);
}

Collective CanonicalNumbers::of(const Collective &collective) const {
  return order.empty() ? collective : renumber(collective, order);
}

Instance CanonicalNumbers::of(const Instance &instance) const {
  return {of(instance.topology), of(instance.collective), instance.steps,
          instance.rounds, instance.order};
}

/// Roots come first in their groups.
CollectiveFamily CanonicalNumbers::of(CollectiveFamily family) const {
  if (order.empty())
    return family;
  if (family.defined)
    family.defined = std::make_shared<const Collective>(of(*family.defined));
  bool hasRoot = isRooted(family.kind);
  for (std::vector<unsigned> &group : family.groups) {
    for (unsigned &rank : group)
      rank = order[rank];
    if (hasRoot)
      std::swap(group[0], group[family.root]);
    std::sort(group.begin() + hasRoot, group.end());
  }
  std::ranges::sort(family.groups);
  family.root = hasRoot && family.groups.empty() ? order[family.root] : 0;
  return family;
}

Schedule CanonicalNumbers::original(Schedule schedule,
                                    const Collective &canonical,
                                    const Collective &given) const {
  if (order.empty())
    return schedule;
  std::vector<PlacedChunk> theirs = placedChunks(given, order),
                           own = placedChunks(canonical, {});
  std::vector<unsigned> chunks(own.size());
  for (size_t i = 0; i < own.size(); ++i)
    chunks[own[i].chunk] = theirs[i].chunk;
  for (Step &step : schedule.steps)
    for (Send &send : step.sends) {
      send.chunk = chunks[send.chunk];
      send.src = this->given[send.src];
      send.dst = this->given[send.dst];
    }
  schedule.normalize();
  return schedule;
}

Implementation CanonicalNumbers::original(Implementation canonical,
                                          const CollectiveFamily &given) const {
  auto &[collective, schedule] = canonical;
  Collective asGiven = *given.make(collective.numRanks(), collective.chunks());
  schedule = original(std::move(schedule), collective, asGiven);
  return {std::move(asGiven), std::move(schedule)};
}
