//===- Invert.cpp - Turn schedules round ----------------------------------===//
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

#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_INVERT
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// True if turning every link round gives the same links and limits.
static bool isOwnReverse(const Topology &topology) {
  using LimitKey = std::pair<std::set<std::pair<unsigned, unsigned>>, unsigned>;
  std::multiset<LimitKey> limits, turned;
  for (const BandwidthLimit &limit : topology.limits()) {
    LimitKey forward{{}, limit.bandwidth}, backward{{}, limit.bandwidth};
    for (unsigned index : limit.links) {
      const Link &link = topology.links()[index];
      forward.first.insert({link.src, link.dst});
      backward.first.insert({link.dst, link.src});
    }
    limits.insert(std::move(forward));
    turned.insert(std::move(backward));
  }
  return limits == turned &&
         llvm::all_of(topology.links(), [&](const Link &link) {
           return topology.findLink(link.dst, link.src).has_value();
         });
}

namespace {
struct InvertPass : coll::impl::InvertBase<InvertPass> {
  using InvertBase::InvertBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool found = schedule.empty();
    for (auto op : llvm::make_early_inc_range(module.getOps<ScheduleOp>())) {
      if (!schedule.empty() && op.getSymName() != schedule.getValue())
        continue;
      found = true;
      if (failed(invertOne(op)))
        return signalPassFailure();
    }
    if (!found) {
      module.emitError() << "has no schedule @" << schedule.getValue();
      return signalPassFailure();
    }
  }

  LogicalResult invertOne(ScheduleOp op) {
    FailureOr<Problem> problem = importProblem(op);
    if (failed(problem))
      return failure();
    Result<Implementation> inverse =
        invert({problem->collective, importSchedule(op)});
    if (!inverse)
      return op.emitOpError(inverse.error());

    OpBuilder builder(op);
    StringRef name = result.empty() ? op.getSymName() : StringRef(result);
    std::string topologyName = reversedTopology(builder, op, problem->topology);
    if (inverse->collective.kind() == CollectiveKind::Custom)
      exportCollective(builder, op.getLoc(), inverse->collective);
    exportSchedule(builder, op.getLoc(), name, topologyName,
                   inverse->collective, inverse->schedule);
    if (result.empty())
      op.erase();
    return success();
  }

  /// The symbol of the reversed topology; adds it if the module lacks it.
  static std::string reversedTopology(OpBuilder &builder, ScheduleOp op,
                                      const Topology &topology) {
    if (isOwnReverse(topology))
      return op.getTopology().str();
    std::string name = (op.getTopology() + "_reversed").str();
    if (!SymbolTable::lookupNearestSymbolFrom(
            op, StringAttr::get(op.getContext(), name))) {
      Topology reversed = topology.reversed();
      reversed.setName(name);
      exportTopology(builder, op.getLoc(), reversed);
    }
    return name;
  }
};
} // namespace
