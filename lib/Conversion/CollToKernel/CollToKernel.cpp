//===- CollToKernel.cpp - From programs to what blocks execute ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"
#include "sccl/Conversion/ProgramInfo.h"

#include "ChannelBuilder.h"

#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTCOLLTOKERNEL
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

/// What is executed one after the other, by part: parts are what barriers
/// divide a program into.
using Parts = std::vector<SmallVector<Operation *>>;

/// Fails if `program` needs a copy engine but has no parts for the host to put
/// the copies between.
static LogicalResult requireParts(ProgramOp program) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      for (Operation &op : channel.getBody().getOps()) {
        if (isa<BarrierOp>(op))
          return success(); // all channels have them
        if (isDMA(&op))
          return op.emitOpError("needs a copy engine in a program without "
                                "barriers; insert them first, with "
                                "coll-insert-step-barriers");
      }
  return success();
}

/// Emits an error and fails if `module` holds a schedule, or something that
/// becomes one, or a program that is not finished: with copies by engines, but
/// without barriers.
static LogicalResult requireLowered(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (isa<ScheduleOp, SynthesizeOp>(op))
      return op.emitOpError("is not a program yet; lower it first, as the "
                            "pipeline sccl-lower does");
    if (auto program = dyn_cast<ProgramOp>(op);
        program && failed(requireParts(program)))
      return failure();
  }
  return success();
}

/// The ops of one channel for thread blocks, by part.
static Parts splitAtBarriers(ChannelOp channel) {
  Parts parts(1);
  for (Operation &op : channel.getBody().getOps()) {
    if (isa<BarrierOp>(op))
      parts.emplace_back();
    else
      parts.back().push_back(&op);
  }
  return parts;
}

/// By rank and part, an order in which one thread per rank can execute all
/// channels.
static FailureOr<std::vector<Parts>> orderForHost(ProgramOp program,
                                                  const ProgramInfo &info) {
  // Nothing is before the first barrier or after the last one.
  std::vector<Parts> order(info.ranks.size(), Parts(info.steps + 2));
  llvm::DenseMap<Operation *, unsigned> part; // looked up, not iterated
  if (failed(
          walkInExecutionOrder(program, [&](ChannelOp channel, Operation *op) {
            if (isa<BarrierOp>(op))
              ++part[channel];
            else
              order[getRank(channel)][part[channel]].push_back(op);
          })))
    return failure();
  return order;
}

/// The chunks that the buffers of all ranks hold together, at least 1.
static uint64_t countSlots(const ProgramInfo &info,
                           const Collective &collective) {
  uint64_t slots = 1;
  for (unsigned rank = 0; rank < info.ranks.size(); ++rank)
    slots += collective.inputSlots(rank) + collective.outputSlots(rank) +
             info.ranks[rank].scratchSlots;
  return slots;
}

namespace {
/// Emits the kernels of one program.
class KernelEmitter {
public:
  KernelEmitter(OpBuilder &builder, const ProgramContext &context,
                StringRef name, const ProgramInfo &info)
      : builder(builder), context(context), name(name), info(info) {}

  /// A kernel for each step of `rank`. `channels` is what each executes.
  void emit(Location loc, unsigned rank, ArrayRef<Parts> channels) {
    bool hasSteps = info.steps != 0;
    for (unsigned step = 0; step < std::max(info.steps, 1u); ++step) {
      auto kernel = collk::KernelOp::create(
          builder, loc, functionName(name, info, rank, step),
          builder.getI32IntegerAttr(rank),
          hasSteps ? builder.getI32IntegerAttr(step) : IntegerAttr());
      builder.createBlock(&kernel.getBody());
      for (auto [number, parts] : llvm::enumerate(channels)) {
        ChannelBuilder channel(builder, loc, context, rank, number);
        if (!hasSteps)
          channel.begin();
        for (Operation *op : parts[hasSteps ? step + 1 : 0])
          channel.add(op);
        channel.end();
      }
      builder.setInsertionPointAfter(kernel);
    }
  }

private:
  OpBuilder &builder;
  const ProgramContext &context;
  StringRef name;
  const ProgramInfo &info;
};

struct ConvertCollToKernelPass
    : coll::impl::ConvertCollToKernelBase<ConvertCollToKernelPass> {
  using ConvertCollToKernelBase::ConvertCollToKernelBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(requireLowered(module)))
      return signalPassFailure();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    for (ProgramOp program : programs)
      if (failed(convert(program)))
        return signalPassFailure();
    // Nothing refers to topologies and collectives any more.
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<CollDialect>(op.getDialect()))
        op.erase();
  }

  LogicalResult convert(ProgramOp program) {
    FailureOr<Problem> problem = importProblem(program);
    if (failed(problem))
      return failure();
    if (host && program.getBlocks() != 1)
      return program.emitOpError() << "has " << program.getBlocks()
                                   << " blocks per channel, but the host runs "
                                      "one thread per rank";
    const Collective &collective = problem->collective;
    ProgramInfo info = describeProgram(program, collective);
    std::vector<Parts> order;
    if (host) {
      FailureOr<std::vector<Parts>> found = orderForHost(program, info);
      if (failed(found))
        return failure();
      order = std::move(*found);
    }
    OpBuilder builder(program);
    auto result = collk::ProgramOp::create(
        builder, program.getLoc(), program.getSymName(), collective.numRanks(),
        collective.chunksPerSegment(), info.blocks,
        countSlots(info, collective), host);
    builder.createBlock(&result.getBody());
    ProgramContext context(program, collective, /*hasThreads=*/!host);
    KernelEmitter emitter(builder, context, program.getSymName(), info);
    for (RankOp rank : program.getBody().getOps<RankOp>()) {
      std::vector<Parts> channels;
      if (host)
        channels.push_back(std::move(order[rank.getRank()]));
      else
        for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
          channels.push_back(splitAtBarriers(channel));
      emitter.emit(rank.getLoc(), rank.getRank(), channels);
    }
    program.erase();
    return success();
  }
};
} // namespace
