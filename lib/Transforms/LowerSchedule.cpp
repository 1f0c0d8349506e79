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

#include "ForSwitches.h"
#include "TransferPlan.h"
#include "sccl/ABI/KernelABI.h"
#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Options/Log.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static Log lowerScheduleLog("lower-schedule");

namespace sccl::coll {
#define GEN_PASS_DEF_LOWERSCHEDULE
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// Creates the ops of a program. There are many, and of their attributes few:
/// each is looked up in the context once.
class ProgramWriter {
public:
  explicit ProgramWriter(Location loc)
      : builder(loc.getContext()), loc(loc), unit(builder.getUnitAttr()) {
    for (Buffer buffer : {Buffer::Input, Buffer::Output, Buffer::Scratch})
      buffers.push_back(BufferAttr::get(builder.getContext(), buffer));
  }

  /// Creates the channels of `rank`.
  void fillRank(RankOp rank, const PlannedRank &state);

private:
  void createTransfer(const PlannedTransfer &transfer);

  TransportAttr exportTransport(SendTransport transport) {
    return TransportAttr::get(builder.getContext(),
                              transport == SendTransport::Multicast
                                  ? Transport::Multicast
                                  : Transport::LoadReduce);
  }
  IntegerAttr number(unsigned value) {
    if (value >= numbers.size())
      return builder.getI32IntegerAttr(value);
    if (!numbers[value])
      numbers[value] = builder.getI32IntegerAttr(value);
    return numbers[value];
  }
  BufferAttr buffer(const Slot &slot) const {
    return buffers[unsigned(slot.buffer)];
  }

  OpBuilder builder;
  Location loc;
  UnitAttr unit;
  std::vector<BufferAttr> buffers; ///< by number
  /// By value, as far as that is small; null if not looked up yet.
  std::vector<IntegerAttr> numbers = std::vector<IntegerAttr>(1 << 16);
};
} // namespace

void ProgramWriter::createTransfer(const PlannedTransfer &t) {
  auto slots = [&](auto create) {
    create(number(t.chunk), number(t.count), buffer(t.src), number(t.src.index),
           buffer(t.dst), number(t.dst.index), number(t.step), number(t.times),
           number(t.chunkStride), number(t.srcStride), number(t.dstStride));
  };
  if (t.rhs)
    LocalReduceOp::create(builder, loc, number(t.chunk), number(t.count),
                          buffer(t.src), number(t.src.index), buffer(*t.rhs),
                          number(t.rhs->index), buffer(t.dst),
                          number(t.dst.index), number(t.step),
                          t.isFinal ? unit : UnitAttr(), number(1), number(0),
                          number(0), number(0), number(0));
  else if (t.phase != Phase::Move)
    slots([&](auto... s) { CopyOp::create(builder, loc, s...); });
  else if (t.transport == SendTransport::Pull)
    slots([&](auto... s) { GetOp::create(builder, loc, UnitAttr(), s...); });
  else
    slots([&](auto... s) {
      auto put = PutOp::create(
          builder, loc, t.transport == SendTransport::DMA ? unit : UnitAttr(),
          s...);
      if (isInNetwork(t.transport))
        put->setDiscardableAttr(switchHint, exportTransport(t.transport));
    });
}

void ProgramWriter::fillRank(RankOp rank, const PlannedRank &state) {
  builder.setInsertionPointToEnd(&rank.getBody().emplaceBlock());
  for (const auto &[peer, planned] : state.channels) {
    auto channel = ChannelOp::create(builder, loc, peer);
    OpBuilder::InsertionGuard channelGuard(builder);
    builder.createBlock(&channel.getBody());
    for (const PlannedTransfer &transfer : planned.transfers)
      createTransfer(transfer);
  }
}

namespace {
struct LowerSchedulePass : coll::impl::LowerScheduleBase<LowerSchedulePass> {
  using LowerScheduleBase::LowerScheduleBase;

  void runOnOperation() override {
    if (blocksPerLink > mostBlocksPerChannel) {
      getOperation().emitError()
          << "blocks-per-link is " << blocksPerLink.getValue()
          << ", expected up to " << mostBlocksPerChannel;
      return signalPassFailure();
    }
    for (auto op :
         llvm::make_early_inc_range(getOperation().getOps<ScheduleOp>()))
      if (failed(replace(op)))
        return signalPassFailure();
  }

  LogicalResult replace(ScheduleOp op) {
    const Problem *problem = getChildAnalysis<ProblemAnalysis>(op).get();
    if (!problem || (ll && failed(requirePushes(op))))
      return failure();
    FailureOr<std::vector<PlannedRank>> ranks = planTransfers(
        problem->collective, op,
        {throughScratch, /*eager=*/doubleBuffer, ll, sumOrder, oneRounding});
    if (failed(ranks))
      return failure();

    OpBuilder builder(op);
    auto program = ProgramOp::create(
        builder, op.getLoc(), op.getSymNameAttr(), op.getCollectiveAttr(),
        op.getTopologyAttr(), op.getChunksAttr(), op.getRootAttr(),
        builder.getI32IntegerAttr(std::max(blocksPerLink.getValue(), 1u)),
        doubleBuffer || ll ? builder.getUnitAttr() : nullptr,
        ll ? builder.getUnitAttr() : nullptr, builder.getI32IntegerAttr(1));
    builder.createBlock(&program.getBody());
    createRanks(builder, op.getLoc(), *ranks);
    op.erase();
    return success();
  }

  /// Threads share the ranks. Each share has a writer, which is not cheap.
  static void createRanks(OpBuilder &builder, Location loc,
                          std::vector<PlannedRank> &ranks) {
    std::vector<RankOp> ops;
    for (auto [number, state] : llvm::enumerate(ranks)) {
      state.channels[number]; // every rank has a local channel
      ops.push_back(RankOp::create(builder, loc, number, state.scratchSlots));
      SCCL_LOG(lowerScheduleLog, "rank " << number << ": "
                                         << state.channels.size()
                                         << " channels, " << state.scratchSlots
                                         << " slots of scratch");
    }
    constexpr size_t perShare = 64;
    size_t shares = llvm::divideCeil(ranks.size(), perShare);
    parallelFor(builder.getContext(), 0, shares, [&](size_t share) {
      ProgramWriter writer(loc);
      size_t end = std::min(ranks.size(), (share + 1) * perShare);
      for (size_t rank = share * perShare; rank < end; ++rank)
        writer.fillRank(ops[rank], ranks[rank]);
    });
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
};
} // namespace
