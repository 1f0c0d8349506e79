//===- SynthesizeSchedule.cpp - From a question to a schedule -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Solver/Solver.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_SYNTHESIZESCHEDULE
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// The text of a lower bound for as many steps.
static Result<std::string> boundCertificate(const Instance &instance) {
  LowerBoundOptions options;
  options.target = Rational(instance.rounds, instance.collective.chunks());
  Result<LowerBound> bound = availableBound(
      instance.topology, instance.collective, instance.steps, options);
  if (!bound)
    return Error{bound.error()};
  return printCertificate(bound->certificate);
}

namespace {
struct SynthesizeSchedulePass
    : coll::impl::SynthesizeScheduleBase<SynthesizeSchedulePass> {
  using SynthesizeScheduleBase::SynthesizeScheduleBase;

  void runOnOperation() override {
    if (failed(readOptions()))
      return signalPassFailure();
    for (auto op :
         llvm::make_early_inc_range(getOperation().getOps<SynthesizeOp>()))
      if (failed(replace(op)))
        return signalPassFailure();
  }

  LogicalResult readOptions() {
    if (encoding == "paper")
      solverOptions.encoding = Encoding::Paper;
    else if (encoding != "direct")
      return getOperation().emitError() << "unknown encoding '" << encoding
                                        << "', expected direct or paper";
    // Only z3 has encodings to choose from.
    bool hasEncoding = encoding.hasValue() || encoding != "direct";
    engineName = engine;
    if (hasEncoding && !engine.hasValue() && engineName == "auto")
      engineName = "z3";
    if (hasEncoding && engineName != "z3")
      return getOperation().emitError()
             << "the option encoding is for the engine z3, got '" << engineName
             << "'";
    if (!(timeout >= 0))
      return getOperation().emitError()
             << "the option timeout must be at least 0 seconds";
    solverOptions.timeoutSeconds = timeout;
    solverOptions.seed = seed;
    return success();
  }

  LogicalResult replace(SynthesizeOp op) {
    FailureOr<Instance> instance = importInstance(op);
    if (failed(instance))
      return failure();
    Outcome outcome = synthesize(*instance, solverOptions, engineName).outcome;
    if (auto *unsat = std::get_if<Unsatisfiable>(&outcome))
      return op.emitOpError() << "is unsatisfiable: " << unsat->reason;
    if (auto *unknown = std::get_if<Unknown>(&outcome))
      return op.emitOpError() << "has no answer: " << unknown->reason;
    if (auto *failed = std::get_if<Failed>(&outcome))
      return op.emitOpError() << "failed: " << failed->message;

    Result<std::string> certificate = std::string();
    if (certify)
      certificate = boundCertificate(*instance);
    if (!certificate)
      return op.emitOpError() << "has no certificate: " << certificate.error();
    OpBuilder builder(op);
    std::vector<Way> ways;
    if (instance->hasOrder())
      ways.push_back({.sumOrder = instance->order});
    exportSchedule(builder, op.getLoc(), op.getSymName(), op.getTopology(),
                   instance->collective, std::get<Satisfied>(outcome).schedule,
                   *certificate, ways);
    op.erase();
    return success();
  }

  SolverOptions solverOptions;
  std::string engineName;
};
} // namespace
