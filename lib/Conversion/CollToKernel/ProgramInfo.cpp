//===- ProgramInfo.cpp - What a launch of a program needs -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/ProgramInfo.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Collective.h"

#include "llvm/ADT/StringExtras.h"

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

/// Notes what `transfer`, executed by `rank`, moves, and what it does with
/// buffers of peers.
static void noteAccess(ProgramInfo &info, const Transfer &transfer,
                       unsigned rank, bool ll) {
  auto traffic = [&](const SlotRange &range) {
    bool isDouble = ll && range.buffer == Buffer::Scratch;
    info.chunksMoved += range.size() * (isDouble ? 2 : 1);
  };
  llvm::for_each(transfer.reads, traffic);
  traffic(transfer.write);
  for (const SlotRange &read : transfer.reads) {
    info.peersReadInput |= read.rank != rank && read.buffer == Buffer::Input;
    info.peersTouchOutput |= read.rank != rank && read.buffer == Buffer::Output;
  }
  const SlotRange &write = transfer.write;
  info.peersTouchOutput |= write.rank != rank && write.buffer == Buffer::Output;
}

static EngineCopy makeCopy(const ProgramInfo &info, const Transfer &transfer,
                           unsigned rank) {
  const SlotRange &src = transfer.reads[0], &dst = transfer.write;
  return {rank,
          src.rank,
          unsigned(src.buffer),
          src.slot,
          dst.rank,
          unsigned(dst.buffer),
          dst.slot,
          transfer.chunk % info.chunksPerSegment,
          transfer.count};
}

ProgramInfo sccl::describeProgram(ProgramOp program,
                                  const Collective &collective) {
  ProgramInfo info;
  info.name = program.getSymName().str();
  info.numRanks = collective.numRanks();
  info.chunksPerSegment = collective.chunksPerSegment();
  info.blocks = program.getBlocks();
  // Nothing happens before the first barrier and after the last one.
  unsigned barriers = countBarriers(program);
  info.steps = barriers == 0 ? 0 : barriers - 1;
  info.copies.resize(info.steps);
  FlagTable flags(program);
  for (RankOp rankOp : program.getBody().getOps<RankOp>()) {
    unsigned rank = rankOp.getRank();
    unsigned channels = 0;
    for (ChannelOp channel : rankOp.getBody().getOps<ChannelOp>()) {
      ++channels;
      unsigned passed = 0;
      for (Operation &op : channel.getBody().getOps()) {
        passed += isa<BarrierOp>(op);
        std::optional<Transfer> transfer = getTransfer(&op);
        if (!transfer)
          continue;
        noteAccess(info, *transfer, rank, program.getLl());
        for (unsigned i = 0; isDMA(&op) && i < transfer->times; ++i)
          info.copies[passed - 1].push_back(
              makeCopy(info, transfer->repetition(i), rank));
      }
    }
    info.channels.push_back(channels);
    info.scratchSlots.push_back(rankOp.getScratch() *
                                (program.getDoubleBuffered() ? 2 : 1) *
                                (program.getLl() ? 2 : 1));
    info.controlBytes.push_back(
        ControlLayout{channels, flags.numFlags(rank), info.blocks}
            .controlBytes());
  }
  return info;
}
