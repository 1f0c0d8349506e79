//===- WaveCode.h - Code that only AMD GPUs have ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_WAVECODE_H
#define SCCL_LIB_CONVERSION_COMMON_WAVECODE_H

namespace sccl::coll {

class CodeBuilder;

/// Builds a wait until all loads and stores of the wave are done.
void buildWaitForMemory(CodeBuilder &code);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_WAVECODE_H
