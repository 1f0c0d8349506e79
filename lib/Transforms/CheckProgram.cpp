//===- CheckProgram.cpp - Deadlocks, races and wrong results --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "ProgramChecker.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHECKPROGRAM
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// Why a program does not work in place, and where.
struct InPlaceFault {
  Location loc;
  std::string message;
};
} // namespace

/// Executes `program` with buffers that overlap, and returns the first fault.
static std::optional<InPlaceFault>
findInPlaceFault(ProgramOp program, const Collective &collective) {
  if (!collective.hasInPlaceLayout())
    return InPlaceFault{program.getLoc(),
                        "send and receive buffers have no places in common"};
  // The clocks take it that threads wait for their block.
  if (program.getLl())
    return InPlaceFault{program.getLoc(),
                        "LL words do not order what blocks do in place"};
  std::optional<InPlaceFault> fault;
  ScopedDiagnosticHandler handler(
      program.getContext(), [&](Diagnostic &diagnostic) {
        if (!fault)
          fault = InPlaceFault{diagnostic.getLocation(), diagnostic.str()};
        return success();
      });
  ProgramChecker checker(program, collective, /*inPlace=*/true);
  if (failed(checker.run(/*identical=*/false)) && !fault)
    fault = InPlaceFault{program.getLoc(), "the check fails"};
  return fault;
}

bool coll::allowsInPlace(ProgramOp program, const Collective &collective) {
  return !findInPlaceFault(program, collective);
}

namespace {
struct CheckProgramPass : coll::impl::CheckProgramBase<CheckProgramPass> {
  using CheckProgramBase::CheckProgramBase;

  void runOnOperation() override {
    // Pass managers may have been told not to.
    if (failed(verify(getOperation())))
      return signalPassFailure();
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (failed(check(program)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult check(ProgramOp program) {
    FailureOr<Problem> problem = importProblem(program);
    if (failed(problem) ||
        failed(ProgramChecker(program, problem->collective).run(identical)))
      return failure();
    if (!inPlace)
      return success();
    std::optional<InPlaceFault> fault =
        findInPlaceFault(program, problem->collective);
    if (!fault)
      return success();
    InFlightDiagnostic diag =
        program.emitOpError("does not work in place (H4)");
    diag.attachNote(fault->loc) << fault->message;
    return diag;
  }
};
} // namespace
