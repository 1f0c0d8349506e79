//===- AverageBuilder.cpp - Code that averages floats ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AverageBuilder.h"

#include "CodeBuilder.h"

#include "sccl/ABI/AverageWord.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

// The layout of f64.
static constexpr unsigned mantissa64 = 52, bias64 = 1023;

AverageBuilder::AverageBuilder(CodeBuilder &code, const ElementType &element,
                               unsigned lanes)
    : code(code), element(element), lanes(lanes), isDouble(element.bytes == 8),
      number(isDouble ? Type(Float64Type::get(code.loc().getContext()))
                      : Type(Float32Type::get(code.loc().getContext()))),
      word(isDouble ? code.i64 : code.i32) {}

Type AverageBuilder::wide(Type element) const {
  return lanes == 0 ? element : code.vector(lanes, element);
}

Value AverageBuilder::bits(uint64_t value) const {
  return code.constant(value, wide(word));
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Two to the power of `exponent` (i32).
Value AverageBuilder::power(Value exponent) {
  Value bits = code.add(exponent, code.c32(isDouble ? bias64 : bias32));
  if (isDouble)
    bits = code.zeroExtend(bits, code.i64);
  Value place = code.constant(isDouble ? mantissa64 : mantissa32, word);
  Value shifted = code.shiftLeft(bits, place);
  return arith::BitcastOp::create(code.ops(), code.loc(), number, shifted);
}

/// averageExponent() of `divisor` (i32): the exponent of twice the number, less
/// one, as an f32.
Value AverageBuilder::exponentOf(Value divisor) {
  Value twice = code.add(divisor, divisor);
  Value odd = code.sub(twice, code.c32(1));
  Type f32 = Float32Type::get(code.loc().getContext());
  Value asFloat = arith::UIToFPOp::create(code.ops(), code.loc(), f32, odd);
  Value bits =
      arith::BitcastOp::create(code.ops(), code.loc(), code.i32, asFloat);
  Value biased = code.shiftRight(bits, code.c32(mantissa32));
  return code.sub(biased, code.c32(bias32));
}

/// `sum`, whose `finish` is an exponent (i32) yet: with the number of
/// contributions in `word` if it divides, and in all lanes.
AverageFactors::Sum AverageBuilder::complete(AverageFactors::Sum sum,
                                             Value averageWord, bool divides) {
  if (divides) {
    Value divisor =
        code.bitAnd(averageWord, code.c32(AverageWord::divisorMask));
    Value exponent = code.sub(sum.finish, exponentOf(divisor));
    Value count =
        arith::UIToFPOp::create(code.ops(), code.loc(), number, divisor);
    sum.finish =
        arith::MulFOp::create(code.ops(), code.loc(), count, power(exponent));
  } else {
    Value exponent = code.sub(code.c32(0), sum.finish);
    sum.finish = power(exponent);
  }
  for (Value *factor : {&sum.left, &sum.right, &sum.finish})
    if (lanes != 0)
      *factor = code.splat(*factor, lanes);
  return sum;
}

AverageFactors AverageBuilder::factors(Value averageWord, bool divides) {
  auto shiftAt = [&](unsigned bit) {
    Value shifted = code.shiftRight(averageWord, code.c32(bit));
    return code.bitAnd(shifted, code.c32(AverageWord::shiftMask));
  };
  Value left = shiftAt(AverageWord::leftBit);
  Value right = shiftAt(AverageWord::rightBit);
  // The operands times two to the power of `most`, less their own shifts.
  auto sumAt = [&](Value most) {
    AverageFactors::Sum sum;
    sum.left = power(code.sub(most, left));
    sum.right = power(code.sub(most, right));
    sum.finish = most;
    return complete(sum, averageWord, divides);
  };
  AverageFactors factors;
  factors.divides = divides;
  factors.safe = sumAt(code.c32(-1));
  if (!element.combinesAsF32())
    factors.exact = sumAt(code.max(left, right));
  return factors;
}

//===----------------------------------------------------------------------===//
// One reduction
//===----------------------------------------------------------------------===//

Value AverageBuilder::multiply(Value operand, Value factor) {
  return arith::MulFOp::create(code.ops(), code.loc(), operand, factor);
}

Value AverageBuilder::complete(Value sum, Value factor, bool divides) {
  if (!divides)
    return multiply(sum, factor);
  return arith::DivFOp::create(code.ops(), code.loc(), sum, factor);
}

Value AverageBuilder::bitsOf(Value value) {
  return arith::BitcastOp::create(code.ops(), code.loc(), wide(word), value);
}

Value AverageBuilder::magnitudeOf(Value value) {
  Value own = bitsOf(value);
  return code.bitAnd(own, bits(~uint64_t(0) >> (isDouble ? 1 : 33)));
}

Value AverageBuilder::isBelowInfinity(Value magnitude) {
  uint64_t infinity =
      isDouble ? uint64_t(0x7ff) << mantissa64 : uint64_t(0xff) << mantissa32;
  return code.is(Compare::Less, magnitude, bits(infinity));
}

/// Sums of finite operands that were rounded up may give more than the largest
/// number, which the exact one cannot exceed.
Value AverageBuilder::clamp(Value result, Value safeSum) {
  double largest = std::ldexp(2 - std::ldexp(1.0, -int(element.mantissaBits)),
                              int(element.bias()));
  uint64_t largestBits = isDouble ? std::bit_cast<uint64_t>(largest)
                                  : std::bit_cast<uint32_t>(float(largest));
  uint64_t sign = uint64_t(1) << (isDouble ? 63 : 31);
  Value most = bits(largestBits);
  Value magnitude = magnitudeOf(result);
  Value isLarge = code.is(Compare::Greater, magnitude, most);
  Value isFinite = isBelowInfinity(magnitudeOf(safeSum));
  Value own = bitsOf(result);
  Value ownSign = code.bitAnd(own, bits(sign));
  Value clamped = code.bitOr(ownSign, most);
  Value isRoundedUp = code.bitAnd(isLarge, isFinite);
  Value chosen = code.select(isRoundedUp, clamped, own);
  return arith::BitcastOp::create(code.ops(), code.loc(), wide(number), chosen);
}

SmallVector<Value> AverageBuilder::begin(Value left,
                                         const AverageFactors &factors) {
  SmallVector<Value> sums = {multiply(left, factors.safe.left)};
  if (factors.exact.left)
    sums.push_back(multiply(left, factors.exact.left));
  return sums;
}

void AverageBuilder::add(SmallVectorImpl<Value> &sums, Value right,
                         const AverageFactors &factors) {
  for (size_t i = 0; i < sums.size(); ++i) {
    Value factor = (i == 0 ? factors.safe : factors.exact).right;
    Value operand = multiply(right, factor);
    sums[i] = arith::AddFOp::create(code.ops(), code.loc(), sums[i], operand);
  }
}

Value AverageBuilder::finish(ValueRange sums, const AverageFactors &factors) {
  Value safe = sums[0];
  Value chosen = safe, factor = factors.safe.finish;
  if (factors.exact.left) {
    Value exact = sums[1];
    Value fits = isBelowInfinity(magnitudeOf(exact));
    chosen = code.select(fits, exact, safe);
    factor = code.select(fits, factors.exact.finish, factor);
  }
  Value result = complete(chosen, factor, factors.divides);
  // Floats of 8 bits saturate when they are rounded.
  return element.saturates() ? result : clamp(result, safe);
}
