//===- HostInstrument.h - Host code for tests -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CODEGEN_HOSTINSTRUMENT_H
#define SCCL_LIB_CODEGEN_HOSTINSTRUMENT_H

#include "llvm/IR/PassManager.h"

namespace sccl {

/// Adds calls of `hostStepFunction`, see HostSteps.h, before calls of helpers
/// and before kernels return. To be done before anything is inlined.
void addStepCalls(llvm::Module &module);

/// Has ThreadSanitizer told of every access to memory, of what `addStepCalls`
/// has seen. To be done after all optimization.
void addRaceChecks(llvm::ModulePassManager &passes);

} // namespace sccl

#endif // SCCL_LIB_CODEGEN_HOSTINSTRUMENT_H
