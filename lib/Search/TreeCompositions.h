//===- TreeCompositions.h - All_reduces made of trees -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An all_gather turned round, and another behind it, both as trees: on hundreds
// of ranks these are there at once, and have more chunks than compositions that
// are written out may have.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_TREECOMPOSITIONS_H
#define SCCL_LIB_SEARCH_TREECOMPOSITIONS_H

#include "StepSearch.h"

namespace sccl {

/// `first` turned round, and `second` behind it, all_gathers of the same trees'
/// origins and symmetries on `ranks` ranks, whose links all lead both ways.
/// Nothing if they do not fit together, or numbers are too large.
std::optional<TreeSchedule> composeTrees(const TreeSchedule &first,
                                         const TreeSchedule &second,
                                         unsigned ranks);

class TreeCompositions {
public:
  explicit TreeCompositions(const FrontierProblem &problem)
      : problem(problem) {}

  /// The cheapest of `steps` steps that can be written out; nothing if there is
  /// none, or the collective is no all_reduce of many ranks. All_gathers are
  /// packed at the first call.
  std::optional<TreePoint> at(unsigned steps);

private:
  void findParts();

  const FrontierProblem &problem;
  bool hasParts = false;
  std::vector<TreeSchedule> parts;
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_TREECOMPOSITIONS_H
