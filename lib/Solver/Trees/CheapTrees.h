//===- CheapTrees.h - Cheap trees at given prices ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pricing problem of column generation: each send has a price that depends
// on its link and its step; which tree costs least? Given when each cell gets
// the chunk, each takes it over the cheapest edge from one that has it by then.
// A local search moves one or two cells to other steps. Nobody relies on its
// finding the cheapest tree: a certificate says what is optimal.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_CHEAPTREES_H
#define SCCL_LIB_SOLVER_TREES_CHEAPTREES_H

#include "sccl/Model/Refinement.h"
#include "sccl/Optimize/Deadline.h"

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace sccl::trees {

// A tree in which ranks that look alike get the chunk at the same time, over
// links that look alike, is a tree of cells. There are few cells even where
// there are a thousand ranks, and if coarse cells do not give the best tree,
// finer ones may: in the finest each rank is a cell.

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

/// Prices of a send, by link class and step of the tree, from 1 on: entry
/// [class * (steps + 1) + step].
struct EdgePrices {
  unsigned steps;
  std::vector<double> values;
  double at(unsigned linkClass, unsigned step) const {
    return of(linkClass)[step];
  }
  /// By step.
  const double *of(unsigned linkClass) const {
    return values.data() + size_t(linkClass) * (steps + 1);
  }
};

/// The step, from 1 on, in which each cell gets the chunk; 0 for sources.
using Arrivals = std::vector<uint8_t>;

/// A tree of cells.
struct CellTree {
  double price;
  Arrivals arrivals;
};

/// Searches for cheap trees in one graph, again and again at other prices. What
/// was good before is where it starts.
class TreeSearch {
public:
  TreeSearch(const CellGraph &graph, unsigned steps);

  /// Starts from the trees that `coarser` knows, whose cells these are parts
  /// of.
  void startFrom(const TreeSearch &coarser);
  /// Trees that cost less than `limit`, the cheapest first, at most a few.
  std::vector<CellTree> find(const EdgePrices &prices, double limit,
                             const Deadline &deadline);
  /// The edge over which each cell gets the chunk; `none` for sources.
  std::vector<unsigned> edgesOf(const Arrivals &arrivals,
                                const EdgePrices &prices) const;
  static constexpr unsigned none = ~0u;
  /// False if no tree has so few steps.
  bool isPossible() const { return possible; }
  const CellGraph &cellGraph() const { return graph; }

private:
  /// What a cell costs, by whether it gets the chunk after one cell and after
  /// another do.
  struct PairCost {
    unsigned arrival;
    double values[2][2];
  };

  /// Costs by step of a cell: with those of others, and its own.
  struct StepCosts {
    std::vector<double> all, own;
  };

  double costOf(unsigned cell, const Arrivals &arrivals) const;
  double priceOf(const Arrivals &arrivals) const;
  void costsOfSteps(unsigned cell, const Arrivals &arrivals,
                    StepCosts &room) const;
  PairCost costBeside(unsigned cell, unsigned a, unsigned b,
                      const Arrivals &arrivals) const;
  std::vector<std::array<double, 2>> costsWith(unsigned cell, unsigned other,
                                               const Arrivals &arrivals) const;
  bool settle(unsigned cell, Arrivals &arrivals, StepCosts &room) const;
  bool moveOne(Arrivals &arrivals) const;
  bool settleTwo(unsigned a, unsigned b, Arrivals &arrivals) const;
  bool moveTwo(Arrivals &arrivals) const;
  void descend(Arrivals &arrivals, const Deadline &deadline) const;
  void shake(Arrivals &arrivals);
  void remember(const Arrivals &arrivals);

  const CellGraph &graph;
  const unsigned steps;
  bool possible;
  /// For each cell: itself, and those that may get the chunk from it.
  std::vector<std::vector<unsigned>> affected;
  const EdgePrices *prices = nullptr; ///< of the current search
  std::vector<Arrivals> pool;         ///< trees found before, the latest last
  std::mt19937 random{1};
};

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_CHEAPTREES_H
