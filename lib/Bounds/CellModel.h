//===- CellModel.h - Bounds from ranks that look alike ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program of PriceModel.cpp for chunks that go from each rank to all
// others: one tree for each orbit of ranks, whose links are told apart by what
// they look like from its source. That leaves some tens of columns on a machine
// of a thousand ranks, so that the dual solution is computed in fractions, and
// the bound is the optimum of the program itself.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_CELLMODEL_H
#define SCCL_LIB_BOUNDS_CELLMODEL_H

#include "sccl/Check/Certificate.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Optimize/Deadline.h"

#include <map>
#include <optional>
#include <vector>

namespace sccl::bounds {

/// The ranks of a topology by orbits, and renumberings that join those.
struct RankSymmetry {
  std::vector<Permutation> generators;
  std::vector<unsigned> firsts; ///< of each rank, the smallest of its orbit
  /// Generators of the symmetries that keep a rank, as far as they were needed.
  std::map<unsigned, std::vector<Permutation>> keeping = {};
};

/// Few generators with the orbits of all symmetries of `topology`, as far as
/// there are such.
RankSymmetry findRankSymmetry(const Topology &topology);

/// Two limits on the same links, of which a certificate knows the tightest
/// only.
bool hasEqualLimits(const Topology &topology);

/// True for all_gather and reduce_scatter.
bool hasCellModel(const Collective &collective);

/// What to ask of a program of cells.
struct CellQuestion {
  unsigned steps;
  bool pipelined; ///< all steps share what a limit lets through
  bool withPaths; ///< rule (iii) of Certificate.h, too
  size_t maxColumns;
};

/// A proof of the optimum of the program. Nothing if the program has more than
/// `maxColumns` columns, not counting paths, or is too large to be solved in
/// fractions, its numbers are too large for a certificate, or limits stop it.
std::optional<PriceProof> proveByCells(const Topology &topology,
                                       const Collective &collective,
                                       const CellQuestion &question,
                                       RankSymmetry &symmetry,
                                       const Deadline &deadline);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_CELLMODEL_H
