//===- ElementValues.cpp - Reductions by their definition -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementValues.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

using namespace sccl;

// The definition is computed in long double, whose error has room in the bound:
// at least 11 bits more than f64, and exponents for products of many.
static_assert(std::numeric_limits<long double>::digits >= 64 &&
              std::numeric_limits<long double>::max_exponent >= 16384);

static const llvm::fltSemantics &semanticsOf(const ElementType &element) {
  switch (element.id) {
#define SCCL_ELEMENT_TYPE(id, name, alias, typeInC, number, bytes, kind,       \
                          exponentBits, mantissaBits, hasInfinity, semantics)  \
  case Element::id:                                                            \
    return llvm::APFloat::semantics();
#include "sccl/Model/ElementTypes.def"
  }
  llvm_unreachable("no other element types");
}

/// Small enough that four of them, or their inverses, fit in any float.
static constexpr unsigned maxFactors = 4;
static constexpr unsigned maxSummand = 3;

ElementValues::ElementValues(const ElementType &element, Reduction reduction,
                             unsigned numRanks)
    : element(element), reduction(reduction), numRanks(numRanks),
      active(numRanks) {
  if (!element.isFloat())
    return;
  // All partial sums must be exact. Where that many summands of up to 3 are too
  // many, some ranks contribute 0, others at each place.
  uint64_t exact = uint64_t(1) << (element.mantissaBits + 1);
  uint64_t most =
      reduction == Reduction::Prod ? maxFactors : exact / maxSummand;
  active = std::min<uint64_t>(numRanks, most);
  // The bits of the largest number: those before infinity, or before the NaN.
  uint64_t magnitudes = (uint64_t(1) << (element.bits() - 1)) - 1;
  uint64_t mantissas = (uint64_t(1) << element.mantissaBits) - 1;
  largest =
      decode(element.hasInfinity ? magnitudes - mantissas - 1 : magnitudes - 1);
  leastSubnormal = decode(1);
  leastNormal = decode(mantissas + 1);
  unit = std::ldexp(1.0L, -int(element.mantissaBits) - 1);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Mixes the bits of a place: neighbours have nothing in common.
static uint64_t mixed(uint64_t place) {
  uint64_t bits = (place + 1) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93u;
  return bits ^ (bits >> 32);
}

ElementValues::Kind ElementValues::kindAt(uint64_t place) const {
  uint64_t choice = mixed(place) % 8;
  if (choice < 4)
    return Kind::Exact;
  return Kind(unsigned(Kind::Large) + choice - 4);
}

uint64_t ElementValues::input(unsigned rank, uint64_t random,
                              uint64_t place) const {
  if (!element.isFloat())
    return integerInput(random, place);
  if (reduction != Reduction::Min && reduction != Reduction::Max) {
    Kind kind = kindAt(place);
    return encode(kind == Kind::Exact ? exactInput(rank, random, place)
                                      : endInput(kind, random, place));
  }
  // Anything but NaN: clearing a bit of the exponent makes that finite.
  uint64_t bits = random >> (64 - element.bits());
  bool isNaN = std::isnan(decode(bits));
  return isNaN ? bits & ~(uint64_t(1) << element.mantissaBits) : bits;
}

/// Of all bits; at some places one of both ends, 0, 1 and -1.
uint64_t ElementValues::integerInput(uint64_t random, uint64_t place) const {
  if (mixed(place) % 8 != 0)
    return random >> (64 - element.bits());
  uint64_t least = uint64_t(1) << (element.bits() - 1);
  const uint64_t ends[] = {least, least - 1, 0, 1, truncate(~uint64_t(0))};
  return ends[(random >> 32) % std::size(ends)];
}

/// A summand or factor with few bits.
long double ElementValues::exactInput(unsigned rank, uint64_t random,
                                      uint64_t place) const {
  bool isActive = (rank + place % numRanks) % numRanks < active;
  if (reduction != Reduction::Prod)
    return isActive ? 1 + (random >> 60) % maxSummand : 0;
  static constexpr double factors[] = {2, 0.5, -1, -2};
  return isActive ? factors[random >> 62] : 1;
}

/// A summand or factor of another kind. All ranks have the same sign, or each
/// one of its own.
long double ElementValues::endInput(Kind kind, uint64_t random,
                                    uint64_t place) const {
  constexpr uint64_t fractionMask = (uint64_t(1) << 53) - 1;
  long double fraction = std::ldexp((long double)(random & fractionMask), -53);
  uint64_t ofPlace = mixed(place) >> 32;
  bool haveOneSign = kind == Kind::Overflow || ofPlace % 2 == 0;
  bool isNegative = haveOneSign ? ofPlace / 2 % 2 : random >> 63;
  uint64_t rest = random >> 53 & 0x3ff;
  long double magnitude = reduction == Reduction::Prod
                              ? factor(kind, fraction, rest)
                              : summand(kind, fraction, rest);
  return isNegative ? -magnitude : magnitude;
}

/// `fraction` is in [0, 1), and `random` has 10 bits.
long double ElementValues::summand(Kind kind, long double fraction,
                                   uint64_t random) const {
  bool averages = reduction == Reduction::Avg;
  // No partial sum overflows, even if each addition rounds away from zero. A
  // mean never does.
  long double room =
      averages ? largest : largest / (numRanks * (1 + numRanks * unit));
  switch (kind) {
  case Kind::Large:
    return random % 4 == 0 ? room : room * (1 + fraction) / 2;
  case Kind::Overflow:
    return largest * (3 + fraction) / 4;
  case Kind::Subnormal:
    return random % 4 == 0 ? leastSubnormal
                           : std::min(4 * leastNormal * fraction, room);
  default:
    break;
  }
  int low = std::ilogb(leastSubnormal), high = std::ilogb(room);
  int exponent = low + int(random) % (high - low + 1);
  return std::min(std::ldexp(1 + fraction, exponent), room);
}

/// Products of numbers of at least 1 only grow, those of at most 1 only shrink:
/// what is lost beyond the ends of the type does not come back.
long double ElementValues::factor(Kind kind, long double fraction,
                                  uint64_t random) const {
  int bias = element.bias(), ranks = numRanks;
  int far = 2 * bias / ranks + 1; // about half of the products have no room
  int near = (bias - 1) / ranks;  // all have
  switch (kind) {
  case Kind::Large:
  case Kind::Overflow:
    return std::min(std::ldexp(1 + fraction, int(random) % far), largest);
  case Kind::Subnormal:
    return random % 64 == 0 ? leastSubnormal
                            : std::ldexp(1 - fraction, -(int(random) % far));
  default:
    break;
  }
  // Of factors in [1, 2) alone, many have no room either; they only grow.
  if (near < 1)
    return 1 + fraction;
  return std::ldexp(1 + fraction, int(random) % (2 * near) - near);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

ElementRange ElementValues::reduce(llvm::ArrayRef<uint64_t> inputs,
                                   uint64_t place) const {
  if (dependOnOrder())
    return reduceFloats(inputs, place);
  bool isMax = reduction == Reduction::Max;
  uint64_t result;
  if (isMax || reduction == Reduction::Min)
    result =
        *std::min_element(inputs.begin(), inputs.end(), [&](auto a, auto b) {
          return isMax ? before(b, a) : before(a, b);
        });
  else
    result = reduceIntegers(inputs);
  return {result, result, result};
}

/// The order of min and max, in which -0 is before 0.
bool ElementValues::before(uint64_t a, uint64_t b) const {
  return inOrder(a) < inOrder(b);
}

/// Bits as an unsigned number in the order of the values. NaNs are beyond both
/// ends.
uint64_t ElementValues::inOrder(uint64_t bits) const {
  uint64_t sign = uint64_t(1) << (element.bits() - 1);
  if (element.kind == ElementKind::Unsigned)
    return bits;
  if (element.isFloat() && (bits & sign))
    return truncate(~bits);
  return bits ^ sign;
}

bool ElementValues::contains(const ElementRange &range, uint64_t bits) const {
  return !before(bits, range.least) && !before(range.most, bits);
}

ElementRange ElementValues::reduceFloats(llvm::ArrayRef<uint64_t> inputs,
                                         uint64_t place) const {
  long double result = decode(inputs.front());
  for (uint64_t input : inputs.drop_front())
    result = reduction == Reduction::Prod ? result * decode(input)
                                          : result + decode(input);
  bool isExact = kindAt(place) == Kind::Exact;
  if (reduction == Reduction::Avg) {
    // Sums of small integers are exact as long as one of them over the number
    // of ranks is. The quotient is one of f64, or of f32 and then of the type.
    size_t count = inputs.size();
    isExact &= count * leastSubnormal <= 1;
    result = !isExact             ? result / count
             : element.bytes == 8 ? double(result) / count
                                  : float(result) / float(count);
  }
  uint64_t nearest = encode(result);
  if (inputs.size() == 1 || isExact)
    return {nearest, nearest, nearest};
  long double bound = errorBound(inputs, result);
  return {nearest, encode(result - bound), encode(result + bound)};
}

bool ElementValues::dependOnOrder() const {
  return element.isFloat() && reduction != Reduction::Min &&
         reduction != Reduction::Max;
}

/// The least e for which 2^e is at least `contributions`.
static int exponentFor(unsigned contributions) {
  int exponent = 0;
  while ((uint64_t(1) << exponent) < contributions)
    ++exponent;
  return exponent;
}

/// A node of an average: the sum of what is below it over 2^e, or in the end
/// over the number of contributions. Where the sum of f32 or f64 is too large,
/// half of each is added, and nothing finite becomes more than the largest.
template <typename Number>
Number ElementValues::average(const Operand &left, const Operand &right,
                              bool isLast) const {
  unsigned count = left.contributions + right.contributions;
  int exponent = exponentFor(count);
  int ofLeft = exponent - exponentFor(left.contributions);
  int ofRight = exponent - exponentFor(right.contributions);
  auto sumAt = [&](int scale) {
    return std::ldexp(Number(decode(left.bits)), scale - ofLeft) +
           std::ldexp(Number(decode(right.bits)), scale - ofRight);
  };
  Number halves = sumAt(-1), sum = halves;
  int scale = -1;
  if (element.bytes >= 4 && std::isfinite(sumAt(std::max(ofLeft, ofRight)))) {
    scale = std::max(ofLeft, ofRight);
    sum = sumAt(scale);
  }
  Number result = isLast ? sum / std::ldexp(Number(count), scale - exponent)
                         : std::ldexp(sum, -scale);
  bool isTooLarge = std::fabs(result) > Number(largest);
  return isTooLarge && std::isfinite(halves)
             ? std::copysign(Number(largest), result)
             : result;
}

template <typename Number>
Number ElementValues::combine(const Operand &left, const Operand &right,
                              bool isLast) const {
  if (reduction == Reduction::Avg)
    return average<Number>(left, right, isLast);
  Number a = decode(left.bits), b = decode(right.bits);
  return reduction == Reduction::Prod ? a * b : a + b;
}

ElementRange ElementValues::reduceBy(const SumTree &tree,
                                     llvm::ArrayRef<uint64_t> inputs) const {
  std::vector<Operand> nodes;
  for (uint64_t input : inputs)
    nodes.push_back({input, 1});
  for (uint32_t node = tree.numLeaves(); node < tree.numNodes(); ++node) {
    const Operand &left = nodes[tree.left(node)];
    const Operand &right = nodes[tree.right(node)];
    bool isLast = node == tree.root();
    // Numbers of less than 32 bits are f32 until they are rounded.
    uint64_t bits = element.bytes == 8
                        ? encode(combine<double>(left, right, isLast))
                        : encode(combine<float>(left, right, isLast));
    nodes.push_back({bits, left.contributions + right.contributions});
  }
  uint64_t result = nodes.back().bits;
  return {result, result, result};
}

/// How far a result in any order may be from `result`.
long double ElementValues::errorBound(llvm::ArrayRef<uint64_t> inputs,
                                      long double result) const {
  // Small floats are rounded by way of f32, and `result` in long double.
  constexpr long double slack = 1.001L;
  unsigned operations = inputs.size() - 1;
  if (reduction == Reduction::Prod)
    return slack * std::fabs(result) *
               std::expm1(operations * std::log1p(unit)) +
           operations * leastSubnormal;
  long double magnitudes = 0;
  for (uint64_t input : inputs)
    magnitudes += std::fabs(decode(input));
  if (reduction == Reduction::Sum)
    return slack * operations * unit * magnitudes;
  // One rounding more, by the division.
  return slack * inputs.size() *
         (unit * magnitudes / inputs.size() + leastSubnormal);
}

uint64_t ElementValues::reduceIntegers(llvm::ArrayRef<uint64_t> inputs) const {
  uint64_t result = inputs.front();
  for (uint64_t input : inputs.drop_front())
    result = reduction == Reduction::Prod ? result * input : result + input;
  result = truncate(result);
  if (reduction != Reduction::Avg)
    return result;
  if (element.kind == ElementKind::Signed)
    return truncate(uint64_t(signExtend(result) / int64_t(inputs.size())));
  return result / inputs.size();
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

uint64_t ElementValues::truncate(uint64_t bits) const {
  unsigned unused = 64 - element.bits();
  return bits << unused >> unused;
}

int64_t ElementValues::signExtend(uint64_t bits) const {
  unsigned unused = 64 - element.bits();
  return int64_t(bits << unused) >> unused;
}

/// The nearest float, the even one of two; of 8 bits never more than the
/// largest.
uint64_t ElementValues::encode(long double value) const {
  if (element.saturates())
    value = std::clamp(value, -largest, largest);
  if (element.bytes == 8)
    return std::bit_cast<uint64_t>(double(value));
  if (element.bytes == 4)
    return std::bit_cast<uint32_t>(float(value));
  llvm::APFloat number{double(value)};
  bool losesInfo;
  number.convert(semanticsOf(element), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

long double ElementValues::decode(uint64_t bits) const {
  if (element.bytes == 8)
    return std::bit_cast<double>(bits);
  if (element.bytes == 4)
    return std::bit_cast<float>(uint32_t(bits));
  llvm::APFloat number(semanticsOf(element), llvm::APInt(element.bits(), bits));
  return number.convertToDouble();
}

std::string ElementValues::toString(uint64_t bits) const {
  std::ostringstream text;
  text.precision(17);
  if (element.isFloat())
    text << double(decode(bits));
  else if (element.kind == ElementKind::Signed)
    text << signExtend(bits);
  else
    text << bits;
  return text.str();
}
