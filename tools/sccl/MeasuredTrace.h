//===- MeasuredTrace.h - --trace of run and bench ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_MEASUREDTRACE_H
#define SCCL_TOOLS_SCCL_MEASUREDTRACE_H

#include "sccl/Measure/PlanRank.h"

namespace sccl::driver {

/// Collective. Fails, on all ranks, if nothing is recorded in one launch for
/// `request`, whether that is to be traced or not.
std::optional<Error> checkTraced(PlanRank &rank, MeasureRequest request);

/// Collective. Measures; if that is `traced`, rank 0 then writes what all ranks
/// have recorded to `path`, as of `name`. Fails on all ranks if measuring does,
/// and on rank 0 if it cannot be written.
Result<Measurement> measureTraced(PlanRank &rank, const MeasureRequest &request,
                                  unsigned number, llvm::StringRef path,
                                  const std::string &name);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_MEASUREDTRACE_H
