//===- TreeMixes.h - Trees between two others -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In fractions all boxes but that of the source may be served alike, by a mix
// of trees that treat them alike. Few whole chunks cannot be mixed so: there a
// tree is wanted that serves some boxes as one tree does, and the rest as
// another.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_TREEMIXES_H
#define SCCL_LIB_SOLVER_TREES_TREEMIXES_H

#include "TreeProgram.h"

#include <vector>

namespace sccl::trees {

/// Trees that take some branches of `first`, and the others of `second`, where
/// these do not depend on each other: from few branches of `second` to many.
/// Both spread a chunk of the same origin.
std::vector<ChunkTree> mixesOf(const ChunkTree &first, const ChunkTree &second,
                               unsigned numRanks);

/// `program`, which must have been solved, with the mixes of the trees that its
/// solution uses. They have the use 0 there.
TreeProgram withMixes(const TreeProgram &program, unsigned numRanks);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_TREEMIXES_H
