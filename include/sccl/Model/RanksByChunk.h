//===- RanksByChunk.h - Who has which chunk, chunk by chunk -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_RANKSBYCHUNK_H
#define SCCL_MODEL_RANKSBYCHUNK_H

#include "sccl/Model/Collective.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace sccl {

/// `RankChunkSet::ranksOf` for all chunks. Where the set is not too large, its
/// rows are read once, which is faster by the number of ranks that do not have
/// a chunk.
class RanksByChunk {
public:
  /// `set` must outlive this, and not change.
  explicit RanksByChunk(const RankChunkSet &set);
  /// Ascending; good until the next call.
  const std::vector<unsigned> &operator[](unsigned chunk) const {
    if (!isListed)
      single = set.ranksOf(chunk);
    return isListed ? lists[chunk] : single;
  }

private:
  const RankChunkSet &set;
  bool isListed;
  std::vector<std::vector<unsigned>> lists;
  mutable std::vector<unsigned> single;
};

/// The ranks that have a chunk before and after, both ascending.
using ChunkEnds = std::pair<std::vector<unsigned>, std::vector<unsigned>>;

/// How many chunks of `collective` go between the same ranks.
std::map<ChunkEnds, unsigned> countByEnds(const Collective &collective);

using RouteVisitor =
    std::function<void(const std::vector<unsigned> &origins,
                       const std::vector<unsigned> &destinations)>;

/// Calls `visit` with the ranks that a chunk may come from, of which the
/// nearest counts, and those that it must get to. Of a collective that
/// combines, each contributor counts, and is visited alone. Neighbouring chunks
/// that are alike are visited once.
void forEachRoute(const Collective &collective, const RouteVisitor &visit);

} // namespace sccl

#endif // SCCL_MODEL_RANKSBYCHUNK_H
