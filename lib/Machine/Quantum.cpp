//===- Quantum.cpp - What one chunk per round is --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quantum.h"

#include "sccl/Machine/Units.h"

#include <algorithm>

using namespace sccl;

/// `bandwidth` / `quantum`, rounded to the nearest whole number; nothing if it
/// is 0 or more than a topology may have.
static std::optional<unsigned> nearestUnits(const Rational &bandwidth,
                                            const Rational &quantum) {
  __int128 num = __int128(bandwidth.numerator()) * quantum.denominator();
  __int128 den = __int128(bandwidth.denominator()) * quantum.numerator();
  __int128 units = (num + den / 2) / den;
  if (units < 1 || units > Topology::maxBandwidth)
    return std::nullopt;
  return static_cast<unsigned>(units);
}

/// |units * quantum - bandwidth| / bandwidth; nothing if that does not fit.
static std::optional<Rational> relativeError(unsigned units,
                                             const Rational &quantum,
                                             const Rational &bandwidth) {
  auto total = product(quantum, int64_t(units));
  auto ratio = total ? quotient(*total, bandwidth) : std::nullopt;
  auto off = ratio ? sum(*ratio, -1) : std::nullopt;
  if (!off)
    return std::nullopt;
  return *off < Rational(0) ? Rational(-off->numerator(), off->denominator())
                            : *off;
}

/// All bandwidths in units of `quantum`; nothing if one is too small or large.
static std::optional<Units> inUnitsOf(const Rational &quantum,
                                      const std::vector<Rational> &bandwidths) {
  Units result = {quantum, {}, 0};
  for (const Rational &bandwidth : bandwidths) {
    auto units = nearestUnits(bandwidth, quantum);
    auto error =
        units ? relativeError(*units, quantum, bandwidth) : std::nullopt;
    if (!error)
      return std::nullopt;
    result.units.push_back(*units);
    result.error = std::max(result.error, *error);
  }
  return result;
}

static std::optional<Rational>
measureOf(const std::vector<Rational> &bandwidths) {
  std::optional<Rational> measure = Rational(0);
  for (const Rational &bandwidth : bandwidths)
    if (measure)
      measure = commonMeasure(*measure, bandwidth);
  return measure;
}

bool sccl::areMultiples(const std::vector<Rational> &values,
                        const Rational &unit, int64_t most) {
  return std::ranges::all_of(values, [&](const Rational &value) {
    auto units = quotient(value, unit);
    return units && units->denominator() == 1 && units->numerator() <= most;
  });
}

Rational sccl::commonUnit(const std::vector<Rational> &values, int64_t most) {
  if (auto measure = measureOf(values);
      measure && *measure > Rational(0) && areMultiples(values, *measure, most))
    return *measure;
  Rational widest = *std::ranges::max_element(values);
  auto isTooSmall = [&](const Rational &unit) {
    return unitsRoundedUp(widest, unit) > most;
  };
  Rational unit = 1;
  while (isTooSmall(unit))
    unit = *product(unit, 2);
  for (Rational half = 1; !isTooSmall(half);) {
    unit = half;
    auto next = quotient(unit, 2);
    if (!next)
      break;
    half = *next;
  }
  return unit;
}

int64_t sccl::unitsRoundedUp(const Rational &value, const Rational &unit) {
  __int128 num = __int128(value.numerator()) * unit.denominator();
  __int128 den = __int128(value.denominator()) * unit.numerator();
  return static_cast<int64_t>((num + den - 1) / den);
}

/// The largest quantum of which all bandwidths are multiples within
/// `tolerance`, and the widest exactly.
static std::optional<Units> approximate(const std::vector<Rational> &bandwidths,
                                        const Rational &tolerance) {
  // Each bandwidth counts once.
  std::vector<Rational> distinct = bandwidths;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (unsigned most = 1; most <= DerivationOptions::maxUnits; ++most) {
    auto quantum = quotient(distinct.back(), int64_t(most));
    auto units = quantum ? inUnitsOf(*quantum, distinct) : std::nullopt;
    if (units && units->error <= tolerance)
      return inUnitsOf(*quantum, bandwidths);
  }
  return std::nullopt;
}

static std::string percent(const Rational &part) {
  auto hundred = product(part, 100);
  return (hundred ? decimalText(*hundred) : part.str()) + " %";
}

static Result<Units> inGivenUnits(const std::vector<Rational> &bandwidths,
                                  const DerivationOptions &options) {
  const Rational &quantum = *options.quantum;
  if (quantum <= Rational(0))
    return Error{"a quantum of " + decimalText(quantum) +
                 " GB/s is not positive"};
  for (const Rational &bandwidth : bandwidths) {
    auto units = nearestUnits(bandwidth, quantum);
    auto error =
        units ? relativeError(*units, quantum, bandwidth) : std::nullopt;
    if (!error)
      return Error{decimalText(bandwidth) + " GB/s in units of " +
                   decimalText(quantum) + " GB/s is outside [1, " +
                   std::to_string(Topology::maxBandwidth) +
                   "]; give a quantum nearer to the bandwidths, or none"};
    if (*error > options.tolerance)
      return Error{decimalText(bandwidth) + " GB/s is no multiple of " +
                   decimalText(quantum) + " GB/s: " + std::to_string(*units) +
                   " units are off by " + percent(*error) +
                   "; allow that with --tolerance, or give no quantum"};
  }
  return *inUnitsOf(quantum, bandwidths);
}

Result<Units> sccl::chooseUnits(const std::vector<Rational> &bandwidths,
                                const DerivationOptions &options) {
  Rational tolerance = options.tolerance;
  if (tolerance < Rational(0) || tolerance > Rational(1, 2))
    return Error{"a tolerance of " + tolerance.str() +
                 " is not between 0 and 1/2"};
  if (options.quantum)
    return inGivenUnits(bandwidths, options);
  if (tolerance == Rational(0)) {
    auto measure = measureOf(bandwidths);
    auto exact = measure && *measure > Rational(0)
                     ? inUnitsOf(*measure, bandwidths)
                     : std::nullopt;
    if (exact && *std::max_element(exact->units.begin(), exact->units.end()) <=
                     DerivationOptions::maxUnits)
      return *exact;
    tolerance = DerivationOptions::fallbackTolerance;
  }
  if (std::optional<Units> near = approximate(bandwidths, tolerance))
    return *near;
  auto [least, most] =
      std::minmax_element(bandwidths.begin(), bandwidths.end());
  return Error{"bandwidths from " + decimalText(*least) + " to " +
               decimalText(*most) + " GB/s are no multiples, within " +
               percent(tolerance) + ", of one quantum with at most " +
               std::to_string(DerivationOptions::maxUnits) +
               " units; give a larger --tolerance, or a --quantum in GB/s"};
}
