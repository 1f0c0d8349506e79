//===- CheckedLowering.cpp - Lowering with its checks beside --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans for a thousand ranks take seconds, a third of which is for checks. A
// check only reads. Where the context has threads, it runs beside the next
// thing, whose result waits for it.
//
//===----------------------------------------------------------------------===//

#include "CheckedLowering.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Plan/HeldDiagnostics.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace sccl;

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

ScheduleCheck::ScheduleCheck(ModuleOp module) : module(module) {
  auto schedules = module.getOps<coll::ScheduleOp>();
  if (schedules.empty())
    return;
  isRight.emplace(
      [schedule = *schedules.begin()] { return coll::isRight(schedule); },
      module.getContext()->isMultithreadingEnabled());
}

LogicalResult ScheduleCheck::finish() {
  if (holds())
    return success();
  // Once more, to say why.
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(runPasses(*copy, [](OpPassManager &manager) {
        manager.addNestedPass<coll::ScheduleOp>(coll::createCheckSchedule());
      })))
    return failure();
  return module.emitError("two checks of one schedule differ");
}

FailureOr<OwningOpRef<ModuleOp>>
sccl::lowerChecked(ModuleOp module, const LoweringOptions &options,
                   ScheduleCheck &check) {
  MLIRContext *context = module.getContext();
  if (!context->isMultithreadingEnabled() && failed(check.finish()))
    return failure();
  OwningOpRef<ModuleOp> lowered = module.clone();
  LogicalResult result = failure();
  {
    // That a wrong schedule cannot be lowered says less than its check does.
    HeldDiagnostics held(context);
    result = runPasses(*lowered, [&](OpPassManager &manager) {
      addUncheckedLowering(manager, options);
    });
    if (check.holds())
      held.release();
  }
  if (failed(check.finish()) || failed(result))
    return failure();
  return lowered;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static ProgramVerdict judge(coll::ProgramOp program,
                            const Collective &collective,
                            const SumContract &contract) {
  if (!coll::isRight(program, collective, contract))
    return {};
  return {true, coll::allowsInPlace(program, collective)};
}

/// Emits what is wrong with the program in `module`.
static LogicalResult reportFaults(ModuleOp module,
                                  const SumContract &contract) {
  if (failed(runPasses(module, [&](OpPassManager &manager) {
        addProgramCheck(manager, contract);
      })))
    return failure();
  return module.emitError("two checks of one program differ");
}

std::string sccl::findOrders(ModuleOp module, const LoweringOptions &options,
                             ScheduleCheck &check,
                             const Collective &collective) {
  HeldDiagnostics ofLowering(module.getContext());
  FailureOr<OwningOpRef<ModuleOp>> lowered =
      lowerChecked(module, options, check);
  if (failed(lowered))
    return "";
  coll::ProgramOp program = *(*lowered)->getOps<coll::ProgramOp>().begin();
  const SumContract contract = contractFor(options);
  if (!coll::isRight(program, collective, {SumOrder::Any}) ||
      coll::isRight(program, collective, contract))
    return "";
  HeldDiagnostics held(module.getContext());
  (void)reportFaults(**lowered, contract);
  std::string message = held.first();
  constexpr StringRef subject = "'coll.program' op ";
  return StringRef(message).starts_with(subject)
             ? message.substr(subject.size())
             : message;
}

FailureOr<std::pair<Kernels *, ProgramVerdict>>
sccl::makeChecked(LoweredProgram &program, const Collective &collective,
                  const SumContract &contract, bool isGiven) {
  coll::ProgramOp op = *program.module().getOps<coll::ProgramOp>().begin();
  bool hasThreads = op.getContext()->isMultithreadingEnabled();
  Beside<ProgramVerdict> check([&] { return judge(op, collective, contract); },
                               hasThreads);
  bool isFirst = isGiven || !hasThreads;
  FailureOr<Kernels *> kernels = failure();
  if (!isFirst || check.get().isRight)
    kernels = program.anyKernels();
  ProgramVerdict verdict = check.get();
  if (!verdict.isRight)
    return reportFaults(program.module(), contract);
  if (failed(kernels))
    return failure();
  return std::pair(*kernels, verdict);
}
