//===- ProblemAnalysis.h - What a schedule or program is for ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_PROBLEMANALYSIS_H
#define SCCL_ANALYSIS_PROBLEMANALYSIS_H

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

namespace sccl::coll {

/// The topology and the collective of an op, for the pass manager to keep from
/// one pass to the next. No pass on a program or a schedule changes them.
class ProblemAnalysis {
public:
  /// Emits an error on `op`, a ScheduleOp or a ProgramOp, if there are none.
  explicit ProblemAnalysis(mlir::Operation *op)
      : problem(mlir::isa<ScheduleOp>(op)
                    ? importProblem(mlir::cast<ScheduleOp>(op))
                    : importProblem(mlir::cast<ProgramOp>(op))) {}

  /// Null if the constructor has emitted an error.
  const Problem *get() const {
    return succeeded(problem) ? &*problem : nullptr;
  }

private:
  mlir::FailureOr<Problem> problem;
};

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_PROBLEMANALYSIS_H
