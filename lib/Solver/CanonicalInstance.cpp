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

static Permutation orderOf(const Instance &given) {
  // With many ranks the given order is often one along the machine, which finds
  // the rounds of many steps: a broadcast on line:300 took 2.7 s with it, and
  // no end was seen with bliss's.
  if (given.collective.numRanks() > tuned::mostCanonicalRanks())
    return {};
  return canonicalOrder(given.topology, given.collective);
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

static Instance renumber(const Instance &instance, const Permutation &order) {
  if (order.empty())
    return instance;
  return {renumber(instance.topology, order),
          renumber(instance.collective, order), instance.steps,
          instance.rounds};
}

CanonicalInstance::CanonicalInstance(const Instance &instance)
    : order(orderOf(instance)), given(order.size()),
      renumbered(renumber(instance, order)) {
  for (unsigned rank = 0; rank < order.size(); ++rank)
    given[order[rank]] = rank;
  if (order.empty())
    return;
  std::vector<PlacedChunk> ofGiven = placedChunks(instance.collective, order),
                           own = placedChunks(renumbered.collective, {});
  givenChunks.resize(own.size());
  for (size_t i = 0; i < own.size(); ++i)
    givenChunks[own[i].chunk] = ofGiven[i].chunk;
}

Schedule CanonicalInstance::original(Schedule schedule) const {
  if (order.empty())
    return schedule;
  for (Step &step : schedule.steps)
    for (Send &send : step.sends) {
      send.chunk = givenChunks[send.chunk];
      send.src = given[send.src];
      send.dst = given[send.dst];
    }
  schedule.normalize();
  return schedule;
}
