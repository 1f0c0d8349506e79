//===- FinerCells.cpp - What to tell apart next ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FinerCells.h"

using namespace sccl;
using namespace sccl::trees;

/// The smallest cell of several ranks.
static std::optional<unsigned> smallestOfSeveral(const Classes &ranks) {
  std::optional<unsigned> best;
  for (unsigned cell = 0; cell < ranks.count(); ++cell)
    if (ranks.sizes[cell] > 1 &&
        (!best || ranks.sizes[cell] < ranks.sizes[*best]))
      best = cell;
  return best;
}

/// Half of `cell` told apart from the rest.
static Refinement halved(const Topology &topology, const Refinement &cells,
                         unsigned cell) {
  std::vector<uint64_t> ranks,
      limits(cells.limits.classOf.begin(), cells.limits.classOf.end());
  unsigned left = cells.ranks.sizes[cell] / 2;
  for (unsigned other : cells.ranks.classOf) {
    bool isApart = other == cell && left > 0;
    left -= isApart;
    ranks.push_back(2 * uint64_t(other) + isApart);
  }
  return refine(topology, ranks, limits);
}

std::optional<Refinement> trees::finerCells(const Topology &topology,
                                            const Refinement &cells,
                                            bool inHalves) {
  constexpr unsigned mostOneByOne = 16;
  std::optional<unsigned> cell = smallestOfSeveral(cells.ranks);
  if (!cell)
    return std::nullopt;
  if (inHalves && cells.ranks.sizes[*cell] > mostOneByOne)
    return halved(topology, cells, *cell);
  return refine(topology, cells, {cells.ranks.firsts[*cell]});
}
