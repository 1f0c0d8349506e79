//===- CheckSchedule.cpp - Run the independent checker on the IR ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Check/Certificate.h"
#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHECKSCHEDULE
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// The op that `violation` is about: a send, else its step, else the schedule.
static Operation *findCulprit(ScheduleOp schedule, const Violation &violation) {
  if (!violation.step)
    return schedule;
  auto steps = schedule.getBody().getOps<StepOp>();
  auto step = std::next(steps.begin(), *violation.step);
  if (step == steps.end())
    return schedule;
  if (!violation.send)
    return *step;
  size_t sendsLeft = *violation.send;
  for (auto op : (*step).getBody().getOps<SendOpInterface>()) {
    if (sendsLeft < op.numChunks())
      return op;
    sendsLeft -= op.numChunks();
  }
  return *step;
}

/// Verifies the certificate that `op` carries, if any (check A2).
static LogicalResult checkCarriedCertificate(ScheduleOp op,
                                             const Problem &problem) {
  std::optional<StringRef> text = op.getCertificate();
  if (!text)
    return success();
  Result<Certificate> certificate = parseCertificate(*text);
  if (!certificate)
    return op.emitOpError()
           << "has a certificate that cannot be read: " << certificate.error()
           << " (A2)";
  if (std::optional<std::string> reason =
          checkCertificate(*certificate, problem.topology, problem.collective))
    return op.emitOpError()
           << "has a certificate that does not hold: " << *reason << " (A2)";
  return success();
}

namespace {
struct CheckSchedulePass : coll::impl::CheckScheduleBase<CheckSchedulePass> {
  void runOnOperation() override {
    for (ScheduleOp op : getOperation().getOps<ScheduleOp>()) {
      FailureOr<Problem> problem = importProblem(op);
      if (failed(problem))
        return signalPassFailure();
      std::optional<Violation> violation = checkSchedule(
          problem->topology, problem->collective, importSchedule(op));
      if (!violation) {
        if (failed(checkCarriedCertificate(op, *problem)))
          return signalPassFailure();
        continue;
      }
      Operation *culprit = findCulprit(op, *violation);
      InFlightDiagnostic diag = culprit->emitError() << violation->message;
      if (culprit != op)
        diag.attachNote(op.getLoc()) << "in schedule @" << op.getSymName();
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
