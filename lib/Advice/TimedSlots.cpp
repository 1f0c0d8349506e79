//===- TimedSlots.cpp - Slots of time whose end may vary ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedSlots.h"

#include <algorithm>
#include <set>

using namespace sccl;
using namespace sccl::advice;

std::vector<double> advice::sumsOfLatencies(const Timing &timing) {
  constexpr size_t many = 256;
  std::set<double> single(timing.latencies.begin(), timing.latencies.end());
  std::vector<double> sums = {0};
  size_t first = 0;
  for (unsigned terms = 0; terms < 3; ++terms) {
    size_t last = sums.size();
    for (; first < last; ++first)
      for (double latency : single)
        if (sums.size() < many)
          sums.push_back(sums[first] + latency);
  }
  sums.erase(sums.begin());
  return sums;
}

std::vector<double> advice::crossingTimes(const Timing &timing) {
  constexpr double same = 1e-4; // relative
  std::vector<double> sums = sumsOfLatencies(timing);
  sums.push_back(0);
  std::set<double> all;
  for (double first : sums)
    for (double last : sums)
      if (first + last > 0)
        all.insert(first + last);
  std::vector<double> times;
  for (double time : all)
    if (times.empty() || time > times.back() * (1 + same))
      times.push_back(time);
  return times;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

// All that is compared is linear in T, so the ends of the span tell.

/// True if `last` is never more than `delay` after `first`.
bool Slots::isWithin(Moment first, Moment last, double delay) const {
  return last.at(span.from) <= first.at(span.from) + delay &&
         last.at(span.to) <= first.at(span.to) + delay;
}

bool Slots::isInOrder(Moment first, Moment last) const {
  return first.at(span.from) <= last.at(span.from) &&
         first.at(span.to) <= last.at(span.to);
}

/// True if a slot between the two is worth its while.
bool Slots::isApart(Moment first, Moment last) const {
  constexpr double little = 1.0 / 60;
  return isInOrder(first, last) &&
         (last.at(span.from) - first.at(span.from) > span.from * little ||
          last.at(span.to) - first.at(span.to) > span.to * little);
}

/// Does nothing if the moment passes another one.
void Slots::insert(Moment moment) {
  for (size_t i = 0; i + 1 < moments.size(); ++i)
    if (isApart(moments[i], moment) && isApart(moment, moments[i + 1])) {
      moments.insert(moments.begin() + ptrdiff_t(i) + 1, moment);
      return;
    }
}

Slots::Slots(const Timing &timing, Span span)
    : span(span), moments{{0, 0}, {0, 1}} {
  constexpr size_t most = 22;
  // A little on the safe side, so that rounding does not decide what is before
  // what.
  constexpr double nearly = 1 - 1e-9;
  for (double sum : sumsOfLatencies(timing)) {
    if (count() + 2 > most)
      break;
    insert({sum * nearly, 0});
    insert({-sum * nearly, 1});
  }
}

double Slots::length(size_t slot) const {
  return moments[slot + 1].at(span.from) - moments[slot].at(span.from);
}

size_t Slots::arrivalSlot(size_t slot, double hop) const {
  size_t arrival = slot;
  while (arrival + 1 < count() &&
         isWithin(moments[slot], moments[arrival + 1], hop))
    ++arrival;
  return arrival;
}
