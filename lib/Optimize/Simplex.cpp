//===- Simplex.cpp - Runs of Clp within limits ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simplex.h"

#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>

using namespace sccl;

int SimplexGuard::event(Event event) {
  constexpr int goOn = -1, stop = 5;
  if (event == endOfIteration)
    deadline.charge(perIteration);
  bool isTick = event == endOfIteration || event == endOfFactorization;
  return isTick && deadline.expired() ? stop : goOn;
}

void sccl::setBasis(ClpSimplex &simplex, const LPSolution &known) {
  simplex.createStatus();
  for (int column = 0; column < simplex.numberColumns(); ++column) {
    bool isBasic = size_t(column) < known.isBasicColumn.size() &&
                   known.isBasicColumn[column];
    simplex.setColumnStatus(column, isBasic ? ClpSimplex::basic
                                            : ClpSimplex::atLowerBound);
  }
  for (int row = 0; row < simplex.numberRows(); ++row) {
    bool hasLower = simplex.rowLower()[row] > -COIN_DBL_MAX;
    simplex.setRowStatus(row, known.isBasicRow[row] ? ClpSimplex::basic
                              : hasLower            ? ClpSimplex::atLowerBound
                                                    : ClpSimplex::atUpperBound);
  }
}

LPSolution sccl::runSimplex(ClpSimplex &simplex, LPMethod method,
                            const Deadline &deadline) {
  simplex.setLogLevel(0);
  SimplexGuard guard(deadline, size_t(simplex.numberRows()));
  simplex.passInEventHandler(&guard);
  // Reading and presolving it, before anything can be interrupted.
  deadline.charge(uint64_t(simplex.getNumElements()) / 16);
  if (method == LPMethod::Presolved) {
    // Always perturbed.
    simplex.setPerturbation(50);
    ClpSolve how;
    how.setSolveType(ClpSolve::useDual);
    simplex.initialSolve(how);
  } else if (method == LPMethod::FromBasis) {
    simplex.setPerturbation(50);
    simplex.primal();
  } else {
    simplex.dual();
  }
  if (simplex.isProvenPrimalInfeasible())
    return {LPStatus::Infeasible, 0, {}, {}, {}, {}};
  if (!simplex.isProvenOptimal())
    return {LPStatus::Stopped, 0, {}, {}, {}, {}};
  const double *values = simplex.primalColumnSolution();
  const double *multipliers = simplex.dualRowSolution();
  LPSolution solution{LPStatus::Optimal,
                      simplex.objectiveValue(),
                      {values, values + simplex.numberColumns()},
                      {multipliers, multipliers + simplex.numberRows()},
                      {},
                      {}};
  for (int column = 0; column < simplex.numberColumns(); ++column)
    solution.isBasicColumn.push_back(simplex.getColumnStatus(column) ==
                                     ClpSimplex::basic);
  for (int row = 0; row < simplex.numberRows(); ++row)
    solution.isBasicRow.push_back(simplex.getRowStatus(row) ==
                                  ClpSimplex::basic);
  return solution;
}
