//===- HostObject.h - Programs as shared objects for CPUs -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CODEGEN_HOSTOBJECT_H
#define SCCL_LIB_CODEGEN_HOSTOBJECT_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace sccl {

/// Compiles `module`, in the LLVM dialect, whose translation its context has
/// registered, for the CPU `cpu` ("x86-64-v3") of
/// the architecture that sccl runs on, and links an ELF shared object. Emits an
/// error and fails if LLVM lacks the CPU or ld.lld is missing. Equal modules
/// give equal bytes. What is `instrumented` runs only in tests, see
/// HostSteps.h.
mlir::FailureOr<std::string> compileHostObject(mlir::ModuleOp module,
                                               llvm::StringRef cpu,
                                               bool instrumented = false);

} // namespace sccl

#endif // SCCL_LIB_CODEGEN_HOSTOBJECT_H
