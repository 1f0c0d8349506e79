//===- Quantum.h - What one chunk per round is ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MACHINE_QUANTUM_H
#define SCCL_LIB_MACHINE_QUANTUM_H

#include "sccl/Machine/Derivation.h"

namespace sccl {

/// Bandwidths as whole numbers of a quantum.
struct Units {
  Rational quantum;            ///< GB/s
  std::vector<unsigned> units; ///< one for each bandwidth
  Rational error;              ///< the largest relative one; 0 if exact
};

/// `bandwidths` (GB/s, positive) as multiples of one quantum; see
/// `DerivationOptions`. Fails if there is none within the tolerance.
Result<Units> chooseUnits(const std::vector<Rational> &bandwidths,
                          const DerivationOptions &options);

/// True if each of `values` is a whole number of `unit`, and at most `most` of
/// them.
bool areMultiples(const std::vector<Rational> &values, const Rational &unit,
                  int64_t most);

/// The largest number of which all of `values` (positive) are multiples, none
/// by more than `most`; if there is none, the least power of two that `most` of
/// them reach the largest of.
Rational commonUnit(const std::vector<Rational> &values, int64_t most);

/// `value` / `unit`, rounded up; at least 1.
int64_t unitsRoundedUp(const Rational &value, const Rational &unit);

} // namespace sccl

#endif // SCCL_LIB_MACHINE_QUANTUM_H
