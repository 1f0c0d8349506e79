//===- CutIntoPieces.cpp - coll-cut-into-pieces ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "Declare.h"
#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Pieces.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CUTINTOPIECES
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
struct CutIntoPiecesPass : coll::impl::CutIntoPiecesBase<CutIntoPiecesPass> {
  using CutIntoPiecesBase::CutIntoPiecesBase;

  void runOnOperation() override {
    if (pieces == 1)
      return;
    SmallVector<ScheduleOp> schedules(getOperation().getOps<ScheduleOp>());
    for (ScheduleOp op : schedules)
      if (failed(cut(op)))
        return signalPassFailure();
  }

  LogicalResult cut(ScheduleOp op) {
    const Problem *problem = getChildAnalysis<ProblemAnalysis>(op).get();
    if (!problem)
      return failure();
    Schedule schedule = importSchedule(op);
    // What follows takes some 2 KB for a send: 8 GB at the limit.
    constexpr uint64_t maxSends = uint64_t(1) << 22;
    if (schedule.numSends() * uint64_t(pieces) > maxSends)
      return op.emitOpError()
             << uint64_t(pieces) << " pieces of " << schedule.numSends()
             << " sends are more than " << maxSends;
    Result<Implementation> result =
        cutIntoPieces({problem->collective, std::move(schedule)},
                      problem->topology, pieces, {pieceDistance, pieceRounds});
    if (!result)
      return op.emitOpError(result.error());
    OpBuilder builder(op);
    StringRef name = op.getSymName();
    Collective collective =
        declareCollective(builder, op, result->collective, name);
    exportSchedule(builder, op.getLoc(), name, op.getTopology(), collective,
                   result->schedule);
    std::string whole = problem->collective.name();
    op.erase();
    return collective.name() == whole ? success()
                                      : keepName(whole, collective.name());
  }

  /// Lets the collective of the pieces have the name of the one that was cut,
  /// unless others use that: it is the same, of other chunks.
  LogicalResult keepName(StringRef whole, StringRef inPieces) {
    ModuleOp module = getOperation();
    Operation *cut = module.lookupSymbol(whole);
    if (!cut || !SymbolTable::symbolKnownUseEmpty(cut, module))
      return success();
    cut->erase();
    Operation *added = module.lookupSymbol(inPieces);
    auto name = StringAttr::get(&getContext(), whole);
    if (failed(SymbolTable::replaceAllSymbolUses(added, name, module)))
      return failure();
    SymbolTable::setSymbolName(added, name);
    return success();
  }
};
} // namespace
