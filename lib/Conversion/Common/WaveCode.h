//===- WaveCode.h - Code that only AMD GPUs have ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_WAVECODE_H
#define SCCL_LIB_CONVERSION_COMMON_WAVECODE_H

#include "mlir/IR/Value.h"

namespace sccl::coll {

class CodeBuilder;

/// `value`, which all threads of the wave have, as one that LLVM knows to be
/// so.
mlir::Value buildUniform(CodeBuilder &code, mlir::Value value);

/// Builds a wait until all loads and stores of the wave are done.
void buildWaitForMemory(CodeBuilder &code);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_WAVECODE_H
