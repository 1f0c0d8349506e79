//===- CheckArrivals.cpp - Who says that a put has arrived ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Crossings.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Analysis/SlotNumbering.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

using collk::Boxes;

namespace {
/// What a channel says when a put is over.
struct Arrival {
  FlagId flag;
  unsigned value;
};

class ArrivalChecker {
public:
  ArrivalChecker(ProgramOp program, Boxes boxes)
      : program(program), boxes(boxes), slots(program), writers(slots.size()) {}

  LogicalResult run() {
    LogicalResult result = success();
    forEachChannel(program, [&](ChannelOp channel) {
      if (succeeded(result))
        result = findArrivals(channel);
    });
    forEachChannel(program, [&](ChannelOp channel) {
      if (succeeded(result))
        result = checkReads(channel);
    });
    return succeeded(result) ? checkEnds() : failure();
  }

private:
  /// Enters what `channel` puts into other boxes, from the last op to the
  /// first.
  LogicalResult findArrivals(ChannelOp channel) {
    unsigned rank = getRank(channel);
    llvm::DenseMap<unsigned, Arrival> next; // by rank, the signal that follows
    if (channel.getBody().empty())
      return success();
    for (Operation &op : llvm::reverse(channel.getBody().front())) {
      if (auto signal = dyn_cast<SignalOp>(op)) {
        FlagId flag = getFlag(signal);
        if (flag.kind == Flag::Arrival)
          next[flag.dst] = {flag, signal.getValue()};
        continue;
      }
      std::optional<Transfer> transfer = getTransfer(&op);
      if (!transfer || !boxes.areApart(rank, transfer->write.rank) ||
          holdsLL(program, transfer->write)) // which is refused anyway
        continue;
      auto told = next.find(transfer->write.rank);
      if (told == next.end())
        return op.emitOpError()
               << "of rank " << rank << " puts a chunk into another box, and "
               << "does not tell rank " << transfer->write.rank;
      bool isAgain = false;
      slots.forEach(transfer->write, [&](size_t slot) {
        isAgain |= writers[slot].has_value();
        writers[slot] = told->second;
      });
      if (isAgain)
        return op.emitOpError()
               << "of rank " << rank << " puts a chunk where another one has "
               << "been put from another box";
      unsigned &last = lasts[keyOf(told->second.flag)];
      last = std::max(last, told->second.value);
      puts.push_back({&op, told->second.flag});
    }
    return success();
  }

  LogicalResult checkReads(ChannelOp channel) {
    unsigned rank = getRank(channel);
    llvm::DenseMap<FlagKey, unsigned> known;
    for (Operation &op : channel.getBody().getOps()) {
      if (auto wait = dyn_cast<WaitOp>(op)) {
        FlagKey flag = keyOf(getFlag(wait));
        known[flag] = std::max<unsigned>(known[flag], wait.getValue());
        unsigned &ever = waited[flag];
        ever = std::max(ever, known[flag]);
      } else if (std::optional<Transfer> transfer = getTransfer(&op)) {
        for (const SlotRange &read : transfer->reads)
          if (failed(checkRead(&op, read, rank, known)))
            return failure();
      }
    }
    return success();
  }

  LogicalResult checkRead(Operation *op, const SlotRange &read, unsigned rank,
                          const llvm::DenseMap<FlagKey, unsigned> &known) {
    std::optional<Arrival> unknown;
    slots.forEach(read, [&](size_t slot) {
      const std::optional<Arrival> &arrival = writers[slot];
      if (arrival && known.lookup(keyOf(arrival->flag)) < arrival->value)
        unknown = arrival;
    });
    if (!unknown)
      return success();
    InFlightDiagnostic error = op->emitOpError()
                               << "of rank " << rank << " reads what rank "
                               << unknown->flag.src
                               << " has put into memory of rank " << read.rank
                               << " from another box";
    if (read.rank != rank)
      return error << ", of which only that rank is told; let it push";
    return error << ", without waiting for it itself; lower without "
                    "coll-remove-redundant-sync";
  }

  /// Fails if a rank may return before all that is put into its memory is
  /// there.
  LogicalResult checkEnds() {
    for (const auto &[op, flag] : puts)
      if (waited.lookup(keyOf(flag)) < lasts.lookup(keyOf(flag)))
        return op->emitOpError()
               << "of rank " << flag.src << " puts a chunk into another box, "
               << "and rank " << flag.dst
               << " may return without waiting for it";
    return success();
  }

  ProgramOp program;
  Boxes boxes;
  SlotNumbering slots;
  std::vector<std::optional<Arrival>> writers; ///< by slot, from other boxes
  std::vector<std::pair<Operation *, FlagId>> puts;
  // By flag: the last value that follows a put, and the last that is waited
  // for. Only looked up.
  llvm::DenseMap<FlagKey, unsigned> lasts, waited;
};
} // namespace

LogicalResult collk::checkArrivals(coll::ProgramOp program, Boxes boxes) {
  BarrierOp barrier;
  forEachOp<BarrierOp>(program, [&](BarrierOp op) { barrier = op; });
  if (barrier)
    return barrier.emitOpError("is where hosts would have to meet; lower "
                               "without steps");
  return ArrivalChecker(program, boxes).run();
}
