//===- SearchState.h - What is known of each number of steps ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How cheap schedules can be, how cheap those found are, and what that says of
// where to look.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_SEARCHSTATE_H
#define SCCL_LIB_SEARCH_SEARCHSTATE_H

#include "FrontierBounds.h"
#include "KnownPoints.h"

namespace sccl {

struct SearchState {
  explicit SearchState(const FrontierProblem &problem)
      : problem(problem), options(problem.options), bounds(problem) {}

  /// True if it is proved that no schedule of `steps` steps is cheaper than the
  /// points.
  bool isReached(unsigned steps) const;
  /// The same of trees of any number of chunks.
  bool isReachedByTrees(unsigned steps) const;
  /// True if nothing is to be searched for at `steps` steps.
  bool isSettled(unsigned steps) const;
  /// True if no number of steps allows anything cheaper than what is known.
  bool meetsThroughput() const;
  /// How many times dearer the known schedules are than the bound of programs.
  double gapAt(unsigned steps) const;
  /// True if a search for something cheaper is worth its time.
  bool isWorthImproving(unsigned steps) const;
  /// True where all searches are long, as on many ranks, and for what users
  /// define, and what is known, mostly trees, comes close.
  bool isCloseEnough(unsigned steps) const;

  const FrontierProblem &problem;
  const FrontierOptions &options;
  FrontierBounds bounds;
  KnownPoints points;
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_SEARCHSTATE_H
