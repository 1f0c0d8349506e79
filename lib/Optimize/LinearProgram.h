//===- LinearProgram.h - A minimisation for Clp -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that knows the solver's interface.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_LINEARPROGRAM_H
#define SCCL_LIB_OPTIMIZE_LINEARPROGRAM_H

#include "sccl/Optimize/Deadline.h"
#include "sccl/Model/Result.h"

#include <utility>
#include <vector>

namespace sccl::bounds {

/// Minimises a sum of columns, each at least 0, subject to rows.
class LinearProgram {
public:
  /// One coefficient of a row. A column may occur several times; the
  /// coefficients then add up.
  using Term = std::pair<unsigned, double>;
  enum class Sense { AtLeast, AtMost, Equal };

  struct Solution {
    double optimum;
    /// One multiplier per row: what the optimum gains per unit of its bound.
    std::vector<double> duals;
  };

  unsigned addColumn(double cost) {
    costs.push_back(cost);
    return costs.size() - 1;
  }
  unsigned addRow(Sense sense, double bound, const std::vector<Term> &terms);
  size_t numColumns() const { return costs.size(); }

  /// Solves it. Fails without an optimum, or when `deadline` has expired.
  Result<Solution> solve(const Deadline &deadline) const;

private:
  std::vector<double> costs, lower, upper;
  std::vector<int> starts = {0}, columns;
  std::vector<double> values;
  /// Where a column occurred in the row under construction.
  std::vector<std::pair<unsigned, size_t>> lastSeen;
};

} // namespace sccl::bounds

#endif // SCCL_LIB_OPTIMIZE_LINEARPROGRAM_H
