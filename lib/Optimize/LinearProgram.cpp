//===- LinearProgram.cpp - A minimisation for Clp -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs are not negative, so the slack basis is feasible for the dual simplex
// method, which then ends in a vertex: its coordinates are fractions with small
// denominators, which an interior point would not give.
//
//===----------------------------------------------------------------------===//

#include "LinearProgram.h"

#include "Simplex.h"

#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>

using namespace sccl;

unsigned LinearProgram::addRow(Sense sense, double bound,
                               const std::vector<Term> &terms) {
  unsigned row = lower.size();
  senses.push_back(sense);
  lower.push_back(sense == Sense::AtMost ? -COIN_DBL_MAX : bound);
  upper.push_back(sense == Sense::AtLeast ? COIN_DBL_MAX : bound);
  lastSeen.resize(costs.size(), {~0u, 0});
  for (auto [column, value] : terms) {
    auto &[seenRow, seenAt] = lastSeen[column];
    if (seenRow == row) {
      values[seenAt] += value;
      continue;
    }
    seenRow = row;
    seenAt = values.size();
    columns.push_back(column);
    values.push_back(value);
  }
  starts.push_back(columns.size());
  return row;
}

void LinearProgram::load(ClpSimplex &simplex) const {
  CoinPackedMatrix matrix(/*colordered=*/false, int(costs.size()),
                          int(lower.size()), CoinBigIndex(values.size()),
                          values.data(), columns.data(), starts.data(),
                          /*len=*/nullptr);
  std::vector<double> zeros(costs.size());
  std::vector<double> unbounded(costs.size(), COIN_DBL_MAX);
  simplex.loadProblem(matrix, zeros.data(), unbounded.data(), costs.data(),
                      lower.data(), upper.data());
}

LPSolution LinearProgram::solve(const Deadline &deadline) const {
  ClpSimplex simplex;
  load(simplex);
  return runSimplex(simplex, LPMethod::Presolved, deadline);
}

LPSolution LinearProgram::solveFrom(const LPSolution &known,
                                    const Deadline &deadline) const {
  ClpSimplex simplex;
  load(simplex);
  setBasis(simplex, known);
  return runSimplex(simplex, LPMethod::FromBasis, deadline);
}
