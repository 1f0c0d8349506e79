//===- ProgramView.h - A coll.program as a list -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_PROGRAMVIEW_H
#define SCCL_ANALYSIS_PROGRAMVIEW_H

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Program.h"

namespace sccl::coll {

/// What `program` moves. Emits an error and fails if it names a collective that
/// is none, or cannot run to its end.
mlir::FailureOr<Program> viewOf(ProgramOp program);

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_PROGRAMVIEW_H
