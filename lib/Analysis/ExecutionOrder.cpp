//===- ExecutionOrder.cpp - An order in which a program can run -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes round the channels, and runs each as far as its waits allow. A channel
// that is stuck is looked at again when what it waits for has happened, not
// before, so that the time is linear in the ops.
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/Program.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
/// Runs the channels of a program as far as their waits allow.
class Simulation {
public:
  explicit Simulation(ProgramOp program) : program(program) {
    for (RankOp rank : program.getBody().getOps<RankOp>())
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
        cursors.push_back({channel, channel.getBody().op_begin(),
                           channel.getBody().op_end()});
    runnable.resize(cursors.size(), true);
    for (unsigned number = 0; number < cursors.size(); ++number)
      comeToBarrier(number);
  }

  LogicalResult run(function_ref<WalkResult(ChannelOp, Operation *)> visit,
                    bool isQuiet) {
    while (runnable.any())
      for (int i = runnable.find_first(); i >= 0; i = runnable.find_next(i)) {
        runnable.reset(i);
        if (runChannel(i, visit).wasInterrupted())
          return success();
      }
    if (llvm::all_of(cursors, [](const Cursor &cursor) {
          return cursor.next == cursor.end;
        }))
      return success();
    return isQuiet ? failure() : reportStuck();
  }

private:
  struct Cursor {
    ChannelOp channel;
    Region::OpIterator next, end;
    unsigned barriers = 0; ///< passed so far
  };
  using SlotKey = std::pair<unsigned, unsigned>; ///< rank and slot of scratch
  using Waiters = SmallVector<unsigned, 1>;      ///< numbers of channels

  WalkResult
  runChannel(unsigned number,
             function_ref<WalkResult(ChannelOp, Operation *)> visit) {
    Cursor &cursor = cursors[number];
    while (cursor.next != cursor.end && canExecute(number)) {
      Operation *op = &*cursor.next++;
      if (auto signal = dyn_cast<SignalOp>(op)) {
        FlagKey flag = keyOf(getFlag(signal));
        values[flag] = signal.getValue();
        wake(flagWaiters, flag);
      } else if (isa<BarrierOp>(op)) {
        ++cursor.barriers;
      }
      forEachSent(op, [&](SlotKey slot) {
        written.insert(slot);
        wake(slotWaiters, slot);
      });
      if (visit(cursor.channel, op).wasInterrupted())
        return WalkResult::interrupt();
      comeToBarrier(number);
    }
    return WalkResult::advance();
  }

  /// True if the next op of a channel can execute. If not, the channel is
  /// entered among those that wait for what it needs.
  bool canExecute(unsigned number) {
    Cursor &cursor = cursors[number];
    Operation *op = &*cursor.next;
    if (auto wait = dyn_cast<WaitOp>(op)) {
      FlagKey flag = keyOf(getFlag(wait));
      if (values.lookup(flag) >= wait.getValue())
        return true;
      flagWaiters[flag].push_back(number);
      return false;
    }
    if (isa<BarrierOp>(op))
      return arrived[cursor.barriers] == cursors.size();
    std::optional<SlotKey> missing = firstMissing(op, written);
    if (missing)
      slotWaiters[*missing].push_back(number);
    return !missing;
  }

  /// Counts a channel whose next op is a barrier. The last one to come wakes
  /// the others.
  void comeToBarrier(unsigned number) {
    Cursor &cursor = cursors[number];
    if (cursor.next == cursor.end || !isa<BarrierOp>(*cursor.next))
      return;
    if (arrived.size() <= cursor.barriers)
      arrived.resize(cursor.barriers + 1);
    if (++arrived[cursor.barriers] == cursors.size())
      runnable.set();
  }

  template <typename Key>
  void wake(llvm::DenseMap<Key, Waiters> &waiters, const Key &key) {
    auto it = waiters.find(key);
    if (it == waiters.end())
      return;
    for (unsigned number : it->second)
      runnable.set(number);
    waiters.erase(it);
  }

  /// Calls `visit` with each slot to which `op` sends LL words.
  void forEachSent(Operation *op, function_ref<void(SlotKey)> visit) {
    if (!program.getLl())
      return;
    std::optional<Transfer> transfer = getTransfer(op);
    if (!transfer || !holdsLL(program, transfer->write))
      return;
    for (unsigned i = 0; i < transfer->size(); ++i)
      visit({transfer->write.rank, transfer->write[i]});
  }

  /// The first slot of LL words that `op` reads and that is not among `slots`.
  std::optional<SlotKey> firstMissing(Operation *op,
                                      const llvm::DenseSet<SlotKey> &slots) {
    std::optional<Transfer> transfer;
    if (program.getLl())
      transfer = getTransfer(op);
    if (!transfer)
      return std::nullopt;
    for (const SlotRange &read : transfer->reads)
      for (unsigned i = 0; holdsLL(program, read) && i < read.size(); ++i)
        if (!slots.contains({read.rank, read[i]}))
          return SlotKey{read.rank, read[i]};
    return std::nullopt;
  }

  /// Emits an error if a channel waits for ever. A wait that nobody will ever
  /// serve is the cause of others, so it is reported first.
  LogicalResult reportStuck() {
    FlagTable flags(program);
    llvm::DenseSet<SlotKey> sent; // by anybody, in the end
    program.walk([&](Operation *op) {
      forEachSent(op, [&](SlotKey slot) { sent.insert(slot); });
    });
    Operation *stuck = nullptr;
    for (Cursor &cursor : cursors) {
      if (cursor.next == cursor.end)
        continue;
      Operation *op = &*cursor.next;
      if (isa<BarrierOp>(op))
        continue; // which some channel does not reach
      auto wait = dyn_cast<WaitOp>(op);
      if (wait && flags.signals(getFlag(wait)) < wait.getValue())
        return reportUnserved(wait, flags);
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

  static LogicalResult reportUnserved(WaitOp wait, const FlagTable &flags) {
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
  std::vector<Cursor> cursors;
  llvm::BitVector runnable; ///< channels that may have something to execute
  // None of these is iterated.
  llvm::DenseSet<SlotKey> written; ///< that hold LL words by now
  llvm::DenseMap<FlagKey, unsigned> values;
  llvm::DenseMap<FlagKey, Waiters> flagWaiters;
  llvm::DenseMap<SlotKey, Waiters> slotWaiters;
  std::vector<unsigned> arrived; ///< channels that have come to each barrier
};
} // namespace

LogicalResult coll::walkInExecutionOrder(
    ProgramOp program, function_ref<WalkResult(ChannelOp, Operation *)> visit,
    bool isQuiet) {
  return Simulation(program).run(visit, isQuiet);
}
