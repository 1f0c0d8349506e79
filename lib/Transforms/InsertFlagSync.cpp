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
};

/// The transfers of one step in one channel; they share a signal.
struct StepGroup {
  unsigned step;
  std::vector<TransferOp> transfers;
  /// Arrivals to wait for before the first transfer: sender -> value.
  std::map<unsigned, unsigned> waits;
};

struct ChannelPlan {
  ChannelOp op;
  unsigned rank;
  std::vector<StepGroup> groups;
  bool isLocal() { return op.getPeer() == rank; }
};

/// Which signal says that a slot is written: the n-th of channel src -> dst.
struct Producer {
  size_t channel;
  unsigned value;
};

class FlagSync {
public:
  explicit FlagSync(ProgramOp program) : program(program) {}

  LogicalResult run() {
    addLocalChannels();
    if (failed(collectGroups()) || failed(findProducers()))
      return failure();
    findWaits();
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

  LogicalResult collectGroups() {
    for (RankOp rank : program.getBody().getOps<RankOp>())
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
        ChannelPlan &plan = plans.emplace_back();
        plan.op = channel;
        plan.rank = rank.getRank();
        for (Operation &op : channel.getBody().getOps()) {
          std::optional<Transfer> transfer = getTransfer(&op);
          if (!transfer || isa<GetOp>(op))
            return op.emitOpError(
                "is not expected before coll-insert-flag-sync, which takes "
                "push programs only");
          if (plan.groups.empty() || plan.groups.back().step != transfer->step)
            plan.groups.push_back({transfer->step, {}, {}});
          plan.groups.back().transfers.push_back({&op, *transfer});
        }
      }
    return success();
  }

  LogicalResult findProducers() {
    for (auto [index, plan] : llvm::enumerate(plans))
      for (auto [group, stepGroup] : llvm::enumerate(plan.groups))
        for (const TransferOp &transfer : stepGroup.transfers) {
          const SlotRange &write = transfer.effect.write;
          for (unsigned i = 0; i < write.count; ++i)
            if (!producers
                     .try_emplace({write.rank, write.buffer, write.slot + i},
                                  Producer{index, unsigned(group) + 1})
                     .second)
              return transfer.op->emitOpError()
                     << "writes " << stringifyBuffer(write.buffer) << '['
                     << write.slot + i << "] of rank " << write.rank
                     << " a second time";
        }
    return success();
  }

  /// Finds the arrivals that each group reads, and which local channels must
  /// signal at all.
  void findWaits() {
    for (auto [index, plan] : llvm::enumerate(plans))
      for (StepGroup &group : plan.groups)
        for (const TransferOp &transfer : group.transfers)
          for (const SlotRange &read : transfer.effect.reads)
            for (unsigned i = 0; i < read.count; ++i) {
              auto it = producers.find({read.rank, read.buffer, read.slot + i});
              if (it == producers.end() || it->second.channel == index)
                continue;
              ChannelPlan &producer = plans[it->second.channel];
              unsigned &value = group.waits[producer.rank];
              value = std::max(value, it->second.value);
              if (producer.isLocal())
                signallingLocals.insert(producer.rank);
            }
  }

  void insert(ChannelPlan &plan) {
    OpBuilder builder(plan.op.getContext());
    loc = plan.op.getLoc();
    if (plan.op.getBody().empty())
      builder.createBlock(&plan.op.getBody());
    builder.setInsertionPointToStart(&plan.op.getBody().front());
    if (plan.isLocal())
      insertReadySignals(builder, plan);
    else
      WaitOp::create(builder, *loc, Flag::Ready, plan.op.getPeer(), 1);

    std::map<unsigned, unsigned> waited;
    bool signals = !plan.isLocal() || signallingLocals.count(plan.rank);
    for (auto [index, group] : llvm::enumerate(plan.groups)) {
      builder.setInsertionPoint(group.transfers.front().op);
      for (auto [src, value] : group.waits)
        insertArrivalWait(builder, src, value, waited);
      builder.setInsertionPointAfter(group.transfers.back().op);
      if (signals)
        SignalOp::create(builder, *loc, Flag::Arrival, plan.op.getPeer(),
                         index + 1);
    }
    if (!plan.isLocal())
      return;
    builder.setInsertionPointToEnd(&plan.op.getBody().front());
    for (ChannelPlan &other : plans)
      if (!other.isLocal() && other.op.getPeer() == plan.rank)
        insertArrivalWait(builder, other.rank, other.groups.size(), waited);
  }

  void insertReadySignals(OpBuilder &builder, ChannelPlan &plan) {
    for (ChannelPlan &other : plans)
      if (!other.isLocal() && other.op.getPeer() == plan.rank)
        SignalOp::create(builder, *loc, Flag::Ready, other.rank, 1);
  }

  void insertArrivalWait(OpBuilder &builder, unsigned src, unsigned value,
                         std::map<unsigned, unsigned> &waited) {
    if (waited[src] >= value)
      return;
    waited[src] = value;
    WaitOp::create(builder, *loc, Flag::Arrival, src, value);
  }

  ProgramOp program;
  std::vector<ChannelPlan> plans;
  std::map<SlotKey, Producer> producers;
  std::set<unsigned> signallingLocals;
  std::optional<Location> loc;
};

/// True if somebody has put signals or waits into `program` already.
bool isSynchronized(ProgramOp program) {
  return program
      ->walk([](Operation *op) {
        return isa<SignalOp, WaitOp>(op) ? WalkResult::interrupt()
                                         : WalkResult::advance();
      })
      .wasInterrupted();
}

struct InsertFlagSyncPass : coll::impl::InsertFlagSyncBase<InsertFlagSyncPass> {
  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (!isSynchronized(program) && failed(FlagSync(program).run()))
        return signalPassFailure();
  }
};
} // namespace
