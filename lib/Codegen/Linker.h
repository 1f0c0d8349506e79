//===- Linker.h - Making shared objects with ld.lld -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CODEGEN_LINKER_H
#define SCCL_LIB_CODEGEN_LINKER_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sccl {

/// Links `object`, the bytes of a relocatable file, to a shared one with ld.lld
/// of LLVM 22, which is looked for in the LLVM sccl was built with and in PATH.
/// `options` go to the linker. Emits an error on `module` and fails if the
/// linker is missing or fails; `instead` says what to do without it.
mlir::FailureOr<std::string>
linkSharedObject(mlir::ModuleOp module, llvm::StringRef object,
                 llvm::ArrayRef<llvm::StringRef> options,
                 llvm::StringRef instead);

} // namespace sccl

#endif // SCCL_LIB_CODEGEN_LINKER_H
