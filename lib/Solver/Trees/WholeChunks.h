//===- WholeChunks.h - Whole numbers of chunks on trees ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_WHOLECHUNKS_H
#define SCCL_LIB_SOLVER_TREES_WHOLECHUNKS_H

#include "TreeProgram.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sccl::trees {

/// How many chunks take each tree of a program, and the rounds of each step.
struct WholeSolution {
  std::vector<int64_t> counts;
  std::vector<uint64_t> rounds; ///< none 0
  uint64_t totalRounds() const;
};

/// Which trees are tried. All of hundreds take long.
enum class TreesToTry { All, OfSolution };

/// Few rounds for `chunks` chunks of each demand, near the solution of
/// `program` in fractions, which must have been solved. Nothing if `chunks` is
/// no multiple of the share of the trees.
std::optional<WholeSolution> wholeChunks(const TreeProgram &program,
                                         unsigned demands, uint64_t chunks,
                                         const Deadline &deadline,
                                         TreesToTry which = TreesToTry::All);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_WHOLECHUNKS_H
