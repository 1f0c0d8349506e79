//===- Program.cpp - Reading a coll.program -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/Program.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

unsigned coll::getRank(ChannelOp channel) {
  return cast<RankOp>(channel->getParentOp()).getRank();
}

std::optional<Transfer> coll::getTransfer(Operation *op) {
  auto channel = dyn_cast<ChannelOp>(op->getParentOp());
  if (!channel)
    return std::nullopt;
  unsigned rank = getRank(channel);
  auto build = [&](auto transfer, unsigned srcRank, unsigned dstRank) {
    return Transfer{transfer.getChunk(),
                    transfer.getCount(),
                    transfer.getStep(),
                    {{srcRank, transfer.getSrcBuffer(), transfer.getSrcSlot(),
                      transfer.getCount()}},
                    {dstRank, transfer.getDstBuffer(), transfer.getDstSlot(),
                     transfer.getCount()}};
  };
  return TypeSwitch<Operation *, std::optional<Transfer>>(op)
      .Case<PutOp>(
          [&](PutOp put) { return build(put, rank, channel.getPeer()); })
      .Case<GetOp>(
          [&](GetOp get) { return build(get, channel.getPeer(), rank); })
      .Case<CopyOp>([&](CopyOp copy) { return build(copy, rank, rank); })
      .Case<CombineOp>([&](CombineOp combine) {
        Transfer transfer = build(combine, rank, rank);
        transfer.reads.push_back({rank, combine.getRhsBuffer(),
                                  combine.getRhsSlot(), combine.getCount()});
        return transfer;
      })
      .Default(std::nullopt);
}

SignalCounts::SignalCounts(ProgramOp program) {
  auto ranks = program.getBody().getOps<RankOp>();
  numRanks = std::distance(ranks.begin(), ranks.end());
  counts.assign(size_t(numRanks) * numRanks, 0);
  program.walk([&](SignalOp signal) {
    if (signal.getFlag() != Flag::Arrival)
      return;
    auto channel = cast<ChannelOp>(signal->getParentOp());
    ++counts[getRank(channel) * numRanks + signal.getPeer()];
  });
}

namespace {
/// Runs the channels of a program as far as their waits allow.
class Simulation {
public:
  explicit Simulation(ProgramOp program) : counts(program), program(program) {
    for (RankOp rank : program.getBody().getOps<RankOp>()) {
      ++numRanks;
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
        cursors.push_back({channel, channel.getBody().op_begin(),
                           channel.getBody().op_end()});
    }
    values[0].assign(size_t(numRanks) * numRanks, 0);
    values[1] = values[0];
  }

  LogicalResult run(function_ref<void(ChannelOp, Operation *)> visit) {
    bool progress = true;
    while (progress) {
      progress = false;
      for (Cursor &cursor : cursors)
        while (cursor.next != cursor.end && canExecute(cursor)) {
          Operation *op = &*cursor.next++;
          if (auto signal = dyn_cast<SignalOp>(op))
            value(signal.getFlag(), getRank(cursor.channel), signal.getPeer()) =
                signal.getValue();
          visit(cursor.channel, op);
          progress = true;
        }
    }
    return reportStuck();
  }

private:
  struct Cursor {
    ChannelOp channel;
    Region::OpIterator next, end;
  };

  unsigned &value(Flag flag, unsigned src, unsigned dst) {
    return values[unsigned(flag)][size_t(src) * numRanks + dst];
  }

  bool canExecute(Cursor &cursor) {
    auto wait = dyn_cast<WaitOp>(*cursor.next);
    return !wait || value(wait.getFlag(), wait.getPeer(),
                          getRank(cursor.channel)) >= wait.getValue();
  }

  /// Emits an error if a channel has not come to its end. A wait that nobody
  /// will ever serve is the cause of others, so it is reported first.
  LogicalResult reportStuck() {
    std::optional<WaitOp> stuck;
    for (Cursor &cursor : cursors) {
      if (cursor.next == cursor.end)
        continue;
      auto wait = cast<WaitOp>(*cursor.next);
      unsigned rank = getRank(cursor.channel);
      if (!isEverSignalled(wait, rank))
        return reportUnserved(wait, rank);
      if (!stuck)
        stuck = wait;
    }
    if (!stuck)
      return success();
    return stuck->emitOpError()
           << "never ends on rank "
           << getRank(cast<ChannelOp>((*stuck)->getParentOp()))
           << ": it is in a deadlock (D1)";
  }

  /// True if the program has the signal that `wait` waits for.
  bool isEverSignalled(WaitOp wait, unsigned rank) {
    if (wait.getFlag() == Flag::Arrival)
      return counts.arrivals(wait.getPeer(), rank) >= wait.getValue();
    return program
        ->walk([&](SignalOp signal) {
          auto channel = cast<ChannelOp>(signal->getParentOp());
          bool serves = signal.getFlag() == Flag::Ready &&
                        signal.getPeer() == rank &&
                        getRank(channel) == wait.getPeer();
          return serves ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  LogicalResult reportUnserved(WaitOp wait, unsigned rank) {
    auto diag = wait.emitOpError() << "never ends on rank " << rank << ": ";
    if (wait.getFlag() == Flag::Ready)
      return diag << "rank " << wait.getPeer()
                  << " does not announce that it is ready to rank " << rank
                  << " (D2)";
    return diag << "rank " << wait.getPeer() << " signals "
                << counts.arrivals(wait.getPeer(), rank)
                << " arrivals to rank " << rank << ", not " << wait.getValue()
                << " (D2)";
  }

  SignalCounts counts;
  ProgramOp program;
  unsigned numRanks = 0;
  std::vector<Cursor> cursors;
  std::vector<unsigned> values[2];
};
} // namespace

LogicalResult
coll::walkInExecutionOrder(ProgramOp program,
                           function_ref<void(ChannelOp, Operation *)> visit) {
  return Simulation(program).run(visit);
}
