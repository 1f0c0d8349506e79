//===- ElementValues.h - Reductions by their definition ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data for reductions, and what their results may be. Half of the floats give
// results that do not depend on the order of the operations. The others come
// from all of the type: the largest numbers, subnormal ones, and any between.
// Their results may be off by the error bound of docs/Rationale/ElementTypes.md
// and no more, and not at all if they are added up by a tree. Integers are of
// all bits, and exact.
//
// Shares no code with the conversions: numbers are rounded by LLVM's APFloat.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MEASURE_ELEMENTVALUES_H
#define SCCL_LIB_MEASURE_ELEMENTVALUES_H

#include "sccl/Model/ElementType.h"
#include "sccl/Model/SumTree.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>

namespace sccl {

/// What a result may be, as bits: from `least` to `most`, and best `nearest`.
struct ElementRange {
  uint64_t nearest, least, most;
  bool isExact() const { return least == most; }
};

/// Inputs and results of one reduction over a type. Elements are their bits.
class ElementValues {
public:
  ElementValues(const ElementType &element, Reduction reduction,
                unsigned numRanks);

  /// What `rank` contributes to an element. `random` are 64 random bits that
  /// depend on the rank; `place` is a number that all ranks agree on, and that
  /// differs by one between neighbours.
  uint64_t input(unsigned rank, uint64_t random, uint64_t place) const;
  /// The reduction of what input() gave at `place`.
  ElementRange reduce(llvm::ArrayRef<uint64_t> inputs, uint64_t place) const;
  /// True if results depend on the order of the operations: of floats, but of
  /// `min` and `max`.
  bool dependOnOrder() const;
  /// The reduction by `tree`, each node of which is rounded to the type.
  ElementRange reduceBy(const SumTree &tree,
                        llvm::ArrayRef<uint64_t> inputs) const;
  /// True if `bits` are in `range`, in which -0 is before 0.
  bool contains(const ElementRange &range, uint64_t bits) const;
  /// "0.5", "-7".
  std::string toString(uint64_t bits) const;

private:
  /// What the floats at a place are like.
  enum class Kind {
    Exact,     ///< few bits: no operation rounds
    Large,     ///< sums next to the largest number, products beyond it
    Overflow,  ///< sums beyond the largest number
    Subnormal, ///< around the least normal number
    Any        ///< of all exponents that the result has room for
  };
  Kind kindAt(uint64_t place) const;

  long double exactInput(unsigned rank, uint64_t random, uint64_t place) const;
  long double endInput(Kind kind, uint64_t random, uint64_t place) const;
  long double summand(Kind kind, long double fraction, uint64_t random) const;
  long double factor(Kind kind, long double fraction, uint64_t random) const;
  uint64_t integerInput(uint64_t random, uint64_t place) const;
  ElementRange reduceFloats(llvm::ArrayRef<uint64_t> inputs,
                            uint64_t place) const;
  long double errorBound(llvm::ArrayRef<uint64_t> inputs,
                         long double result) const;
  uint64_t reduceIntegers(llvm::ArrayRef<uint64_t> inputs) const;
  bool before(uint64_t a, uint64_t b) const;
  uint64_t truncate(uint64_t bits) const;
  int64_t signExtend(uint64_t bits) const;
  uint64_t inOrder(uint64_t bits) const;
  /// A node of a tree. Averages take what is below an operand, as sums over
  /// powers of two.
  struct Operand {
    uint64_t bits;
    unsigned contributions;
  };
  template <typename Number>
  Number combine(const Operand &left, const Operand &right, bool isLast) const;
  template <typename Number>
  Number average(const Operand &left, const Operand &right, bool isLast) const;
  uint64_t encode(long double value) const;
  long double decode(uint64_t bits) const;

  ElementType element;
  Reduction reduction;
  unsigned numRanks;
  /// The ranks whose contribution to an exact element is not neutral.
  unsigned active;
  // Of floats: numbers, and the relative error of one rounding.
  long double largest = 0, leastNormal = 0, leastSubnormal = 0, unit = 0;
};

} // namespace sccl

#endif // SCCL_LIB_MEASURE_ELEMENTVALUES_H
