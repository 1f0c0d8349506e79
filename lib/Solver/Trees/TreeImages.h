//===- TreeImages.h - Trees and their images, each for itself ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_TREEIMAGES_H
#define SCCL_LIB_SOLVER_TREES_TREEIMAGES_H

#include "TreePacking.h"

#include "sccl/Optimize/Deadline.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sccl::trees {

// Where all ranks do the same, few chunks cannot mix many kinds of trees, and
// where symmetries keep some ranks, few chunks cannot be had at all. But the
// trees that fractions take, and their images under the symmetries, may be
// dealt out to each chunk of each rank for itself: then a limit needs to have
// enough for its own load only, and different ranks make up for one another.

/// Trees to choose from, for some chunks of each of several demands.
struct ChoiceProblem {
  struct Tree {
    unsigned demand;
    /// Rows, each at most once, and sends there.
    std::vector<std::pair<unsigned, unsigned>> loads;
  };

  unsigned demands;
  std::vector<Tree> trees;
  std::vector<uint64_t> bandwidths; ///< of limits
  /// Rounds for each slot and chunk, in fractions, that are to be had.
  std::vector<double> rounds;

  /// Of the sends in `slot` through a limit.
  unsigned rowOf(size_t limit, size_t slot) const {
    return unsigned(limit * rounds.size() + slot);
  }
};

/// How many chunks take each tree, and the rounds of each slot, none 0.
struct TreeChoice {
  std::vector<uint64_t> counts;
  std::vector<uint64_t> rounds;
};

/// Few rounds, less than `below` in all, for `chunks` chunks of each demand:
/// what a local search finds. Nothing if it finds none, a demand has no trees,
/// or `deadline` expires.
std::optional<TreeChoice> chooseTrees(const ChoiceProblem &problem,
                                      uint64_t chunks, uint64_t below,
                                      const Deadline &deadline);

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
