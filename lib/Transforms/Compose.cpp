//===- Compose.cpp - Join two schedules into one --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Transforms.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_COMPOSE
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
struct ComposePass : coll::impl::ComposeBase<ComposePass> {
  using ComposeBase::ComposeBase;

  void runOnOperation() override {
    ScheduleOp firstOp = find(first), secondOp = find(second);
    if (!firstOp || !secondOp || failed(composePair(firstOp, secondOp)))
      signalPassFailure();
  }

  ScheduleOp find(StringRef name) {
    auto op = dyn_cast_or_null<ScheduleOp>(
        SymbolTable::lookupSymbolIn(getOperation(), name));
    if (!op)
      getOperation().emitError() << "has no schedule @" << name;
    return op;
  }

  LogicalResult composePair(ScheduleOp firstOp, ScheduleOp secondOp) {
    if (firstOp.getTopology() != secondOp.getTopology())
      return secondOp.emitOpError()
             << "is on topology @" << secondOp.getTopology() << ", but @"
             << firstOp.getSymName() << " is on @" << firstOp.getTopology();
    FailureOr<Problem> before = importProblem(firstOp);
    FailureOr<Problem> after = importProblem(secondOp);
    if (failed(before) || failed(after))
      return failure();
    Result<Implementation> whole =
        compose({before->collective, importSchedule(firstOp)},
                {after->collective, importSchedule(secondOp)});
    if (!whole)
      return secondOp.emitOpError(whole.error());

    OpBuilder builder(secondOp);
    std::string topology = firstOp.getTopology().str();
    if (whole->collective.kind() == CollectiveKind::Custom)
      exportCollective(builder, secondOp.getLoc(), whole->collective);
    Location loc = builder.getFusedLoc({firstOp.getLoc(), secondOp.getLoc()});
    if (firstOp != secondOp)
      firstOp.erase();
    exportSchedule(builder, loc, result, topology, whole->collective,
                   whole->schedule);
    secondOp.erase();
    return success();
  }
};
} // namespace
