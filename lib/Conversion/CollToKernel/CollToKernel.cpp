//===- CollToKernel.cpp - From programs to what blocks execute ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"

#include "../Common/ReplacePrograms.h"
#include "ProgramConverter.h"
#include "sccl/Analysis/ProblemAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTCOLLTOKERNEL
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

namespace {
struct ConvertCollToKernelPass
    : coll::impl::ConvertCollToKernelBase<ConvertCollToKernelPass> {
  using ConvertCollToKernelBase::ConvertCollToKernelBase;

  void runOnOperation() override {
    if (failed(replacePrograms(getOperation(), [&](ProgramOp program) {
          return convert(program);
        })))
      signalPassFailure();
  }

  LogicalResult convert(ProgramOp program) {
    const Problem *problem = getChildAnalysis<ProblemAnalysis>(program).get();
    if (!problem)
      return failure();
    FailureOr<std::unique_ptr<ProgramConverter>> converter =
        ProgramConverter::make(program, problem->collective, host, traced,
                               unweighted);
    if (failed(converter))
      return failure();
    OpBuilder builder(program);
    collk::ProgramOp result = (*converter)->createProgram(builder);
    for (RankOp rank : program.getBody().getOps<RankOp>())
      (*converter)->emit(rank, result);
    program.erase();
    return success();
  }
};
} // namespace
