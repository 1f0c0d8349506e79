//===- SumErrors.h - How far sums may be from exact ones --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds that hold for all inputs, from what a program does with each chunk.
// An input x that is rounded k times on its way into a sum counts as x times k
// factors of 1 + d with |d| <= u, the unit roundoff, so that no sum is further
// from the exact one than ((1 + u)^k - 1) (|x1| + ... + |xn|). Additions do not
// round numbers that are too small to be normal; averages scale, which does.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_SUMERRORS_H
#define SCCL_ANALYSIS_SUMERRORS_H

#include "sccl/Analysis/SlotNumbering.h"
#include "sccl/Model/ElementType.h"

#include <string>

namespace sccl::coll {

/// What separates a sum or an average from the exact one, as long as nothing is
/// too large for its type.
struct SumError {
  /// Of the input that is rounded most on its way: how often to the type, and
  /// beside that in f32, where smaller types are added.
  unsigned roundings = 0, wideRoundings = 0;
  /// Times the sum of all |x|, or for an average their mean.
  double relative = 0;
  /// Beside that, in the units of the element; 0 but for averages.
  double absolute = 0;

  /// "off by at most 3.6e-07 of the sum of |x|: 3 roundings of f32". `element`
  /// and `reduction` are those that it was found for.
  std::string toString(const ElementType &element, Reduction reduction) const;
};

/// The errors of all that a program reduces.
class SumErrors {
public:
  /// `program` must be right for `collective`, and `reduction` be `sum` or
  /// `avg`. Of integers, and of what only moves, errors are 0.
  SumErrors(ProgramOp program, const Collective &collective,
            const ElementType &element, Reduction reduction);

  /// Of what `rank` ends with in output slot `slot`.
  SumError at(unsigned rank, unsigned slot) const;
  /// The largest `relative` of all, with its roundings, and the largest
  /// `absolute`.
  SumError worst() const;

private:
  /// Of what is in a slot, as a sum.
  struct State {
    unsigned roundings = 0, wideRoundings = 0;
    unsigned contributions = 0;
    double absolute = 0;
    bool isWide = false; ///< it is f32 where elements are smaller
  };
  void take(const Transfer &transfer, unsigned i);
  State reduce(llvm::ArrayRef<State> terms, bool isFinal, bool isWide) const;
  void addRounding(State &state, unsigned additions, bool isOnlyOne,
                   bool divides, bool isWide) const;
  double growthOf(const State &state) const;
  SumError errorOf(const State &state) const;

  const Collective &collective;
  ElementType element;
  bool averages;
  double unit = 0;      ///< roundoff of the type
  double wideUnit = 0;  ///< of f32, where that is what is added
  double least = 0;     ///< number of the type that is more than 0
  double wideLeast = 0; ///< the same of f32, likewise
  SlotNumbering slots;
  llvm::SmallVector<RankOp, 0> ranks; ///< by number
  std::vector<State> states;          ///< by number of the slot
};

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_SUMERRORS_H
