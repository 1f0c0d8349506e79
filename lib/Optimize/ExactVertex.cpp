//===- ExactVertex.cpp - Solutions of linear programs as fractions --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that hold with equality and columns off their bounds make a square
// system, which Gauss solves in fractions of any length. Rows are chosen by how
// few coefficients they have left, as these matrices are sparse.
//
//===----------------------------------------------------------------------===//

#include "ExactVertex.h"

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace sccl;

namespace {
/// A x = b with a square matrix of sparse rows.
struct SquareSystem {
  std::vector<std::map<unsigned, mpq_class>> rows;
  std::vector<mpq_class> right;
};

/// The columns and rows of a program that decide the numbers at a vertex.
struct Active {
  std::vector<unsigned> columns, rows;
  std::vector<unsigned> numberOf; ///< per column of the program
  static constexpr unsigned none = ~0u;
};
} // namespace

static Active findActive(const LinearProgram &program,
                         const LPSolution &solution) {
  Active active;
  active.numberOf.assign(program.numColumns(), Active::none);
  for (unsigned column = 0; column < program.numColumns(); ++column)
    if (solution.isBasicColumn[column]) {
      active.numberOf[column] = unsigned(active.columns.size());
      active.columns.push_back(column);
    }
  for (unsigned row = 0; row < program.numRows(); ++row)
    if (!solution.isBasicRow[row])
      active.rows.push_back(row);
  return active;
}

/// Subtracts from row `target` as much of row `pivot` as clears `column`.
static void eliminate(SquareSystem &system, size_t target, size_t pivot,
                      unsigned column) {
  auto &row = system.rows[target];
  auto at = row.find(column);
  if (at == row.end())
    return;
  mpq_class factor = at->second / system.rows[pivot].at(column);
  for (const auto &[other, value] : system.rows[pivot]) {
    mpq_class &entry = row[other];
    entry -= factor * value;
    if (entry == 0)
      row.erase(other);
  }
  system.right[target] -= factor * system.right[pivot];
}

/// Solves by Gauss and Jordan. Nothing if the matrix is singular.
static std::optional<std::vector<mpq_class>> solve(SquareSystem system,
                                                   const Deadline &deadline) {
  size_t size = system.rows.size();
  std::vector<bool> used(size);
  std::vector<mpq_class> result(size);
  std::vector<std::pair<unsigned, size_t>> pivots; // column, row
  for (size_t count = 0; count < size; ++count) {
    size_t best = size;
    for (size_t i = 0; i < size; ++i)
      if (!used[i] &&
          (best == size || system.rows[i].size() < system.rows[best].size()))
        best = i;
    if (system.rows[best].empty() || deadline.tick(1 + size / 4))
      return std::nullopt;
    used[best] = true;
    unsigned column = system.rows[best].begin()->first;
    pivots.emplace_back(column, best);
    for (size_t i = 0; i < size; ++i)
      if (i != best)
        eliminate(system, i, best, column);
  }
  for (auto [column, row] : pivots)
    result[column] = system.right[row] / system.rows[row].at(column);
  return result;
}

/// `values` over their common denominator, if that fits.
static std::optional<FractionList>
overCommonDenominator(const std::vector<mpq_class> &values) {
  mpz_class common = 1;
  for (const mpq_class &value : values)
    common = lcm(common, value.get_den());
  FractionList result;
  const mpz_class most = mpz_class(1) << 62;
  if (common > most)
    return std::nullopt;
  result.denominator = common.get_si();
  for (const mpq_class &value : values) {
    mpz_class numerator = value.get_num() * (common / value.get_den());
    if (abs(numerator) > most)
      return std::nullopt;
    result.numerators.push_back(numerator.get_si());
  }
  return result;
}

/// Solves `system`, and puts the numbers where `places` says among `size` that
/// are 0. Nothing if the matrix is singular.
static std::optional<std::vector<mpq_class>>
solveFor(const std::vector<unsigned> &places, size_t size, SquareSystem system,
         const Deadline &deadline) {
  std::optional<std::vector<mpq_class>> solved =
      solve(std::move(system), deadline);
  if (!solved)
    return std::nullopt;
  std::vector<mpq_class> all(size);
  for (size_t i = 0; i < places.size(); ++i)
    all[places[i]] = (*solved)[i];
  return all;
}

//===----------------------------------------------------------------------===//
// Values of columns
//===----------------------------------------------------------------------===//

/// The active rows hold with equality.
static SquareSystem rowsWithEquality(const LinearProgram &program,
                                     const Active &active) {
  SquareSystem system;
  for (unsigned row : active.rows) {
    auto &entries = system.rows.emplace_back();
    program.visitRow(row, [&](unsigned column, double value) {
      if (active.numberOf[column] != Active::none && value != 0)
        entries[active.numberOf[column]] = value;
    });
    system.right.emplace_back(program.rowBound(row));
  }
  return system;
}

/// True if no column is below 0, and all rows hold.
static bool isFeasible(const LinearProgram &program,
                       const std::vector<mpq_class> &values) {
  if (std::ranges::any_of(values, [](const mpq_class &v) { return v < 0; }))
    return false;
  for (unsigned row = 0; row < program.numRows(); ++row) {
    mpq_class sum = -mpq_class(program.rowBound(row));
    program.visitRow(row, [&](unsigned column, double value) {
      if (values[column] != 0)
        sum += values[column] * mpq_class(value);
    });
    auto sense = program.rowSense(row);
    if ((sense != LinearProgram::Sense::AtMost && sum < 0) ||
        (sense != LinearProgram::Sense::AtLeast && sum > 0))
      return false;
  }
  return true;
}

std::optional<FractionList> sccl::exactValues(const LinearProgram &program,
                                              const LPSolution &solution,
                                              const Deadline &deadline) {
  Active active = findActive(program, solution);
  if (active.columns.size() != active.rows.size())
    return std::nullopt;
  auto values = solveFor(active.columns, program.numColumns(),
                         rowsWithEquality(program, active), deadline);
  if (!values || !isFeasible(program, *values))
    return std::nullopt;
  return overCommonDenominator(*values);
}

//===----------------------------------------------------------------------===//
// Multipliers of rows
//===----------------------------------------------------------------------===//

/// The active columns cost what their coefficients are worth.
static SquareSystem columnsWithEquality(const LinearProgram &program,
                                        const Active &active) {
  SquareSystem system;
  system.rows.resize(active.columns.size());
  for (unsigned column : active.columns)
    system.right.emplace_back(program.columnCosts()[column]);
  for (unsigned i = 0; i < active.rows.size(); ++i)
    program.visitRow(active.rows[i], [&](unsigned column, double value) {
      if (active.numberOf[column] != Active::none && value != 0)
        system.rows[active.numberOf[column]][i] = value;
    });
  return system;
}

/// True if `multipliers` have the signs that their rows ask for, and no column
/// is cheaper than what its coefficients are worth.
static bool isDualFeasible(const LinearProgram &program,
                           const std::vector<mpq_class> &multipliers) {
  for (unsigned row = 0; row < program.numRows(); ++row) {
    auto sense = program.rowSense(row);
    if ((sense == LinearProgram::Sense::AtLeast && multipliers[row] < 0) ||
        (sense == LinearProgram::Sense::AtMost && multipliers[row] > 0))
      return false;
  }
  std::vector<mpq_class> reduced;
  for (double cost : program.columnCosts())
    reduced.emplace_back(cost);
  for (unsigned row = 0; row < program.numRows(); ++row)
    if (multipliers[row] != 0)
      program.visitRow(row, [&](unsigned column, double value) {
        reduced[column] -= multipliers[row] * mpq_class(value);
      });
  return std::ranges::all_of(reduced,
                             [](const mpq_class &v) { return v >= 0; });
}

std::optional<FractionList> sccl::exactMultipliers(const LinearProgram &program,
                                                   const LPSolution &solution,
                                                   const Deadline &deadline) {
  Active active = findActive(program, solution);
  if (active.columns.size() != active.rows.size())
    return std::nullopt;
  auto multipliers = solveFor(active.rows, program.numRows(),
                              columnsWithEquality(program, active), deadline);
  if (!multipliers || !isDualFeasible(program, *multipliers))
    return std::nullopt;
  return overCommonDenominator(*multipliers);
}
