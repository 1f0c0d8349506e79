//===- MeasuredTrace.cpp - --trace of run and bench -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeasuredTrace.h"

#include "Driver.h"

#include "sccl/Report/Trace.h"

using namespace sccl;
using namespace sccl::driver;
using report::TraceEvent;

static TraceEvent::Kind kindOf(scclTraceKind kind) {
  switch (kind) {
  case scclTraceWait:
    return TraceEvent::Kind::Wait;
  case scclTraceTransfer:
    return TraceEvent::Kind::Transfer;
  case scclTraceReduce:
    return TraceEvent::Kind::Reduce;
  case scclTraceCopy:
    return TraceEvent::Kind::Copy;
  case scclTraceSignal:
    return TraceEvent::Kind::Signal;
  case scclTraceBarrier:
    return TraceEvent::Kind::Barrier;
  }
  return TraceEvent::Kind::Copy;
}

static TraceEvent eventOf(unsigned rank, const scclTraceEvent &event) {
  constexpr double nanosecond = 1e-3; // in microseconds
  TraceEvent result{rank, unsigned(event.channel), kindOf(event.kind),
                    event.begin * nanosecond, event.end * nanosecond};
  if (event.peer >= 0)
    result.peer = event.peer;
  result.isPull = event.isPull;
  result.bytes = event.bytes;
  result.flag = event.flag;
  result.value = event.value;
  return result;
}

/// The trace of `name` that ranks have recorded.
static report::Trace traceOf(const std::string &name,
                             const PlanRank::Trace &recorded) {
  report::Trace trace{name + ", measured", {}};
  for (unsigned rank = 0; rank < recorded.size(); ++rank)
    for (const scclTraceEvent &event : recorded[rank]) {
      trace.events.push_back(eventOf(rank, event));
      trace.isOfMessages |= event.kind == scclTraceTransfer && event.value != 0;
    }
  return trace;
}

std::optional<Error> driver::checkTraced(PlanRank &rank,
                                         MeasureRequest request) {
  request.traced = true;
  request.verified = 0;
  request.batches = request.launches = 1;
  Result<Measurement> measured = rank.measure(request);
  if (!measured)
    return Error{measured.error()};
  Result<PlanRank::Trace> recorded = rank.trace();
  if (!recorded)
    return Error{recorded.error()};
  for (const std::vector<scclTraceEvent> &events : *recorded)
    if (!events.empty())
      return std::nullopt;
  return Error{"the plan's code does not tell what it does; compile it with "
               "--traced"};
}

Result<Measurement> driver::measureTraced(PlanRank &rank,
                                          const MeasureRequest &request,
                                          unsigned number, llvm::StringRef path,
                                          const std::string &name) {
  Result<Measurement> measured = rank.measure(request);
  if (!measured || !request.traced)
    return measured;
  Result<PlanRank::Trace> recorded = rank.trace();
  if (!recorded)
    return Error{recorded.error()};
  if (number == 0 &&
      !writeFile(path, report::chromeText(traceOf(name, *recorded))))
    return Error{"there is no trace"};
  return measured;
}
