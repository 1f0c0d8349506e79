//===- InsertFlagSync.cpp - Signals and waits of the epoch protocol -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Analysis/SlotNumbering.h"
#include "sccl/Dialect/Coll/CollOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Threading.h"

#include <map>
#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_INSERTFLAGSYNC
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
constexpr uint32_t none = ~0u;

/// Neighbouring transfers of one step and one depth in a channel. They share
/// their waits and their signals; as transfers depend only on what has less
/// depth or an earlier step, groups cannot wait for each other in a cycle.
struct StepGroup {
  uint32_t channel;
  Operation *first, *last;
  /// The groups whose results the transfers read, but for those of the channel
  /// itself; ascending.
  std::vector<uint32_t> producers = {};
  /// The ranks that must know when the last transfer is done, with the value
  /// that their flag shows then; ascending.
  SmallVector<std::pair<unsigned, unsigned>, 2> signals = {};

  void tell(unsigned rank) {
    auto it = llvm::lower_bound(signals, std::pair(rank, 0u));
    if (it == signals.end() || it->first != rank)
      signals.insert(it, std::pair(rank, 0u));
  }
  unsigned valueFor(unsigned rank) const {
    return llvm::lower_bound(signals, std::pair(rank, 0u))->second;
  }
};

struct ChannelPlan {
  ChannelOp op;
  unsigned rank;
  uint32_t firstGroup = 0, endGroup = 0;
  /// Arrivals signalled in all, by rank.
  std::map<unsigned, unsigned> signalCounts = {};
  std::set<unsigned> peers = {}; ///< others that it accesses, by a switch
  bool isLocal() { return op.getPeer() == rank; }
};

/// A transfer, with the number of channels that its data has passed in the step
/// itself.
struct FlaggedTransfer {
  TransferOpInterface op;
  uint32_t channel;
  unsigned step;
  uint32_t group = none;
  uint32_t depth = none;
};

/// Who writes each slot of a program.
class SlotWriters {
public:
  explicit SlotWriters(ProgramOp program)
      : slots(program), writers(slots.size(), none) {}

  /// Enters transfer number `index`. Emits an error and fails if there is a
  /// writer already.
  LogicalResult enter(TransferOpInterface op, uint32_t index) {
    std::optional<size_t> again;
    slots.forEach(op.getWrite(), [&](size_t slot) {
      if (writers[slot] != none && !again)
        again = slot;
      writers[slot] = index;
    });
    if (!again)
      return success();
    SlotRange slot = slots.slotAt(*again);
    return op->emitOpError()
           << "writes " << stringifyBuffer(slot.buffer) << '[' << slot.slot
           << "] of rank " << slot.rank << " a second time";
  }

  /// Calls `visit` with each transfer whose result `op` reads, at least once.
  template <typename Visit>
  void forEachWriter(TransferOpInterface op, Visit visit) const {
    uint32_t last = none;
    for (const SlotRange &read : op.getReads())
      slots.forEach(read, [&](size_t slot) {
        if (writers[slot] != none && writers[slot] != last)
          visit(last = writers[slot]);
      });
  }

private:
  SlotNumbering slots;
  std::vector<uint32_t> writers; ///< by slot: the transfer, or none
};
} // namespace

/// Ready signals and final waits need a local channel on every rank.
static void addLocalChannels(ProgramOp program) {
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    if (llvm::any_of(rank.getBody().getOps<ChannelOp>(),
                     [&](ChannelOp channel) {
                       return channel.getPeer() == rank.getRank();
                     }))
      continue;
    OpBuilder builder(rank.getContext());
    if (rank.getBody().empty())
      builder.createBlock(&rank.getBody());
    builder.setInsertionPointToStart(&rank.getBody().front());
    auto channel = ChannelOp::create(builder, rank.getLoc(), rank.getRank());
    builder.createBlock(&channel.getBody());
  }
}

/// The place in a channel to another rank by which the peer must be ready:
/// before it touches the peer's input or output. Scratch that is
/// double-buffered belongs to the launch from the start, if only the rank
/// hears of its peer before the launch ends (check H3): what is written there
/// goes out while ranks shake hands.
static Block::iterator placeOfReady(ChannelPlan &plan) {
  Block &body = plan.op.getBody().front();
  if (!plan.op->getParentOfType<ProgramOp>().getDoubleBuffered())
    return body.begin();
  auto isGuarded = [&](const SlotRange &range) {
    return range.rank != plan.rank && range.buffer != Buffer::Scratch;
  };
  return llvm::find_if(body, [&](Operation &op) {
    auto transfer = dyn_cast<TransferOpInterface>(op);
    return transfer && (isGuarded(transfer.getWrite()) ||
                        llvm::any_of(transfer.getReads(), isGuarded));
  });
}

/// The first transfer that accesses other ranks.
static Block::iterator firstRemote(ChannelPlan &plan) {
  return llvm::find_if(plan.op.getBody().front(), [](Operation &op) {
    auto transfer = dyn_cast<TransferOpInterface>(op);
    return transfer && transfer.isRemote();
  });
}

namespace {
class FlagSync {
public:
  explicit FlagSync(ProgramOp program) : program(program), writers(program) {}

  LogicalResult run() {
    addLocalChannels(program);
    collectTransfers();
    if (failed(refuseEngines()) || failed(findWriters()))
      return failure();
    indexPeers();
    if (program.getLl()) { // which tell of arrivals by themselves
      for (ChannelPlan &plan : plans) {
        OpBuilder builder(plan.op.getContext());
        insertReadies(builder, plan);
      }
      return success();
    }
    for (uint32_t i = 0; i < transfers.size(); ++i)
      computeDepth(i);
    formGroups();
    connect();
    numberSignals();
    indexSignallers();
    // Each thread inserts into channels of its own, by what all have found.
    parallelForEach(program.getContext(), plans,
                    [&](ChannelPlan &plan) { insert(plan); });
    return success();
  }

private:
  void collectTransfers() {
    for (RankOp rank : program.getBody().getOps<RankOp>())
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
        for (auto op : channel.getBody().getOps<TransferOpInterface>())
          transfers.push_back({op, uint32_t(plans.size()), op.getStep()});
        plans.push_back({channel, rank.getRank()});
      }
  }

  LogicalResult refuseEngines() {
    for (FlaggedTransfer &transfer : transfers)
      if (transfer.op.usesCopyEngine())
        return transfer.op->emitOpError(
            "needs a copy engine, which sets no flags; lower with a kernel "
            "for each step (option steps)");
    return success();
  }

  LogicalResult findWriters() {
    for (auto [index, transfer] : llvm::enumerate(transfers))
      if (failed(writers.enter(transfer.op, index)))
        return failure();
    return success();
  }

  /// Computes the depths of a transfer and of those it depends on. One that
  /// depends on itself, which coll-check-program reports, counts as 0 there.
  void computeDepth(uint32_t root) {
    std::vector<uint32_t> stack = {root};
    std::vector<bool> isOpen = {false};
    while (!stack.empty()) {
      uint32_t self = stack.back();
      FlaggedTransfer &transfer = transfers[self];
      if (!isOpen.back() && transfer.depth != none) {
        stack.pop_back();
        isOpen.pop_back();
        continue;
      }
      uint32_t depth = 0;
      std::vector<uint32_t> missing;
      writers.forEachWriter(transfer.op, [&](uint32_t index) {
        FlaggedTransfer &writer = transfers[index];
        if (writer.step != transfer.step)
          return;
        if (writer.depth == none)
          missing.push_back(index);
        else
          depth = std::max(depth,
                           writer.depth + (writer.channel != transfer.channel));
      });
      if (isOpen.back() || missing.empty()) {
        transfer.depth = depth;
        stack.pop_back();
        isOpen.pop_back();
        continue;
      }
      transfer.depth = 0; // while it is open
      isOpen.back() = true;
      stack.insert(stack.end(), missing.begin(), missing.end());
      isOpen.resize(stack.size());
    }
  }

  void formGroups() {
    for (auto [index, plan] : llvm::enumerate(plans))
      plan.firstGroup = plan.endGroup = none;
    for (uint32_t i = 0; i < transfers.size(); ++i) {
      FlaggedTransfer &transfer = transfers[i];
      bool isNew = i == 0 || transfers[i - 1].channel != transfer.channel ||
                   transfers[i - 1].step != transfer.step ||
                   transfers[i - 1].depth != transfer.depth;
      if (isNew)
        groups.push_back({transfer.channel, transfer.op, transfer.op, {}});
      groups.back().last = transfer.op;
      transfer.group = groups.size() - 1;
      ChannelPlan &plan = plans[transfer.channel];
      if (plan.firstGroup == none)
        plan.firstGroup = transfer.group;
      plan.endGroup = transfer.group + 1;
    }
  }

  /// Finds which groups must precede which, and who must know of their end:
  /// the ranks that read what a group writes, and the ranks that own a buffer
  /// which it writes or reads.
  void connect() {
    for (FlaggedTransfer &transfer : transfers) {
      StepGroup &group = groups[transfer.group];
      unsigned rank = plans[transfer.channel].rank;
      for (const SlotRange &read : transfer.op.getReads())
        if (read.rank != rank)
          group.tell(read.rank);
      if (unsigned owner = transfer.op.getWrite().rank; owner != rank)
        group.tell(owner);
      writers.forEachWriter(transfer.op, [&](uint32_t index) {
        if (transfers[index].channel == transfer.channel)
          return;
        group.producers.push_back(transfers[index].group);
        groups[transfers[index].group].tell(rank);
      });
    }
    for (StepGroup &group : groups) {
      llvm::sort(group.producers);
      group.producers.erase(llvm::unique(group.producers),
                            group.producers.end());
    }
  }

  void numberSignals() {
    for (StepGroup &group : groups)
      for (auto &[rank, value] : group.signals)
        value = ++plans[group.channel].signalCounts[rank];
  }

  /// Notes which channels lead to a rank, and which signal arrivals to it.
  void indexPeers() {
    channelsTo.resize(countRanks(program));
    for (auto [index, plan] : llvm::enumerate(plans))
      if (!plan.isLocal())
        channelsTo[plan.op.getPeer()].push_back(index);
    for (FlaggedTransfer &transfer : transfers)
      notePeers(plans[transfer.channel], transfer);
  }
  void notePeers(ChannelPlan &plan, FlaggedTransfer &transfer) {
    auto note = [&](unsigned rank) {
      if (rank != plan.rank && rank != plan.op.getPeer() &&
          plan.peers.insert(rank).second)
        channelsTo[rank].push_back(transfer.channel);
    };
    note(transfer.op.getWrite().rank);
    for (const SlotRange &read : transfer.op.getReads())
      note(read.rank);
  }

  void indexSignallers() {
    signallers.resize(channelsTo.size());
    for (auto [index, plan] : llvm::enumerate(plans))
      for (auto [owner, count] : plan.signalCounts)
        if (owner != plan.rank)
          signallers[owner].push_back(index);
  }

  /// Gives a channel its part of the handshake.
  void insertReadies(OpBuilder &builder, ChannelPlan &plan) {
    if (plan.op.getBody().empty())
      builder.createBlock(&plan.op.getBody());
    Location loc = plan.op.getLoc();
    if (plan.isLocal()) {
      builder.setInsertionPointToStart(&plan.op.getBody().front());
      std::set<unsigned> told;
      for (uint32_t other : channelsTo[plan.rank])
        if (told.insert(plans[other].rank).second)
          SignalOp::create(builder, loc, Flag::Ready, plans[other].rank, 1);
    } else {
      builder.setInsertionPoint(&plan.op.getBody().front(), placeOfReady(plan));
      WaitOp::create(builder, loc, Flag::Ready, plan.op.getPeer(), nullptr, 1);
    }
    builder.setInsertionPoint(&plan.op.getBody().front(), firstRemote(plan));
    for (unsigned peer : plan.peers)
      WaitOp::create(builder, loc, Flag::Ready, peer, nullptr, 1);
  }

  void insert(ChannelPlan &plan) {
    OpBuilder builder(plan.op.getContext());
    insertReadies(builder, plan);
    std::map<uint32_t, unsigned> waited; // by channel
    for (uint32_t i = plan.firstGroup; i != plan.endGroup; ++i) {
      StepGroup &group = groups[i];
      builder.setInsertionPoint(group.first);
      for (auto [number, producer] : llvm::enumerate(group.producers)) {
        // The last group of a channel tells of those before it.
        uint32_t channel = groups[producer].channel;
        bool isLast = number + 1 == group.producers.size() ||
                      groups[group.producers[number + 1]].channel != channel;
        if (isLast)
          insertArrivalWait(builder, plan, channel,
                            groups[producer].valueFor(plan.rank), waited);
      }
      builder.setInsertionPointAfter(group.last);
      for (auto [rank, value] : group.signals)
        SignalOp::create(builder, plan.op.getLoc(), Flag::Arrival, rank, value);
    }
    if (!plan.isLocal())
      return;
    builder.setInsertionPointToEnd(&plan.op.getBody().front());
    for (uint32_t other : signallers[plan.rank])
      insertArrivalWait(builder, plan, other,
                        plans[other].signalCounts.at(plan.rank), waited);
  }

  void insertArrivalWait(OpBuilder &builder, ChannelPlan &plan,
                         uint32_t producer, unsigned value,
                         std::map<uint32_t, unsigned> &waited) {
    if (waited[producer] >= value)
      return;
    waited[producer] = value;
    ChannelPlan &other = plans[producer];
    unsigned channel = other.op.getPeer();
    WaitOp::create(builder, plan.op.getLoc(), Flag::Arrival, other.rank,
                   channel == plan.rank ? nullptr
                                        : builder.getI32IntegerAttr(channel),
                   value);
  }

  ProgramOp program;
  std::vector<ChannelPlan> plans;
  std::vector<FlaggedTransfer> transfers; ///< channel by channel, in order
  std::vector<StepGroup> groups;          ///< likewise
  SlotWriters writers;
  /// By rank: the channels that lead to it, and those of other ranks that
  /// signal arrivals to it; both ascending.
  std::vector<std::vector<uint32_t>> channelsTo, signallers;
};

struct InsertFlagSyncPass : coll::impl::InsertFlagSyncBase<InsertFlagSyncPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (!isSynchronized(program) && failed(FlagSync(program).run()))
      return signalPassFailure();
    markAnalysesPreserved<ProblemAnalysis>();
  }
};
} // namespace
