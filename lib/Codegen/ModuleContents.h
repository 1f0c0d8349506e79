//===- ModuleContents.h - What modules hold, and as bytes -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CODEGEN_MODULECONTENTS_H
#define SCCL_LIB_CODEGEN_MODULECONTENTS_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sccl {

/// Fails unless `module` holds exactly one schedule or program. Emits an error.
llvm::LogicalResult checkContents(mlir::ModuleOp module);

/// Replaces the gpu.module in `module` by its binary in `format`, and returns
/// the bytes of that. Emits an error if it fails.
mlir::FailureOr<std::string> serialize(mlir::ModuleOp module,
                                       llvm::StringRef format);

} // namespace sccl

#endif // SCCL_LIB_CODEGEN_MODULECONTENTS_H
