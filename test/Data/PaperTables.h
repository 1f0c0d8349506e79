//===- PaperTables.h - The synthesis tables of the paper --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests and benchmarks read the same file, so that no row is forgotten in one
// of them. SCCL_PAPER_TABLES is its path, set by CMake.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_DATA_PAPERTABLES_H
#define SCCL_TEST_DATA_PAPERTABLES_H

#include "sccl/Model/Instance.h"
#include "sccl/Model/Rational.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace sccl::test {

/// One row: what the authors found a schedule for.
struct PaperRow {
  std::string topology;
  CollectiveKind kind;
  unsigned chunks, steps, rounds;

  Rational bandwidth() const { return Rational(rounds, chunks); }
  /// "dgx1_all_gather_6_3_7"
  std::string name() const {
    return topology + "_" + std::string(collectiveName(kind)) + "_" +
           std::to_string(chunks) + "_" + std::to_string(steps) + "_" +
           std::to_string(rounds);
  }
  /// The instance with another C and R.
  Result<Instance> instance(unsigned otherChunks, unsigned otherRounds) const {
    Result<Topology> ranks = makeBuiltinTopology(topology);
    if (!ranks)
      return Error{ranks.error()};
    Result<Collective> collective =
        Collective::make(kind, ranks->numRanks(), otherChunks);
    if (!collective)
      return Error{collective.error()};
    return Instance::make(*ranks, *collective, steps, otherRounds);
  }
  Result<Instance> instance() const { return instance(chunks, rounds); }
};

/// Reads one line "topology,collective,C,S,R,...".
inline Result<PaperRow> parsePaperRow(const std::string &line) {
  std::istringstream fields(line);
  std::string topology, kindName, numbers[3];
  std::getline(fields, topology, ',');
  std::getline(fields, kindName, ',');
  for (std::string &number : numbers)
    std::getline(fields, number, ',');
  std::optional<CollectiveKind> kind = parseCollectiveName(kindName);
  if (!kind)
    return Error{"unknown collective '" + kindName + "' in '" + line + "'"};
  PaperRow row{topology, *kind, 0, 0, 0};
  unsigned *values[] = {&row.chunks, &row.steps, &row.rounds};
  for (unsigned i = 0; i < 3; ++i) {
    std::istringstream digits(numbers[i]);
    if (!(digits >> *values[i]))
      return Error{"no number '" + numbers[i] + "' in '" + line + "'"};
  }
  return row;
}

/// All rows in the order of the file, without comments and the header.
inline Result<std::vector<PaperRow>> readPaperTables() {
  std::ifstream file(SCCL_PAPER_TABLES);
  if (!file)
    return Error{"cannot read " SCCL_PAPER_TABLES};
  std::vector<PaperRow> rows;
  std::string line;
  bool sawHeader = false;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#')
      continue;
    if (!sawHeader) {
      sawHeader = true;
      continue;
    }
    Result<PaperRow> row = parsePaperRow(line);
    if (!row)
      return Error{row.error()};
    rows.push_back(*row);
  }
  return rows;
}

} // namespace sccl::test

#endif // SCCL_TEST_DATA_PAPERTABLES_H
