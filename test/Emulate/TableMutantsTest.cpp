//===- TableMutantsTest.cpp - Wrong rank tables are found out -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of ranks in a plan are changed in one field that is read, as if
// the compiler had written them so: hashes are right. They are executed with
// several seeds, with vector clocks, so that what survives has neither a race
// nor a wrong value. With SCCL_EMULATE_ALL in the environment in all ways that
// have tables, and at more places.
//
//===----------------------------------------------------------------------===//

#include "Judging.h"

#include "sccl/ABI/RankTable.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace sccl;
using namespace sccl::test;

namespace {
/// A table with one change.
struct TableMutant {
  std::string kind, name;
  unsigned rank;
  std::string table;
};

/// Makes all mutants of one rank's table.
class Mutator {
public:
  /// Code of plans that do not reduce takes every transfer for a copy.
  Mutator(unsigned rank, const std::string &table, bool reduces,
          std::vector<TableMutant> &mutants)
      : rank(rank), table(table), reduces(reduces), mutants(mutants),
        header(read<TableHeader>(0)) {}

  void mutate() {
    for (unsigned i = 0; i < header.channels; ++i)
      mutateChannel(i);
  }

private:
  template <typename T> T read(size_t at) const {
    T value;
    std::memcpy(&value, table.data() + at, sizeof(T));
    return value;
  }
  template <typename T> void add(const char *kind, size_t at, T value) {
    std::string changed = table;
    std::memcpy(changed.data() + at, &value, sizeof(T));
    if (changed != table)
      mutants.push_back(
          {kind,
           "rank " + std::to_string(rank) + ", byte " + std::to_string(at),
           rank, std::move(changed)});
  }
  /// A word that is `by` more.
  void shift(const char *kind, size_t at, int by) {
    add(kind, at, uint32_t(read<uint32_t>(at) + by));
  }

  void mutateChannel(unsigned number) {
    size_t at = sizeof(TableHeader) + number * sizeof(TableChannel);
    auto channel = read<TableChannel>(at);
    shift("channel: first row missing", at + offsetof(TableChannel, firstRow),
          sizeof(TableRow) / tableUnitBytes);
    shift("channel: last row missing", at + offsetof(TableChannel, rows), -1);
    shift("channel: another epoch", at + offsetof(TableChannel, epoch),
          ControlLayout::wordBytes);
    for (unsigned row = 0; row < channel.rows; ++row) {
      size_t place =
          channel.firstRow * size_t(tableUnitBytes) + row * sizeof(TableRow);
      mutateRow(place);
      if (row + 1 < channel.rows)
        swapRows(place);
    }
  }

  void swapRows(size_t at) {
    std::string changed = table;
    std::swap_ranges(changed.begin() + at,
                     changed.begin() + at + sizeof(TableRow),
                     changed.begin() + at + sizeof(TableRow));
    mutants.push_back(
        {"rows swapped",
         "rank " + std::to_string(rank) + ", byte " + std::to_string(at), rank,
         std::move(changed)});
  }

  void mutateRow(size_t at) {
    auto row = read<TableRow>(at);
    uint32_t kind = row.kind & TableRow::kindMask;
    if (kind == TableRow::Signal || kind == TableRow::Wait)
      return mutateFlags(at, row, kind == TableRow::Signal);
    size_t dst = at + offsetof(TableRow, dst);
    shift("transfer: another chunk", at + offsetof(TableRow, position), 1);
    shift("transfer: a chunk less", at + offsetof(TableRow, count), -1);
    shift("transfer: a chunk more", at + offsetof(TableRow, count), 1);
    if (row.times > 1) {
      shift("transfer: once more", at + offsetof(TableRow, times), 1);
      shift("transfer: once less", at + offsetof(TableRow, times), -1);
    }
    if (reduces && (kind == TableRow::Copy || kind == TableRow::Reduce))
      add("transfer: copy or reduction", at,
          row.kind ^ TableRow::Copy ^ TableRow::Reduce);
    mutateSlot("destination", dst, row.times);
    mutateSlot("source", dst + sizeof(TableSlot), row.times);
    if (kind == TableRow::Reduce || kind == TableRow::Terms)
      mutateSlot("source", dst + 2 * sizeof(TableSlot), row.times);
  }

  void mutateSlot(const std::string &end, size_t at, uint32_t times) {
    auto slot = read<TableSlot>(at);
    auto where = at + offsetof(TableSlot, where);
    constexpr int fields = int(BufferField::Count);
    int field = slot.where < 0 ? ~slot.where : slot.where % fields;
    // Control memory has no chunks.
    int other = (field + 1) % (fields - 1);
    add((end + ": another buffer").c_str(), where,
        slot.where < 0 ? ~other : slot.where - field + other);
    int ranks = int(header.ranks), owner = slot.where / fields;
    add((end + ": another rank").c_str(), where,
        slot.where < 0 ? int(rank + 1) % ranks * fields + field
                       : (owner + 1) % ranks * fields + field);
    shift((end + ": another segment").c_str(),
          at + offsetof(TableSlot, segment), 1);
    shift((end + ": another slot").c_str(), at + offsetof(TableSlot, chunk), 1);
    if (times > 1)
      shift((end + ": another stride").c_str(), at + offsetof(TableSlot, step),
            1);
  }

  void mutateFlags(size_t at, const TableRow &row, bool isSignal) {
    const std::string name = isSignal ? "signal" : "wait";
    add((name + ": gone").c_str(), at + offsetof(TableRow, count), uint32_t(0));
    if (row.count != 0)
      add(isSignal ? "signal: a wait" : "wait: a signal", at,
          uint32_t(isSignal ? TableRow::Wait : TableRow::Signal));
    for (uint32_t i = 0; i < row.count; ++i) {
      size_t flag =
          row.position * size_t(tableUnitBytes) + i * sizeof(TableFlag);
      auto peer = read<TableFlag>(flag).peer;
      if (isSignal)
        add("signal: another rank", flag, (peer + 1) % header.ranks);
      shift((name + ": another flag").c_str(),
            flag + offsetof(TableFlag, offset), ControlLayout::lineBytes);
      shift((name + ": other launches").c_str(),
            flag + offsetof(TableFlag, perLaunch), 1);
      shift((name + ": one less").c_str(), flag + offsetof(TableFlag, value),
            -1);
      shift((name + ": one more").c_str(), flag + offsetof(TableFlag, value),
            1);
    }
  }

  unsigned rank;
  const std::string &table;
  bool reduces;
  std::vector<TableMutant> &mutants;
  TableHeader header;
};

/// At most `most` of each kind, spread over the tables.
std::vector<TableMutant> chosen(const std::vector<std::string> &tables,
                                bool reduces, unsigned most) {
  std::vector<TableMutant> mutants;
  for (unsigned rank = 0; rank < tables.size(); ++rank)
    Mutator(rank, tables[rank], reduces, mutants).mutate();
  std::map<std::string, std::vector<TableMutant>> byKind;
  for (TableMutant &mutant : mutants)
    byKind[mutant.kind].push_back(std::move(mutant));
  return spread(std::move(byKind), most);
}

/// Why some mutants of a kind do what they should, and null if none do.
const char *reasonToSurvive(const std::string &kind) {
  if (kind == "rows swapped")
    return "neither needs the other";
  if (kind == "transfer: another chunk")
    return "only of the last chunk of a segment the number tells how long it "
           "is";
  if (kind == "transfer: a chunk more")
    return "the segment ends before, or what is copied too early is copied "
           "again "
           "before anybody looks";
  static const std::set<std::string> ofFlags = {"channel: first row missing",
                                                "channel: last row missing",
                                                "signal: a wait",
                                                "signal: another flag",
                                                "signal: another rank",
                                                "signal: one less",
                                                "signal: one more",
                                                "signal: other launches",
                                                "wait: another flag",
                                                "wait: one more"};
  if (ofFlags.count(kind) != 0)
    return "other signals and waits between the same ranks say as much";
  return nullptr;
}

void judgeAll(const Subject &subject, const Way &way, unsigned most,
              Matrix &matrix) {
  SCOPED_TRACE(way.name);
  std::optional<Compiled> compiled = compile(subject, way.options);
  ASSERT_TRUE(compiled);
  Result<emulate::Code> code = emulate::Code::parse(compiled->text());
  ASSERT_TRUE(code) << code.error();
  ASSERT_TRUE(compiled->kernel().rankTables);
  auto &tables = compiled->plan.rankTables[*compiled->kernel().rankTables];
  const std::vector<std::string> right = tables;
  Executed whole = execute(*compiled, *code, executionOf(*compiled, way, 0));
  ASSERT_TRUE(whole.isRight()) << whole.str();
  for (const TableMutant &mutant :
       chosen(right, compiled->plan.manifest.combining, most)) {
    tables[mutant.rank] = mutant.table;
    judge(*compiled, *code, way, way.name + ", " + mutant.name,
          matrix[mutant.kind], seedsFor(reasonToSurvive(mutant.kind)),
          4 * whole.report.execution.instructions);
    tables = right;
  }
}
} // namespace

TEST(TableMutants, areFoundOut) {
  std::optional<Subject> reduce = ringReduce(), gather = ringGather();
  ASSERT_TRUE(reduce && gather);
  bool isWhole = std::getenv("SCCL_EMULATE_ALL");
  unsigned most = isWhole ? 4 : 1;
  const std::set<std::string> left = {"pull table", "double-buffered table",
                                      "eager table",
                                      "ll, 2 blocks, virtual ranks, table"};
  Matrix matrix;
  for (const Way &way : ways()) {
    if (way.options.codeShape != CodeShapeChoice::Table ||
        (!isWhole && left.count(way.name) != 0))
      continue;
    judgeAll(*reduce, way, most, matrix);
    if (isWhole)
      judgeAll(*gather, way, most, matrix);
    if (HasFatalFailure())
      return;
  }
  expectFoundOut(matrix, reasonToSurvive);
  if (!isWhole)
    return;
  for (const auto &[kind, tally] : matrix)
    EXPECT_NE(tally.killed, 0u) << kind;
}
