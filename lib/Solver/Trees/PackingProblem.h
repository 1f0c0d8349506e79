//===- PackingProblem.h - What to pack trees for ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_PACKINGPROBLEM_H
#define SCCL_LIB_SOLVER_TREES_PACKINGPROBLEM_H

#include "Solver/Constants.h"
#include "TreeProgram.h"

#include "sccl/Solver/Trees.h"

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

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_PACKINGPROBLEM_H
