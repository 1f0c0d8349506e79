//===- RoundProgram.cpp - What a rank does round by round -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoundProgram.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace sccl;

TableSlot sccl::tableSlotOf(const MessageSlot &slot, uint32_t step,
                            uint32_t chunksPerSegment) {
  bool isScratch = slot.buffer == unsigned(BufferField::Scratch);
  return {~int32_t(slot.buffer),
          isScratch ? 0 : int32_t(slot.slot / chunksPerSegment),
          int32_t(isScratch ? slot.slot : slot.slot % chunksPerSegment),
          int32_t(step)};
}

static TableRow rowOf(const MessageRow &row, uint32_t chunksPerSegment) {
  auto slot = [&](const MessageSlot &of, uint32_t step = 0) {
    return tableSlotOf(of, step, chunksPerSegment);
  };
  if (row.kind == MessageRow::Copy)
    return {TableRow::Copy, row.position,  row.count, /*times=*/1,
            slot(row.dst),  slot(row.src), {}};
  auto kind = row.terms > 1 ? TableRow::Terms : TableRow::Reduce;
  return {kind | row.average << TableRow::averageShift,
          row.position,
          row.count,
          row.terms,
          slot(row.dst),
          slot(row.src),
          slot(row.rhs, row.apart)};
}

template <typename T> static void append(std::string &bytes, const T &part) {
  bytes.append(reinterpret_cast<const char *>(&part), sizeof(part));
}

/// Appends the table of `rows`, which are one channel.
static void appendTable(std::string &bytes, const std::vector<TableRow> &rows,
                        const MessageHeader &of, unsigned blocks) {
  TableHeader header = {};
  header.chunksPerSegment = of.chunksPerSegment;
  header.blocks = blocks;
  header.channels = header.ranks = 1;
  header.version = tableVersion;
  constexpr uint32_t headerUnits = sizeof(TableHeader) / tableUnitBytes;
  header.channelEnds = headerUnits + 1;
  // In input, output and scratch, more or less.
  header.slots = 2 * of.chunksPerSegment + of.scratchSlots;
  append(bytes, header);
  append(bytes,
         TableChannel{headerUnits + 2, uint32_t(rows.size()), /*epoch=*/0, 0});
  constexpr uint32_t ends[4] = {1};
  append(bytes, ends);
  for (const TableRow &row : rows)
    append(bytes, row);
}

/// By row: after how many launches of its round it is done.
static std::vector<uint32_t> levelsOf(const MessageProgram &program) {
  llvm::ArrayRef<MessageRow> rows = program.rows();
  std::vector<uint32_t> levels(rows.size());
  for (unsigned i = 0; i < rows.size(); ++i)
    for (uint32_t next : program.next(rows[i]))
      if (program.rounds()[next] == program.rounds()[i])
        levels[next] = std::max(levels[next], levels[i] + 1);
  return levels;
}

RoundProgram
RoundProgram::make(const MessageProgram &program, unsigned blocks,
                   llvm::function_ref<bool(unsigned peer)> isNear) {
  llvm::ArrayRef<MessageRow> rows = program.rows();
  std::vector<uint32_t> levels = levelsOf(program);
  // By round, and then launches by level, and messages by peer, kind and tag.
  using Key = std::tuple<uint32_t, uint32_t>;
  std::map<Key, std::vector<uint32_t>> computed;
  std::map<uint32_t, std::vector<uint32_t>> exchanged;
  uint32_t numRounds = 0;
  for (unsigned i = 0; i < rows.size(); ++i) {
    uint32_t round = program.rounds()[i];
    numRounds = std::max(numRounds, round + 1);
    if (!rows[i].isMessage())
      computed[{round, levels[i]}].push_back(i);
    else if (!isNear || !isNear(rows[i].peer))
      exchanged[round].push_back(i);
  }
  RoundProgram result;
  auto next = computed.begin();
  for (uint32_t round = 0; round < numRounds; ++round) {
    result.rounds.push_back(
        {uint32_t(result.launches.size()), uint32_t(result.messages.size())});
    for (; next != computed.end() && std::get<0>(next->first) == round;
         ++next) {
      Launch launch = {result.tables.size(), 0};
      std::vector<TableRow> table;
      for (uint32_t row : next->second) {
        table.push_back(rowOf(rows[row], program.header().chunksPerSegment));
        launch.mostChunks = std::max(launch.mostChunks, rows[row].count);
      }
      appendTable(result.tables, table, program.header(), blocks);
      result.launches.push_back(launch);
    }
    auto found = exchanged.find(round);
    if (found == exchanged.end())
      continue;
    std::sort(found->second.begin(), found->second.end(),
              [&](uint32_t a, uint32_t b) {
                auto key = [&](const MessageRow &row) {
                  return std::tuple(row.peer, row.kind, row.tag);
                };
                return key(rows[a]) < key(rows[b]);
              });
    result.messages.insert(result.messages.end(), found->second.begin(),
                           found->second.end());
  }
  result.rounds.push_back(
      {uint32_t(result.launches.size()), uint32_t(result.messages.size())});
  return result;
}
