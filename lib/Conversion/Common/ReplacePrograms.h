//===- ReplacePrograms.h - The frame of conversions of programs -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_REPLACEPROGRAMS_H
#define SCCL_LIB_CONVERSION_COMMON_REPLACEPROGRAMS_H

#include "sccl/Dialect/Coll/CollOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace sccl::coll {

/// Calls `convert` on each program of `module`, which it replaces, and removes
/// the topologies and collectives, to which nothing refers any more. Emits an
/// error and fails if `module` holds a schedule, or something that becomes one;
/// fails if `convert` does.
llvm::LogicalResult
replacePrograms(mlir::ModuleOp module,
                llvm::function_ref<llvm::LogicalResult(ProgramOp)> convert);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_REPLACEPROGRAMS_H
