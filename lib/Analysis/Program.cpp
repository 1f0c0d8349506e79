//===- Program.cpp - Reading a coll.program -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/Program.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

unsigned coll::getRank(ChannelOp channel) {
  return cast<RankOp>(channel->getParentOp()).getRank();
}

Transfer Transfer::repetition(unsigned i) const {
  auto part = [i](SlotRange range) {
    range.slot += i * range.stride;
    range.times = 1;
    range.stride = 0;
    return range;
  };
  Transfer result = *this;
  result.chunk += i * chunkStride;
  result.times = 1;
  result.chunkStride = 0;
  for (SlotRange &read : result.reads)
    read = part(read);
  result.write = part(write);
  return result;
}

std::optional<Transfer> coll::getTransfer(Operation *op) {
  auto channel = dyn_cast<ChannelOp>(op->getParentOp());
  if (!channel)
    return std::nullopt;
  unsigned rank = getRank(channel);
  auto build = [&](auto transfer, unsigned srcRank, unsigned dstRank) {
    unsigned count = transfer.getCount(), times = transfer.getTimes();
    return Transfer{transfer.getChunk(),
                    count,
                    transfer.getStep(),
                    {{srcRank, transfer.getSrcBuffer(), transfer.getSrcSlot(),
                      count, times, transfer.getSrcStride()}},
                    {dstRank, transfer.getDstBuffer(), transfer.getDstSlot(),
                     count, times, transfer.getDstStride()},
                    /*isFinal=*/false,
                    times,
                    transfer.getChunkStride()};
  };
  auto buildCombine = [&](auto combine, unsigned rhsRank, unsigned dstRank) {
    Transfer transfer = build(combine, rank, dstRank);
    transfer.reads.push_back({rhsRank, combine.getRhsBuffer(),
                              combine.getRhsSlot(), combine.getCount(),
                              combine.getTimes(), combine.getRhsStride()});
    transfer.isFinal = combine.getFinal();
    return transfer;
  };
  return TypeSwitch<Operation *, std::optional<Transfer>>(op)
      .Case<PutOp>(
          [&](PutOp put) { return build(put, rank, channel.getPeer()); })
      .Case<GetOp>(
          [&](GetOp get) { return build(get, channel.getPeer(), rank); })
      .Case<CopyOp>([&](CopyOp copy) { return build(copy, rank, rank); })
      .Case<LocalReduceOp>(
          [&](LocalReduceOp op) { return buildCombine(op, rank, rank); })
      .Case<ReducePutOp>([&](ReducePutOp op) {
        return buildCombine(op, rank, channel.getPeer());
      })
      .Case<GetReduceOp>([&](GetReduceOp op) {
        return buildCombine(op, channel.getPeer(), rank);
      })
      .Default(std::nullopt);
}

bool coll::isSynchronized(ProgramOp program) {
  return program
      ->walk([](Operation *op) {
        return isa<SignalOp, WaitOp, BarrierOp>(op) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

FlagId coll::getFlag(SignalOp signal) {
  auto channel = cast<ChannelOp>(signal->getParentOp());
  return {signal.getFlag(), getRank(channel), channel.getPeer(),
          signal.getPeer()};
}

FlagId coll::getFlag(WaitOp wait) {
  unsigned rank = getRank(cast<ChannelOp>(wait->getParentOp()));
  unsigned src = wait.getPeer();
  unsigned byDefault = wait.getFlag() == Flag::Ready ? src : rank;
  return {wait.getFlag(), src, wait.getChannel().value_or(byDefault), rank};
}

FlagTable::FlagTable(ProgramOp program) {
  auto ranks = program.getBody().getOps<RankOp>();
  flagsOfRank.assign(std::distance(ranks.begin(), ranks.end()), 0);
  // Numbered by who polls, so that a block's flags share cache lines.
  auto number = [&](const FlagId &id) -> Entry & {
    auto [it, isNew] = flags.try_emplace(id);
    if (isNew)
      it->second.index = flagsOfRank[id.dst]++;
    return it->second;
  };
  program.walk([&](WaitOp wait) { number(getFlag(wait)); });
  program.walk([&](SignalOp signal) { ++number(getFlag(signal)).signals; });
}

unsigned FlagTable::signals(const FlagId &flag) const {
  auto it = flags.find(flag);
  return it == flags.end() ? 0 : it->second.signals;
}

unsigned FlagTable::index(const FlagId &flag) const {
  return flags.at(flag).index;
}

unsigned FlagTable::numFlags(unsigned rank) const { return flagsOfRank[rank]; }

namespace {
/// Runs the channels of a program as far as their waits allow.
class Simulation {
public:
  explicit Simulation(ProgramOp program) : program(program), flags(program) {
    for (RankOp rank : program.getBody().getOps<RankOp>())
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
        cursors.push_back({channel, channel.getBody().op_begin(),
                           channel.getBody().op_end()});
  }

  LogicalResult run(function_ref<void(ChannelOp, Operation *)> visit) {
    bool progress = true;
    while (progress) {
      progress = false;
      for (Cursor &cursor : cursors)
        while (cursor.next != cursor.end && canExecute(cursor)) {
          Operation *op = &*cursor.next++;
          if (auto signal = dyn_cast<SignalOp>(op))
            values[getFlag(signal)] = signal.getValue();
          cursor.barriers += isa<BarrierOp>(op);
          noteWrite(op);
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
    unsigned barriers = 0; ///< passed so far
  };

  bool canExecute(const Cursor &cursor) {
    if (auto wait = dyn_cast<WaitOp>(*cursor.next))
      return values[getFlag(wait)] >= wait.getValue();
    if (isa<BarrierOp>(*cursor.next))
      return allReached(cursor.barriers);
    return !firstMissing(&*cursor.next, written);
  }

  /// Enters the LL words that `op` sends.
  void noteWrite(Operation *op) { insertLL(op, written); }

  using SlotKey = std::pair<unsigned, unsigned>; ///< rank and slot of scratch

  void insertLL(Operation *op, std::set<SlotKey> &slots) {
    std::optional<Transfer> transfer = getTransfer(op);
    if (!transfer || !holdsLL(program, transfer->write))
      return;
    for (unsigned i = 0; i < transfer->size(); ++i)
      slots.insert({transfer->write.rank, transfer->write[i]});
  }

  /// The first slot of LL words that `op` reads and that is not among `slots`.
  std::optional<SlotKey> firstMissing(Operation *op,
                                      const std::set<SlotKey> &slots) {
    std::optional<Transfer> transfer;
    if (program.getLl())
      transfer = getTransfer(op);
    if (!transfer)
      return std::nullopt;
    for (const SlotRange &read : transfer->reads)
      for (unsigned i = 0; holdsLL(program, read) && i < read.size(); ++i)
        if (!slots.count({read.rank, read[i]}))
          return SlotKey{read.rank, read[i]};
    return std::nullopt;
  }

  /// True if every channel has passed `barriers` barriers, and has come to the
  /// next one or passed it, too.
  bool allReached(unsigned barriers) {
    return llvm::all_of(cursors, [&](const Cursor &other) {
      bool isAtBarrier = other.next != other.end && isa<BarrierOp>(*other.next);
      return other.barriers + isAtBarrier > barriers;
    });
  }

  /// Emits an error if a channel has not come to its end. A wait that nobody
  /// will ever serve is the cause of others, so it is reported first.
  LogicalResult reportStuck() {
    Operation *stuck = nullptr;
    std::set<SlotKey> sent; // by anybody, in the end
    program.walk([&](Operation *op) { insertLL(op, sent); });
    for (Cursor &cursor : cursors) {
      if (cursor.next == cursor.end)
        continue;
      Operation *op = &*cursor.next;
      if (isa<BarrierOp>(op))
        continue; // it waits for channels that are stuck
      auto wait = dyn_cast<WaitOp>(op);
      if (wait && flags.signals(getFlag(wait)) < wait.getValue())
        return reportUnserved(wait);
      if (auto slot = firstMissing(op, sent))
        return op->emitOpError()
               << "never ends on rank " << getRank(cursor.channel)
               << ": nobody sends LL words to scratch[" << slot->second
               << "] of rank " << slot->first << " (D2)";
      if (!stuck)
        stuck = op;
    }
    if (!stuck)
      return success();
    return stuck->emitOpError()
           << "never ends on rank "
           << getRank(cast<ChannelOp>(stuck->getParentOp()))
           << ": it is in a deadlock (D1)";
  }

  LogicalResult reportUnserved(WaitOp wait) {
    FlagId flag = getFlag(wait);
    auto diag = wait.emitOpError() << "never ends on rank " << flag.dst << ": ";
    if (flag.kind == Flag::Ready)
      return diag << "rank " << flag.src
                  << " does not announce that it is ready to rank " << flag.dst
                  << " (D2)";
    return diag << "rank " << flag.src << " signals " << flags.signals(flag)
                << " arrivals to rank " << flag.dst << ", not "
                << wait.getValue() << " (D2)";
  }

  ProgramOp program;
  FlagTable flags;
  std::set<SlotKey> written; ///< that hold LL words by now
  std::vector<Cursor> cursors;
  std::map<FlagId, unsigned> values;
};
} // namespace

LogicalResult
coll::walkInExecutionOrder(ProgramOp program,
                           function_ref<void(ChannelOp, Operation *)> visit) {
  return Simulation(program).run(visit);
}
