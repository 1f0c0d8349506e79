//===- RandomInstance.h - Random topologies and collectives -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same sequence of numbers gives the same instances, on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_DATA_RANDOMINSTANCE_H
#define SCCL_TEST_DATA_RANDOMINSTANCE_H

#include "sccl/Model/Instance.h"

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

namespace sccl::test {

using Random = std::mt19937;

/// What `made` holds. Ends the process if it failed: what is made here is
/// right.
template <typename T> T must(Result<T> made) {
  if (made)
    return std::move(*made);
  std::fprintf(stderr, "random instance: %s\n", made.error().c_str());
  std::abort();
}

/// 2 to `maxRanks` ranks: a cycle through all of them, so that they are
/// connected, and random links.
inline Topology randomTopology(Random &random, unsigned maxRanks) {
  unsigned numRanks = 2 + random() % (maxRanks - 1);
  Topology topology("machine", numRanks);
  std::vector<unsigned> order(numRanks);
  std::iota(order.begin(), order.end(), 0u);
  for (unsigned i = numRanks; i-- > 1;)
    std::swap(order[i], order[random() % (i + 1)]);
  std::vector<std::vector<bool>> linked(numRanks, std::vector<bool>(numRanks));
  for (unsigned i = 0; i < numRanks; ++i)
    linked[order[i]][order[(i + 1) % numRanks]] = true;
  bool symmetric = random() % 2;
  for (unsigned src = 0; src < numRanks; ++src)
    for (unsigned dst = 0; dst < numRanks; ++dst) {
      if (linked[src][dst] && symmetric)
        linked[dst][src] = true;
      if (src != dst && random() % 4 == 0)
        linked[src][dst] = true;
    }
  for (unsigned src = 0; src < numRanks; ++src)
    for (unsigned dst = 0; dst < numRanks; ++dst)
      if (src != dst && linked[src][dst])
        must(topology.addLink(src, dst, 1 + random() % 5 / 3));
  return topology;
}

/// Limits `links`, unless they are limited already: IR takes one limit for each
/// set of links.
inline void addLimit(Topology &topology, const std::vector<unsigned> &links,
                     unsigned bandwidth) {
  for (const BandwidthLimit &limit : topology.limits())
    if (limit.links == links)
      return;
  if (!links.empty())
    must(topology.addLimit(links, bandwidth));
}

/// Adds, to one topology in three, limits on ports or on any sets of links.
inline void addSharedLimits(Random &random, Topology &topology) {
  unsigned kind = random() % 6;
  if (kind == 0)
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
      addLimit(topology, topology.outLinks(rank), 1 + random() % 2);
      addLimit(topology, topology.inLinks(rank), 1 + random() % 2);
    }
  if (kind == 1) {
    std::vector<unsigned> links;
    for (unsigned link = 0; link < topology.links().size(); ++link)
      if (random() % 2)
        links.push_back(link);
    addLimit(topology, links, 1 + random() % 3);
  }
}

/// Chunks anywhere that are to go anywhere.
inline Collective randomCustom(Random &random, unsigned numRanks) {
  unsigned numChunks = 1 + random() % 4;
  RankChunkSet pre(numRanks, numChunks), post(numRanks, numChunks);
  for (unsigned chunk = 0; chunk < numChunks; ++chunk) {
    pre.insert(random() % numRanks, chunk);
    if (random() % 3 == 0)
      pre.insert(random() % numRanks, chunk);
    for (unsigned rank = 0; rank < numRanks; ++rank)
      if (random() % 2)
        post.insert(rank, chunk);
  }
  return must(Collective::makeCustom("moves", 1, false, pre, post));
}

/// A collective that only moves chunks.
inline Collective randomCollective(Random &random, unsigned numRanks) {
  constexpr CollectiveKind kinds[] = {
      CollectiveKind::AllGather, CollectiveKind::AllToAll,
      CollectiveKind::Broadcast, CollectiveKind::Gather,
      CollectiveKind::Scatter,   CollectiveKind::Custom,
  };
  CollectiveKind kind = kinds[random() % std::size(kinds)];
  if (kind == CollectiveKind::Custom)
    return randomCustom(random, numRanks);
  unsigned chunks = 1 + random() % 4;
  if (sendsOneSegmentPerRank(kind))
    chunks = numRanks * (1 + chunks / 4);
  return must(Collective::make(kind, numRanks, chunks, random() % numRanks));
}

/// A sum of any contributors in any places.
inline Collective randomSum(Random &random, unsigned numRanks) {
  unsigned numChunks = 1 + random() % 2;
  RankChunkSet pre(numRanks, numChunks), post(numRanks, numChunks);
  for (unsigned chunk = 0; chunk < numChunks; ++chunk) {
    pre.insert(random() % numRanks, chunk);
    for (unsigned rank = 0; rank < numRanks; ++rank) {
      if (random() % 2)
        pre.insert(rank, chunk);
      if (random() % 2)
        post.insert(rank, chunk);
    }
  }
  return must(Collective::makeCustom("sum", 1, true, pre, post));
}

/// A collective that reduces.
inline Collective randomSumOf(Random &random, unsigned numRanks) {
  constexpr CollectiveKind kinds[] = {
      CollectiveKind::Reduce, CollectiveKind::ReduceScatter,
      CollectiveKind::AllReduce, CollectiveKind::Custom};
  CollectiveKind kind = kinds[random() % std::size(kinds)];
  unsigned chunks = 1 + random() % 2;
  if (kind == CollectiveKind::ReduceScatter)
    chunks = numRanks;
  if (kind == CollectiveKind::Custom)
    return randomSum(random, numRanks);
  return must(Collective::make(kind, numRanks, chunks, random() % numRanks));
}

} // namespace sccl::test

#endif // SCCL_TEST_DATA_RANDOMINSTANCE_H
