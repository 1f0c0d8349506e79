//===- Rational.h - Exact 64-bit fractions ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_RATIONAL_H
#define SCCL_MODEL_RATIONAL_H

#include <compare>
#include <cstdint>
#include <numeric>
#include <string>

namespace sccl {

/// A fraction in lowest terms with a positive denominator. Comparison is exact
/// for all values (128-bit products).
class Rational {
public:
  constexpr Rational(int64_t num = 0, int64_t den = 1) : n(num), d(den) {
    if (d < 0) {
      n = -n;
      d = -d;
    }
    if (int64_t g = std::gcd(n, d); g > 1) {
      n /= g;
      d /= g;
    }
  }

  constexpr int64_t numerator() const { return n; }
  constexpr int64_t denominator() const { return d; }
  constexpr double toDouble() const { return double(n) / double(d); }
  /// "3/2", or "2" if the denominator is 1.
  std::string str() const {
    return d == 1 ? std::to_string(n)
                  : std::to_string(n) + "/" + std::to_string(d);
  }

  constexpr bool operator==(const Rational &) const = default;
  constexpr std::strong_ordering operator<=>(const Rational &other) const {
    return static_cast<__int128>(n) * other.d <=>
           static_cast<__int128>(other.n) * d;
  }

private:
  int64_t n, d;
};

} // namespace sccl

#endif // SCCL_MODEL_RATIONAL_H
