//===- DeriveTopology.cpp - Topologies of machines ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Dialect/Coll/Boxes.h"
#include "sccl/Dialect/Coll/CollMachine.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Machine/Derivation.h"
#include "sccl/Machine/Units.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_DERIVETOPOLOGY
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
struct DeriveTopologyPass : coll::impl::DeriveTopologyBase<DeriveTopologyPass> {
  using DeriveTopologyBase::DeriveTopologyBase;

  void runOnOperation() override {
    DerivationOptions options;
    if (failed(readOptions(options)))
      return signalPassFailure();
    for (auto op : llvm::to_vector(getOperation().getOps<MachineOp>()))
      if (failed(deriveOne(op, options)))
        return signalPassFailure();
  }

  LogicalResult readOptions(DerivationOptions &options) {
    Result<Rational> number = parseDecimal(tolerance);
    if (!number)
      return getOperation().emitError("tolerance: ") << number.error();
    options.tolerance = *number;
    if (quantum.empty())
      return success();
    number = parseDecimal(quantum);
    if (!number)
      return getOperation().emitError("quantum: ") << number.error();
    options.quantum = *number;
    return success();
  }

  LogicalResult deriveOne(MachineOp op, const DerivationOptions &options) {
    FailureOr<Machine> machine = importMachine(op);
    if (failed(machine))
      return failure();
    Result<Derivation> derivation = deriveTopology(*machine, options);
    if (!derivation)
      return op.emitOpError("has no topology: ") << derivation.error();
    Topology &topology = derivation->topology;
    topology.setName(machine->name() + "_topology");
    if (getOperation().lookupSymbol(topology.name()))
      return op.emitOpError() << "needs the symbol @" << topology.name()
                              << ", which is there already";
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    setBoxes(exportTopology(builder, op.getLoc(), topology),
             ranksByBox(*machine));
    InFlightDiagnostic remark = op.emitRemark();
    remark << "one chunk per round is " << decimalText(derivation->quantum)
           << " GB/s";
    for (const std::string &note : derivation->notes)
      remark.attachNote() << note;
    return success();
  }
};
} // namespace
