//===- ProgramFacts.cpp - What a plan says about a program ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFacts.h"

#include "sccl/Conversion/KernelABI.h"

#include <map>

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

namespace {
/// For each channel, how many of its ops have happened before.
using Clock = std::vector<uint32_t>;

/// Executes a program and watches what it does to output slots that are input
/// slots as well: an input must have been read by all before it is replaced.
class InPlaceCheck {
public:
  InPlaceCheck(ProgramOp program, const Collective &collective)
      : program(program) {
    for (RankOp rank : program.getBody().getOps<RankOp>())
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
        channelIndex.try_emplace(channel, channelIndex.size());
    clocks.assign(channelIndex.size(), Clock(channelIndex.size(), 0));
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
      offsets.push_back(inPlaceSlots(collective, rank));
      outputSlots.push_back(collective.outputSlots(rank));
    }
  }

  FailureOr<bool> run() {
    if (failed(walkInExecutionOrder(
            program, [&](ChannelOp channel, Operation *op) {
              execute(channelIndex.at(channel), getRank(channel), op);
            })))
      return failure();
    return safe;
  }

private:
  using SlotKey = std::pair<unsigned, int64_t>;         // rank, output slot
  using FlagKey = std::tuple<Flag, unsigned, unsigned>; // src, dst
  struct SlotState {
    bool written = false;
    std::map<size_t, uint32_t> readers; ///< channel -> time of its last read
  };

  void execute(size_t channel, unsigned rank, Operation *op) {
    Clock &clock = clocks[channel];
    ++clock[channel];
    if (auto signal = dyn_cast<SignalOp>(op)) {
      signals[{signal.getFlag(), rank, signal.getPeer()}].push_back(clock);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      const Clock &from =
          signals[{wait.getFlag(), wait.getPeer(), rank}][wait.getValue() - 1];
      for (auto [mine, theirs] : llvm::zip_equal(clock, from))
        mine = std::max(mine, theirs);
    } else if (std::optional<Transfer> transfer = getTransfer(op)) {
      access(channel, *transfer);
    }
  }

  /// The output slot that slot `i` of an input range is, if it is one.
  std::optional<SlotKey> alias(const SlotRange &range, unsigned i) const {
    if (range.buffer != Buffer::Input || !offsets[range.rank])
      return std::nullopt;
    int64_t slot = int64_t(range.slot) + i - *offsets[range.rank];
    if (slot < 0 || slot >= outputSlots[range.rank])
      return std::nullopt;
    return SlotKey{range.rank, slot};
  }

  void access(size_t channel, const Transfer &transfer) {
    const SlotRange &write = transfer.write;
    // Slot i of what an op reads and slot i of what it writes may be the same.
    std::map<SlotKey, unsigned> read;
    for (const SlotRange &range : transfer.reads)
      for (unsigned i = 0; i < range.count; ++i)
        if (std::optional<SlotKey> key = alias(range, i)) {
          read[*key] = i;
          SlotState &slot = slots[*key];
          safe &= !slot.written;
          slot.readers[channel] = clocks[channel][channel];
        }
    if (write.buffer != Buffer::Output)
      return;
    for (unsigned i = 0; i < write.count; ++i) {
      SlotKey key{write.rank, write.slot + i};
      auto own = read.find(key);
      safe &= own == read.end() || own->second == i;
      // A copy of a slot to itself changes nothing.
      if (own != read.end() && transfer.reads.size() == 1)
        continue;
      SlotState &slot = slots[key];
      slot.written = true;
      for (auto [reader, time] : slot.readers)
        safe &= clocks[channel][reader] >= time;
    }
  }

  ProgramOp program;
  std::map<Operation *, size_t> channelIndex; ///< only looked up
  std::vector<Clock> clocks;
  std::vector<std::optional<int>> offsets;
  std::vector<unsigned> outputSlots;
  std::map<SlotKey, SlotState> slots;
  std::map<FlagKey, std::vector<Clock>> signals;
  bool safe = true;
};
} // namespace

LogicalResult sccl::describeProgram(ProgramOp program,
                                    const Collective &collective,
                                    plan::ProgramInfo &info) {
  info.blocks = program.getBlocks();
  ControlLayout control{collective.numRanks(), program.getBlocks()};
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    auto channels = rank.getBody().getOps<ChannelOp>();
    info.ranks.push_back(
        {unsigned(std::distance(channels.begin(), channels.end())),
         unsigned(rank.getScratch()), control.controlBytes()});
  }
  info.announcesReady = false;
  program.walk([&](Operation *op) {
    if (auto signal = dyn_cast<SignalOp>(op))
      info.announcesReady |= signal.getFlag() == Flag::Ready;
    if (auto put = dyn_cast<PutOp>(op))
      info.peersWriteOutput |= put.getDstBuffer() == Buffer::Output;
    if (auto get = dyn_cast<GetOp>(op)) {
      info.peersReadInput |= get.getSrcBuffer() == Buffer::Input;
      info.peersWriteOutput |= get.getSrcBuffer() == Buffer::Output;
    }
  });
  FailureOr<bool> inPlace = InPlaceCheck(program, collective).run();
  if (failed(inPlace))
    return failure();
  info.inPlace = *inPlace;
  return success();
}
