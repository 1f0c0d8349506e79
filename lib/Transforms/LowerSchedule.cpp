//===- LowerSchedule.cpp - From schedules to programs ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TransferPlan.h says what becomes of a schedule; this makes ops of it.
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "TransferPlan.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Options/Log.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static Log logger("lower-schedule");

namespace sccl::coll {
#define GEN_PASS_DEF_LOWERSCHEDULE
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

static void createTransfer(OpBuilder &builder, Location loc,
                           const PlannedTransfer &t) {
  auto slots = [&](auto create) {
    create(t.chunk, t.count, t.src.buffer, t.src.index, t.dst.buffer,
           t.dst.index, t.step);
  };
  if (t.rhs)
    LocalReduceOp::create(builder, loc, t.chunk, t.count, t.src.buffer,
                          t.src.index, t.rhs->buffer, t.rhs->index,
                          t.dst.buffer, t.dst.index, t.step, t.isFinal);
  else if (t.phase != Phase::Move)
    slots([&](auto... s) { CopyOp::create(builder, loc, s...); });
  else if (t.transport == SendTransport::Pull)
    slots([&](auto... s) { GetOp::create(builder, loc, false, s...); });
  else
    slots([&](auto... s) {
      PutOp::create(builder, loc, t.transport == SendTransport::DMA, s...);
    });
}

static void createRank(OpBuilder &builder, Location loc, unsigned number,
                       PlannedRank &state) {
  auto rank = RankOp::create(builder, loc, number, state.scratchSlots);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&rank.getBody());
  state.channels[number]; // every rank has a local channel
  for (const auto &[peer, planned] : state.channels) {
    auto channel = ChannelOp::create(builder, loc, peer);
    OpBuilder::InsertionGuard channelGuard(builder);
    builder.createBlock(&channel.getBody());
    for (const PlannedTransfer &transfer : planned.transfers)
      createTransfer(builder, loc, transfer);
  }
}

namespace {
struct LowerSchedulePass : coll::impl::LowerScheduleBase<LowerSchedulePass> {
  using LowerScheduleBase::LowerScheduleBase;

  void runOnOperation() override {
    if (blocksPerLink < 1 || blocksPerLink > 64) {
      getOperation().emitError()
          << "blocks-per-link is " << blocksPerLink.getValue()
          << ", expected between 1 and 64";
      return signalPassFailure();
    }
    for (auto op :
         llvm::make_early_inc_range(getOperation().getOps<ScheduleOp>()))
      if (failed(replace(op)))
        return signalPassFailure();
  }

  LogicalResult replace(ScheduleOp op) {
    FailureOr<Problem> problem = importProblem(op);
    if (failed(problem) || failed(requireSenders(op, problem->collective)) ||
        (ll && failed(requirePushes(op))))
      return failure();
    std::vector<PlannedRank> ranks =
        planTransfers(problem->collective, op, {throughScratch, ll});

    OpBuilder builder(op);
    auto program = ProgramOp::create(
        builder, op.getLoc(), op.getSymNameAttr(), op.getCollectiveAttr(),
        op.getTopologyAttr(), op.getChunksAttr(), op.getRootAttr(),
        builder.getI32IntegerAttr(blocksPerLink),
        doubleBuffer || ll ? builder.getUnitAttr() : nullptr,
        ll ? builder.getUnitAttr() : nullptr);
    builder.createBlock(&program.getBody());
    for (auto [number, state] : llvm::enumerate(ranks)) {
      createRank(builder, op.getLoc(), number, state);
      SCCL_LOG(logger, "rank " << number << ": " << state.channels.size()
                               << " channels, " << state.scratchSlots
                               << " slots of scratch");
    }
    op.erase();
    return success();
  }

  /// Fails if a send is not pushed.
  static LogicalResult requirePushes(ScheduleOp op) {
    for (StepOp step : op.getBody().getOps<StepOp>())
      for (auto send : step.getBody().getOps<SendOpInterface>())
        if (auto by = send.getTransport(); by && *by != Transport::Push)
          return op.emitOpError()
                 << "moves chunk " << send.getChunkRanges().front().first
                 << " from rank " << send.getSrc() << " to rank "
                 << send.getDst() << " by " << stringifyTransport(*by)
                 << ", but LL words are always pushed";
    return success();
  }

  /// Fails if a rank sends what it has not received before the step. Anything
  /// else that is wrong with the schedule shows in coll-check-program.
  static LogicalResult requireSenders(ScheduleOp op,
                                      const Collective &collective) {
    RankChunkSet held = collective.pre();
    for (StepOp step : op.getBody().getOps<StepOp>()) {
      for (auto send : step.getBody().getOps<SendOpInterface>()) {
        const RankChunkSet &source =
            send.getFromInput() ? collective.pre() : held;
        std::optional<unsigned> absent;
        send.forEachChunk([&](uint32_t chunk) {
          if (!absent && !source.contains(send.getSrc(), chunk))
            absent = chunk;
        });
        if (absent)
          return op.emitOpError()
                 << "sends chunk " << *absent << " from rank " << send.getSrc()
                 << ", which does not hold it";
      }
      for (auto send : step.getBody().getOps<SendOpInterface>())
        send.forEachChunk(
            [&](uint32_t chunk) { held.insert(send.getDst(), chunk); });
    }
    return success();
  }
};
} // namespace
