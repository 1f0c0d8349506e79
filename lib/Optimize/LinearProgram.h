//===- LinearProgram.h - A minimisation for Clp -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clp works with floating point: whoever draws conclusions from a solution
// computes them anew in integers.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_LINEARPROGRAM_H
#define SCCL_LIB_OPTIMIZE_LINEARPROGRAM_H

#include "sccl/Optimize/Deadline.h"

#include <cstddef>
#include <utility>
#include <vector>

class ClpSimplex;

namespace sccl {

enum class LPStatus {
  Optimal,
  Infeasible,
  Stopped, ///< limits were reached, or Clp got into difficulties
};

enum class LPMethod {
  Direct,
  /// Presolved and perturbed: a fifth of the time where many solutions are as
  /// good.
  Presolved,
  /// The primal method, from the basis that is there.
  FromBasis,
};

struct LPSolution {
  LPStatus status;
  double optimum;             ///< if optimal, as all below
  std::vector<double> values; ///< per column
  /// Per row: what the optimum gains per unit of its bound.
  std::vector<double> multipliers;
  /// Columns that may be other than 0, and rows that need not hold with
  /// equality.
  std::vector<bool> isBasicColumn, isBasicRow;
};

/// Minimises a sum of columns, each at least 0, subject to rows.
class LinearProgram {
public:
  /// One coefficient of a row. A column may occur several times; the
  /// coefficients then add up.
  using Term = std::pair<unsigned, double>;
  enum class Sense { AtLeast, AtMost, Equal };

  unsigned addColumn(double cost) {
    costs.push_back(cost);
    return costs.size() - 1;
  }
  unsigned addRow(Sense sense, double bound, const std::vector<Term> &terms);
  size_t numColumns() const { return costs.size(); }
  size_t numRows() const { return lower.size(); }

  LPSolution solve(const Deadline &deadline) const;
  /// From `known`, an optimum of the same rows with the first of the columns.
  LPSolution solveFrom(const LPSolution &known, const Deadline &deadline) const;

  // For whoever computes anew.
  const std::vector<double> &columnCosts() const { return costs; }
  /// The number that a row is compared with.
  double rowBound(unsigned row) const {
    return senses[row] == Sense::AtMost ? upper[row] : lower[row];
  }
  Sense rowSense(unsigned row) const { return senses[row]; }
  /// Calls visit(column, value) for each coefficient of `row`.
  template <typename Visitor> void visitRow(unsigned row, Visitor visit) const {
    for (int i = starts[row]; i < starts[row + 1]; ++i)
      visit(unsigned(columns[i]), values[i]);
  }

private:
  void load(ClpSimplex &simplex) const;

  std::vector<Sense> senses;
  std::vector<double> costs, lower, upper;
  std::vector<int> starts = {0}, columns;
  std::vector<double> values;
  /// Where a column occurred in the row under construction.
  std::vector<std::pair<unsigned, size_t>> lastSeen;
};

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_LINEARPROGRAM_H
