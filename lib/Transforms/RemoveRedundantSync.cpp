//===- RemoveRedundantSync.cpp - Transitive reduction ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks, computed in an order in which the program can run, tell what a
// channel knows to be done. A wait that adds nothing to that, and to what the
// waits next to it say, is redundant: the clocks stay what they are without it,
// so one pass over the program finds all of them. Flags only grow and have one
// writer each, so what holds in one execution holds in all.
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Analysis/VectorClock.h"
#include "sccl/Options/Log.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static Log logger("remove-redundant-sync");

namespace sccl::coll {
#define GEN_PASS_DEF_REMOVEREDUNDANTSYNC
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// True if `channel` does nothing with its peer but write its scratch.
static bool onlyWritesScratch(ChannelOp channel) {
  return llvm::all_of(channel.getBody().getOps(), [&](Operation &op) {
    std::optional<Transfer> transfer = getTransfer(&op);
    if (!transfer)
      return true;
    auto isAllowed = [&](const SlotRange &range) {
      return range.rank != channel.getPeer() || range.buffer == Buffer::Scratch;
    };
    return llvm::all_of(transfer->reads, isAllowed) &&
           isAllowed(transfer->write);
  });
}

/// The lowest position in a segment of the chunks that `channel` sends.
static unsigned firstPosition(ChannelOp channel, unsigned perSegment) {
  unsigned first = perSegment;
  for (Operation &op : channel.getBody().getOps())
    if (std::optional<Transfer> transfer = getTransfer(&op))
      first = std::min(first, transfer->chunk % perSegment);
  return first;
}

/// The waits for ready that a program with double_buffered scratch can do
/// without: the rank hears of its peer in every launch, by other ways than
/// readies, before it writes the same half again (check H3).
static FailureOr<std::vector<WaitOp>> findNeedlessReadies(ProgramOp program) {
  ProgramClocks clocks(program);
  auto isReady = [](Operation *op) {
    auto wait = dyn_cast<WaitOp>(op);
    return wait && wait.getFlag() == Flag::Ready;
  };
  if (failed(
          walkInExecutionOrder(program, [&](ChannelOp channel, Operation *op) {
            if (!isReady(op))
              clocks.advance(channel, op);
          })))
    return failure();
  std::vector<WaitOp> needless;
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      if (onlyWritesScratch(channel) &&
          clocks.hearsOf(rank, channel.getPeer(),
                         firstPosition(channel, clocks.chunksPerSegment())))
        for (WaitOp wait : channel.getBody().getOps<WaitOp>())
          if (isReady(wait) && wait.getPeer() == channel.getPeer())
            needless.push_back(wait);
  }
  return needless;
}

namespace {
/// The waits and signals of one program that it can do without.
class Reduction {
public:
  explicit Reduction(ProgramOp program) : program(program), clocks(program) {}

  /// Fails, with an error, if the program cannot run.
  LogicalResult run() {
    if (failed(walkInExecutionOrder(
            program,
            [&](ChannelOp channel, Operation *op) { visit(channel, op); })))
      return failure();
    reduceAllPending();
    for (RankOp rank : program.getBody().getOps<RankOp>())
      reduceFinalWaits(rank);
    findUselessSignals();
    return success();
  }

  /// Erases what is redundant, and renumbers what is left.
  void apply() {
    for (WaitOp wait : redundantWaits)
      wait.erase();
    for (SignalOp signal : uselessSignals)
      signal.erase();
    renumber();
  }

  unsigned numWaits() const { return redundantWaits.size(); }
  unsigned numSignals() const { return uselessSignals.size(); }

private:
  void visit(ChannelOp channel, Operation *op) {
    if (auto wait = dyn_cast<WaitOp>(op)) {
      // What the last waits of the local channel guard is the end of the rank,
      // which other channels may guard as well.
      if (!isFinal(wait))
        pending[clocks.index(channel)].push_back(wait);
      return;
    }
    if (isa<BarrierOp>(op)) // joins the clocks of all
      reduceAllPending();
    else
      reducePending(channel);
    clocks.advance(channel, op);
  }

  void reduceAllPending() {
    program.walk([&](ChannelOp channel) { reducePending(channel); });
  }

  /// Executes the waits that `channel` has come to since its last other op,
  /// without those that it can do without. They end together, so that each may
  /// tell what another one does.
  void reducePending(ChannelOp channel) {
    std::vector<WaitOp> &kept = pending[clocks.index(channel)];
    keepNeeded(kept, clocks.at(channel));
    for (WaitOp wait : kept)
      clocks.advance(channel, wait);
    kept.clear();
  }

  /// Removes from `waits` those that tell nothing which is not in `known` or
  /// told by the rest.
  void keepNeeded(std::vector<WaitOp> &waits, const VectorClock &known) {
    for (size_t i = 0; i < waits.size();) {
      VectorClock others = known;
      for (WaitOp wait : waits)
        if (wait != waits[i])
          others.join(clocks.signalled(wait));
      // A ready says no more than that the peer's launch has begun.
      bool isRedundant = waits[i].getFlag() == Flag::Ready
                             ? clocks.knowsLaunch(others, waits[i].getPeer())
                             : clocks.signalled(waits[i]).isWithin(others);
      if (isRedundant) {
        SCCL_LOG(logger, "rank " << getRank(getChannel(waits[i])) << " channel "
                                 << getChannel(waits[i]).getPeer()
                                 << " needs no " << waits[i]);
        redundantWaits.push_back(waits[i]);
        waits.erase(waits.begin() + i);
      } else {
        ++i;
      }
    }
  }

  static ChannelOp getChannel(WaitOp wait) {
    return cast<ChannelOp>(wait->getParentOp());
  }

  /// True for a wait that only waits follow, in the channel of a rank to
  /// itself.
  static bool isFinal(WaitOp wait) {
    ChannelOp channel = getChannel(wait);
    if (channel.getPeer() != getRank(channel))
      return false;
    for (Operation *op = wait; op; op = op->getNextNode())
      if (!isa<WaitOp>(op))
        return false;
    return true;
  }

  /// Keeps those final waits of `rank` that tell it something which neither its
  /// channels know nor the other waits tell.
  void reduceFinalWaits(RankOp rank) {
    std::optional<ChannelOp> local;
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      if (channel.getPeer() == rank.getRank())
        local = channel;
    if (!local)
      return;
    std::vector<WaitOp> kept;
    for (WaitOp wait : local->getBody().getOps<WaitOp>())
      if (isFinal(wait))
        kept.push_back(wait);
    keepNeeded(kept, clocks.endOf(rank));
  }

  /// A signal is useless if no wait is left for its value.
  void findUselessSignals() {
    std::set<std::pair<FlagId, unsigned>> awaited;
    llvm::SmallDenseSet<Operation *> gone;
    for (WaitOp wait : redundantWaits)
      gone.insert(wait);
    program.walk([&](WaitOp wait) {
      if (!gone.contains(wait))
        awaited.insert({getFlag(wait), wait.getValue()});
    });
    program.walk([&](SignalOp signal) {
      if (!awaited.count({getFlag(signal), signal.getValue()}))
        uselessSignals.push_back(signal);
    });
  }

  /// Makes the values of each flag 1, 2, ... again.
  void renumber() {
    std::map<FlagId, std::map<unsigned, unsigned>> values;
    program.walk([&](SignalOp signal) {
      auto &known = values[getFlag(signal)];
      unsigned value = known.size() + 1;
      known[signal.getValue()] = value;
      signal.setValue(value);
    });
    program.walk([&](WaitOp wait) {
      wait.setValue(values.at(getFlag(wait)).at(wait.getValue()));
    });
  }

  ProgramOp program;
  ProgramClocks clocks;
  /// By channel, the waits that it has come to since its last other op.
  std::map<size_t, std::vector<WaitOp>> pending;
  std::vector<WaitOp> redundantWaits;
  std::vector<SignalOp> uselessSignals;
};

struct RemoveRedundantSyncPass
    : coll::impl::RemoveRedundantSyncBase<RemoveRedundantSyncPass> {
  using RemoveRedundantSyncBase::RemoveRedundantSyncBase;

  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (failed(reduce(program)))
        return signalPassFailure();
  }

  LogicalResult reduce(ProgramOp program) {
    unsigned goneReadies = 0;
    if (program.getDoubleBuffered()) {
      FailureOr<std::vector<WaitOp>> readies = findNeedlessReadies(program);
      if (failed(readies))
        return failure();
      for (WaitOp wait : *readies)
        wait.erase();
      goneReadies = readies->size();
    }
    Reduction reduction(program);
    if (failed(reduction.run()))
      return failure();
    reduction.apply();
    numReadies += goneReadies;
    numWaits += reduction.numWaits();
    numSignals += reduction.numSignals();
    if (explain)
      program.emitRemark()
          << "waits removed: " << reduction.numWaits()
          << ", signals removed: " << reduction.numSignals()
          << ", waits for ready removed because scratch is double-buffered: "
          << goneReadies;
    return success();
  }
};
} // namespace
