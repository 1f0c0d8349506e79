//===- RankTables.cpp - The bytes of tables -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/RankTables.h"

#include "TableEncoder.h"
#include "TableKernel.h"
#include "TraceTables.h"

#include "sccl/Conversion/ProgramInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

using coll::TransferShape;

std::string sccl::tableSymbol(llvm::StringRef program, unsigned rank) {
  return symbolOf(program) + "_table_rank" + std::to_string(rank);
}

/// The number that `value` is, or `otherwise` if it is null. The verifier of
/// tables has seen to it that it is one.
static uint32_t tableNumber(Value value, uint32_t otherwise = 0) {
  if (!value)
    return otherwise;
  // What the conversion creates; asking all constants alike takes longer.
  if (auto constant = value.getDefiningOp<arith::ConstantIntOp>())
    return uint32_t(constant.value());
  return uint32_t(*getConstantIntValue(value));
}

static TableSlot encodeSlot(Value value) {
  auto slot = cast<SlotOp>(value.getDefiningOp());
  Operation *buffer = slot.getBuffer().getDefiningOp();
  TableSlot result = {};
  BufferKind kind;
  if (auto own = dyn_cast<OwnOp>(buffer)) {
    kind = own.getKind();
    result.where = ~int32_t(kind);
  } else {
    auto peer = cast<PeerOp>(buffer);
    kind = peer.getKind();
    constexpr unsigned fields = unsigned(BufferField::Count);
    result.where = tableNumber(peer.getRank()) * fields + unsigned(kind);
  }
  bool isScratch = kind == BufferKind::Scratch;
  result.segment =
      isScratch ? tableNumber(slot.getOdd()) : tableNumber(slot.getSegment());
  result.chunk = tableNumber(slot.getChunk());
  result.step =
      tableNumber(isScratch ? slot.getChunkStep() : slot.getSegmentStep());
  return result;
}

void TableEncoder::addFlags(TableRow::Kind kind, ValueRange values) {
  rows.push_back({kind,
                  uint32_t(flags.size()),
                  uint32_t(values.size()),
                  /*times=*/1,
                  {},
                  {},
                  {}});
  for (Value value : values) {
    auto flag = cast<FlagOp>(value.getDefiningOp());
    flags.push_back({tableNumber(flag.getPeer()), tableNumber(flag.getOffset()),
                     tableNumber(flag.getPerLaunch()),
                     tableNumber(flag.getValue())});
  }
}

template <typename Op>
void TableEncoder::addTransfer(Op op, const TransferShape &shape,
                               TableRow::Kind plain, Value first,
                               Value second) {
  auto reduce = dyn_cast<ReduceOp>(op.getOperation());
  Value times = shape.hasTerms ? reduce.getTerms() : op.getTimes();
  TableRow row = {shape.isPlain() ? plain : TableRow::Shape + shape.number(),
                  tableNumber(op.getPosition()),
                  tableNumber(op.getCount()),
                  tableNumber(times, 1),
                  encodeSlot(op.getDst()),
                  encodeSlot(first),
                  second ? encodeSlot(second) : TableSlot{}};
  auto share = op.getPart().template getDefiningOp<ShareOp>();
  if (reduce)
    row.kind |= tableNumber(reduce.getAverage()) << TableRow::averageShift;
  if (share && reduce && !op.getTimes())
    row.dst.step = tableNumber(share.getShare());
  else if (share && !reduce)
    row.kind |= tableNumber(share.getShare()) << TableRow::shareShift;
  rows.push_back(row);
}

void TableEncoder::addRow(Operation &op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    addTransfer(copy, shapeOf(copy), TableRow::Copy, copy.getSrc(), Value());
  else if (auto reduce = dyn_cast<ReduceOp>(op))
    addTransfer(reduce, shapeOf(reduce), TableRow::Reduce, reduce.getLhs(),
                reduce.getRhs());
  else if (auto reduce = dyn_cast<LoadReduceOp>(op))
    addTransfer(reduce, shapeOf(reduce), TableRow::Reduce, reduce.getSrc(),
                Value());
  else if (auto signal = dyn_cast<SignalOp>(op))
    addFlags(TableRow::Signal, signal.getFlags());
  else if (auto wait = dyn_cast<WaitOp>(op))
    addFlags(TableRow::Wait, wait.getFlags());
  else if (isa<JoinOp>(op))
    addFlags(TableRow::Wait, {});
}

/// See TableChannel. What has no part does nothing.
static uint32_t spreadWord(ChannelOp channel, unsigned group) {
  uint32_t word = group << TableChannel::groupShift;
  for (auto part : channel.getBody().getOps<PartOp>()) {
    uint32_t parts = llvm::Log2_32(std::max(tableNumber(part.getParts()), 1u));
    return word | parts << TableChannel::partsShift |
           tableNumber(part.getDoublings());
  }
  return word;
}

void TableEncoder::add(TableOp table) {
  header.chunksPerSegment = program.getChunks();
  header.blocks = program.getBlocks();
  header.version = tableVersion;
  header.ranks = program.getRanks();
  header.slots = std::min<uint64_t>(program.getSlots(), ~uint32_t(0));
  header.steps += table.getStep().has_value();
  header.channels = 0;
  for (auto channel : table.getBody().getOps<ChannelOp>()) {
    header.channels += channel.getSpread();
    TableChannel entry = {};
    entry.firstRow = rows.size();
    for (Operation &op : channel.getBody().getOps()) {
      if (auto begin = dyn_cast<BeginOp>(op))
        entry.epoch = tableNumber(begin.getEpoch());
      addRow(op);
    }
    entry.rows = rows.size() - entry.firstRow;
    for (unsigned group = 0; group < channel.getSpread(); ++group) {
      entry.spread = spreadWord(channel, group);
      entries.push_back(entry);
    }
  }
}

template <typename T> static void append(std::string &bytes, const T &part) {
  bytes.append(reinterpret_cast<const char *>(&part), sizeof(part));
}

std::string TableEncoder::bytes() {
  constexpr uint32_t unit = tableUnitBytes, rowUnits = sizeof(TableRow) / unit;
  header.channelEnds = sizeof(TableHeader) / unit + entries.size();
  uint32_t endBytes = channelEnds.size() * sizeof(uint32_t);
  uint32_t firstRow = header.channelEnds + (endBytes + unit - 1) / unit;
  uint32_t firstFlag = firstRow + rows.size() * rowUnits;
  std::string result;
  result.reserve((firstFlag + flags.size()) * size_t(unit));
  append(result, header);
  for (TableChannel entry : entries) {
    entry.firstRow = firstRow + entry.firstRow * rowUnits;
    append(result, entry);
  }
  for (uint32_t end : channelEnds)
    append(result, end);
  result.resize(firstRow * unit);
  for (TableRow row : rows) {
    uint32_t kind = row.kind & TableRow::kindMask;
    if (kind == TableRow::Signal || kind == TableRow::Wait)
      row.position += firstFlag;
    append(result, row);
  }
  for (const TableFlag &flag : flags)
    append(result, flag);
  return result;
}

std::vector<std::string> sccl::rankTables(ProgramOp program) {
  auto tables = program.getBody().getOps<TableOp>();
  if (tables.empty())
    return traceTables(program);
  std::vector<uint32_t> channelEnds(program.getRanks());
  for (TableOp table : tables) {
    uint32_t &channels = channelEnds[table.getRank()] = 0;
    for (auto channel : table.getBody().getOps<ChannelOp>())
      channels += channel.getSpread();
  }
  for (unsigned rank = 1; rank < channelEnds.size(); ++rank)
    channelEnds[rank] += channelEnds[rank - 1];
  std::vector<TableEncoder> encoders(program.getRanks(),
                                     TableEncoder(program, channelEnds));
  for (TableOp table : tables)
    encoders[table.getRank()].add(table);
  std::vector<std::string> result;
  for (TableEncoder &encoder : encoders)
    result.push_back(encoder.bytes());
  return result;
}
