//===- Windows.cpp - When a chunk can be where ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

#include <algorithm>

using namespace sccl;

//===----------------------------------------------------------------------===//
// HopDistances
//===----------------------------------------------------------------------===//

const std::vector<unsigned> &
HopDistances::from(const std::vector<unsigned> &sources) {
  return lookup(forwardCache, sources, /*backward=*/false);
}

const std::vector<unsigned> &
HopDistances::to(const std::vector<unsigned> &targets) {
  return lookup(backwardCache, targets, /*backward=*/true);
}

const std::vector<unsigned> &
HopDistances::lookup(Cache &cache, const std::vector<unsigned> &ranks,
                     bool backward) {
  auto found = cache.find(ranks);
  if (found != cache.end())
    return found->second;
  // Forget everything rather than grow without bound; chunks come in an order
  // in which the same sets follow one another.
  constexpr size_t maxEntries = size_t(1) << 24;
  if (cache.size() * topology.numRanks() > maxEntries)
    cache.clear();
  return cache
      .emplace(ranks, backward ? topology.distancesTo(ranks)
                               : topology.distancesFrom(ranks))
      .first->second;
}

//===----------------------------------------------------------------------===//
// WindowPlan
//===----------------------------------------------------------------------===//

WindowPlan::WindowPlan(const Instance &instance, uint64_t maxVariables,
                       const std::function<bool()> &stop)
    : classIndex(instance.collective.numChunks(), -1),
      firstAt(instance.topology.numRanks(), Topology::unreachable) {
  using RankSets = std::pair<std::vector<unsigned>, std::vector<unsigned>>;
  std::map<RankSets, int> known;
  HopDistances distances(instance.topology);
  const Collective &collective = instance.collective;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    if (variables > maxVariables || stop())
      return;
    RankSets sets(collective.pre().ranksOf(chunk), {});
    for (unsigned rank : collective.post().ranksOf(chunk))
      if (!collective.pre().contains(rank, chunk))
        sets.second.push_back(rank);
    if (sets.second.empty())
      continue;
    auto [entry, isNew] = known.try_emplace(std::move(sets), -1);
    if (isNew)
      entry->second = addClass(instance, distances, entry->first.first,
                               entry->first.second);
    classIndex[chunk] = entry->second;
    variables += classVariables[entry->second];
  }
}

/// Returns the index of the new class.
int WindowPlan::addClass(const Instance &instance, HopDistances &distances,
                         const std::vector<unsigned> &sources,
                         const std::vector<unsigned> &destinations) {
  const std::vector<unsigned> &before = distances.from(sources);
  const std::vector<unsigned> &after = distances.to(destinations);
  ChunkClass result{sources, {}, static_cast<unsigned>(destinations.size())};
  for (unsigned rank = 0; rank < instance.topology.numRanks(); ++rank) {
    if (before[rank] == 0)
      continue;
    bool wanted = after[rank] == 0;
    bool useful = before[rank] <= instance.steps &&
                  after[rank] <= instance.steps - before[rank];
    allReachable &= useful || !wanted;
    if (useful)
      result.windows.push_back(
          {rank, before[rank], instance.steps - after[rank], wanted});
  }
  classVariables.push_back(countVariables(instance.topology, result));
  classes.push_back(std::move(result));
  return static_cast<int>(classes.size()) - 1;
}

uint64_t WindowPlan::countVariables(const Topology &topology,
                                    const ChunkClass &chunkClass) {
  for (unsigned source : chunkClass.sources)
    firstAt[source] = 0;
  for (const Window &window : chunkClass.windows)
    firstAt[window.rank] = window.first;

  uint64_t count = 0;
  for (const Window &window : chunkClass.windows) {
    count += window.last - window.first + 1;
    for (unsigned link : topology.inLinks(window.rank))
      if (unsigned first = firstAt[topology.links()[link].src];
          first < window.last) // sends start in step first + 1
        count += window.last - first;
  }

  for (unsigned source : chunkClass.sources)
    firstAt[source] = Topology::unreachable;
  for (const Window &window : chunkClass.windows)
    firstAt[window.rank] = Topology::unreachable;
  return count;
}
