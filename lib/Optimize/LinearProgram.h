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
};

struct LPSolution {
  LPStatus status;
  double optimum;             ///< if optimal, as all below
  std::vector<double> values; ///< per column
  /// Per row: what the optimum gains per unit of its bound.
  std::vector<double> multipliers;
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

private:
  std::vector<double> costs, lower, upper;
  std::vector<int> starts = {0}, columns;
  std::vector<double> values;
  /// Where a column occurred in the row under construction.
  std::vector<std::pair<unsigned, size_t>> lastSeen;
};

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_LINEARPROGRAM_H
