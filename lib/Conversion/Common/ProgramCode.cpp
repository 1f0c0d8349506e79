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
  int32_t number = shape.any() ? LL + int32_t(shape.number()) : opcode;
  return {number,         dst.where,  dst.segment,  dst.chunk,
          dst.oddChunks,  src0.where, src0.segment, src0.chunk,
          src0.oddChunks, src1.where, src1.segment, src1.chunk,
          src1.oddChunks, position,   count,        divisor};
}

static LLShape shapeOf(ProgramOp program, const Transfer &transfer) {
  LLShape shape;
  shape.combines = transfer.reads.size() == 2;
  shape.dst = holdsLL(program, transfer.write);
  shape.src0 = holdsLL(program, transfer.reads[0]);
  shape.src1 = shape.combines && holdsLL(program, transfer.reads[1]);
  return shape;
}

std::set<LLShape> coll::llShapes(ProgramOp program) {
  std::set<LLShape> shapes;
  program.walk([&](Operation *op) {
    if (std::optional<Transfer> transfer = getTransfer(op))
      if (LLShape shape = shapeOf(program, *transfer); shape.any())
        shapes.insert(shape);
  });
  return shapes;
}

ProgramCode::ProgramCode(ProgramOp program, const Collective &collective,
                         bool averages, bool hasThreads)
    : program(program), collective(collective), hasDivisors(averages),
      hasThreads(hasThreads), perSegment(collective.chunksPerSegment()),
      table(program) {
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    auto channels = rank.getBody().getOps<ChannelOp>();
    layouts.push_back(
        {uint64_t(std::distance(channels.begin(), channels.end())),
         table.numFlags(rank.getRank()), program.getBlocks()});
    oddChunks.push_back(!program.getDoubleBuffered() ? 0
                        : program.getLl()            ? 2 * rank.getScratch()
                                                     : rank.getScratch());
  }
}

CodeSlot ProgramCode::encodeSlot(const SlotRange &range, unsigned rank) const {
  // The fields of PeerEntry are in the order of the enumeration.
  constexpr int32_t fields = sizeof(PeerEntry) / sizeof(void *);
  int32_t field = int32_t(range.buffer);
  CodeSlot slot;
  slot.where = range.rank == rank ? ~field : range.rank * fields + field;
  if (range.buffer == Buffer::Scratch) { // one long segment
    slot.chunk = holdsLL(program, range) ? 2 * range.slot : range.slot;
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
  row.shape = shapeOf(program, transfer);
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

namespace {
/// What the threads of a block have accessed since they last joined, with
/// buffers apart or in place.
class Accesses {
public:
  Accesses(const Collective &collective, bool inPlace)
      : collective(collective), inPlace(inPlace) {}

  void add(const Transfer &transfer) {
    Place written = placeOf(transfer.write);
    // Onto itself nothing is copied.
    if (transfer.reads.size() == 1 && placeOf(transfer.reads[0]) == written)
      return;
    for (const SlotRange &read : transfer.reads)
      reads.push_back(placeOf(read));
    writes.push_back(written);
  }

  void clear() {
    reads.clear();
    writes.clear();
  }

  /// True if `transfer` reads what was written, or writes what was accessed.
  bool conflictWith(const Transfer &transfer) const {
    Place written = placeOf(transfer.write);
    return holdOneOf(reads, written) || holdOneOf(writes, written) ||
           llvm::any_of(transfer.reads, [&](const SlotRange &read) {
             return holdOneOf(writes, placeOf(read));
           });
  }

private:
  struct Place {
    unsigned rank;
    Buffer buffer;
    int64_t slot, count;
    bool operator==(const Place &) const = default;
  };

  /// In place the send buffer is a part of the receive buffer, or the reverse.
  Place placeOf(const SlotRange &range) const {
    Place place{range.rank, range.buffer, range.slot, range.count};
    if (inPlace && range.buffer == Buffer::Input) {
      place.buffer = Buffer::Output;
      place.slot += collective.inPlaceOffset(range.rank);
    }
    return place;
  }

  static bool holdOneOf(ArrayRef<Place> places, const Place &place) {
    return llvm::any_of(places, [&](const Place &other) {
      return place.rank == other.rank && place.buffer == other.buffer &&
             place.slot < other.slot + other.count &&
             other.slot < place.slot + place.count;
    });
  }

  const Collective &collective;
  bool inPlace;
  SmallVector<Place> reads, writes;
};
} // namespace

std::vector<CodeRow> ProgramCode::encode(ArrayRef<Operation *> ops,
                                         unsigned rank) {
  std::vector<CodeRow> rows;
  SmallVector<Accesses, 2> views = {{collective, /*inPlace=*/false}};
  if (collective.hasInPlaceLayout())
    views.push_back({collective, /*inPlace=*/true});
  auto addGroup = [&](CodeRow::Opcode opcode) {
    rows.push_back({opcode});
    rows.back().firstFlag = flags.size();
    for (Accesses &accesses : views)
      accesses.clear();
  };
  // Signals, and waits, that follow each other are one call.
  auto addFlag = [&](CodeRow::Opcode opcode, const FlagId &flag,
                     unsigned value) {
    if (rows.empty() || rows.back().opcode != opcode ||
        rows.back().count == maxFlags)
      addGroup(opcode);
    ++rows.back().count;
    flags.push_back(encodeFlag(flag, value));
  };
  auto addTransfer = [&](const Transfer &transfer) {
    // Which thread handles which bytes depends on the alignment of buffers, so
    // what one thread accesses another may have written: a wait for nothing
    // joins them.
    if (hasThreads && llvm::any_of(views, [&](const Accesses &accesses) {
          return accesses.conflictWith(transfer);
        }))
      addGroup(CodeRow::Wait);
    rows.push_back(encodeTransfer(transfer, rank));
    for (Accesses &accesses : views)
      accesses.add(transfer);
  };
  for (Operation *op : ops) {
    if (auto signal = dyn_cast<SignalOp>(op)) {
      addFlag(CodeRow::Signal, getFlag(signal), signal.getValue());
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      addFlag(CodeRow::Wait, getFlag(wait), wait.getValue());
    } else if (std::optional<Transfer> transfer = getTransfer(op);
               transfer && !isDMA(op)) {
      for (unsigned i = 0; i < transfer->times; ++i)
        addTransfer(transfer->repetition(i));
    }
  }
  return rows;
}
