//===- SpreadChannels.cpp - coll-spread-channels --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Analysis/Program.h"
#include "sccl/Model/Spread.h"
#include "sccl/Simulate/TimingOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_SPREADCHANNELS
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// The slots that the threads of `channel` read and write.
static uint64_t accessesOf(ChannelOp channel) {
  uint64_t sum = 0;
  for (Operation &op : channel.getBody().getOps()) {
    std::optional<Transfer> transfer = getTransfer(&op);
    if (transfer && !isDMA(&op))
      sum += (transfer->reads.size() + 1) * transfer->size();
  }
  return sum;
}

/// True if `channel` has to do with what others send: it reduces, or delivers
/// what came into scratch.
static bool handlesArrivals(ChannelOp channel) {
  return llvm::any_of(channel.getBody().getOps(), [](Operation &op) {
    std::optional<Transfer> transfer = getTransfer(&op);
    return transfer && llvm::any_of(transfer->reads, [](const SlotRange &read) {
             return read.buffer == Buffer::Scratch;
           });
  });
}

/// The link that `channel` sends or gets over, unless it is local.
static std::optional<unsigned> linkOf(ChannelOp channel,
                                      const Topology &topology) {
  unsigned rank = getRank(channel);
  for (Operation &op : channel.getBody().getOps())
    if (std::optional<Transfer> transfer = getTransfer(&op)) {
      if (transfer->write.rank != rank)
        return topology.findLink(rank, transfer->write.rank);
      for (const SlotRange &read : transfer->reads)
        if (read.rank != rank)
          return topology.findLink(read.rank, rank);
    }
  return std::nullopt;
}

/// True if the clock of the program's topology knows blocks.
static bool hasBlocks(TopologyOp op) {
  return llvm::any_of(op.getBody().getOps<TimingOp>(), [](TimingOp timing) {
    return timing.getBlocks().has_value();
  });
}

/// As many blocks as the clock of `op`, which is `topology`, asks for; 1 if it
/// does not say what they send.
static unsigned chooseBlocks(ProgramOp program, TopologyOp op,
                             const Topology &topology, unsigned smBudget) {
  std::optional<Timing> timing = timingOf(op, topology);
  if (!timing || timing->sendRate == 0)
    return 1;
  uint64_t channels = 0;
  for (RankOp rank : program.getBody().getOps<RankOp>())
    channels = std::max(channels, countSpread(rank));
  std::vector<unsigned> links;
  forEachChannel(program, [&](ChannelOp channel) {
    if (std::optional<unsigned> link = linkOf(channel, topology))
      links.insert(links.end(), channel.getSpread(), *link);
  });
  return blocksToFill(topology, timing->rates, timing->sendRate, links,
                      channels, smBudget);
}

/// Fails if a rank has more blocks than `smBudget`, unless that is 0.
static LogicalResult checkBudget(ProgramOp program, unsigned smBudget) {
  if (smBudget == 0)
    return success();
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    uint64_t blocks = countSpread(rank) * program.getBlocks();
    if (blocks > smBudget)
      return rank.emitOpError()
             << "needs at least " << blocks << " multiprocessors, "
             << program.getBlocks() << " for each of its channels, and "
             << "sm-budget is " << smBudget;
  }
  return success();
}

namespace {
struct SpreadChannelsPass : coll::impl::SpreadChannelsBase<SpreadChannelsPass> {
  using SpreadChannelsBase::SpreadChannelsBase;

  void runOnOperation() override {
    markAnalysesPreserved<ProblemAnalysis>();
    ProgramOp program = getOperation();
    for (RankOp rank : program.getBody().getOps<RankOp>()) {
      ChannelOp local;
      uint64_t own = 0, channels = 0;
      std::vector<uint64_t> others;
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
        uint64_t accesses = accessesOf(channel);
        ++channels;
        if (channel.getPeer() == rank.getRank()) {
          local = channel;
          own = accesses;
        } else if (accesses != 0) {
          others.push_back(accesses);
        }
      }
      if (local)
        local.setSpread(
            spreadOf(own, others, handlesArrivals(local),
                     spreadWithin(smBudget, blocksPerLink, channels)));
    }
    auto op = SymbolTable::lookupNearestSymbolFrom<TopologyOp>(
        program, program.getTopologyAttr());
    if (blocksPerLink == 0 && op && hasBlocks(op))
      if (const Problem *problem = getAnalysis<ProblemAnalysis>().get())
        program.setBlocks(
            chooseBlocks(program, op, problem->topology, smBudget));
    if (failed(checkBudget(program, smBudget)))
      signalPassFailure();
  }
};
} // namespace
