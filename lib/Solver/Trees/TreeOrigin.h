//===- TreeOrigin.h - Where trees start -------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coarse cells of ranks are searched first, finer ones when those give nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_TREEORIGIN_H
#define SCCL_LIB_SOLVER_TREES_TREEORIGIN_H

#include "CheapTrees.h"
#include "Solver/Constants.h"
#include "TreeProgram.h"

#include "sccl/Model/Topology.h"
#include "sccl/Solver/Trees.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace sccl::trees {

/// What to pack trees for.
struct PackingProblem {
  const Topology &topology;
  CollectiveKind kind; ///< all_gather, broadcast or all_reduce
  unsigned root;       ///< of a broadcast
  unsigned steps;
  Rounds rounds = Rounds::PerStep;
  /// All elements of a group of symmetries, and elements that span it. It must
  /// keep the root of a broadcast.
  std::vector<Permutation> group = {}, generators = {};
  /// Of `twinPositions`: where ranks are alike, one of each box is told apart.
  std::vector<std::vector<unsigned>> positions = {};
  /// Cells are made finer by halves, for very many ranks; levels are left early
  /// where little is gained, and come back.
  bool inHalves = false;

  /// True if ranks cannot be looked at one by one where they would have to be.
  bool isHuge() const {
    return kind == CollectiveKind::Broadcast &&
           topology.numRanks() > tuned::mostSingleCells();
  }
};

/// Elements that span `group`, the identity first in it.
std::vector<Permutation> spanningElements(const std::vector<Permutation> &group,
                                          unsigned numRanks);

/// A group for `kind`: free, of as many elements as can be found. On many ranks
/// a small one with few orbits where that is trivial, as for a broadcast, whose
/// root it keeps; on few ranks the trivial one.
void chooseGroup(PackingProblem &problem);

// A chunk of an all_reduce may be summed up at one rank, or at several at once:
// each of these collects a part of the contributions, all exchange their parts
// in one step, and spread the sum. That takes more sends than a single root
// does, and one step less.

/// The ranks where contributions are collected. If there are several, links
/// join each to each.
struct Meeting {
  std::vector<unsigned> ranks;     ///< ascending
  std::vector<unsigned> exchanges; ///< links from each to each other
};

/// Meetings with `rank`: of itself alone; and with all, or the first few, of
/// the ranks that look alike from it, where links join all of them.
std::vector<Meeting> meetingsOf(const Topology &topology, unsigned rank,
                                const std::vector<uint64_t> &limitKeys);

/// The schedule's step for step `step` of a tree, from 1 on, that takes `count`
/// steps from `first` on.
inline unsigned scheduleStep(Direction direction, unsigned first,
                             unsigned count, unsigned step) {
  return direction == Direction::Outward ? first + step - 1
                                         : first + count - step;
}

/// A rank where trees start, or ranks that collect sums, and the searches for
/// trees of each level of cells around it.
class TreeOrigin {
public:
  /// With the coarsest level. `problem` and `limitKeys` must outlive this.
  TreeOrigin(const PackingProblem &problem,
             const std::vector<uint64_t> &limitKeys, Meeting at,
             unsigned demand, int64_t share);

  /// Adds finer cells than those of the last level. Returns false if there are
  /// none.
  bool addLevel();
  size_t numLevels() const { return outward.size(); }

  const Meeting at; ///< of one rank, but for reductions
  const unsigned demand;
  const int64_t share;
  /// By level, from coarse to fine, and number of steps.
  std::vector<std::map<unsigned, TreeSearch>> spreads, gathers;
  size_t level = 0;           ///< the one last searched
  bool isFruitful = false;    ///< since the coarsest was
  std::vector<double> values; ///< of the program, while at this level

private:
  std::optional<Refinement> nextCells();
  void addSpread();
  void addReductions(const Refinement &cells);

  const PackingProblem &problem;
  const std::vector<uint64_t> &limitKeys;
  /// By level. Searches refer to them.
  std::vector<std::unique_ptr<CellGraph>> outward, inward;
  bool isFinest = false;
};

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_TREEORIGIN_H
