//===- InsertFlagSync.cpp - Signals and waits of the epoch protocol -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Dialect/Coll/CollOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

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
struct TransferOp {
  Operation *op;
  Transfer effect;
  /// How many channels its data has passed in the step itself.
  std::optional<unsigned> depth;
};

/// A place in the list of all channels, and one in a list of that channel.
struct Place {
  size_t channel;
  size_t index;
  auto operator<=>(const Place &) const = default;
};

/// Neighbouring transfers of one step and one depth in a channel. They share
/// their waits and their signals; as transfers depend only on what has less
/// depth or an earlier step, groups cannot wait for each other in a cycle.
struct StepGroup {
  std::vector<TransferOp> transfers;
  /// What must have been done before the first transfer.
  std::set<Place> producers;
  /// The ranks that must know when the last one is done, with the value that
  /// their flag shows then.
  std::map<unsigned, unsigned> signals;
};

struct ChannelPlan {
  ChannelOp op;
  unsigned rank;
  std::vector<TransferOp> transfers;
  std::vector<StepGroup> groups;
  /// Arrivals signalled in all, by rank.
  std::map<unsigned, unsigned> signalCounts;
  bool isLocal() { return op.getPeer() == rank; }
};

class FlagSync {
public:
  explicit FlagSync(ProgramOp program) : program(program) {}

  LogicalResult run() {
    addLocalChannels();
    collectTransfers();
    if (failed(refuseEngines()) || failed(findWriters()))
      return failure();
    if (program.getLl()) { // which tell of arrivals by themselves
      for (ChannelPlan &plan : plans) {
        OpBuilder builder(plan.op.getContext());
        insertReadies(builder, plan);
      }
      return success();
    }
    for (ChannelPlan &plan : plans)
      for (TransferOp &transfer : plan.transfers)
        computeDepth(transfer, plan);
    for (auto [index, plan] : llvm::enumerate(plans))
      formGroups(index, plan);
    connect();
    numberSignals();
    for (ChannelPlan &plan : plans)
      insert(plan);
    return success();
  }

private:
  using SlotKey = std::tuple<unsigned, Buffer, unsigned>;

  /// Ready signals and final waits need a local channel on every rank.
  void addLocalChannels() {
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

  void collectTransfers() {
    for (RankOp rank : program.getBody().getOps<RankOp>())
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
        ChannelPlan &plan = plans.emplace_back();
        plan.op = channel;
        plan.rank = rank.getRank();
        for (Operation &op : channel.getBody().getOps())
          plan.transfers.push_back({&op, *getTransfer(&op), std::nullopt});
      }
  }

  LogicalResult refuseEngines() {
    for (const ChannelPlan &plan : plans)
      for (const TransferOp &transfer : plan.transfers)
        if (isDMA(transfer.op))
          return transfer.op->emitOpError(
              "needs a copy engine, which sets no flags; lower with a kernel "
              "for each step (option steps)");
    return success();
  }

  LogicalResult findWriters() {
    for (auto [channel, plan] : llvm::enumerate(plans))
      for (auto [index, transfer] : llvm::enumerate(plan.transfers)) {
        const SlotRange &write = transfer.effect.write;
        for (unsigned i = 0; i < write.size(); ++i)
          if (!writers
                   .try_emplace({write.rank, write.buffer, write[i]},
                                Place{channel, index})
                   .second)
            return transfer.op->emitOpError()
                   << "writes " << stringifyBuffer(write.buffer) << '['
                   << write[i] << "] of rank " << write.rank
                   << " a second time";
      }
    return success();
  }

  /// Calls `visit` with the place of each transfer whose result `transfer`
  /// reads.
  template <typename Visit>
  void forEachWriter(const TransferOp &transfer, Visit visit) {
    for (const SlotRange &read : transfer.effect.reads)
      for (unsigned i = 0; i < read.size(); ++i)
        if (auto it = writers.find({read.rank, read.buffer, read[i]});
            it != writers.end())
          visit(it->second);
  }

  unsigned computeDepth(TransferOp &transfer, const ChannelPlan &plan) {
    if (transfer.depth)
      return *transfer.depth;
    transfer.depth = 0; // ends a cycle, which coll-check-program reports
    unsigned depth = 0;
    forEachWriter(transfer, [&](const Place &place) {
      ChannelPlan &writerPlan = plans[place.channel];
      TransferOp &writer = writerPlan.transfers[place.index];
      if (writer.effect.step == transfer.effect.step)
        depth = std::max(depth, computeDepth(writer, writerPlan) +
                                    (&writerPlan != &plan));
    });
    transfer.depth = depth;
    return depth;
  }

  void formGroups(size_t channel, ChannelPlan &plan) {
    for (auto [index, transfer] : llvm::enumerate(plan.transfers)) {
      if (plan.groups.empty() ||
          plan.groups.back().transfers.back().effect.step !=
              transfer.effect.step ||
          plan.groups.back().transfers.back().depth != transfer.depth)
        plan.groups.emplace_back();
      plan.groups.back().transfers.push_back(transfer);
      groupOf[{channel, index}] = plan.groups.size() - 1;
    }
  }

  /// Finds which groups must precede which, and who must know of their end:
  /// the ranks that read what a group writes, and the ranks that own a buffer
  /// which it writes or reads.
  void connect() {
    for (auto [index, plan] : llvm::enumerate(plans))
      for (StepGroup &group : plan.groups)
        for (const TransferOp &transfer : group.transfers) {
          for (const SlotRange &read : transfer.effect.reads)
            tellOwner(plan, group, read.rank);
          tellOwner(plan, group, transfer.effect.write.rank);
          forEachWriter(transfer, [&](const Place &writer) {
            if (writer.channel == index)
              return;
            Place producer{writer.channel, groupOf.at(writer)};
            group.producers.insert(producer);
            plans[producer.channel].groups[producer.index].signals[plan.rank] =
                0;
          });
        }
  }

  static void tellOwner(const ChannelPlan &plan, StepGroup &group,
                        unsigned owner) {
    if (owner != plan.rank)
      group.signals[owner] = 0;
  }

  void numberSignals() {
    for (ChannelPlan &plan : plans)
      for (StepGroup &group : plan.groups)
        for (auto &[rank, value] : group.signals)
          value = ++plan.signalCounts[rank];
  }

  /// Begins a channel with its part of the handshake.
  void insertReadies(OpBuilder &builder, ChannelPlan &plan) {
    loc = plan.op.getLoc();
    if (plan.op.getBody().empty())
      builder.createBlock(&plan.op.getBody());
    builder.setInsertionPointToStart(&plan.op.getBody().front());
    if (plan.isLocal())
      insertReadySignals(builder, plan);
    else
      WaitOp::create(builder, *loc, Flag::Ready, plan.op.getPeer(), nullptr, 1);
  }

  void insert(ChannelPlan &plan) {
    OpBuilder builder(plan.op.getContext());
    insertReadies(builder, plan);
    std::map<size_t, unsigned> waited;
    for (StepGroup &group : plan.groups) {
      builder.setInsertionPoint(group.transfers.front().op);
      for (const Place &producer : group.producers)
        insertArrivalWait(
            builder, plan.rank, producer.channel,
            plans[producer.channel].groups[producer.index].signals[plan.rank],
            waited);
      builder.setInsertionPointAfter(group.transfers.back().op);
      for (auto [rank, value] : group.signals)
        SignalOp::create(builder, *loc, Flag::Arrival, rank, value);
    }
    if (!plan.isLocal())
      return;
    builder.setInsertionPointToEnd(&plan.op.getBody().front());
    for (auto [index, other] : llvm::enumerate(plans))
      if (other.rank != plan.rank && other.signalCounts.count(plan.rank))
        insertArrivalWait(builder, plan.rank, index,
                          other.signalCounts[plan.rank], waited);
  }

  void insertReadySignals(OpBuilder &builder, ChannelPlan &plan) {
    for (ChannelPlan &other : plans)
      if (!other.isLocal() && other.op.getPeer() == plan.rank)
        SignalOp::create(builder, *loc, Flag::Ready, other.rank, 1);
  }

  void insertArrivalWait(OpBuilder &builder, unsigned rank, size_t producer,
                         unsigned value, std::map<size_t, unsigned> &waited) {
    if (waited[producer] >= value)
      return;
    waited[producer] = value;
    ChannelPlan &plan = plans[producer];
    unsigned channel = plan.op.getPeer();
    WaitOp::create(
        builder, *loc, Flag::Arrival, plan.rank,
        channel == rank ? nullptr : builder.getI32IntegerAttr(channel), value);
  }

  ProgramOp program;
  std::vector<ChannelPlan> plans;
  std::map<SlotKey, Place> writers;
  std::map<Place, size_t> groupOf;
  std::optional<Location> loc;
};

struct InsertFlagSyncPass : coll::impl::InsertFlagSyncBase<InsertFlagSyncPass> {
  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (!isSynchronized(program) && failed(FlagSync(program).run()))
        return signalPassFailure();
  }
};
} // namespace
