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

} // namespace sccl

#endif // SCCL_LIB_MACHINE_QUANTUM_H
