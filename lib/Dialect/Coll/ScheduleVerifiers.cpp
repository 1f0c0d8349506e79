//===- ScheduleVerifiers.cpp - Verifiers of coll.schedule -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of schedules, their steps and sends, as CollVerifiers.cpp says.
//
//===----------------------------------------------------------------------===//

#include "BodyHolds.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Instance.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

LogicalResult ScheduleOp::verifyRegions() {
  return verifyBodyHolds<StepOp>(*this, getBody(), "coll.step"); // schedule_c3
}

LogicalResult StepOp::verifyRegions() {
  if (getRounds() < 1 || getRounds() > Instance::maxRounds) // step_c1
    return emitOpError() << "takes " << int32_t(getRounds())
                         << " rounds, expected between 1 and "
                         << Instance::maxRounds;
  return verifyBodyHolds<SendOp, ReduceOp, KeepOp>( // step_c2
      *this, getBody(), "coll.send, coll.reduce and coll.keep");
}

/// Ranges hold something and ascend, so that no chunk is there twice.
static LogicalResult
verifyRanges(SendOpInterface op) { // send_c3, reduce_c3, keep_c3
  if (op.getRanges().empty() || op.getRanges().size() % 3 != 0)
    return op->emitOpError()
           << "has " << op.getRanges().size()
           << " numbers as ranges of chunks, expected some triples of first, "
              "count and stride";
  int64_t next = std::numeric_limits<int32_t>::min();
  for (auto numbers = op.getRanges(); !numbers.empty();
       numbers = numbers.drop_front(3)) {
    int64_t first = numbers[0], count = numbers[1], stride = numbers[2];
    if (count < 1 || stride < 1)
      return op->emitOpError() << "has a range of " << count
                               << " chunks with a stride of " << stride;
    if (first < next)
      return op->emitOpError() << "has a range from chunk " << first
                               << " after one that ends at " << next - 1;
    next = first + (count - 1) * stride + 1;
  }
  return success();
}

/// Numbers of what ranks keep.
static LogicalResult
verifyKept(SendOpInterface op) { // send_c4, reduce_c4, keep_c4
  int64_t limit = Send::maxKept;
  if (op.getKeep() && (*op.getKeep() < 1 || *op.getKeep() > limit))
    return op->emitOpError()
           << "keeps what arrives as number " << int32_t(*op.getKeep())
           << ", the limits are 1 and " << limit;
  std::optional<ArrayRef<int32_t>> kept = op.getKept();
  if (!kept)
    return success();
  int64_t last = 0;
  for (int32_t number : *kept) {
    if (number <= last || number > limit)
      return op->emitOpError()
             << "sends what is kept as number " << number << " after " << last
             << ", expected numbers that ascend from 1 to " << limit;
    last = number;
  }
  if (last == 0)
    return op->emitOpError() << "sends what is kept under no number";
  return success();
}

static LogicalResult verifyMove(SendOpInterface op) {
  return success(succeeded(verifyRanges(op)) && succeeded(verifyKept(op)));
}
LogicalResult SendOp::verify() { return verifyMove(*this); }
LogicalResult ReduceOp::verify() { return verifyMove(*this); }
LogicalResult KeepOp::verify() {
  if (!getKeep()) // keep_c4
    return emitOpError() << "keeps what arrives under no number";
  return verifyMove(*this);
}

/// The first chunk of `op` that is not below `numChunks`.
static std::optional<int64_t> firstBeyond(SendOpInterface op,
                                          int64_t numChunks) {
  for (auto numbers = op.getRanges(); !numbers.empty();
       numbers = numbers.drop_front(3)) {
    int64_t first = numbers[0];
    int64_t last = first + int64_t(numbers[1] - 1) * numbers[2];
    if (first < 0 || last >= numChunks)
      return first < 0 ? first : last;
  }
  return std::nullopt;
}

/// Checks one send or reduce against what its schedule names.
static LogicalResult verifySend(SendOpInterface op, ScheduleOp schedule,
                                const Problem &problem) {
  int64_t numChunks = problem.collective.numChunks();
  if (std::optional<int64_t> chunk =
          firstBeyond(op, numChunks)) // send_c1, reduce_c1, keep_c1
    return op->emitOpError()
           << "moves chunk " << *chunk << ", but the collective has "
           << numChunks << " chunks";
  if (!problem.topology.findLink(op.getSrc(),
                                 op.getDst())) { // send_c2, reduce_c2, keep_c2
    InFlightDiagnostic diag = op->emitOpError()
                              << "uses link " << int32_t(op.getSrc()) << " -> "
                              << int32_t(op.getDst()) << ", which topology @"
                              << schedule.getTopology() << " does not have";
    if (Operation *topology = SymbolTable::lookupNearestSymbolFrom(
            schedule, schedule.getTopologyAttr()))
      diag.attachNote(topology->getLoc()) << "topology declared here";
    return diag;
  }
  return success();
}

static LogicalResult verifyWays(ScheduleOp op) { // schedule_c6
  std::vector<Way> ways = importWays(op);
  for (auto [i, way] : llvm::enumerate(ways))
    for (unsigned j = 0; j < i; ++j)
      if (way.key() == ways[j].key())
        return op.emitOpError()
               << "is given way " << j << " twice, as number " << i << " too";
  if (op->hasAttr("best_at"))
    return op.emitOpError("has 'best_at', which only sccl before 0.2.0 reads; "
                          "make it again with sccl plan");
  return success();
}

LogicalResult ScheduleOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<Problem> problem = importProblem(*this); // schedule_c1-c2
  if (failed(problem))
    return failure();
  // As unsigned numbers, so that negative ones are too large. // schedule_c5
  if (getPeriod() && *getPeriod() - 1 >= Instance::maxRounds)
    return emitOpError() << "has a period of " << int32_t(*getPeriod())
                         << ", the limits are 1 and " << Instance::maxRounds;
  if (failed(verifyWays(*this)))
    return failure();
  uint64_t numSends = 0;
  for (StepOp step : getBody().getOps<StepOp>())
    for (auto send : step.getBody().getOps<SendOpInterface>()) {
      if (failed(verifySend(send, *this, *problem)))
        return failure();
      numSends += send.numChunks();
      if (numSends > Schedule::maxSends) // schedule_c4
        return send->emitOpError() << "makes the schedule move more than "
                                   << Schedule::maxSends << " chunks";
    }
  return success();
}
