//===- HSACO.h - From GCN assembly to a code object -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CODEGEN_HSACO_H
#define SCCL_LIB_CODEGEN_HSACO_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sccl {

/// Assembles `isa` for `chip` and links it with ld.lld of LLVM 22, which is
/// looked for in the LLVM sccl was built with and in PATH; needs no ROCm. Emits
/// an error on `module` and fails if the linker is missing or fails.
mlir::FailureOr<std::string>
linkHSACO(mlir::ModuleOp module, llvm::StringRef isa, llvm::StringRef chip);

} // namespace sccl

#endif // SCCL_LIB_CODEGEN_HSACO_H
