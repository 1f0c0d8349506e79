//===- IntegerProgram.h - Linear and integer programs -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs with integral coefficients and bounded variables. Clp and Cbc work
// with floating point, so their solutions are candidates; bounds derived from
// their multipliers are computed anew in integers and hold exactly.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_INTEGERPROGRAM_H
#define SCCL_LIB_OPTIMIZE_INTEGERPROGRAM_H

#include "Optimize/LinearProgram.h"
#include "sccl/Optimize/Deadline.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sccl {

/// Minimize the cost of columns in [lower, upper] under rows that are equal to,
/// or at most, a number.
struct IntegerProgram {
  struct Column {
    int64_t lower, upper, cost;
    bool isInteger;
  };
  struct Row {
    int64_t bound;
    bool isEquality; ///< else at most `bound`
  };
  struct Entry {
    unsigned row, column;
    int64_t value;
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<Entry> entries; ///< no (row, column) twice

  unsigned addColumn(Column column) {
    columns.push_back(column);
    return static_cast<unsigned>(columns.size() - 1);
  }
  unsigned addRow(Row row) {
    rows.push_back(row);
    return static_cast<unsigned>(rows.size() - 1);
  }
};

/// Solves the program without its integrality, from `last` on, if that is the
/// solution of the same rows with fewer columns.
LPSolution solveRelaxation(const IntegerProgram &program,
                           const Deadline &deadline,
                           const LPSolution *last = nullptr);

/// Searches for any integral solution, exactly checked, with at most `maxNodes`
/// nodes. Nothing proves nothing.
std::optional<std::vector<int64_t>>
findIntegerSolution(const IntegerProgram &program, unsigned maxNodes,
                    unsigned seed, const Deadline &deadline);

/// `values` in integers, if they are integral and satisfy the program exactly.
std::optional<std::vector<int64_t>>
roundSolution(const IntegerProgram &program, const std::vector<double> &values);

/// True if the multipliers, after rounding, prove in exact arithmetic that no
/// solution of the relaxation has a cost of `cost` or less.
bool proveCostAbove(const IntegerProgram &program,
                    const std::vector<double> &multipliers, int64_t cost);

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_INTEGERPROGRAM_H
