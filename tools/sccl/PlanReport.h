//===- PlanReport.h - The page of a plan ------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANREPORT_H
#define SCCL_TOOLS_SCCL_PLANREPORT_H

#include "llvm/ADT/StringRef.h"

namespace sccl::driver {

/// Writes what the plan at `path` says of itself, as a page, to `output`.
/// Returns an exit code; prints an error if it is not Done.
int reportPlan(llvm::StringRef path, llvm::StringRef output);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANREPORT_H
