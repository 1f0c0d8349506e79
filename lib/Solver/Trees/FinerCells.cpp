//===- FinerCells.cpp - What to tell apart next ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FinerCells.h"

#include "Solver/Constants.h"

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

/// Those ranks of `cell` for which isApart(rank), asked in order, told apart
/// from the rest.
template <typename Predicate>
static Refinement split(const Topology &topology, const Refinement &cells,
                        unsigned cell, Predicate isApart) {
  std::vector<uint64_t> ranks,
      limits(cells.limits.classOf.begin(), cells.limits.classOf.end());
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    unsigned own = cells.ranks.classOf[rank];
    ranks.push_back(2 * uint64_t(own) + (own == cell && isApart(rank)));
  }
  return refine(topology, ranks, limits);
}

static Refinement halved(const Topology &topology, const Refinement &cells,
                         unsigned cell) {
  unsigned left = cells.ranks.sizes[cell] / 2;
  return split(topology, cells, cell, [&](unsigned) {
    bool isApart = left > 0;
    left -= isApart;
    return isApart;
  });
}

std::optional<Refinement>
trees::cellsByPosition(const Topology &topology, const Refinement &cells,
                       const std::vector<unsigned> &positions) {
  std::optional<unsigned> largest;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    unsigned cell = cells.ranks.classOf[rank];
    bool isMixed = positions[rank] != positions[cells.ranks.firsts[cell]];
    if (isMixed &&
        (!largest || cells.ranks.sizes[cell] > cells.ranks.sizes[*largest]))
      largest = cell;
  }
  if (!largest)
    return std::nullopt;
  unsigned position = positions[cells.ranks.firsts[*largest]];
  return split(topology, cells, *largest,
               [&](unsigned rank) { return positions[rank] == position; });
}

std::optional<Refinement> trees::finerCells(const Topology &topology,
                                            const Refinement &cells,
                                            bool inHalves) {
  std::optional<unsigned> cell = smallestOfSeveral(cells.ranks);
  if (!cell)
    return std::nullopt;
  if (inHalves && cells.ranks.sizes[*cell] > tuned::mostOneByOne())
    return halved(topology, cells, *cell);
  return refine(topology, cells, {cells.ranks.firsts[*cell]});
}
