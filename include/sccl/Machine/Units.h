//===- Units.h - Exact numbers of machines ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bandwidths of machines are exact fractions: 26.562 GB/s is 13281/500. What
// does not fit 64 bits is nothing, and the caller says what it was.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_UNITS_H
#define SCCL_MACHINE_UNITS_H

#include "sccl/Model/Rational.h"
#include "sccl/Model/Result.h"

#include <optional>
#include <string>
#include <string_view>

namespace sccl {

/// The number that "450", "26.562" or "400/8" is. Fails unless it is at least
/// 0, has at most 9 digits before and 9 after the point, and denominators of at
/// most 9 digits.
Result<Rational> parseDecimal(std::string_view text);

/// "26.562" where that is exact within 9 decimals, else "13281/507".
std::string decimalText(const Rational &value);

/// Nothing if a term of the result, in lowest terms, needs more than 63 bits.
std::optional<Rational> sum(const Rational &a, const Rational &b);
std::optional<Rational> product(const Rational &a, const Rational &b);
/// Nothing also if `b` is 0.
std::optional<Rational> quotient(const Rational &a, const Rational &b);

/// The largest number of which both are multiples; that of 0 and b is b.
std::optional<Rational> commonMeasure(const Rational &a, const Rational &b);

} // namespace sccl

#endif // SCCL_MACHINE_UNITS_H
