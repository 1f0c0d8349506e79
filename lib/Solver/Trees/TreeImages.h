//===- TreeImages.h - Trees and their images, each for itself ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_TREEIMAGES_H
#define SCCL_LIB_SOLVER_TREES_TREEIMAGES_H

#include "TreeChoice.h"
#include "TreePacking.h"

namespace sccl::trees {

/// The most useful trees of a program that was solved, and their images.
class TreeImages {
public:
  TreeImages(const PackingProblem &problem, const TreeProgram &program);

  /// A schedule of `chunks` chunks in which each takes one of the trees, in
  /// less than `below` rounds, or with a shorter period. Nothing if none is
  /// found.
  std::optional<TreeSchedule> choose(uint64_t chunks, uint64_t below,
                                     const Deadline &deadline) const;

private:
  void addImages(const ChunkTree &tree);

  const PackingProblem &problem;
  const LimitOrbits limits; ///< each for itself
  ChoiceProblem choice;
  std::vector<ChunkTree> trees; ///< those of `choice`
};

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_TREEIMAGES_H
