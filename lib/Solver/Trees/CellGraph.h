//===- CellGraph.h - A topology as seen from some ranks ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree in which ranks that look alike get the chunk at the same time, over
// links that look alike, is a tree of cells. There are few cells even where
// there are a thousand ranks, and if coarse cells do not give the best tree,
// finer ones may: in the finest each rank is a cell.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_CELLGRAPH_H
#define SCCL_LIB_SOLVER_TREES_CELLGRAPH_H

#include "sccl/Model/Refinement.h"

#include <vector>

namespace sccl::trees {

/// Which way chunks go.
enum class Direction {
  Outward, ///< from the source, forward in time
  Inward,  ///< to the source; read backwards, in time and over the links
};

/// The cells of a topology, with links in a direction: an edge leads to every
/// rank of a cell from some rank of another.
class CellGraph {
public:
  struct Edge {
    unsigned from, to; ///< cells
    unsigned linkClass;
  };

  /// `sources` have the chunk from the start; they are whole cells.
  CellGraph(const Topology &topology, Refinement refinement,
            const std::vector<unsigned> &sources, Direction direction);

  unsigned numCells() const { return unsigned(cells.ranks.count()); }
  /// True if the ranks of `cell` have the chunk from the start.
  bool isSource(unsigned cell) const { return sourceCells[cell]; }
  unsigned sizeOf(unsigned cell) const { return cells.ranks.sizes[cell]; }
  size_t numLinkClasses() const { return cells.links.count(); }
  /// A link of the class.
  unsigned linkOf(unsigned linkClass) const {
    return cells.links.firsts[linkClass];
  }
  const std::vector<Edge> &edges() const { return allEdges; }
  /// Indices of the edges into, or out of, a cell.
  const std::vector<unsigned> &into(unsigned cell) const { return in[cell]; }
  const std::vector<unsigned> &outOf(unsigned cell) const { return out[cell]; }
  Direction direction() const { return theDirection; }
  const Refinement &refinement() const { return cells; }

  /// For each rank of the cell that `edge` leads to, a link of its class.
  std::vector<unsigned> linksOf(unsigned edge) const;

private:
  const Topology &topology;
  const Refinement cells;
  const Direction theDirection;
  std::vector<bool> sourceCells;
  std::vector<Edge> allEdges;
  std::vector<std::vector<unsigned>> in, out;
  std::vector<std::vector<unsigned>> members; ///< links by class, ascending
};

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_CELLGRAPH_H
