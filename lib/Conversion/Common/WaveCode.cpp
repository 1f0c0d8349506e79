//===- WaveCode.cpp - Code that only AMD GPUs have ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of ROCDL are built by name: g++ reads the header of that dialect for ten
// seconds.
//
//===----------------------------------------------------------------------===//

#include "WaveCode.h"

#include "CodeBuilder.h"

#include "mlir/IR/Builders.h"

using namespace sccl::coll;

mlir::Value sccl::coll::buildUniform(CodeBuilder &code, mlir::Value value) {
  mlir::OperationState state(code.loc(), "rocdl.readfirstlane", value,
                             value.getType());
  return code.ops().create(state)->getResult(0);
}

void sccl::coll::buildWaitForMemory(CodeBuilder &code) {
  // vmcnt(0), and nothing of other counters, on all of gfx9.
  constexpr unsigned vmcnt0 = 3952;
  mlir::OperationState state(code.loc(), "rocdl.s.waitcnt");
  state.addAttribute("bitfield", code.ops().getI32IntegerAttr(vmcnt0));
  code.ops().create(state);
}
