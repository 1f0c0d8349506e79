//===- MessageProgram.cpp - What one rank sends and receives --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageProgram.h"

#include <algorithm>
#include <cstring>

using namespace sccl;

/// Spreads what is close together (the finalizer of SplitMix64).
static uint64_t mix(uint64_t word) {
  word += 0x9e3779b97f4a7c15;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

static Status damaged(const std::string &what) {
  return {scclErrorInvalidPlan, "a table of messages " + what};
}

/// What is wrong with a row, or null.
static const char *findMistake(const MessageRow &row, unsigned index,
                               const MessageHeader &header,
                               llvm::ArrayRef<uint32_t> nexts) {
  if (row.kind > MessageRow::Reduce)
    return "has an unknown kind of row";
  if (row.isMessage() && (row.peer >= header.ranks || row.peer == header.rank ||
                          row.tag >= header.tags))
    return "has a message to nobody";
  if (row.count == 0 || row.position >= header.chunksPerSegment ||
      row.count > header.chunksPerSegment - row.position)
    return "has a row beyond a segment";
  for (const MessageSlot &slot : {row.dst, row.src, row.rhs})
    if (slot.buffer >= unsigned(BufferField::Control))
      return "has a row with an unknown buffer";
  bool hasTerms = row.kind == MessageRow::Reduce && row.terms > 1;
  if ((row.kind == MessageRow::Reduce && row.terms == 0) ||
      (hasTerms && row.rhs.buffer != unsigned(BufferField::Scratch)))
    return "has a row with terms in an unknown place";
  if (row.firstNext > nexts.size() ||
      row.numNext > nexts.size() - row.firstNext)
    return "ends too early";
  for (uint32_t next : nexts.slice(row.firstNext, row.numNext))
    if (next <= index || next >= header.rows)
      return "has rows in no order";
  return nullptr;
}

Status MessageProgram::read(llvm::StringRef bytes, unsigned rank,
                            unsigned numRanks, MessageProgram &program) {
  MessageHeader &header = program.theHeader;
  if (bytes.size() < sizeof(header))
    return damaged("has no header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != messageTableVersion &&
      header.version != messageTableWithoutRounds)
    return damaged("has version " + std::to_string(header.version) +
                   ", expected " + std::to_string(messageTableVersion));
  if (header.rank != rank || header.ranks != numRanks ||
      header.chunksPerSegment == 0)
    return damaged("is for another rank");
  uint64_t rowBytes = uint64_t(header.rows) * sizeof(MessageRow);
  uint64_t nextBytes = uint64_t(header.nexts) * sizeof(uint32_t);
  uint64_t roundBytes = header.version == messageTableWithoutRounds
                            ? 0
                            : uint64_t(header.rows) * sizeof(uint32_t);
  if (bytes.size() != sizeof(header) + rowBytes + nextBytes + roundBytes)
    return damaged("has another length than it says");
  const char *at = bytes.data() + sizeof(header);
  program.theRows = {reinterpret_cast<const MessageRow *>(at), header.rows};
  program.nexts = {reinterpret_cast<const uint32_t *>(at + rowBytes),
                   header.nexts};
  if (roundBytes != 0)
    program.theRounds = {
        reinterpret_cast<const uint32_t *>(at + rowBytes + nextBytes),
        header.rows};
  std::vector<uint32_t> needs(header.rows);
  for (uint32_t next : program.nexts)
    if (next < header.rows)
      ++needs[next];
  for (unsigned i = 0; i < header.rows; ++i) {
    const MessageRow &row = program.theRows[i];
    if (const char *mistake = findMistake(row, i, header, program.nexts))
      return damaged(mistake);
    if (row.kind == MessageRow::Send && row.count > header.mostChunks)
      return damaged("has a longer message than it says");
    if (row.needs != needs[i])
      return damaged("has a row that waits for nothing");
    program.height = std::max(program.height, row.height);
    program.addReduction(row);
    if (row.kind == MessageRow::Send || row.kind == MessageRow::Receive)
      program.thePeers.push_back(row.peer);
  }
  std::vector<unsigned> &peers = program.thePeers;
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return program.checkRounds();
}

Status MessageProgram::checkRounds() const {
  for (unsigned i = 0; i < theRounds.size(); ++i) {
    if (theRounds[i] >= theHeader.rows * uint64_t(theHeader.ranks))
      return damaged("has rounds without messages");
    for (uint32_t later : next(theRows[i]))
      if (theRounds[later] < theRounds[i] + theRows[i].isMessage())
        return damaged("has rounds in no order");
  }
  return {};
}

uint64_t MessageProgram::balance() const {
  uint64_t sum = 0;
  for (unsigned i = 0; i < theRows.size(); ++i) {
    const MessageRow &row = theRows[i];
    if (!row.isMessage())
      continue;
    bool sends = row.kind == MessageRow::Send;
    uint32_t from = sends ? theHeader.rank : row.peer;
    uint32_t to = sends ? row.peer : theHeader.rank;
    uint64_t word = 0;
    for (uint32_t part : {from, to, row.tag, row.position, row.count,
                          theRounds.empty() ? 0 : theRounds[i]})
      word = mix(word ^ part);
    sum += sends ? word : -word;
  }
  return sum;
}

void MessageProgram::addReduction(const MessageRow &row) {
  reductionOf.push_back(reductions.size());
  if (row.kind != MessageRow::Reduce)
    return;
  Reduction made = {};
  constexpr uint32_t firstRow =
      offsetof(Reduction, row) / uint32_t(tableUnitBytes);
  made.header.chunksPerSegment = theHeader.chunksPerSegment;
  made.header.blocks = made.header.channels = made.header.ranks = 1;
  made.header.version = tableVersion;
  made.header.channelEnds =
      offsetof(Reduction, channelEnds) / uint32_t(tableUnitBytes);
  made.header.slots = 3;
  made.channel.firstRow = firstRow;
  made.channel.rows = 1;
  made.channelEnds[0] = 1;
  auto own = [](BufferField buffer) {
    return TableSlot{~int32_t(buffer), 0, 0, 0};
  };
  auto kind = row.terms > 1 ? TableRow::Terms : TableRow::Reduce;
  made.row = {kind | row.average << TableRow::averageShift,
              row.position,
              row.count,
              row.terms,
              own(BufferField::Output),
              own(BufferField::Input),
              own(BufferField::Scratch)};
  made.row.src1.step = row.apart;
  reductions.push_back(made);
}
