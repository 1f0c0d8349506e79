//===- RanksByChunk.cpp - Who has which chunk, chunk by chunk -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/RanksByChunk.h"

using namespace sccl;

RanksByChunk::RanksByChunk(const RankChunkSet &set) : set(set) {
  constexpr uint64_t mostPairs = uint64_t(1) << 22;
  uint64_t pairs = set.numChunks();
  for (unsigned rank = 0; rank < set.numRanks(); ++rank)
    pairs += set.count(rank);
  isListed = pairs <= mostPairs;
  if (!isListed)
    return;
  lists.resize(set.numChunks());
  for (unsigned rank = 0; rank < set.numRanks(); ++rank)
    for (unsigned chunk : set.chunksOf(rank))
      lists[chunk].push_back(rank);
}

std::map<ChunkEnds, unsigned> sccl::countByEnds(const Collective &collective) {
  std::map<ChunkEnds, unsigned> counts;
  RanksByChunk before(collective.pre()), after(collective.post());
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    ++counts[{before[chunk], after[chunk]}];
  return counts;
}

void sccl::forEachRoute(const Collective &collective,
                        const RouteVisitor &visit) {
  ChunkEnds last;
  RanksByChunk before(collective.pre()), after(collective.post());
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    ChunkEnds ends(before[chunk], after[chunk]);
    if (ends == last)
      continue;
    if (!collective.combining())
      visit(ends.first, ends.second);
    else
      for (unsigned rank : ends.first)
        visit({rank}, ends.second);
    last = std::move(ends);
  }
}
