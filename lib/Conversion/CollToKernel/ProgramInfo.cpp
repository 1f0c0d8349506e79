//===- ProgramInfo.cpp - What a launch of a program needs -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/ProgramInfo.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Analysis/WordGroups.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/DisjointSets.h"
#include "sccl/Model/SwitchGroups.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

std::string sccl::symbolOf(StringRef name) {
  std::string symbol;
  for (auto [index, byte] : llvm::enumerate(name)) {
    bool isPlain = index == 0 ? llvm::isAlpha(byte) : llvm::isAlnum(byte);
    bool isPlainUnderscore =
        byte == '_' && !name.substr(index + 1).starts_with("x");
    if (isPlain || isPlainUnderscore)
      symbol += byte;
    else
      symbol += "_x" + llvm::toHex(name.substr(index, 1));
  }
  return symbol;
}

/// The number of barriers in each channel of `program`.
static unsigned countBarriers(ProgramOp program) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      auto barriers = channel.getBody().getOps<BarrierOp>();
      return std::distance(barriers.begin(), barriers.end());
    }
  return 0;
}

std::string sccl::functionName(StringRef name, const ProgramInfo &info,
                               unsigned rank, unsigned step) {
  std::string symbol = symbolOf(name) + "_rank" + std::to_string(rank);
  return info.steps == 0 ? symbol : symbol + "_step" + std::to_string(step);
}

/// Notes what `transfer`, executed by `rank`, moves, and what it does with
/// memory of peers.
static void noteAccess(ProgramInfo &info, const Transfer &transfer,
                       unsigned rank, bool isCopy,
                       function_ref<unsigned(const SlotRange &)> widthOf) {
  auto note = [&](const SlotRange &range) {
    bool isPeers = range.rank != rank;
    info.chunksMoved += range.size() * widthOf(range);
    info.peersTouchOutput |= isPeers && range.buffer == Buffer::Output;
    info.stepsTouchPeers |= isPeers && info.steps != 0 && !isCopy;
    return isPeers;
  };
  for (const SlotRange &read : transfer.reads)
    info.peersReadInput |= note(read) && read.buffer == Buffer::Input;
  note(transfer.write);
}

static EngineCopy makeCopy(const Transfer &transfer, unsigned rank,
                           unsigned chunksPerSegment) {
  const SlotRange &src = transfer.reads[0], &dst = transfer.write;
  return {rank,
          src.rank,
          unsigned(src.buffer),
          src.slot,
          dst.rank,
          unsigned(dst.buffer),
          dst.slot,
          transfer.chunk % chunksPerSegment,
          transfer.count};
}

/// Notes the transfers of one channel of `rank`.
static void describeChannel(ProgramInfo &info, ChannelOp channel, unsigned rank,
                            unsigned chunksPerSegment,
                            function_ref<unsigned(const SlotRange &)> widthOf) {
  unsigned passed = 0;
  for (Operation &op : channel.getBody().getOps()) {
    passed += isa<BarrierOp>(op);
    std::optional<Transfer> transfer = getTransfer(&op);
    if (!transfer)
      continue;
    noteAccess(info, *transfer, rank, isDMA(&op), widthOf);
    if (!isDMA(&op))
      info.largestTransfer =
          std::max(info.largestTransfer,
                   llvm::divideCeil(transfer->reads.size() * transfer->size(),
                                    channel.getSpread()));
    for (unsigned i = 0; isDMA(&op) && i < transfer->times; ++i)
      info.copies[passed - 1].push_back(
          makeCopy(transfer->repetition(i), rank, chunksPerSegment));
  }
  for (const std::vector<SharedTransfer> &group : wordGroupsOf(channel))
    info.transfersAtOnce =
        std::max(info.transfersAtOnce,
                 unsigned(llvm::divideCeil(group.size(), channel.getSpread())));
}

/// Halves of scratch spare announcements, but only among launches of one size.
/// Hosts that copy meet before and after.
static bool announcesReady(ProgramOp program, const ProgramInfo &info) {
  if (info.steps != 0 || program.getDoubleBuffered())
    return info.steps != 0;
  return program
      ->walk([](SignalOp signal) {
        return signal.getFlag() == Flag::Ready ? WalkResult::interrupt()
                                               : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Joins the ranks of each switch of the topology that has a group, whether it
/// is used or not: so all programs have the same groups.
static void joinBySwitches(ProgramOp program, DisjointSets &sets) {
  auto topology = SymbolTable::lookupNearestSymbolFrom<TopologyOp>(
      program, program.getTopologyAttr());
  if (!topology)
    return;
  SwitchGroups groups;
  for (SwitchOp by : topology.getBody().getOps<SwitchOp>())
    if (groups.add(by.getRanks()))
      for (int32_t rank : by.getRanks())
        sets.join(by.getRanks().front(), rank);
}

/// See ProgramInfo::switchGroups: ranks that an op names are of one group.
static std::vector<unsigned> switchGroupsOf(ProgramOp program,
                                            unsigned numRanks) {
  DisjointSets sets(numRanks);
  bool hasSwitches = false;
  program.walk([&](TransferOpInterface op) {
    if (!isa<MulticastOp, LoadReduceOp>(op))
      return;
    hasSwitches = true;
    for (const SlotRange &read : op.getReads())
      sets.join(op.getWrite().rank, read.rank);
  });
  if (hasSwitches)
    joinBySwitches(program, sets);
  std::vector<unsigned> groups;
  std::map<unsigned, unsigned> numbers; // by the lowest rank
  for (unsigned rank = 0; hasSwitches && rank < numRanks; ++rank)
    groups.push_back(
        numbers.try_emplace(sets.first(rank), numbers.size()).first->second);
  return groups;
}

ProgramInfo sccl::describeProgram(ProgramOp program,
                                  const Collective &collective,
                                  const FlagTable &flags) {
  ProgramInfo info;
  info.blocks = program.getBlocks();
  // Nothing happens before the first barrier and after the last one.
  unsigned barriers = countBarriers(program);
  info.steps = barriers == 0 ? 0 : barriers - 1;
  info.copies.resize(info.steps);
  info.announcesReady = announcesReady(program, info);
  SmallVector<RankOp, 0> ranks = ranksOf(program);
  auto widthOf = [&](const SlotRange &range) {
    return holdsLL(program, range)            ? 2
           : isWide(ranks[range.rank], range) ? program.getSumWidth()
                                              : 1;
  };
  for (RankOp rankOp : ranks) {
    unsigned rank = rankOp.getRank();
    RankNeeds needs;
    needs.channels = countSpread(rankOp);
    for (ChannelOp channel : rankOp.getBody().getOps<ChannelOp>())
      describeChannel(info, channel, rank, collective.chunksPerSegment(),
                      widthOf);
    needs.scratchSlots = scratchChunks(program, rankOp, rankOp.getScratch()) *
                         (program.getDoubleBuffered() ? 2 : 1);
    needs.controlBytes =
        ControlLayout{needs.channels, flags.numFlags(rank), info.blocks}
            .controlBytes();
    info.ranks.push_back(needs);
  }
  info.switchGroups = switchGroupsOf(program, ranks.size());
  return info;
}
