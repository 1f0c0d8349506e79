//===- Compose.cpp - Join two schedules into one --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "Declare.h"
#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Composition.h"

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
    ScheduleOp firstOp = find(first);
    ScheduleOp secondOp = firstOp ? find(second) : nullptr;
    if (!secondOp || failed(composePair(firstOp, secondOp)))
      signalPassFailure();
  }

  ScheduleOp find(const Option<std::string> &option) {
    StringRef name = option.getValue();
    if (name.empty()) {
      getOperation().emitError()
          << "option '" << option.getArgStr() << "' must name a schedule";
      return nullptr;
    }
    auto op = dyn_cast_or_null<ScheduleOp>(
        SymbolTable::lookupSymbolIn(getOperation(), name));
    if (!op)
      getOperation().emitError() << "has no schedule @" << name;
    return op;
  }

  /// The name of the whole must be free once both parts are gone.
  LogicalResult checkResult(ScheduleOp firstOp, ScheduleOp secondOp) {
    Operation *taken = getOperation().lookupSymbol(result);
    if (!taken || taken == firstOp || taken == secondOp)
      return success();
    return getOperation().emitError()
           << "has a symbol @" << result.getValue()
           << " already, the whole needs another name";
  }

  LogicalResult composePair(ScheduleOp firstOp, ScheduleOp secondOp) {
    if (firstOp.getTopology() != secondOp.getTopology())
      return secondOp.emitOpError()
             << "is on topology @" << secondOp.getTopology() << ", but @"
             << firstOp.getSymName() << " is on @" << firstOp.getTopology();
    if (failed(checkResult(firstOp, secondOp)))
      return failure();
    const Problem *before = getChildAnalysis<ProblemAnalysis>(firstOp).get();
    const Problem *after = getChildAnalysis<ProblemAnalysis>(secondOp).get();
    if (!before || !after)
      return failure();
    Result<Implementation> whole =
        compose({before->collective, importSchedule(firstOp)},
                {after->collective, importSchedule(secondOp)});
    if (!whole)
      return secondOp.emitOpError(whole.error());

    OpBuilder builder(secondOp);
    std::string topology = firstOp.getTopology().str();
    Collective collective =
        declareCollective(builder, secondOp, whole->collective, result);
    Location loc = builder.getFusedLoc({firstOp.getLoc(), secondOp.getLoc()});
    if (firstOp != secondOp)
      firstOp.erase();
    exportSchedule(builder, loc, result, topology, collective, whole->schedule);
    secondOp.erase();
    return success();
  }
};
} // namespace
