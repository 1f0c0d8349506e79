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
#include <sstream>

using namespace sccl;

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
}

uint64_t ElementValues::input(unsigned rank, uint64_t random,
                              uint64_t place) const {
  uint64_t bits = random >> (64 - element.bits());
  if (!element.isFloat())
    return bits;
  if (reduction != Reduction::Min && reduction != Reduction::Max)
    return encode(floatInput(rank, random, place));
  // Anything but NaN: clearing a bit of the exponent makes that finite.
  bool isNaN = std::isnan(decode(bits));
  return isNaN ? bits & ~(uint64_t(1) << element.mantissaBits) : bits;
}

/// A summand or factor.
double ElementValues::floatInput(unsigned rank, uint64_t random,
                                 uint64_t place) const {
  bool isActive = (rank + place % numRanks) % numRanks < active;
  if (reduction != Reduction::Prod)
    return isActive ? 1 + (random >> 60) % maxSummand : 0;
  static constexpr double factors[] = {2, 0.5, -1, -2};
  return isActive ? factors[random >> 62] : 1;
}

uint64_t ElementValues::reduce(llvm::ArrayRef<uint64_t> inputs) const {
  if (reduction == Reduction::Min)
    return *std::min_element(inputs.begin(), inputs.end(),
                             [&](auto a, auto b) { return before(a, b); });
  if (reduction == Reduction::Max)
    return *std::max_element(inputs.begin(), inputs.end(),
                             [&](auto a, auto b) { return before(a, b); });
  return element.isFloat() ? reduceFloats(inputs) : reduceIntegers(inputs);
}

/// The order of min and max, in which -0 is before 0.
bool ElementValues::before(uint64_t a, uint64_t b) const {
  if (element.isFloat()) {
    double x = decode(a), y = decode(b);
    return x < y || (x == y && std::signbit(x) && !std::signbit(y));
  }
  if (element.kind == ElementKind::Signed)
    return signExtend(a) < signExtend(b);
  return a < b;
}

uint64_t ElementValues::reduceFloats(llvm::ArrayRef<uint64_t> inputs) const {
  double result = decode(inputs.front());
  for (uint64_t input : inputs.drop_front())
    result = reduction == Reduction::Prod ? result * decode(input)
                                          : result + decode(input);
  if (reduction == Reduction::Avg) // in f64, or in f32 and then in the type
    result = element.bytes == 8 ? result / inputs.size()
                                : float(result) / float(inputs.size());
  return encode(result);
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

uint64_t ElementValues::truncate(uint64_t bits) const {
  unsigned unused = 64 - element.bits();
  return bits << unused >> unused;
}

int64_t ElementValues::signExtend(uint64_t bits) const {
  unsigned unused = 64 - element.bits();
  return int64_t(bits << unused) >> unused;
}

/// The nearest float, the even one of two.
uint64_t ElementValues::encode(double value) const {
  if (element.bytes == 8)
    return std::bit_cast<uint64_t>(value);
  if (element.bytes == 4)
    return std::bit_cast<uint32_t>(float(value));
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semanticsOf(element), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

double ElementValues::decode(uint64_t bits) const {
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
    text << decode(bits);
  else if (element.kind == ElementKind::Signed)
    text << signExtend(bits);
  else
    text << bits;
  return text.str();
}
