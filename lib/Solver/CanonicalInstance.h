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

namespace sccl {

class CanonicalInstance {
public:
  /// User-defined collectives, and those that reduce, keep their numbers.
  explicit CanonicalInstance(const Instance &given);

  const Instance &instance() const { return renumbered; }
  /// A schedule of `instance()` as one of what was given.
  Schedule original(Schedule schedule) const;

private:
  unsigned originalChunk(unsigned chunk) const;

  Permutation order;           ///< by given rank; or empty
  std::vector<unsigned> given; ///< by renumbered rank
  Instance renumbered;
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_CANONICALINSTANCE_H
