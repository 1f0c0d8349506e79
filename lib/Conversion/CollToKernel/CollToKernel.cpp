//===- CollToKernel.cpp - From programs to what blocks execute ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"

#include "ProgramConverter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTCOLLTOKERNEL
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

/// Emits an error and fails if `module` holds a schedule, or something that
/// becomes one.
static LogicalResult requireLowered(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (isa<ScheduleOp, SynthesizeOp>(op))
      return op.emitOpError("is not a program yet; lower it first, as the "
                            "pipeline sccl-lower does");
  return success();
}

namespace {
struct ConvertCollToKernelPass
    : coll::impl::ConvertCollToKernelBase<ConvertCollToKernelPass> {
  using ConvertCollToKernelBase::ConvertCollToKernelBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(requireLowered(module)))
      return signalPassFailure();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    for (ProgramOp program : programs)
      if (failed(convert(program)))
        return signalPassFailure();
    // Nothing refers to topologies and collectives any more.
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<CollDialect>(op.getDialect()))
        op.erase();
  }

  LogicalResult convert(ProgramOp program) {
    FailureOr<std::unique_ptr<ProgramConverter>> converter =
        ProgramConverter::make(program, host);
    if (failed(converter))
      return failure();
    OpBuilder builder(program);
    (*converter)->begin(builder);
    for (RankOp rank : program.getBody().getOps<RankOp>())
      (*converter)->emit(rank);
    program.erase();
    return success();
  }
};
} // namespace
