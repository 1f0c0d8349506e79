//===- CellPaths.h - Paths in trees of cells --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule (iii) of Certificate.h for the program of CellModel.h: a tree holds a
// path to each target. One target of each cell stands for the others, and links
// are told apart by what they look like from source and target.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_CELLPATHS_H
#define SCCL_LIB_BOUNDS_CELLPATHS_H

#include "Optimize/LinearProgram.h"

#include "sccl/Check/Certificate.h"
#include "sccl/Model/Refinement.h"
#include "sccl/Model/Symmetry.h"

#include <optional>
#include <vector>

namespace sccl::bounds {

/// In place of a column or row that there is not.
constexpr unsigned noEntry = ~0u;

/// The tree of one source, which stands for those of its orbit.
struct CellTree {
  unsigned source;
  int64_t sources; ///< in the orbit
  Refinement cells;
  std::vector<unsigned> hops; ///< from the source to each cell
  std::vector<unsigned> arrivalRows;
  /// By link class and step. A column is what all links of the class carry.
  std::vector<std::vector<unsigned>> columns, relayRows;
  /// Link classes into each cell.
  std::vector<std::vector<unsigned>> in;
};

/// The paths to one target.
struct CellPaths {
  unsigned target;
  int64_t targets; ///< in its cell
  Refinement cells;
  std::vector<std::vector<unsigned>> rows; ///< by link class and step
  /// By link class: by what rows were multiplied to make them whole.
  std::vector<int64_t> factors;
};

/// `dual` * `factor` / `parts`, in between of any length.
inline int64_t sharedOut(int64_t dual, int64_t factor, int64_t parts) {
  return int64_t(static_cast<__int128>(dual) * factor / parts);
}

/// Adds the paths of `tree` to the first rank of `cell` to `program`.
CellPaths addPaths(const Topology &topology, const CellTree &tree,
                   unsigned cell, unsigned steps, LinearProgram &program);

/// The prices of the links on the way to each target of the cell, by link:
/// those of one, mapped to the others by `symmetries`, which keep the source.
/// Dual values count `factor` / `parts`. Nothing if there are targets that
/// they do not reach.
std::optional<std::vector<std::vector<std::pair<unsigned, StepValues>>>>
pricesToTargets(const Topology &topology, const CellPaths &paths,
                const std::vector<int64_t> &duals, int64_t factor,
                int64_t parts, const std::vector<Permutation> &symmetries);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_CELLPATHS_H
