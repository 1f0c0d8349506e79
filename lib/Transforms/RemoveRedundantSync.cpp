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
// The clocks of programs on many ranks do not fit. There a wait is redundant
// only if the channel itself, or in the end its rank, has heard the same in
// another way. The limit is a number of entries of clocks, so that it is the
// program that decides, not the machine.
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/EventOrder.h"
#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Analysis/VectorClock.h"
#include "sccl/Options/Log.h"

#include <atomic>
#include <map>
#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static Log removeRedundantSyncLog("remove-redundant-sync");

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
static FailureOr<std::vector<WaitOp>> findNeedlessReadies(ProgramOp program,
                                                          unsigned perSegment) {
  EventOrder order(program, perSegment);
  auto isReady = [](Operation *op) {
    auto wait = dyn_cast<WaitOp>(op);
    return wait && wait.getFlag() == Flag::Ready;
  };
  if (failed(
          walkInExecutionOrder(program, [&](ChannelOp channel, Operation *op) {
            if (!isReady(op))
              order.advance(channel, op);
            return WalkResult::advance();
          })))
    return failure();
  std::vector<std::pair<WaitOp, EventOrder::Question>> candidates;
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      if (!onlyWritesScratch(channel))
        continue;
      EventOrder::Question question =
          order.hearsOf(rank.getRank(), channel.getPeer(),
                        firstPosition(channel, perSegment));
      for (WaitOp wait : channel.getBody().getOps<WaitOp>())
        if (isReady(wait) && wait.getPeer() == channel.getPeer())
          candidates.push_back({wait, question});
    }
  order.answer();
  std::vector<WaitOp> needless;
  for (auto [wait, question] : candidates)
    if (order.isTrue(question))
      needless.push_back(wait);
  return needless;
}

static ChannelOp getChannel(WaitOp wait) {
  return cast<ChannelOp>(wait->getParentOp());
}

/// The waits that only waits follow, in the channels of ranks to themselves:
/// they guard the ends of the ranks. Only looked up.
static llvm::DenseSet<Operation *> findFinalWaits(ProgramOp program) {
  llvm::DenseSet<Operation *> waits;
  forEachChannel(program, [&](ChannelOp channel) {
    if (channel.getPeer() != getRank(channel) || channel.getBody().empty())
      return;
    for (Operation &op : llvm::reverse(channel.getBody().front())) {
      if (!isa<WaitOp>(op))
        return;
      waits.insert(&op);
    }
  });
  return waits;
}

/// Whether the launch of `rank` is known to have begun.
static bool knowsLaunch(const ProgramClocks &clocks, const VectorClock &clock,
                        unsigned rank) {
  return llvm::any_of(clock.entries(), [&](const VectorClock::Entry &entry) {
    return clocks.rankOf(entry.first) == rank;
  });
}

namespace {
/// Waits that a program can do without.
using Redundant = std::vector<WaitOp>;

/// Finds them by all that channels know.
class ClockReduction {
public:
  /// Clocks may know `limit` things together.
  ClockReduction(ProgramOp program, size_t limit)
      : program(program), clocks(program, limit),
        finalWaits(findFinalWaits(program)) {}

  /// Fails, with an error, if the program cannot run. Nothing if the clocks
  /// know too much.
  FailureOr<std::optional<Redundant>> run() {
    if (failed(walkInExecutionOrder(
            program, [&](ChannelOp channel, Operation *op) {
              visit(channel, op);
              return clocks.isExhausted() ? WalkResult::interrupt()
                                          : WalkResult::advance();
            })))
      return failure();
    reduceAllPending();
    if (clocks.isExhausted())
      return std::optional<Redundant>();
    for (RankOp rank : program.getBody().getOps<RankOp>())
      reduceFinalWaits(rank);
    return std::optional(std::move(redundant));
  }

private:
  void visit(ChannelOp channel, Operation *op) {
    if (auto wait = dyn_cast<WaitOp>(op)) {
      // What the last waits of the local channel guard is the end of the rank,
      // which other channels may guard as well.
      if (!finalWaits.contains(wait))
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
    forEachChannel(program, [&](ChannelOp channel) { reducePending(channel); });
  }

  /// Executes the waits that `channel` has come to since its last other op,
  /// without those that it can do without. They end together, so that each may
  /// tell what another one does.
  void reducePending(ChannelOp channel) {
    std::vector<WaitOp> &waits = pending[clocks.index(channel)];
    if (clocks.isExhausted())
      return;
    for (WaitOp wait : keepNeeded(waits, clocks.at(channel)))
      clocks.advance(channel, wait);
    waits.clear();
  }

  /// Those of `waits` that tell something which is not in `known` and which the
  /// others that are kept do not tell.
  std::vector<WaitOp> keepNeeded(ArrayRef<WaitOp> waits, VectorClock known) {
    // What the waits from each one on tell.
    std::vector<VectorClock> rest(waits.size() + 1);
    for (size_t i = waits.size(); i-- > 1;) {
      rest[i] = rest[i + 1];
      rest[i].join(clocks.signalled(waits[i]));
    }
    std::vector<WaitOp> kept;
    for (size_t i = 0; i < waits.size(); ++i) {
      WaitOp wait = waits[i];
      const VectorClock &told = clocks.signalled(wait);
      const VectorClock &others = rest[i + 1];
      auto isTold = [&](const VectorClock::Entry &entry) {
        return known[entry.first] >= entry.second ||
               others[entry.first] >= entry.second;
      };
      // A ready says no more than that the peer's launch has begun.
      bool isRedundant = wait.getFlag() == Flag::Ready
                             ? knowsLaunch(clocks, known, wait.getPeer()) ||
                                   knowsLaunch(clocks, others, wait.getPeer())
                             : llvm::all_of(told.entries(), isTold);
      if (isRedundant) {
        SCCL_LOG(removeRedundantSyncLog,
                 "rank " << getRank(getChannel(wait)) << " channel "
                         << getChannel(wait).getPeer() << " needs no " << wait);
        redundant.push_back(wait);
      } else {
        known.join(told);
        kept.push_back(wait);
      }
    }
    return kept;
  }

  /// Keeps those final waits of `rank` that tell it something which neither its
  /// channels know nor the other waits tell.
  void reduceFinalWaits(RankOp rank) {
    std::vector<WaitOp> waits;
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      if (channel.getPeer() == rank.getRank())
        for (WaitOp wait : channel.getBody().getOps<WaitOp>())
          if (finalWaits.contains(wait))
            waits.push_back(wait);
    if (!waits.empty())
      keepNeeded(waits, clocks.endOf(rank));
  }

  ProgramOp program;
  ProgramClocks clocks;
  llvm::DenseSet<Operation *> finalWaits;
  /// By channel, the waits that it has come to since its last other op.
  std::map<uint32_t, std::vector<WaitOp>> pending;
  Redundant redundant;
};

/// Finds them by what each channel has waited for itself.
class DirectReduction {
public:
  explicit DirectReduction(ProgramOp program)
      : program(program), finalWaits(findFinalWaits(program)) {}

  Redundant run() {
    for (RankOp rank : program.getBody().getOps<RankOp>()) {
      ofRank.clear();
      std::vector<WaitOp> last;
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
        visit(channel, last);
      for (WaitOp wait : last)
        if (!isNews(wait, ofRank))
          redundant.push_back(wait);
    }
    return std::move(redundant);
  }

private:
  using Values = llvm::DenseMap<FlagKey, unsigned>; // only looked up

  /// Notes what `wait` tells; false if that is known.
  static bool isNews(WaitOp wait, Values &known) {
    unsigned &value = known[keyOf(getFlag(wait))];
    if (value >= wait.getValue())
      return false;
    value = wait.getValue();
    return true;
  }

  /// Looks at the waits of one channel, but leaves the final ones to `last`.
  void visit(ChannelOp channel, std::vector<WaitOp> &last) {
    Values known;
    std::set<unsigned> heard; // ranks whose launch has begun
    std::vector<WaitOp> readies;
    auto finishReadies = [&] {
      for (WaitOp wait : readies)
        if (!heard.insert(wait.getPeer()).second)
          redundant.push_back(wait);
      readies.clear();
    };
    for (Operation &op : channel.getBody().getOps()) {
      auto wait = dyn_cast<WaitOp>(op);
      if (!wait) {
        finishReadies();
        continue;
      }
      if (finalWaits.contains(wait)) {
        last.push_back(wait);
        continue;
      }
      if (wait.getFlag() == Flag::Ready) {
        readies.push_back(wait);
        continue;
      }
      heard.insert(wait.getPeer());
      isNews(wait, ofRank);
      if (!isNews(wait, known))
        redundant.push_back(wait);
    }
    finishReadies();
  }

  ProgramOp program;
  llvm::DenseSet<Operation *> finalWaits;
  Values ofRank; ///< what the channels of a rank have waited for
  Redundant redundant;
};

/// What has been removed from a program.
struct Removed {
  unsigned waits = 0, signals = 0, readies = 0;
  bool isDirect = false; ///< if clocks would have known too much
};
} // namespace

/// Calls `visit` on the ops of `rank` that are of type `OpTy`, in order.
template <typename OpTy, typename Visit>
static void forEachOpOf(RankOp rank, Visit visit) {
  for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
    for (OpTy op : llvm::make_early_inc_range(channel.getBody().getOps<OpTy>()))
      visit(op);
}

/// Removes the signals that no wait is left for. Returns how many.
static unsigned removeUselessSignals(ProgramOp program) {
  // Only the rank that a flag belongs to waits for it. Only looked up.
  std::vector<llvm::DenseSet<FlagKey>> awaited(countRanks(program));
  forEachRankApart(program, [&](RankOp rank) {
    auto &values = awaited[rank.getRank()];
    forEachOpOf<WaitOp>(rank, [&](WaitOp wait) {
      values.insert(keyOf(getFlag(wait), wait.getValue()));
    });
  });
  std::atomic<unsigned> removed = 0;
  forEachRankApart(program, [&](RankOp rank) {
    forEachOpOf<SignalOp>(rank, [&](SignalOp signal) {
      FlagId flag = getFlag(signal);
      if (awaited[flag.dst].contains(keyOf(flag, signal.getValue())))
        return;
      signal.erase();
      ++removed;
    });
  });
  return removed;
}

/// Makes the values of each flag 1, 2, ... again.
static void renumber(ProgramOp program) {
  // Only one rank signals on a flag. Only looked up.
  std::vector<llvm::DenseMap<FlagKey, unsigned>> renumbered(
      countRanks(program));
  forEachRankApart(program, [&](RankOp rank) {
    llvm::DenseMap<FlagKey, unsigned> last; // only looked up
    auto &values = renumbered[rank.getRank()];
    forEachOpOf<SignalOp>(rank, [&](SignalOp signal) {
      FlagId flag = getFlag(signal);
      unsigned value = ++last[keyOf(flag)];
      values[keyOf(flag, signal.getValue())] = value;
      if (signal.getValue() != value)
        signal.setValue(value);
    });
  });
  forEachRankApart(program, [&](RankOp rank) {
    forEachOpOf<WaitOp>(rank, [&](WaitOp wait) {
      FlagId flag = getFlag(wait);
      unsigned value = renumbered[flag.src].at(keyOf(flag, wait.getValue()));
      if (wait.getValue() != value)
        wait.setValue(value);
    });
  });
}

static FailureOr<Removed> reduceProgram(ProgramOp program, unsigned perSegment,
                                        size_t clockLimit) {
  Removed removed;
  if (program.getDoubleBuffered()) {
    FailureOr<std::vector<WaitOp>> readies =
        findNeedlessReadies(program, perSegment);
    if (failed(readies))
      return failure();
    for (WaitOp wait : *readies)
      wait.erase();
    removed.readies = readies->size();
  }
  FailureOr<std::optional<Redundant>> waits =
      ClockReduction(program, clockLimit).run();
  if (failed(waits))
    return failure();
  removed.isDirect = !waits->has_value();
  Redundant redundant =
      *waits ? std::move(**waits) : DirectReduction(program).run();
  for (WaitOp wait : redundant)
    wait.erase();
  removed.waits = redundant.size();
  removed.signals = removeUselessSignals(program);
  renumber(program);
  return removed;
}

namespace {
struct RemoveRedundantSyncPass
    : coll::impl::RemoveRedundantSyncBase<RemoveRedundantSyncPass> {
  using RemoveRedundantSyncBase::RemoveRedundantSyncBase;

  void runOnOperation() override {
    const Problem *problem = getAnalysis<ProblemAnalysis>().get();
    if (!problem)
      return signalPassFailure();
    FailureOr<Removed> removed = reduceProgram(
        getOperation(), problem->collective.chunksPerSegment(), clockLimit);
    if (failed(removed))
      return signalPassFailure();
    numReadies += removed->readies;
    numWaits += removed->waits;
    numSignals += removed->signals;
    if (explain)
      report(getOperation(), *removed);
    markAnalysesPreserved<ProblemAnalysis>();
  }

  static void report(ProgramOp program, const Removed &removed) {
    InFlightDiagnostic remark = program.emitRemark();
    remark << "waits removed: " << removed.waits
           << ", signals removed: " << removed.signals
           << ", waits for ready removed because scratch is double-buffered: "
           << removed.readies;
    if (removed.isDirect)
      remark << "; what follows only by way of other channels was not looked "
                "at, as they know too much together";
  }
};
} // namespace
