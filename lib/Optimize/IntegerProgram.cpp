//===- IntegerProgram.cpp - Linear and integer programs -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerProgram.h"

#include "Simplex.h"

#include <CbcEventHandler.hpp>
#include <CbcHeuristic.hpp>
#include <CbcHeuristicDiveCoefficient.hpp>
#include <CbcModel.hpp>
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

#include <cmath>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

namespace {
/// Stops branch and bound when the time is up.
class SearchGuard final : public CbcEventHandler {
public:
  explicit SearchGuard(const Deadline &deadline) : deadline(deadline) {}
  CbcAction event(CbcEvent) override {
    return deadline.expired() ? stop : noAction;
  }
  CbcEventHandler *clone() const override { return new SearchGuard(*this); }

private:
  const Deadline &deadline;
};
} // namespace

//===----------------------------------------------------------------------===//
// Clp and Cbc
//===----------------------------------------------------------------------===//

static void load(const IntegerProgram &program, ClpSimplex &simplex) {
  std::vector<int> rows, columns;
  std::vector<double> values;
  for (const IntegerProgram::Entry &entry : program.entries) {
    rows.push_back(static_cast<int>(entry.row));
    columns.push_back(static_cast<int>(entry.column));
    values.push_back(static_cast<double>(entry.value));
  }
  CoinPackedMatrix matrix(/*colordered=*/true, rows.data(), columns.data(),
                          values.data(), CoinBigIndex(values.size()));
  matrix.setDimensions(int(program.rows.size()), int(program.columns.size()));
  std::vector<double> lower, upper, cost, rowLower, rowUpper;
  for (const IntegerProgram::Column &column : program.columns) {
    lower.push_back(double(column.lower));
    upper.push_back(double(column.upper));
    cost.push_back(double(column.cost));
  }
  for (const IntegerProgram::Row &row : program.rows) {
    rowLower.push_back(row.isEquality ? double(row.bound) : -COIN_DBL_MAX);
    rowUpper.push_back(double(row.bound));
  }
  simplex.loadProblem(matrix, lower.data(), upper.data(), cost.data(),
                      rowLower.data(), rowUpper.data());
}

LPSolution sccl::solveRelaxation(const IntegerProgram &program,
                                 const Deadline &deadline,
                                 const LPSolution *last) {
  ClpSimplex simplex;
  load(program, simplex);
  if (last)
    setBasis(simplex, *last);
  return runSimplex(simplex, last ? LPMethod::FromBasis : LPMethod::Direct,
                    deadline);
}

std::optional<std::vector<int64_t>>
sccl::findIntegerSolution(const IntegerProgram &program, unsigned maxNodes,
                          unsigned seed, const Deadline &deadline) {
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  SimplexGuard simplexGuard(deadline, program.rows.size());
  solver.getModelPtr()->passInEventHandler(&simplexGuard);
  load(program, *solver.getModelPtr());
  for (unsigned column = 0; column < program.columns.size(); ++column)
    if (program.columns[column].isInteger)
      solver.setInteger(int(column));
  CbcModel model(solver);
  model.setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  SearchGuard searchGuard(deadline);
  model.passInEventHandler(&searchGuard);
  model.setRandomSeed(int(seed & 0x7fffffff));
  // No limit of time: what Cbc makes of one is not the same twice. The guards
  // look at the clock.
  model.setMaximumNodes(int(maxNodes));
  model.setMaximumSolutions(1);
  CbcRounding rounding(model);
  model.addHeuristic(&rounding);
  CbcHeuristicDiveCoefficient dive(model);
  model.addHeuristic(&dive);
  model.branchAndBound();
  const double *best = model.bestSolution();
  if (!best)
    return std::nullopt;
  return roundSolution(program, {best, best + program.columns.size()});
}

//===----------------------------------------------------------------------===//
// Exact arithmetic
//===----------------------------------------------------------------------===//

std::optional<std::vector<int64_t>>
sccl::roundSolution(const IntegerProgram &program,
                    const std::vector<double> &values) {
  constexpr double tolerance = 1e-5;
  std::vector<int64_t> result;
  for (size_t i = 0; i < values.size(); ++i) {
    double rounded = std::round(values[i]);
    const IntegerProgram::Column &column = program.columns[i];
    if (std::abs(values[i] - rounded) > tolerance)
      return std::nullopt;
    result.push_back(static_cast<int64_t>(rounded));
    if (result.back() < column.lower || result.back() > column.upper)
      return std::nullopt;
  }
  std::vector<int64_t> sums(program.rows.size());
  for (const IntegerProgram::Entry &entry : program.entries)
    sums[entry.row] += entry.value * result[entry.column];
  for (size_t i = 0; i < sums.size(); ++i)
    if (sums[i] > program.rows[i].bound ||
        (program.rows[i].isEquality && sums[i] < program.rows[i].bound))
      return std::nullopt;
  return result;
}

bool sccl::proveCostAbove(const IntegerProgram &program,
                          const std::vector<double> &multipliers,
                          int64_t cost) {
  // For any multipliers u, not positive for rows of the kind "at most",
  //   cost(x) >= u b + sum over columns of the least of (c - u A) x,
  // whatever x, because columns are bounded. Rounding u changes the bound a
  // little, and never makes it wrong. Everything is scaled by 2^24.
  using Wide = __int128;
  constexpr double scale = 1 << 24, largest = 1 << 20;
  std::vector<Wide> reduced;
  for (const IntegerProgram::Column &column : program.columns)
    reduced.push_back(Wide(column.cost) * Wide(scale));
  std::vector<int64_t> scaled;
  Wide bound = 0;
  for (size_t i = 0; i < program.rows.size(); ++i) {
    if (!(std::abs(multipliers[i]) < largest))
      return false;
    scaled.push_back(std::llround(multipliers[i] * scale));
    if (!program.rows[i].isEquality)
      scaled.back() = std::min<int64_t>(scaled.back(), 0);
    bound += Wide(scaled.back()) * program.rows[i].bound;
  }
  for (const IntegerProgram::Entry &entry : program.entries)
    reduced[entry.column] -= Wide(scaled[entry.row]) * entry.value;
  for (size_t i = 0; i < reduced.size(); ++i)
    bound += std::min(reduced[i] * program.columns[i].lower,
                      reduced[i] * program.columns[i].upper);
  return bound > Wide(cost) * Wide(scale);
}
