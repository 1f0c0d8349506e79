//===- Messages.cpp - From transfers to messages --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Messages.h"

#include "../Common/AverageWords.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Collective.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <array>
#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
/// Slots side by side, of the rank that is spoken of.
struct Slots {
  Buffer buffer;
  unsigned first;
};

/// Turns the transfers of a program into rows, one after the other in an order
/// in which they can be executed.
class MessageMaker {
public:
  MessageMaker(ProgramOp program, const Collective &collective,
               unsigned pieces);

  void add(const Transfer &transfer, uint32_t average, unsigned executor);
  std::vector<RankMessages> finish();

private:
  struct SlotUse {
    std::optional<uint32_t> writer;
    bool isSame = false;              ///< `writer` is a copy of noteSame
    SmallVector<uint32_t, 2> readers; ///< since the last that changed it
  };
  /// A row of a rank.
  struct Place {
    unsigned rank;
    uint32_t row;
  };

  MessageRow describe(const Transfer &transfer, MessageRow::Kind kind) const;
  uint64_t keyOf(unsigned rank, const Slots &slots, unsigned i) const;
  void noteRead(unsigned rank, const Slots &slots, const MessageRow &row);
  void noteWrite(unsigned rank, const Slots &slots, const MessageRow &row);
  bool isUnwritten(unsigned rank, const Slots &slots, unsigned count) const;
  void noteSame(unsigned rank, const Slots &slots, const MessageRow &row);
  void need(uint32_t row);
  uint32_t append(unsigned rank, const MessageRow &row);
  void send(const Transfer &transfer, unsigned from, Slots src, unsigned to,
            Slots dst);
  void reduce(const Transfer &transfer, uint32_t average, unsigned rank,
              ArrayRef<Slots> sources, Slots dst);
  Slots spare(unsigned rank, unsigned count);
  void setRounds();

  const Collective &collective;
  const unsigned pieces;
  /// By rank, where the input begins in the output of who works in place, and
  /// slots of that; empty if nobody can.
  std::vector<std::pair<int64_t, int64_t>> inPlace;
  std::vector<RankMessages> ranks;
  std::vector<Place> order; ///< all rows; who receives comes after who sends
  llvm::DenseMap<uint64_t, uint32_t> tags; // only looked up, by two ranks
  llvm::DenseMap<uint64_t, SlotUse> uses;  // only looked up
  SmallVector<uint32_t> needed;            ///< by the next row
};
} // namespace

MessageMaker::MessageMaker(ProgramOp program, const Collective &collective,
                           unsigned pieces)
    : collective(collective), pieces(pieces), ranks(collective.numRanks()) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    ranks[rank.getRank()].scratchSlots = rank.getScratch();
  for (unsigned rank = 0;
       collective.hasInPlaceLayout() && rank < collective.numRanks(); ++rank)
    inPlace.emplace_back(collective.inPlaceOffset(rank),
                         collective.outputSlots(rank));
}

static MessageSlot encode(const Slots &slots) {
  return {uint32_t(slots.buffer), slots.first};
}

MessageRow MessageMaker::describe(const Transfer &transfer,
                                  MessageRow::Kind kind) const {
  MessageRow row = {};
  row.kind = kind;
  row.position = transfer.chunk % collective.chunksPerSegment();
  row.count = transfer.count;
  return row;
}

/// Tells slots apart. The caller's buffers may be one: then a slot of the input
/// is one of the output as well.
uint64_t MessageMaker::keyOf(unsigned rank, const Slots &slots,
                             unsigned i) const {
  Buffer buffer = slots.buffer;
  int64_t slot = int64_t(slots.first) + i;
  if (buffer == Buffer::Input && !inPlace.empty()) {
    const auto &[offset, outputSlots] = inPlace[rank];
    int64_t inOutput = slot + offset;
    if (inOutput >= 0 && inOutput < outputSlots) {
      buffer = Buffer::Output;
      slot = inOutput;
    }
  }
  return (uint64_t(rank) * 3 + uint64_t(buffer)) << 32 | uint64_t(slot);
}

void MessageMaker::need(uint32_t row) {
  if (!llvm::is_contained(needed, row))
    needed.push_back(row);
}

void MessageMaker::noteRead(unsigned rank, const Slots &slots,
                            const MessageRow &row) {
  uint32_t own = ranks[rank].rows.size();
  for (unsigned i = 0; i < row.count; ++i) {
    SlotUse &use = uses[keyOf(rank, slots, i)];
    // Such a copy leaves the input as it was.
    bool isInput = use.isSame && slots.buffer == Buffer::Input;
    if (use.writer && *use.writer != own && !isInput)
      need(*use.writer);
    use.readers.push_back(own);
  }
}

void MessageMaker::noteWrite(unsigned rank, const Slots &slots,
                             const MessageRow &row) {
  uint32_t own = ranks[rank].rows.size();
  for (unsigned i = 0; i < row.count; ++i) {
    SlotUse &use = uses[keyOf(rank, slots, i)];
    for (uint32_t reader : use.readers)
      if (reader != own)
        need(reader);
    if (use.readers.empty() && use.writer && *use.writer != own)
      need(*use.writer);
    use.readers.clear();
    use.writer = own;
    use.isSame = false;
  }
}

bool MessageMaker::isUnwritten(unsigned rank, const Slots &slots,
                               unsigned count) const {
  for (unsigned i = 0; i < count; ++i)
    if (uses.lookup(keyOf(rank, slots, i)).writer)
      return false;
  return true;
}

/// A copy to what is the same place if the caller's buffers are one, where it
/// changes nothing: those who have read it before need not be done. Where they
/// are two, nobody has read what nobody has written.
void MessageMaker::noteSame(unsigned rank, const Slots &slots,
                            const MessageRow &row) {
  for (unsigned i = 0; i < row.count; ++i) {
    SlotUse &use = uses[keyOf(rank, slots, i)];
    use.writer = ranks[rank].rows.size();
    use.isSame = true;
  }
}

/// Adds a row that needs those in `needed`.
uint32_t MessageMaker::append(unsigned rank, const MessageRow &row) {
  RankMessages &own = ranks[rank];
  uint32_t number = own.rows.size();
  own.rows.push_back(row);
  own.rows.back().needs = needed.size();
  own.next.emplace_back();
  for (uint32_t before : needed)
    own.next[before].push_back(number);
  needed.clear();
  order.push_back({rank, number});
  return number;
}

/// Slots that nothing else uses.
Slots MessageMaker::spare(unsigned rank, unsigned count) {
  Slots slots = {Buffer::Scratch, ranks[rank].scratchSlots};
  ranks[rank].scratchSlots += count;
  return slots;
}

void MessageMaker::send(const Transfer &transfer, unsigned from, Slots src,
                        unsigned to, Slots dst) {
  uint32_t tag = tags[uint64_t(from) << 32 | to]++;
  MessageRow row = describe(transfer, MessageRow::Send);
  row.peer = to;
  row.tag = tag;
  row.src = encode(src);
  noteRead(from, src, row);
  append(from, row);
  row = describe(transfer, MessageRow::Receive);
  row.peer = from;
  row.tag = tag;
  row.dst = encode(dst);
  noteWrite(to, dst, row);
  append(to, row);
}

void MessageMaker::reduce(const Transfer &transfer, uint32_t average,
                          unsigned rank, ArrayRef<Slots> sources, Slots dst) {
  MessageRow row = describe(transfer, MessageRow::Reduce);
  row.average = average;
  row.src = encode(sources[0]);
  row.rhs = encode(sources[1]);
  row.dst = encode(dst);
  row.terms = sources.size() - 1;
  if (row.terms > 1)
    row.apart = sources[2].first - sources[1].first;
  for (const Slots &source : sources)
    noteRead(rank, source, row);
  noteWrite(rank, dst, row);
  append(rank, row);
}

void MessageMaker::add(const Transfer &transfer, uint32_t average,
                       unsigned executor) {
  const SlotRange &write = transfer.write;
  Slots dst = {write.buffer, write.slot};
  if (!transfer.reduces() && transfer.reads[0].rank != write.rank)
    return send(transfer, transfer.reads[0].rank,
                {transfer.reads[0].buffer, transfer.reads[0].slot}, write.rank,
                dst);
  SmallVector<Slots, 2> sources;
  SmallVector<SlotRange, 2> reads = transfer.reads;
  // What has come from others is at one distance; a switch adds up in any
  // order.
  if (transfer.bySwitch)
    std::stable_partition(
        reads.begin(), reads.end(),
        [&](const SlotRange &read) { return read.rank == executor; });
  for (const SlotRange &read : reads) {
    Slots source = {read.buffer, read.slot};
    if (read.rank != executor) {
      Slots here = spare(executor, transfer.count);
      send(transfer, read.rank, source, executor, here);
      source = here;
    }
    sources.push_back(source);
  }
  if (transfer.reduces()) {
    bool isHere = write.rank == executor;
    Slots result = isHere ? dst : spare(executor, transfer.count);
    reduce(transfer, average, executor, sources, result);
    if (!isHere)
      send(transfer, executor, result, write.rank, dst);
    return;
  }
  MessageRow row = describe(transfer, MessageRow::Copy);
  row.src = encode(sources[0]);
  row.dst = encode(dst);
  bool isSame = isUnwritten(executor, dst, row.count) &&
                keyOf(executor, sources[0], 0) == keyOf(executor, dst, 0);
  noteRead(executor, sources[0], row);
  if (isSame)
    noteSame(executor, dst, row);
  else
    noteWrite(executor, dst, row);
  append(executor, row);
}

/// Computes rounds, from the first row to the last. Segments begin with the
/// chunks of the first piece.
void MessageMaker::setRounds() {
  for (RankMessages &rank : ranks)
    for (const MessageRow &row : rank.rows)
      rank.rounds.push_back(uint64_t(row.position) * pieces /
                            collective.chunksPerSegment());
  auto roundOf = [&](const Place &place) -> uint32_t & {
    return ranks[place.rank].rounds[place.row];
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const Place &place = order[i];
    const MessageRow &row = ranks[place.rank].rows[place.row];
    // Who receives it is the row behind, see `send`.
    if (row.kind == MessageRow::Send)
      roundOf(place) = roundOf(order[i + 1]) =
          std::max(roundOf(place), roundOf(order[i + 1]));
    uint32_t least = roundOf(place) + row.isMessage();
    for (uint32_t next : ranks[place.rank].next[place.row]) {
      uint32_t &later = ranks[place.rank].rounds[next];
      later = std::max(later, least);
    }
  }
}

/// Computes rounds, and heights from the last row to the first.
std::vector<RankMessages> MessageMaker::finish() {
  setRounds();
  uint32_t received = 0;
  for (const Place &place : llvm::reverse(order)) {
    RankMessages &rank = ranks[place.rank];
    MessageRow &row = rank.rows[place.row];
    uint32_t height = 0;
    for (uint32_t next : rank.next[place.row])
      height = std::max(height, rank.rows[next].height);
    // Who receives it is the row behind, see `send`.
    if (row.kind == MessageRow::Send)
      height = std::max(height, received) + row.count;
    row.height = height;
    received = height;
  }
  return std::move(ranks);
}

FailureOr<std::vector<RankMessages>>
sccl::makeMessages(ProgramOp program, const Collective &collective,
                   bool unweighted, unsigned pieces) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    if (rank.getWide() != 0)
      return rank.emitOpError("keeps partial sums in f32, but messages have "
                              "elements of one type");
  FailureOr<AverageWords> averages =
      AverageWords::of(program, collective, unweighted);
  if (failed(averages))
    return failure();
  MessageMaker maker(program, collective, pieces);
  if (failed(
          walkInExecutionOrder(program, [&](ChannelOp channel, Operation *op) {
            std::optional<Transfer> transfer = getTransfer(op);
            if (!transfer)
              return WalkResult::advance();
            for (const auto &[part, average] : averages->split(op, *transfer))
              for (unsigned i = 0; i < part.times; ++i)
                maker.add(part.repetition(i), average, getRank(channel));
            return WalkResult::advance();
          })))
    return failure();
  return maker.finish();
}

std::string sccl::findRoundMistake(const std::vector<RankMessages> &ranks) {
  // By sender, receiver and tag.
  std::map<std::array<uint32_t, 3>, uint32_t> sent;
  auto keyOf = [](uint32_t rank, const MessageRow &row) {
    return row.kind == MessageRow::Send
               ? std::array<uint32_t, 3>{rank, row.peer, row.tag}
               : std::array<uint32_t, 3>{row.peer, rank, row.tag};
  };
  for (auto [number, rank] : llvm::enumerate(ranks))
    for (auto [index, row] : llvm::enumerate(rank.rows)) {
      if (row.kind == MessageRow::Send)
        sent[keyOf(number, row)] = rank.rounds[index];
      for (uint32_t next : rank.next[index])
        if (rank.rounds[next] < rank.rounds[index] + row.isMessage())
          return "row " + std::to_string(next) + " of rank " +
                 std::to_string(number) + " is in round " +
                 std::to_string(rank.rounds[next]) + ", and needs row " +
                 std::to_string(index) + " of round " +
                 std::to_string(rank.rounds[index]);
    }
  for (auto [number, rank] : llvm::enumerate(ranks))
    for (auto [index, row] : llvm::enumerate(rank.rows)) {
      if (row.kind != MessageRow::Receive)
        continue;
      auto found = sent.find(keyOf(number, row));
      if (found == sent.end() || found->second != rank.rounds[index])
        return "rank " + std::to_string(number) + " receives message " +
               std::to_string(row.tag) + " of rank " +
               std::to_string(row.peer) + " in round " +
               std::to_string(rank.rounds[index]) +
               ", in which that does not send it";
    }
  return "";
}

template <typename T> static void append(std::string &bytes, const T &part) {
  bytes.append(reinterpret_cast<const char *>(&part), sizeof(part));
}

std::vector<std::string>
sccl::messageTables(const std::vector<RankMessages> &ranks,
                    const Collective &collective) {
  MessageHeader header = {};
  header.version = messageTableVersion;
  header.ranks = ranks.size();
  header.chunksPerSegment = collective.chunksPerSegment();
  for (const RankMessages &rank : ranks)
    for (const MessageRow &row : rank.rows)
      if (row.kind == MessageRow::Send) {
        header.tags = std::max(header.tags, row.tag + 1);
        header.mostChunks = std::max(header.mostChunks, row.count);
      }
  std::vector<std::string> tables;
  for (const RankMessages &rank : ranks) {
    header.rank = tables.size();
    header.rows = rank.rows.size();
    header.scratchSlots = rank.scratchSlots;
    header.nexts = 0;
    for (const std::vector<uint32_t> &next : rank.next)
      header.nexts += next.size();
    std::string &bytes = tables.emplace_back();
    append(bytes, header);
    uint32_t firstNext = 0;
    for (auto [index, row] : llvm::enumerate(rank.rows)) {
      MessageRow complete = row;
      complete.firstNext = firstNext;
      complete.numNext = rank.next[index].size();
      firstNext += complete.numNext;
      append(bytes, complete);
    }
    for (const std::vector<uint32_t> &next : rank.next)
      for (uint32_t row : next)
        append(bytes, row);
    for (uint32_t round : rank.rounds)
      append(bytes, round);
  }
  return tables;
}
