//===- ElementValues.h - Reductions by their definition ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data for reductions whose result does not depend on the order of the
// operations, and that result. Shares no code with the conversions: numbers are
// rounded by LLVM's APFloat.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MEASURE_ELEMENTVALUES_H
#define SCCL_LIB_MEASURE_ELEMENTVALUES_H

#include "sccl/Model/ElementType.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>

namespace sccl {

/// Inputs and results of one reduction over a type. Elements are their bits.
class ElementValues {
public:
  ElementValues(const ElementType &element, Reduction reduction,
                unsigned numRanks);

  /// What `rank` contributes to an element. `random` are 64 random bits that
  /// depend on the rank; `place` is a number that all ranks agree on, and that
  /// differs by one between neighbours.
  uint64_t input(unsigned rank, uint64_t random, uint64_t place) const;
  /// The reduction of what input() gave.
  uint64_t reduce(llvm::ArrayRef<uint64_t> inputs) const;
  /// "0.5", "-7".
  std::string toString(uint64_t bits) const;

private:
  double floatInput(unsigned rank, uint64_t random, uint64_t place) const;
  uint64_t reduceFloats(llvm::ArrayRef<uint64_t> inputs) const;
  uint64_t reduceIntegers(llvm::ArrayRef<uint64_t> inputs) const;
  bool before(uint64_t a, uint64_t b) const;
  uint64_t truncate(uint64_t bits) const;
  int64_t signExtend(uint64_t bits) const;
  uint64_t encode(double value) const;
  double decode(uint64_t bits) const;

  ElementType element;
  Reduction reduction;
  unsigned numRanks;
  /// The ranks whose contribution to an element is not neutral.
  unsigned active;
};

} // namespace sccl

#endif // SCCL_LIB_MEASURE_ELEMENTVALUES_H
