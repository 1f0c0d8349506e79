//===- Units.cpp - Exact numbers of machines ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Units.h"

#include <cstdint>
#include <limits>

using namespace sccl;

/// Most digits before the point, after it, and of a denominator.
static constexpr size_t maxDigits = 9;

static __int128 gcd128(__int128 a, __int128 b) {
  while (b) {
    __int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/// num/den with den > 0, if it fits.
static std::optional<Rational> reduced(__int128 num, __int128 den) {
  if (__int128 g = gcd128(num, den); g > 1) {
    num /= g;
    den /= g;
  }
  constexpr __int128 most = std::numeric_limits<int64_t>::max();
  if (num > most || num < -most || den > most)
    return std::nullopt;
  return Rational(static_cast<int64_t>(num), static_cast<int64_t>(den));
}

std::optional<Rational> sccl::sum(const Rational &a, const Rational &b) {
  __int128 left, right, num;
  if (__builtin_mul_overflow(__int128(a.numerator()), b.denominator(), &left) ||
      __builtin_mul_overflow(__int128(b.numerator()), a.denominator(),
                             &right) ||
      __builtin_add_overflow(left, right, &num))
    return std::nullopt;
  return reduced(num, __int128(a.denominator()) * b.denominator());
}

std::optional<Rational> sccl::product(const Rational &a, const Rational &b) {
  return reduced(__int128(a.numerator()) * b.numerator(),
                 __int128(a.denominator()) * b.denominator());
}

std::optional<Rational> sccl::quotient(const Rational &a, const Rational &b) {
  if (b.numerator() == 0)
    return std::nullopt;
  return product(a, Rational(b.denominator(), b.numerator()));
}

std::optional<Rational> sccl::commonMeasure(const Rational &a,
                                            const Rational &b) {
  return reduced(gcd128(__int128(a.numerator()) * b.denominator(),
                        __int128(b.numerator()) * a.denominator()),
                 __int128(a.denominator()) * b.denominator());
}

/// The number that at most `maxDigits` digits are; none gives 0.
static std::optional<int64_t> digitsValue(std::string_view digits) {
  if (digits.size() > maxDigits ||
      digits.find_first_not_of("0123456789") != digits.npos)
    return std::nullopt;
  int64_t value = 0;
  for (char digit : digits)
    value = value * 10 + (digit - '0');
  return value;
}

/// The number that "450" or "26.562" is.
static std::optional<Rational> plainDecimal(std::string_view text) {
  size_t point = text.find('.');
  std::string_view fraction = point == text.npos ? "" : text.substr(point + 1);
  std::string_view whole = text.substr(0, point);
  if (whole.empty() && fraction.empty())
    return std::nullopt;
  std::optional<int64_t> before = digitsValue(whole);
  std::optional<int64_t> after = digitsValue(fraction);
  if (!before || !after)
    return std::nullopt;
  int64_t scale = 1;
  for (size_t i = 0; i < fraction.size(); ++i)
    scale *= 10;
  return Rational(*before * scale + *after, scale);
}

Result<Rational> sccl::parseDecimal(std::string_view text) {
  size_t slash = text.find('/');
  std::optional<Rational> value = plainDecimal(text.substr(0, slash));
  if (value && slash != text.npos) {
    std::optional<int64_t> den = digitsValue(text.substr(slash + 1));
    value = den && *den > 0 ? quotient(*value, Rational(*den)) : std::nullopt;
  }
  if (value)
    return *value;
  return Error{"expected a number such as 450, 26.562 or 400/8, got '" +
               std::string(text.substr(0, 40)) + "'"};
}

std::string sccl::decimalText(const Rational &value) {
  int64_t scale = 1;
  size_t decimals = 0;
  for (; decimals < maxDigits && scale % value.denominator() != 0; ++decimals)
    scale *= 10;
  if (scale % value.denominator() != 0 ||
      value.numerator() > std::numeric_limits<int64_t>::max() / scale)
    return value.str();
  std::string digits =
      std::to_string(value.numerator() * (scale / value.denominator()));
  if (decimals == 0)
    return digits;
  if (digits.size() <= decimals)
    digits.insert(0, decimals + 1 - digits.size(), '0');
  return digits.insert(digits.size() - decimals, ".");
}
