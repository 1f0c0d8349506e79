//===- ElementOps.cpp - Code that combines elements -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementOps.h"

#include <vector>

using namespace sccl;
using namespace sccl::coll;

// The layout of f32.
static constexpr unsigned mantissa32 = 23, bias32 = 127;
static constexpr uint64_t infinity32 = 0x7f800000, nan32 = 0x7fc00000;
static constexpr uint64_t sign32 = 0x80000000;

Result<ElementOp> coll::makeElementOp(llvm::StringRef element,
                                      llvm::StringRef reduction,
                                      bool convertsHalves) {
  Result<ElementType> type = findElementType(element);
  if (!type)
    return Error{type.error()};
  Result<Reduction> found = findReduction(reduction);
  if (!found)
    return Error{found.error()};
  return ElementOp{*type, *found, convertsHalves};
}

std::string ElementOp::type() const {
  bool asBits = element.bytes == 1 || (element.bytes == 2 && !convertsHalves);
  if (element.isFloat() && !asBits)
    return element.name;
  return "i" + std::to_string(element.bits());
}

/// The operation on f32, f64 and integers.
static const char *mnemonicOf(Reduction reduction, ElementKind kind) {
  // By reduction and kind: float, signed, unsigned.
  static constexpr const char *mnemonics[][3] = {
      {"arith.addf", "arith.addi", "arith.addi"},
      {"arith.mulf", "arith.muli", "arith.muli"},
      {"arith.minimumf", "arith.minsi", "arith.minui"},
      {"arith.maximumf", "arith.maxsi", "arith.maxui"},
      {"arith.addf", "arith.addi", "arith.addi"}, // avg: the division follows
  };
  return mnemonics[unsigned(reduction)][unsigned(kind)];
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
// Pieces of text
//===----------------------------------------------------------------------===//

std::string CombineWriter::wide(llvm::StringRef type) const {
  if (lanes == 0)
    return type.str();
  return "vector<" + std::to_string(lanes) + "x" + type.str() + ">";
}

/// A float is given by its bits.
std::string CombineWriter::constant(uint64_t value, llvm::StringRef type) {
  std::string text = std::to_string(value);
  return define("arith.constant " + (lanes ? "dense<" + text + ">" : text) +
                " : " + wide(type));
}

std::string CombineWriter::binary(llvm::StringRef operation,
                                  const std::string &lhs,
                                  const std::string &rhs,
                                  llvm::StringRef type) {
  return define(operation.str() + " " + lhs + ", " + rhs + " : " + wide(type));
}

std::string CombineWriter::integer(llvm::StringRef operation,
                                   const std::string &value, uint64_t operand,
                                   llvm::StringRef type) {
  return binary("arith." + operation.str(), value, constant(operand, type),
                type);
}

std::string CombineWriter::select(const std::string &condition,
                                  const std::string &yes, const std::string &no,
                                  llvm::StringRef type) {
  return define("arith.select " + condition + ", " + yes + ", " + no + " : " +
                (lanes ? wide("i1") + ", " : "") + wide(type));
}

std::string CombineWriter::convert(llvm::StringRef operation,
                                   const std::string &value,
                                   llvm::StringRef from, llvm::StringRef to) {
  return define("arith." + operation.str() + " " + value + " : " + wide(from) +
                " to " + wide(to));
}

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

std::string CombineWriter::divisor(const std::string &value) {
  std::string type = "i32", number = value;
  auto become = [&](llvm::StringRef operation, llvm::StringRef to) {
    number = define(operation.str() + " " + number + " : i32 to " + to.str());
    type = to;
  };
  if (element.isFloat())
    become("arith.uitofp", element.bytes == 8 ? "f64" : "f32");
  else if (element.bytes == 8)
    become("arith.extui", "i64");
  if (lanes == 0)
    return number;
  std::string vector =
      "vector<" + std::to_string(partLanes()) + "x" + type + ">";
  std::string none = define("llvm.mlir.poison : " + vector);
  std::string zero = define("llvm.mlir.constant(0 : i32) : i32");
  std::string first = define("llvm.insertelement " + number + ", " + none +
                             "[" + zero + " : i32] : " + vector);
  std::string mask = "0";
  for (unsigned i = 1; i < partLanes(); ++i)
    mask += ", 0";
  return define("llvm.shufflevector " + first + ", " + none + " [" + mask +
                "] : " + vector);
}

std::string CombineWriter::combine(const std::string &lhs,
                                   const std::string &rhs,
                                   const std::string &divisor) {
  if (lanes > partLanes())
    return combineParts(lhs, rhs, divisor);
  bool selects =
      op.reduction == Reduction::Min || op.reduction == Reduction::Max;
  // A conversion would turn the infinite f8e5m2 into the largest finite one.
  if (element.saturates() && selects)
    return selectByte(lhs, rhs);
  if (element.combinesAsF32()) {
    std::string left = extend(lhs), right = extend(rhs);
    return round(combineFull(left, right, divisor, "f32"));
  }
  return combineFull(lhs, rhs, divisor, op.type());
}

/// Each part of a vector by itself, then all parts joined.
std::string CombineWriter::combineParts(const std::string &lhs,
                                        const std::string &rhs,
                                        const std::string &divisor) {
  CombineWriter part(op, partLanes(), define);
  // Takes `count` lanes of the concatenation of `a` and `b`.
  auto shuffle = [&](const std::string &a, const std::string &b,
                     unsigned lanesOfOne, unsigned from, unsigned count) {
    std::string mask;
    for (unsigned i = 0; i < count; ++i)
      mask += (i ? ", " : "") + std::to_string(from + i);
    return define("llvm.shufflevector " + a + ", " + b + " [" + mask +
                  "] : vector<" + std::to_string(lanesOfOne) + "x" + op.type() +
                  ">");
  };
  std::vector<std::string> parts;
  for (unsigned from = 0; from < lanes; from += part.lanes) {
    std::string left = shuffle(lhs, lhs, lanes, from, part.lanes);
    std::string right = shuffle(rhs, rhs, lanes, from, part.lanes);
    parts.push_back(part.combine(left, right, divisor));
  }
  for (unsigned width = part.lanes; parts.size() > 1; width *= 2) {
    std::vector<std::string> joined;
    for (size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(shuffle(parts[i], parts[i + 1], width, 0, 2 * width));
    parts = std::move(joined);
  }
  return parts.front();
}

/// In a type that needs no conversion.
std::string CombineWriter::combineFull(const std::string &lhs,
                                       const std::string &rhs,
                                       const std::string &divisor,
                                       llvm::StringRef type) {
  std::string result =
      binary(mnemonicOf(op.reduction, element.kind), lhs, rhs, type);
  if (divisor.empty())
    return result;
  if (element.isFloat())
    return binary("arith.divf", result, divisor, type);
  return divideInteger(result, divisor);
}

/// Divides in 32 bits and more: 8 bits do not hold every number of ranks.
std::string CombineWriter::divideInteger(const std::string &value,
                                         const std::string &divisor) {
  bool isSigned = element.kind == ElementKind::Signed;
  const char *divide = isSigned ? "arith.divsi" : "arith.divui";
  if (element.bytes >= 4)
    return binary(divide, value, divisor, op.type());
  std::string dividend =
      convert(isSigned ? "extsi" : "extui", value, op.type(), "i32");
  return convert("trunci", binary(divide, dividend, divisor, "i32"), "i32",
                 op.type());
}

/// The smaller or larger of two floats of 8 bits: with the magnitude of
/// negative numbers inverted, they are in the order of signed integers.
std::string CombineWriter::selectByte(const std::string &lhs,
                                      const std::string &rhs) {
  auto order = [&](const std::string &value) {
    std::string sign = integer("shrsi", value, 7, "i8");
    return binary("arith.xori", value, integer("andi", sign, 0x7f, "i8"), "i8");
  };
  // NaN has the magnitudes above that of infinity, if there is one.
  uint64_t number = largestMagnitude(element) + (element.hasInfinity ? 1 : 0);
  auto isNaN = [&](const std::string &value) {
    return integer("cmpi ugt,", integer("andi", value, 0x7f, "i8"), number,
                   "i8");
  };
  std::string either = binary("arith.ori", isNaN(lhs), isNaN(rhs), "i1");
  std::string chosen =
      order(binary(mnemonicOf(op.reduction, ElementKind::Signed), order(lhs),
                   order(rhs), "i8"));
  return select(either, constant(0x7f, "i8"), chosen, "i8");
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

std::string CombineWriter::extend(const std::string &value) {
  if (element.bytes == 2 && op.convertsHalves)
    return convert("extf", value, op.type(), "f32");
  std::string word = convert("extui", value, op.type(), "i32");
  std::string bits =
      element.exponentBits == 8 ? integer("shli", word, 16) : extendBits(word);
  return convert("bitcast", bits, "i32", "f32");
}

/// The bits of the f32 with the same value as the small float in `word`.
std::string CombineWriter::extendBits(const std::string &word) {
  uint64_t signBit = uint64_t(1) << (element.bits() - 1);
  uint64_t rebias = uint64_t(bias32 - element.bias()) << mantissa32;
  std::string magnitude = integer("andi", word, signBit - 1);
  std::string sign =
      integer("shli", integer("andi", word, signBit), 32 - element.bits());
  std::string shifted =
      integer("shli", magnitude, mantissa32 - element.mantissaBits);
  std::string normal = integer("addi", shifted, rebias);
  // A subnormal number has no leading one. Read as if it had, with the least
  // normal exponent, it is too large by the least normal number.
  uint64_t least = uint64_t(bias32 - element.bias() + 1) << mantissa32;
  std::string withOne =
      convert("bitcast", integer("addi", shifted, least), "i32", "f32");
  std::string leastNormal =
      convert("bitcast", constant(least, "i32"), "i32", "f32");
  std::string subnormal =
      convert("bitcast", binary("arith.subf", withOne, leastNormal, "f32"),
              "f32", "i32");
  std::string isSubnormal =
      integer("cmpi ult,", magnitude, uint64_t(1) << element.mantissaBits);
  std::string finite = select(isSubnormal, subnormal, normal);
  std::string isSpecial =
      integer("cmpi ugt,", magnitude, largestMagnitude(element));
  std::string special = element.hasInfinity
                            ? integer("ori", shifted, infinity32)
                            : constant(nan32, "i32");
  return binary("arith.ori", select(isSpecial, special, finite), sign, "i32");
}

/// The nearest small float, the even one of two.
std::string CombineWriter::round(const std::string &value) {
  if (element.bytes == 2 && op.convertsHalves)
    return convert("truncf", value, "f32", op.type());
  std::string word = convert("bitcast", value, "f32", "i32");
  std::string sign = integer("andi", word, sign32);
  std::string magnitude = binary("arith.xori", word, sign, "i32");
  std::string isNaN = integer("cmpi ugt,", magnitude, infinity32);
  std::string smallSign = integer("shrui", sign, 32 - element.bits());
  std::string number =
      binary("arith.ori", roundBits(magnitude), smallSign, "i32");
  std::string bits = select(isNaN, constant(nanOf(element), "i32"), number);
  return convert("trunci", bits, "i32", op.type());
}

/// The magnitude of the nearest small float, from the magnitude of an f32 that
/// is not NaN.
std::string CombineWriter::roundBits(const std::string &magnitude) {
  unsigned shift = mantissa32 - element.mantissaBits;
  uint64_t rebias = uint64_t(bias32 - element.bias()) << mantissa32;
  uint64_t largest = (largestMagnitude(element) << shift) + rebias;
  std::string number =
      element.saturates() ? integer("minui", magnitude, largest) : magnitude;
  // Half a unit less one, and one more if the last bit kept is odd; the carry
  // may go on into the exponent.
  std::string odd = integer("andi", integer("shrui", number, shift), 1);
  uint64_t half = (uint64_t(1) << (shift - 1)) - 1;
  std::string sum =
      binary("arith.addi", integer("addi", number, half), odd, "i32");
  std::string normal =
      integer("shrui", rebias ? integer("subi", sum, rebias) : sum, shift);
  if (rebias == 0) // bf16: subnormal numbers are no different
    return normal;
  // The f32 addition of a power of two whose last bit is the unit of subnormal
  // numbers rounds to that unit.
  uint64_t unit = rebias + (uint64_t(shift + 1) << mantissa32);
  std::string power = convert("bitcast", constant(unit, "i32"), "i32", "f32");
  std::string small = binary(
      "arith.addf", convert("bitcast", number, "i32", "f32"), power, "f32");
  std::string subnormal =
      integer("subi", convert("bitcast", small, "f32", "i32"), unit);
  std::string isSubnormal =
      integer("cmpi ult,", number, rebias + (uint64_t(1) << mantissa32));
  std::string result = select(isSubnormal, subnormal, normal);
  if (element.saturates())
    return result;
  // Beyond the largest exponent there is only infinity.
  uint64_t infinity = largestMagnitude(element) + 1;
  std::string isLarge =
      integer("cmpi uge,", number, (infinity << shift) + rebias);
  return select(isLarge, constant(infinity, "i32"), result);
}
