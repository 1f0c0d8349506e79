//===- CellGraph.cpp - A topology as seen from some ranks -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CellGraph.h"

#include <optional>

using namespace sccl;
using namespace sccl::trees;

CellGraph::CellGraph(const Topology &topology, Refinement refinement,
                     const std::vector<unsigned> &sources, Direction direction)
    : topology(topology), cells(std::move(refinement)), theDirection(direction),
      sourceCells(cells.ranks.count()), in(cells.ranks.count()),
      out(cells.ranks.count()), members(cells.links.count()) {
  for (unsigned link = 0; link < topology.links().size(); ++link)
    members[cells.links.classOf[link]].push_back(link);
  for (unsigned source : sources)
    sourceCells[cells.ranks.classOf[source]] = true;
  for (unsigned cls = 0; cls < cells.links.count(); ++cls) {
    auto [src, dst] = topology.links()[cells.links.firsts[cls]];
    unsigned from = cells.ranks.classOf[src], to = cells.ranks.classOf[dst];
    if (direction == Direction::Inward)
      std::swap(from, to);
    // The first rank of a cell that has the chunk has it from elsewhere.
    if (from == to || sourceCells[to])
      continue;
    in[to].push_back(unsigned(allEdges.size()));
    out[from].push_back(unsigned(allEdges.size()));
    allEdges.push_back({from, to, cls});
  }
}

std::vector<unsigned> CellGraph::linksOf(unsigned edge) const {
  auto [from, to, cls] = allEdges[edge];
  std::vector<unsigned> result;
  std::vector<bool> reached(topology.numRanks());
  for (unsigned link : members[cls]) {
    auto [src, dst] = topology.links()[link];
    unsigned rank = theDirection == Direction::Inward ? src : dst;
    if (!reached[rank])
      result.push_back(link);
    reached[rank] = true;
  }
  return result;
}
