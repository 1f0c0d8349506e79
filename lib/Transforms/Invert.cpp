//===- Invert.cpp - Turn schedules round ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "Declare.h"
#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Inversion.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_INVERT
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
struct InvertPass : coll::impl::InvertBase<InvertPass> {
  using InvertBase::InvertBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<ScheduleOp> chosen;
    for (auto op : module.getOps<ScheduleOp>())
      if (schedule.empty() || op.getSymName() == schedule.getValue())
        chosen.push_back(op);
    if (failed(checkOptions(module, chosen)))
      return signalPassFailure();
    for (ScheduleOp op : chosen)
      if (failed(invertOne(op)))
        return signalPassFailure();
  }

  LogicalResult checkOptions(ModuleOp module, ArrayRef<ScheduleOp> chosen) {
    if (!schedule.empty() && chosen.empty())
      return module.emitError() << "has no schedule @" << schedule.getValue();
    if (result.empty())
      return success();
    if (chosen.size() != 1)
      return module.emitError()
             << "cannot give the name @" << result.getValue() << " to "
             << chosen.size() << " inverses, choose one by schedule";
    if (module.lookupSymbol(result))
      return module.emitError() << "has a symbol @" << result.getValue()
                                << " already, the inverse needs another name";
    return success();
  }

  LogicalResult invertOne(ScheduleOp op) {
    const Problem *problem = getChildAnalysis<ProblemAnalysis>(op).get();
    if (!problem)
      return failure();
    Result<Implementation> inverse =
        invert({problem->collective, importSchedule(op)});
    if (!inverse)
      return op.emitOpError(inverse.error());

    OpBuilder builder(op);
    StringRef name = result.empty() ? op.getSymName() : StringRef(result);
    Topology reversed = problem->topology.reversed();
    reversed.setName((op.getTopology() + "_reversed").str());
    std::string topology = declareTopology(builder, op, reversed, name);
    Collective collective =
        declareCollective(builder, op, inverse->collective, name);
    std::vector<Way> ways = importWays(op);
    for (Way &way : ways) // whose times are another machine's
      way.bestAt.clear();
    exportSchedule(builder, op.getLoc(), name, topology, collective,
                   inverse->schedule, /*certificate=*/"", ways);
    if (result.empty())
      op.erase();
    return success();
  }
};
} // namespace
