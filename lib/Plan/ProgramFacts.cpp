//===- ProgramFacts.cpp - What a plan says about a program ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFacts.h"

#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Transforms/Passes.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// Where input slots lie in the output of a rank that works in place: the slot
/// of a chunk in the input less that in the output. Nothing if no chunk is in
/// both, or not all chunks agree.
static std::optional<int> inPlaceSlots(const Collective &collective,
                                       unsigned rank) {
  std::optional<int> offset;
  for (unsigned chunk : collective.pre().chunksOf(rank)) {
    std::optional<unsigned> output = collective.outputSlot(rank, chunk);
    if (!output)
      continue;
    int difference = int(*collective.inputSlot(rank, chunk)) - int(*output);
    if (offset && *offset != difference)
      return std::nullopt;
    offset = difference;
  }
  return offset;
}

std::vector<plan::RankLayout> sccl::layoutOf(const Collective &collective) {
  int perSegment = collective.chunksPerSegment();
  std::vector<plan::RankLayout> layout;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    plan::RankLayout &entry = layout.emplace_back();
    entry.inputSegments = collective.inputSlots(rank) / perSegment;
    entry.outputSegments = collective.outputSlots(rank) / perSegment;
    std::optional<int> slots = inPlaceSlots(collective, rank);
    // Input slot i is output slot i - slots: the send buffer begins before the
    // receive buffer by that much.
    if (slots && *slots % perSegment == 0)
      entry.inPlaceOffset = -*slots / perSegment;
  }
  return layout;
}

bool sccl::leavesPeersToCopies(ProgramOp program) {
  auto touchesPeers = [](Operation *op) {
    std::optional<Transfer> transfer = getTransfer(op);
    if (!transfer || isDMA(op))
      return false;
    unsigned own = op->getParentOfType<RankOp>().getRank();
    return transfer->write.rank != own ||
           llvm::any_of(transfer->reads, [&](const SlotRange &read) {
             return read.rank != own;
           });
  };
  return !program
              ->walk([&](Operation *op) {
                return touchesPeers(op) ? WalkResult::interrupt()
                                        : WalkResult::advance();
              })
              .wasInterrupted();
}

plan::ProgramInfo sccl::planInfoOf(ProgramOp program,
                                   const Collective &collective) {
  ProgramInfo facts = describeProgram(program, collective);
  plan::ProgramInfo info;
  info.blocks = facts.blocks;
  info.chunksMoved = facts.chunksMoved;
  info.peersReadInput = facts.peersReadInput;
  info.peersTouchOutput = facts.peersTouchOutput;
  info.inPlace = allowsInPlace(program, collective);
  for (unsigned rank = 0; rank < facts.numRanks; ++rank)
    info.ranks.push_back({facts.channels[rank], facts.scratchSlots[rank],
                          facts.controlBytes[rank]});
  info.steps = facts.steps;
  info.copies = facts.copies;
  // Halves of scratch spare announcements only among launches of one size.
  // Hosts that copy meet before and after.
  info.announcesReady =
      facts.steps != 0 || (!program.getDoubleBuffered() &&
                           program
                               ->walk([](SignalOp signal) {
                                 return signal.getFlag() == Flag::Ready
                                            ? WalkResult::interrupt()
                                            : WalkResult::advance();
                               })
                               .wasInterrupted());
  return info;
}
