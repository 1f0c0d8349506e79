//===- ProgramCode.cpp - The calls that a program becomes -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramCode.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// A signal or a wait handles so many flags at once, a thread for each: blocks
/// have 64 threads and more.
static constexpr int32_t maxFlags = 64;

std::array<int32_t, CodeRow::words> CodeRow::encode() const {
  if (opcode == Signal || opcode == Wait)
    return {opcode, firstFlag, count};
  return {opcode,         dst.where,  dst.segment,  dst.chunk,
          dst.oddChunks,  src0.where, src0.segment, src0.chunk,
          src0.oddChunks, src1.where, src1.segment, src1.chunk,
          src1.oddChunks, position,   count,        divisor};
}

ProgramCode::ProgramCode(ProgramOp program, const Collective &collective,
                         bool averages)
    : collective(collective), hasDivisors(averages),
      perSegment(collective.chunksPerSegment()), table(program) {
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    auto channels = rank.getBody().getOps<ChannelOp>();
    layouts.push_back(
        {uint64_t(std::distance(channels.begin(), channels.end())),
         table.numFlags(rank.getRank()), program.getBlocks()});
    oddChunks.push_back(program.getAlternating() ? rank.getScratch() : 0);
  }
}

CodeSlot ProgramCode::encodeSlot(const SlotRange &range, unsigned rank) const {
  // The fields of PeerEntry are in the order of the enumeration.
  constexpr int32_t fields = sizeof(PeerEntry) / sizeof(void *);
  int32_t field = int32_t(range.buffer);
  CodeSlot slot;
  slot.where = range.rank == rank ? ~field : range.rank * fields + field;
  if (range.buffer == Buffer::Scratch) { // one long segment
    slot.chunk = range.slot;
    slot.oddChunks = oddChunks[range.rank];
    return slot;
  }
  slot.segment = range.slot / perSegment;
  slot.chunk = range.slot % perSegment;
  return slot;
}

CodeRow ProgramCode::encodeTransfer(const Transfer &transfer,
                                    unsigned rank) const {
  bool combines = transfer.reads.size() == 2;
  CodeRow row{combines ? CodeRow::Reduce : CodeRow::Transfer};
  row.dst = encodeSlot(transfer.write, rank);
  row.src0 = encodeSlot(transfer.reads[0], rank);
  if (combines)
    row.src1 = encodeSlot(transfer.reads[1], rank);
  row.position = transfer.chunk % perSegment;
  row.count = transfer.count;
  if (hasDivisors && transfer.isFinal)
    row.divisor = collective.pre().ranksOf(transfer.chunk).size();
  return row;
}

FlagRow ProgramCode::encodeFlag(const FlagId &flag, unsigned value) const {
  return {int32_t(flag.dst), int32_t(layouts[flag.dst].flag(table.index(flag))),
          int32_t(table.signals(flag)), int32_t(value)};
}

std::vector<CodeRow> ProgramCode::encode(ArrayRef<Operation *> ops,
                                         unsigned rank) {
  std::vector<CodeRow> rows;
  // Signals, and waits, that follow each other are one call.
  auto addFlag = [&](CodeRow::Opcode opcode, const FlagId &flag,
                     unsigned value) {
    if (rows.empty() || rows.back().opcode != opcode ||
        rows.back().count == maxFlags) {
      rows.push_back({opcode});
      rows.back().firstFlag = flags.size();
    }
    ++rows.back().count;
    flags.push_back(encodeFlag(flag, value));
  };
  for (Operation *op : ops) {
    if (auto signal = dyn_cast<SignalOp>(op))
      addFlag(CodeRow::Signal, getFlag(signal), signal.getValue());
    else if (auto wait = dyn_cast<WaitOp>(op))
      addFlag(CodeRow::Wait, getFlag(wait), wait.getValue());
    else if (std::optional<Transfer> transfer = getTransfer(op);
             transfer && !isDMA(op))
      rows.push_back(encodeTransfer(*transfer, rank));
  }
  return rows;
}
