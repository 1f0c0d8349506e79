//===- ExactReduction.h - What reductions may give --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions in exact rational arithmetic, and the bounds of
// docs/Rationale/ElementTypes.md.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_MEASURE_EXACTREDUCTION_H
#define SCCL_TEST_MEASURE_EXACTREDUCTION_H

#include "sccl/Model/ElementType.h"

#include "llvm/ADT/APFloat.h"

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace sccl {

/// Elements as their bits.
using Elements = std::vector<uint64_t>;

inline const llvm::fltSemantics &semanticsOf(const ElementType &element) {
  switch (element.id) {
#define SCCL_ELEMENT_TYPE(id, name, alias, typeInC, number, bytes, kind,       \
                          exponentBits, mantissaBits, hasInfinity, semantics)  \
  case Element::id:                                                            \
    return llvm::APFloat::semantics();
#include "sccl/Model/ElementTypes.def"
  }
  llvm_unreachable("no other element types");
}

inline double decode(const ElementType &element, uint64_t bits) {
  llvm::APFloat number(semanticsOf(element), llvm::APInt(element.bits(), bits));
  return number.convertToDouble();
}

inline uint64_t bitsOf(const llvm::APFloat &value) {
  return value.bitcastToAPInt().getZExtValue();
}

inline uint64_t largestOf(const ElementType &element) {
  return bitsOf(llvm::APFloat::getLargest(semanticsOf(element)));
}

/// Random inputs of one reduction over a type, and what may become of them.
class ExactReduction {
public:
  /// Where sums of small floats are rounded so many times; those of wide ones
  /// are each time.
  ExactReduction(const ElementType &element, Reduction reduction,
                 unsigned ranks, unsigned roundings)
      : element(element), reduction(reduction), ranks(ranks),
        roundings(element.combinesAsF32() ? roundings : ranks - 1) {
    if (!element.isFloat())
      return;
    largest = number(largestOf(element));
    least = number(1);
    unit = std::ldexp(1.0, -int(element.mantissaBits) - 1);
    if (element.combinesAsF32())
      wideUnit = std::ldexp(1.0, -24);
  }

  /// One for each rank. In a third of the cases numbers are subnormal or nearly
  /// so, in another third large; integers are of all bits, or at one end.
  Elements draw(std::mt19937_64 &random) const {
    unsigned kind = random() % 3;
    Elements inputs(ranks);
    for (uint64_t &bits : inputs)
      do
        bits = element.isFloat() ? drawFloat(random, kind)
                                 : drawInteger(random, kind);
      while (!isFit(bits));
    return inputs;
  }

  /// True if `bits` may be the reduction of `inputs`.
  bool allows(const Elements &inputs, uint64_t bits) const {
    if (selects())
      return bits == *std::min_element(inputs.begin(), inputs.end(),
                                       [&](uint64_t a, uint64_t b) {
                                         return isBefore(a, b);
                                       });
    return element.isFloat() ? allowsFloat(inputs, bits)
                             : bits == reduceIntegers(inputs);
  }

private:
  bool selects() const {
    return reduction == Reduction::Min || reduction == Reduction::Max;
  }

  /// Exactly what the bits stand for.
  mpq_class number(uint64_t bits) const {
    if (element.isFloat())
      return mpq_class(decode(element, bits));
    mpz_class value = 0;
    mpz_import(value.get_mpz_t(), 1, 1, sizeof(bits), 0, 0, &bits);
    bool isNegative =
        element.kind == ElementKind::Signed && bits >> (element.bits() - 1);
    if (isNegative)
      value -= mpz_class(1) << element.bits();
    return value;
  }

  /// The smaller for min, the larger for max; -0 is less than 0.
  bool isBefore(uint64_t a, uint64_t b) const {
    mpq_class left = number(a), right = number(b);
    if (left == right && element.isFloat()) {
      left = -int(a >> (element.bits() - 1));
      right = -int(b >> (element.bits() - 1));
    }
    return reduction == Reduction::Min ? left < right : right < left;
  }

  mpq_class combine(const Elements &inputs) const {
    mpq_class exact = number(inputs[0]);
    for (unsigned rank = 1; rank < ranks; ++rank)
      exact = reduction == Reduction::Prod
                  ? mpq_class(exact * number(inputs[rank]))
                  : mpq_class(exact + number(inputs[rank]));
    return exact;
  }

  /// Wrapped; an average divides then, and truncates.
  uint64_t reduceIntegers(const Elements &inputs) const {
    uint64_t bits = wrap(combine(inputs).get_num());
    if (reduction != Reduction::Avg)
      return bits;
    mpz_class sum = number(bits).get_num();
    return wrap(sum / int(ranks)); // GMP truncates
  }

  uint64_t wrap(const mpz_class &value) const {
    mpz_class bits;
    mpz_fdiv_r_2exp(bits.get_mpz_t(), value.get_mpz_t(), element.bits());
    return bits.get_ui();
  }

  bool allowsFloat(const Elements &inputs, uint64_t bits) const {
    mpq_class exact = combine(inputs), magnitudes = 0;
    for (uint64_t input : inputs)
      magnitudes += abs(number(input));
    if (reduction == Reduction::Avg)
      exact /= ranks;
    mpq_class bound = boundOf(exact, magnitudes);
    if (element.saturates())
      exact = std::clamp<mpq_class>(exact, -largest, largest);
    double value = decode(element, bits);
    if (std::isinf(value))
      return (value < 0 ? -exact : exact) + bound > largest;
    return !std::isnan(value) && abs(mpq_class(value) - exact) <= bound;
  }

  mpq_class boundOf(const mpq_class &exact, const mpq_class &magnitudes) const {
    mpq_class slack(1001, 1000), more = (ranks - 1) * wideUnit * magnitudes;
    bool roundsOnce = roundings == 1 && wideUnit != 0;
    if (reduction == Reduction::Sum)
      return roundsOnce ? mpq_class(slack * (unit * abs(exact) + more))
                        : mpq_class(slack * roundings * unit * magnitudes);
    if (reduction == Reduction::Avg)
      return roundsOnce
                 ? mpq_class(slack * (unit * abs(exact) + more / ranks) + least)
                 : mpq_class(slack * (unit * magnitudes + ranks * least));
    mpq_class factor = 1;
    for (unsigned i = 0; i < roundings; ++i)
      factor *= 1 + unit;
    for (unsigned i = 1; i < ranks; ++i)
      factor *= 1 + wideUnit;
    return slack * (factor - 1) * abs(exact) + roundings * least;
  }

  /// Of all bits, or within four of an end of the signed or unsigned numbers.
  uint64_t drawInteger(std::mt19937_64 &random, unsigned kind) const {
    uint64_t bits = random() >> (64 - element.bits());
    if (kind == 0)
      return bits;
    uint64_t least = kind == 1 ? 0 : uint64_t(1) << (element.bits() - 1);
    return wrap(number(least).get_num() + int(bits % 8) - 4);
  }

  uint64_t drawFloat(std::mt19937_64 &random, unsigned kind) const {
    uint64_t sign = uint64_t(1) << (element.bits() - 1);
    uint64_t lowest = uint64_t(1) << (element.mantissaBits + 2);
    for (;;) {
      uint64_t bits = random() >> (64 - element.bits());
      if (kind == 0)
        bits &= sign | (lowest - 1);
      else if (kind == 1)
        bits |= (sign >> 1) & ~(uint64_t(random() % 2) << (element.bits() - 2));
      if (std::isfinite(decode(element, bits)))
        return bits;
    }
  }

  /// Nothing is lost beyond the ends and comes back: no partial sum is too
  /// large, and products only shrink.
  bool isFit(uint64_t bits) const {
    if (reduction == Reduction::Avg || selects() || !element.isFloat())
      return true;
    mpq_class magnitude = abs(number(bits));
    if (reduction == Reduction::Prod)
      return magnitude <= 1;
    return magnitude * ranks * (1 + ranks * unit) <= largest;
  }

  const ElementType &element;
  Reduction reduction;
  unsigned ranks, roundings;
  mpq_class largest, least, unit;
  mpq_class wideUnit; ///< of f32, where that is what is added
};

} // namespace sccl

#endif // SCCL_TEST_MEASURE_EXACTREDUCTION_H
