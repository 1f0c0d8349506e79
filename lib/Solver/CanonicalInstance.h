//===- CanonicalInstance.h - One instance for all numberings ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long a search takes is a matter of luck, and the luck changes with the
// numbers of ranks, links and limits: of 60 numberings of DGX-1 one took 78
// times the median. Searches see canonical numbers, so that all numberings take
// the same time and get the same answer.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_CANONICALINSTANCE_H
#define SCCL_LIB_SOLVER_CANONICALINSTANCE_H

#include "sccl/Model/Instance.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Solver/Solver.h"

namespace sccl {

class CanonicalInstance {
public:
  /// Above 64 ranks all numbers stay as they are.
  explicit CanonicalInstance(const Instance &given);

  const Instance &instance() const { return renumbered; }
  /// A schedule of `instance()` as one of what was given.
  Schedule original(Schedule schedule) const;

private:
  Permutation order;           ///< by given rank; or empty
  std::vector<unsigned> given; ///< by renumbered rank
  Instance renumbered;
  std::vector<unsigned> givenChunks; ///< by renumbered chunk
};

/// What `solve` finds for the canonical instance, as an outcome of `given`.
template <typename Solve>
Outcome solveCanonically(const Instance &given, Solve solve) {
  CanonicalInstance canonical(given);
  Outcome outcome = solve(canonical.instance());
  if (auto *satisfied = std::get_if<Satisfied>(&outcome))
    satisfied->schedule = canonical.original(std::move(satisfied->schedule));
  return outcome;
}

} // namespace sccl

#endif // SCCL_LIB_SOLVER_CANONICALINSTANCE_H
