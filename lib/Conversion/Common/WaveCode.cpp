//===- WaveCode.cpp - Code that only AMD GPUs have ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A source of its own, because the header of the dialect takes long.
//
//===----------------------------------------------------------------------===//

#include "WaveCode.h"

#include "CodeBuilder.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace sccl::coll;

mlir::Value sccl::coll::buildUniform(CodeBuilder &code, mlir::Value value) {
  return mlir::ROCDL::ReadfirstlaneOp::create(code.ops(), code.loc(),
                                              value.getType(), value);
}

void sccl::coll::buildWaitForMemory(CodeBuilder &code) {
  // vmcnt(0), and nothing of other counters, on all of gfx9.
  constexpr unsigned vmcnt0 = 3952;
  mlir::ROCDL::SWaitcntOp::create(code.ops(), code.loc(), vmcnt0);
}
