//===- AverageBuilder.h - Code that averages floats -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One reduction of an average, as AverageWord.h says. Its operands are sums
// over powers of two, and so is its result, unless it is the last one, which
// divides by the number of contributions.
//
// Scaled up to a common power of two, the operands lose no bits, but their sum
// may overflow; scaled down to below that of the result it cannot, but the
// least bits of subnormal numbers are lost. f32 and f64 take the first sum
// where it is finite, else the second. Smaller floats are added as f32, in
// which the second sum loses nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_AVERAGEBUILDER_H
#define SCCL_LIB_CONVERSION_COMMON_AVERAGEBUILDER_H

#include "sccl/Model/ElementType.h"

#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"
#include "mlir/IR/ValueRange.h"

#include "llvm/ADT/SmallVector.h"

namespace sccl::coll {

class CodeBuilder;

/// The layout of f32.
constexpr unsigned mantissa32 = 23, bias32 = 127;

/// What all elements of a loop are multiplied and divided by.
struct AverageFactors {
  /// Factors of the operands for one of the two sums, and the factor, or in the
  /// last reduction the divisor, that makes the result of it.
  struct Sum {
    mlir::Value left, right, finish;
  };
  Sum safe;  ///< the one that cannot overflow
  Sum exact; ///< the one that loses no bits; null for small floats
  bool divides = false;
};

/// Builds code for values of `lanes` elements each, 0 for a single one, that
/// have been extended to f32 if they are smaller.
class AverageBuilder {
public:
  using Value = mlir::Value;

  AverageBuilder(CodeBuilder &code, const ElementType &element, unsigned lanes);

  /// The factors that the AverageWord `word` (i32) asks for, of the last
  /// reduction if it `divides`.
  AverageFactors factors(Value word, bool divides);
  /// The sums that one reduction makes of its left operand, add() goes on with,
  /// and finish() takes the result from: one, or two for wide floats.
  llvm::SmallVector<Value> begin(Value left, const AverageFactors &factors);
  void add(llvm::SmallVectorImpl<Value> &sums, Value right,
           const AverageFactors &factors);
  /// The result, before it is rounded to a small float. It is finite if all
  /// operands are.
  Value finish(mlir::ValueRange sums, const AverageFactors &factors);

private:
  Value power(Value exponent);
  Value exponentOf(Value divisor);
  AverageFactors::Sum complete(AverageFactors::Sum sum, Value averageWord,
                               bool divides);
  Value multiply(Value operand, Value factor);
  Value complete(Value sum, Value factor, bool divides);
  Value bitsOf(Value value);
  Value magnitudeOf(Value value);
  Value isBelowInfinity(Value magnitude);
  Value clamp(Value result, Value safeSum);
  mlir::Type wide(mlir::Type element) const;
  Value bits(uint64_t value) const;

  CodeBuilder &code;
  const ElementType &element;
  unsigned lanes;
  bool isDouble;
  mlir::Type number, word; ///< f32 and i32, or f64 and i64
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_AVERAGEBUILDER_H
