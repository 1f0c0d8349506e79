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
#include "sccl/Simulate/Traffic.h"

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

/// What each channel of another rank to `rank` accesses that does something.
static std::vector<uint64_t> arrivingAt(RankOp rank) {
  std::vector<uint64_t> result;
  forEachChannel(rank->getParentOfType<ProgramOp>(), [&](ChannelOp channel) {
    if (channel.getPeer() != rank.getRank() ||
        getRank(channel) == rank.getRank())
      return;
    if (uint64_t accesses = accessesOf(channel))
      result.push_back(accesses);
  });
  return result;
}

/// Adds to what a block of each channel over a link keeps under way, by link,
/// what those of `channel` do in the slowest of its transfers: others may have
/// to wait for that.
static void addPerBlock(ChannelOp channel, const Topology &topology,
                        const Timing &timing, std::vector<double> &perBlock) {
  auto program = channel->getParentOfType<ProgramOp>();
  unsigned rank = getRank(channel);
  std::optional<unsigned> link;
  double least = timing.sendRate;
  for (Operation &op : channel.getBody().getOps())
    if (std::optional<Transfer> transfer = getTransfer(&op))
      if (auto [src, dst] = endsOf(rank, *transfer); src != dst) {
        link = topology.findLink(src, dst);
        Action action = actionOf(program, rank, *transfer, /*chunkBytes=*/1);
        least = std::min(least, action.blockRate(timing));
      }
  if (link)
    perBlock[*link] += least * channel.getSpread();
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
  std::vector<double> perBlock(topology.links().size());
  forEachChannel(program, [&](ChannelOp channel) {
    addPerBlock(channel, topology, *timing, perBlock);
  });
  return blocksToFill(topology, timing->rates, perBlock, channels, smBudget);
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

  /// True if `program` is one that was spread before, and not just lowered.
  bool saysItsBlocks(ProgramOp program) const {
    bool result = blocksPerLink == 0 && program.getBlocks() != 1;
    forEachChannel(program, [&](ChannelOp channel) {
      result |= channel.getSpread() != 1;
    });
    return result;
  }

  /// The channel of a rank to itself.
  struct Local {
    ChannelOp channel = {};
    uint64_t channels = 0; ///< of the rank
    LocalWork work = {};
  };
  static std::optional<Local> localOf(RankOp rank) {
    Local local;
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      uint64_t accesses = accessesOf(channel);
      ++local.channels;
      if (channel.getPeer() == rank.getRank()) {
        local.channel = channel;
        local.work.own = accesses;
        local.work.handlesArrivals = handlesArrivals(channel);
      } else if (accesses != 0) {
        local.work.others.push_back(accesses);
      }
    }
    if (local.channel && local.work.others.empty())
      local.work.others = arrivingAt(rank);
    return local.channel ? std::optional(std::move(local)) : std::nullopt;
  }

  void runOnOperation() override {
    markAnalysesPreserved<ProblemAnalysis>();
    ProgramOp program = getOperation();
    if (saysItsBlocks(program)) {
      if (failed(checkBudget(program, smBudget)))
        signalPassFailure();
      return markAllAnalysesPreserved();
    }
    SmallVector<Local> locals;
    for (RankOp rank : program.getBody().getOps<RankOp>())
      if (std::optional<Local> local = localOf(rank)) {
        local->channel.setSpread(local->work.spread(
            spreadWithin(smBudget, blocksPerLink, local->channels)));
        locals.push_back(std::move(*local));
      }
    auto op = SymbolTable::lookupNearestSymbolFrom<TopologyOp>(
        program, program.getTopologyAttr());
    const Problem *problem = blocksPerLink == 0 && op && hasBlocks(op)
                                 ? getAnalysis<ProblemAnalysis>().get()
                                 : nullptr;
    if (problem) {
      program.setBlocks(chooseBlocks(program, op, problem->topology, smBudget));
      for (Local &local : locals)
        local.channel.setSpread(
            local.work.widened(smBudget, program.getBlocks(), local.channels,
                               local.channel.getSpread()));
    }
    if (failed(checkBudget(program, smBudget)))
      signalPassFailure();
  }
};
} // namespace
