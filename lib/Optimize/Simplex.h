//===- Simplex.h - Runs of Clp within limits --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one way in which linear and integer programs use Clp.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_SIMPLEX_H
#define SCCL_LIB_OPTIMIZE_SIMPLEX_H

#include "Optimize/LinearProgram.h"
#include "sccl/Optimize/Deadline.h"

#include <ClpEventHandler.hpp>

class ClpSimplex;

namespace sccl {

/// Counts the iterations of a simplex run, and stops it when limits are
/// reached. Copies, as Clp makes them, count for the same deadline.
class SimplexGuard final : public ClpEventHandler {
public:
  SimplexGuard(const Deadline &deadline, size_t rows)
      : deadline(deadline), perIteration(1 + rows / rowsPerUnit) {}
  int event(Event event) override;
  ClpEventHandler *clone() const override { return new SimplexGuard(*this); }

private:
  /// Measured: 1 to 3 rows per 100 ns, on programs of 100 to 10,000 rows.
  static constexpr size_t rowsPerUnit = 20;
  const Deadline &deadline;
  const uint64_t perIteration;
};

/// Makes columns and rows of what is loaded basic that were so in `known`, an
/// optimum of the same rows with the first of the columns; puts the rest at
/// bounds.
void setBasis(ClpSimplex &simplex, const LPSolution &known);

/// Solves what is loaded by `method`, within the limits of `deadline`.
LPSolution runSimplex(ClpSimplex &simplex, LPMethod method,
                      const Deadline &deadline);

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_SIMPLEX_H
