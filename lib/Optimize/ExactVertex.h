//===- ExactVertex.h - Solutions of linear programs as fractions *- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Clp finds is a vertex: of the columns and rows at their bounds it is
// right, of the numbers only nearly. From which those are, the numbers follow
// exactly, and what was nearly optimal is optimal.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_EXACTVERTEX_H
#define SCCL_LIB_OPTIMIZE_EXACTVERTEX_H

#include "Optimize/LinearProgram.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sccl {

/// Fractions with a common denominator.
struct FractionList {
  std::vector<int64_t> numerators;
  int64_t denominator = 1;
};

/// The values of the columns, or the multipliers of the rows, at the vertex of
/// `solution`. The coefficients of `program` must be whole numbers. Nothing if
/// the vertex is not what `solution` says (a number is on the wrong side of its
/// bound), a number does not fit, or the work of eliminating would be too much
/// for `deadline`.
std::optional<FractionList> exactValues(const LinearProgram &program,
                                        const LPSolution &solution,
                                        const Deadline &deadline);
std::optional<FractionList> exactMultipliers(const LinearProgram &program,
                                             const LPSolution &solution,
                                             const Deadline &deadline);

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_EXACTVERTEX_H
