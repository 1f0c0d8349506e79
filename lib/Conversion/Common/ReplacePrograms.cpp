//===- ReplacePrograms.cpp - The frame of conversions of programs ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplacePrograms.h"

using namespace mlir;
using namespace sccl;

LogicalResult
coll::replacePrograms(ModuleOp module,
                      function_ref<LogicalResult(ProgramOp)> convert) {
  for (Operation &op : *module.getBody())
    if (isa<ScheduleOp, SynthesizeOp>(op))
      return op.emitOpError("is not a program yet; lower it first, as the "
                            "pipeline sccl-lower does");
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  for (ProgramOp program : programs)
    if (failed(convert(program)))
      return failure();
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<CollDialect>(op.getDialect()))
      op.erase();
  return success();
}
