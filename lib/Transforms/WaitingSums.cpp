//===- WaitingSums.cpp - Arrivals that wait for the rest of a sum ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WaitingSums.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::coll;

uint32_t
WaitingSums::placeOf(unsigned rank, unsigned chunk, SumPart part,
                     const Collective &collective, const PairTable &pairs,
                     llvm::function_ref<uint32_t(uint32_t count)> allocate) {
  auto [it, isNew] = places.try_emplace(pairs.number(rank, chunk));
  if (isNew) {
    unsigned end = chunk + 1;
    while (end % collective.chunksPerSegment() != 0 &&
           end < collective.numChunks() && ordered.isOrdered(rank, end) &&
           ordered.numPlaces(end) == ordered.numPlaces(chunk) &&
           !places.contains(pairs.number(rank, end)))
      ++end;
    unsigned count = end - chunk;
    it->second = {allocate(ordered.numPlaces(chunk) * count), chunk, count};
    for (unsigned next = chunk + 1; next < end; ++next)
      places[pairs.number(rank, next)] = it->second;
  }
  const Places &own = it->second;
  return own.slot + ordered.place(chunk, part) * own.chunks +
         (chunk - own.chunk);
}

WaitingSums::Parts WaitingSums::take(size_t pair) {
  Parts parts = std::move(waiting.extract(pair).mapped());
  llvm::sort(parts.values, [](const ChunkValue &a, const ChunkValue &b) {
    return a.part.first < b.part.first;
  });
  return parts;
}
