//===- ElementOps.cpp - Code that reduces elements ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementOps.h"

#include "CodeBuilder.h"

#include "sccl/ABI/AverageWord.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <vector>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

// Of f32.
static constexpr uint64_t infinity32 = 0x7f800000, nan32 = 0x7fc00000;
static constexpr uint64_t sign32 = 0x80000000;

std::vector<ElementOp> coll::makeElementOps(ArrayRef<Element> elements,
                                            ArrayRef<Reduction> reductions,
                                            bool convertsHalves) {
  std::vector<ElementOp> ops;
  for (Element element : elements)
    for (Reduction reduction : reductions)
      ops.push_back({elementType(element), reduction, convertsHalves});
  return ops;
}

std::string ElementOp::name() const {
  return std::string(element.name) + "_" + toString(reduction);
}

ElementOp ElementOp::plain() const {
  ElementOp result = *this;
  if (averages() && !element.isFloat())
    result.reduction = Reduction::Sum;
  bool ignoresSign =
      result.reduction == Reduction::Sum || result.reduction == Reduction::Prod;
  if (element.kind == ElementKind::Signed && ignoresSign)
    result.element = *llvm::find_if(elementTypes(), [&](const ElementType &it) {
      return it.kind == ElementKind::Unsigned && it.bytes == element.bytes;
    });
  return result;
}

Type ElementOp::type(MLIRContext *context) const {
  bool asBits = element.bytes == 1 || (element.bytes == 2 && !convertsHalves);
  if (!element.isFloat() || asBits)
    return IntegerType::get(context, element.bits());
  if (element.bytes == 8)
    return Float64Type::get(context);
  if (element.bytes == 4)
    return Float32Type::get(context);
  if (element.exponentBits == 8)
    return BFloat16Type::get(context);
  return Float16Type::get(context);
}

/// The magnitude that stands for the largest finite number of a small float.
static uint64_t largestMagnitude(const ElementType &type) {
  uint64_t infinity = ((uint64_t(1) << type.exponentBits) - 1)
                      << type.mantissaBits;
  return type.hasInfinity
             ? infinity - 1
             : (uint64_t(1) << (type.exponentBits + type.mantissaBits)) - 2;
}

/// The NaN that a rounding gives: all ones in 8 bits, else the quiet one.
static uint64_t nanOf(const ElementType &type) {
  if (type.bytes == 1)
    return 0x7f;
  return (largestMagnitude(type) + 1) |
         (uint64_t(1) << (type.mantissaBits - 1));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

ReduceBuilder::ReduceBuilder(CodeBuilder &code, const ElementOp &op,
                             unsigned lanes, WideOperands operands)
    : code(code), op(op), element(op.element), lanes(lanes),
      type(op.type(code.loc().getContext())),
      f32(Float32Type::get(code.loc().getContext())), operands(operands) {}

Type ReduceBuilder::wide(Type element) const {
  return lanes == 0 ? element : code.vector(lanes, element);
}

Value ReduceBuilder::word(uint64_t value) const {
  return code.constant(value, wide(code.i32));
}

Value ReduceBuilder::toFloat(Value word) {
  return arith::BitcastOp::create(code.ops(), code.loc(), wide(f32), word);
}

Value ReduceBuilder::toWord(Value value) {
  return arith::BitcastOp::create(code.ops(), code.loc(), wide(code.i32),
                                  value);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

AverageOperands ReduceBuilder::averageOperands(Value word, bool divides) {
  AverageOperands result;
  if (element.isFloat()) {
    AverageBuilder builder(code, element, partLanes());
    result.factors = builder.factors(word, divides);
    return result;
  }
  if (!divides)
    return result;
  Value divisor = code.bitAnd(word, code.c32(AverageWord::divisorMask));
  if (element.bytes == 8)
    divisor = code.zeroExtend(divisor, code.i64);
  result.divisor = lanes == 0 ? divisor : code.splat(divisor, partLanes());
  return result;
}

Value ReduceBuilder::reduce(Value lhs, Value rhs,
                            const AverageOperands &average) {
  if (numParts() > 1) {
    Values parts;
    for (unsigned i = 0; i < numParts(); ++i) {
      Value left = partOf(lhs, i);
      Value right = partOf(rhs, i);
      parts.push_back(part().reduce(left, right, average));
    }
    return join(parts);
  }
  Values sums = begin(lhs, average);
  add(sums, rhs, average);
  return finish(sums, average);
}

/// The lesser or the greater of small floats is one of them. Chips may compare
/// them as they are, and of bytes a conversion would turn the infinite f8e5m2
/// into the largest finite one.
bool ReduceBuilder::selectsSmall() const {
  return element.combinesAsF32() && !operands.any() &&
         (op.reduction == Reduction::Min || op.reduction == Reduction::Max);
}

Value ReduceBuilder::selectSmall(Value lhs, Value rhs) {
  if (element.saturates())
    return selectByte(lhs, rhs);
  Value left = extend(lhs);
  Value right = extend(rhs);
  return round(apply(left, right, element.kind));
}

static ReduceBuilder::Values slice(const ReduceBuilder::Values &values,
                                   size_t first, size_t count) {
  return ReduceBuilder::Values(ArrayRef<Value>(values).slice(first, count));
}

ReduceBuilder::Values ReduceBuilder::begin(Value lhs,
                                           const AverageOperands &average) {
  Values sums;
  for (unsigned i = 0; numParts() > 1 && i < numParts(); ++i)
    llvm::append_range(sums, part().begin(partOf(lhs, i), average));
  if (!sums.empty())
    return sums;
  bool extends = element.combinesAsF32() && !selectsSmall() && !operands.src0;
  Value value = extends ? extend(lhs) : lhs;
  if (isMeanOfFloats())
    return AverageBuilder(code, element, lanes).begin(value, average.factors);
  return {value};
}

void ReduceBuilder::add(Values &sums, Value rhs,
                        const AverageOperands &average) {
  size_t each = sums.size() / numParts();
  for (unsigned i = 0; numParts() > 1 && i < numParts(); ++i) {
    Values own = slice(sums, i * each, each);
    part().add(own, partOf(rhs, i), average);
    llvm::copy(own, sums.begin() + i * each);
  }
  if (numParts() > 1)
    return;
  if (selectsSmall()) {
    sums[0] = selectSmall(sums[0], rhs);
    return;
  }
  bool extends = element.combinesAsF32() && !operands.src1;
  Value value = extends ? extend(rhs) : rhs;
  if (isMeanOfFloats())
    AverageBuilder(code, element, lanes).add(sums, value, average.factors);
  else
    sums[0] = apply(sums[0], value, element.kind);
}

Value ReduceBuilder::finish(const Values &sums,
                            const AverageOperands &average) {
  if (numParts() > 1) {
    Values parts;
    size_t each = sums.size() / numParts();
    for (unsigned i = 0; i < numParts(); ++i)
      parts.push_back(part().finish(slice(sums, i * each, each), average));
    return join(parts);
  }
  if (selectsSmall())
    return sums[0];
  Value result = sums[0];
  if (isMeanOfFloats())
    result = AverageBuilder(code, element, lanes).finish(sums, average.factors);
  else if (average.divisor)
    result = divideInteger(result, average.divisor);
  return element.combinesAsF32() && !operands.dst ? round(result) : result;
}

Value ReduceBuilder::convert(Value value) {
  if (operands.src0 == operands.dst)
    return value;
  if (numParts() == 1)
    return operands.dst ? extend(value) : round(value);
  Values parts;
  for (unsigned i = 0; i < numParts(); ++i)
    parts.push_back(part().convert(partOf(value, i)));
  return join(parts);
}

static SmallVector<int32_t> lanesFrom(unsigned first, unsigned count) {
  return llvm::to_vector(llvm::seq<int32_t>(first, first + count));
}

Value ReduceBuilder::partOf(Value value, unsigned index) {
  return code.shuffle(value, value,
                      lanesFrom(index * partLanes(), partLanes()));
}

/// All parts of a vector.
Value ReduceBuilder::join(Values parts) {
  for (unsigned width = partLanes(); parts.size() > 1; width *= 2) {
    for (size_t i = 0; i < parts.size(); i += 2)
      parts[i / 2] =
          code.shuffle(parts[i], parts[i + 1], lanesFrom(0, 2 * width));
    parts.resize(parts.size() / 2);
  }
  return parts.front();
}

/// The operation itself, on f32, f64 and integers. For averages of integers a
/// division follows.
Value ReduceBuilder::apply(Value lhs, Value rhs, ElementKind kind) {
  OpBuilder &ops = code.ops();
  bool isFloat = kind == ElementKind::Float;
  bool isSigned = kind == ElementKind::Signed;
  switch (op.reduction) {
  case Reduction::Sum:
  case Reduction::Avg:
    return isFloat ? arith::AddFOp::create(ops, code.loc(), lhs, rhs)
                   : code.add(lhs, rhs);
  case Reduction::Prod:
    return isFloat ? arith::MulFOp::create(ops, code.loc(), lhs, rhs)
                   : code.mul(lhs, rhs);
  case Reduction::Min:
    if (isFloat)
      return arith::MinimumFOp::create(ops, code.loc(), lhs, rhs);
    return isSigned ? code.minSigned(lhs, rhs) : code.min(lhs, rhs);
  case Reduction::Max:
    if (isFloat)
      return arith::MaximumFOp::create(ops, code.loc(), lhs, rhs);
    return isSigned ? code.maxSigned(lhs, rhs) : code.max(lhs, rhs);
  }
  llvm_unreachable("all reductions are above");
}

/// Divides in 32 bits and more: 8 bits do not hold every number of ranks.
Value ReduceBuilder::divideInteger(Value value, Value divisor) {
  bool isSigned = element.kind == ElementKind::Signed;
  auto divide = [&](Value dividend) {
    return isSigned ? code.divideSigned(dividend, divisor)
                    : code.divide(dividend, divisor);
  };
  if (element.bytes >= 4)
    return divide(value);
  Type word = wide(code.i32);
  Value dividend =
      isSigned ? code.signExtend(value, word) : code.zeroExtend(value, word);
  return code.truncate(divide(dividend), memoryType());
}

/// The smaller or larger of two floats of 8 bits, as signed integers in their
/// order.
Value ReduceBuilder::selectByte(Value lhs, Value rhs) {
  Type bytes = wide(code.i8);
  // NaN has the magnitudes above that of infinity, if there is one.
  uint64_t number = largestMagnitude(element) + (element.hasInfinity ? 1 : 0);
  auto isNaN = [&](Value value) {
    Value magnitude = code.bitAnd(value, code.constant(0x7f, bytes));
    return code.is(Compare::Greater, magnitude, code.constant(number, bytes));
  };
  Value rightIsNaN = isNaN(rhs);
  Value leftIsNaN = isNaN(lhs);
  Value either = code.bitOr(leftIsNaN, rightIsNaN);
  Value right = inOrder(rhs);
  Value left = inOrder(lhs);
  Value chosen = inOrder(apply(left, right, ElementKind::Signed));
  return code.select(either, code.constant(0x7f, bytes), chosen);
}

/// A float of 8 bits as an integer, and back: with the magnitude of negative
/// numbers inverted, they are in the order of signed integers.
Value ReduceBuilder::inOrder(Value byte) {
  Type bytes = wide(code.i8);
  Value sign = code.shiftRightSigned(byte, code.constant(7, bytes));
  Value mask = code.bitAnd(sign, code.constant(0x7f, bytes));
  return code.bitXor(byte, mask);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value ReduceBuilder::extend(Value value) {
  if (element.bytes == 2 && op.convertsHalves)
    return arith::ExtFOp::create(code.ops(), code.loc(), wide(f32), value);
  Value bits = code.zeroExtend(value, wide(code.i32));
  if (element.exponentBits == 8)
    return toFloat(code.shiftLeft(bits, word(16)));
  return toFloat(extendBits(bits));
}

/// The bits of the f32 with the same value as the small float in `bits`.
Value ReduceBuilder::extendBits(Value bits) {
  uint64_t signBit = uint64_t(1) << (element.bits() - 1);
  uint64_t rebias = uint64_t(bias32 - element.bias()) << mantissa32;
  Value magnitude = code.bitAnd(bits, word(signBit - 1));
  Value smallSign = code.bitAnd(bits, word(signBit));
  Value sign = code.shiftLeft(smallSign, word(32 - element.bits()));
  Value shifted =
      code.shiftLeft(magnitude, word(mantissa32 - element.mantissaBits));
  Value normal = code.add(shifted, word(rebias));
  Value subnormal = subnormalBits(shifted);
  Value isSubnormal = code.is(Compare::Less, magnitude,
                              word(uint64_t(1) << element.mantissaBits));
  Value finite = code.select(isSubnormal, subnormal, normal);
  Value isSpecial =
      code.is(Compare::Greater, magnitude, word(largestMagnitude(element)));
  Value special =
      element.hasInfinity ? code.bitOr(shifted, word(infinity32)) : word(nan32);
  Value number = code.select(isSpecial, special, finite);
  return code.bitOr(number, sign);
}

/// A subnormal number has no leading one. Read as if it had, with the least
/// normal exponent, it is too large by the least normal number.
Value ReduceBuilder::subnormalBits(Value shifted) {
  uint64_t least = uint64_t(bias32 - element.bias() + 1) << mantissa32;
  Value withOne = toFloat(code.add(shifted, word(least)));
  Value leastNormal = toFloat(word(least));
  return toWord(
      arith::SubFOp::create(code.ops(), code.loc(), withOne, leastNormal));
}

/// The nearest small float, the even one of two.
Value ReduceBuilder::round(Value value) {
  if (element.bytes == 2 && op.convertsHalves)
    return arith::TruncFOp::create(code.ops(), code.loc(), memoryType(), value);
  Value bits = toWord(value);
  Value sign = code.bitAnd(bits, word(sign32));
  Value magnitude = code.bitXor(bits, sign);
  Value isNaN = code.is(Compare::Greater, magnitude, word(infinity32));
  Value smallSign = code.shiftRight(sign, word(32 - element.bits()));
  Value rounded = roundBits(magnitude);
  Value number = code.bitOr(rounded, smallSign);
  Value result = code.select(isNaN, word(nanOf(element)), number);
  return code.truncate(result, memoryType());
}

/// The magnitude of the nearest small float, from the magnitude of an f32 that
/// is not NaN.
Value ReduceBuilder::roundBits(Value magnitude) {
  unsigned shift = mantissa32 - element.mantissaBits;
  uint64_t rebias = uint64_t(bias32 - element.bias()) << mantissa32;
  uint64_t largest = (largestMagnitude(element) << shift) + rebias;
  Value number =
      element.saturates() ? code.min(magnitude, word(largest)) : magnitude;
  // Half a unit less one, and one more if the last bit kept is odd; the carry
  // may go on into the exponent.
  Value kept = code.shiftRight(number, word(shift));
  Value odd = code.bitAnd(kept, word(1));
  Value half = code.add(number, word((uint64_t(1) << (shift - 1)) - 1));
  Value sum = code.add(half, odd);
  if (rebias != 0)
    sum = code.sub(sum, word(rebias));
  Value normal = code.shiftRight(sum, word(shift));
  if (rebias == 0) // bf16: subnormal numbers are no different
    return normal;
  Value subnormal =
      roundSubnormal(number, rebias + (uint64_t(shift + 1) << mantissa32));
  Value isSubnormal = code.is(Compare::Less, number,
                              word(rebias + (uint64_t(1) << mantissa32)));
  Value result = code.select(isSubnormal, subnormal, normal);
  if (element.saturates())
    return result;
  // Beyond the largest exponent there is only infinity.
  uint64_t infinity = largestMagnitude(element) + 1;
  Value isLarge =
      code.is(Compare::AtLeast, number, word((infinity << shift) + rebias));
  return code.select(isLarge, word(infinity), result);
}

/// The f32 addition of a power of two, of bits `power`, whose last bit is the
/// unit of subnormal numbers rounds to that unit.
Value ReduceBuilder::roundSubnormal(Value magnitude, uint64_t power) {
  Value summand = toFloat(word(power));
  Value number = toFloat(magnitude);
  Value sum = arith::AddFOp::create(code.ops(), code.loc(), number, summand);
  Value bits = toWord(sum);
  return code.sub(bits, word(power));
}
