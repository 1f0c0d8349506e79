//===- CheckSchedule.cpp - Run the independent checker on the IR ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Check/Certificate.h"
#include "sccl/Check/ScheduleChecker.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHECKSCHEDULE
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// What is wrong with the certificate that `op` carries, if anything (A2).
static std::optional<std::string> findCertificateFault(ScheduleOp op,
                                                       const Problem &problem) {
  std::optional<StringRef> text = op.getCertificate();
  if (!text)
    return std::nullopt;
  Result<Certificate> certificate = parseCertificate(*text);
  if (!certificate)
    return "has a certificate that cannot be read: " + certificate.error() +
           " (A2)";
  if (std::optional<std::string> reason =
          checkCertificate(*certificate, problem.topology, problem.collective))
    return "has a certificate that does not hold: " + *reason + " (A2)";
  return std::nullopt;
}

static std::optional<Violation> findViolation(ScheduleOp op,
                                              const Problem &problem) {
  return checkSchedule(problem.topology, problem.collective,
                       importSchedule(op));
}

bool coll::isRight(ScheduleOp schedule) {
  FailureOr<Problem> problem = importProblem(schedule);
  return succeeded(problem) && !findViolation(schedule, *problem) &&
         !findCertificateFault(schedule, *problem);
}

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

namespace {
struct CheckSchedulePass : coll::impl::CheckScheduleBase<CheckSchedulePass> {
  void runOnOperation() override {
    const Problem *problem = getAnalysis<ProblemAnalysis>().get();
    if (!problem || failed(check(getOperation(), *problem)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  static LogicalResult check(ScheduleOp op, const Problem &problem) {
    std::optional<Violation> violation = findViolation(op, problem);
    if (!violation) {
      auto fault = findCertificateFault(op, problem);
      return fault ? op.emitOpError(*fault) : success();
    }
    Operation *culprit = findCulprit(op, *violation);
    InFlightDiagnostic diag = culprit->emitError() << violation->message;
    if (culprit != op)
      diag.attachNote(op.getLoc()) << "in schedule @" << op.getSymName();
    return diag;
  }
};
} // namespace
