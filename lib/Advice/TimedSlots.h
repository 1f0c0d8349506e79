//===- TimedSlots.h - Slots of time whose end may vary ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What matters in the time from 0 to T happens at sums of latencies after the
// beginning and before the end. While T varies so little that none of these
// moments passes another one, each slot between two of them has a length that
// is linear in T, and it is known from which slot to which the arrival of bytes
// leads: so T can be a column of a linear program.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_TIMEDSLOTS_H
#define SCCL_LIB_ADVICE_TIMEDSLOTS_H

#include "sccl/Simulate/Simulator.h"

#include <vector>

namespace sccl::advice {

/// Times T, in microseconds.
struct Span {
  double from, to;
};

/// A time within 0 ... T.
struct Moment {
  double constant; ///< microseconds
  double slope;    ///< per microsecond of T
  double at(double time) const { return constant + slope * time; }
};

/// Sums of up to three latencies, those of fewer first.
std::vector<double> sumsOfLatencies(const Timing &timing);

/// The times T at which a sum of latencies after the beginning passes one
/// before the end, ascending.
std::vector<double> crossingTimes(const Timing &timing);

/// For all T of a span.
class Slots {
public:
  Slots(const Timing &timing, Span span);

  size_t count() const { return moments.size() - 1; }
  /// Microseconds at the beginning of the span.
  double length(size_t slot) const;
  /// Microseconds more per microsecond of T.
  double growth(size_t slot) const {
    return moments[slot + 1].slope - moments[slot].slope;
  }
  /// True if slot `slot` ends more than `delay` after 0 for some T.
  bool endsAfter(size_t slot, double delay) const {
    return !isWithin({0, 0}, moments[slot + 1], delay);
  }
  /// True if slot `slot` begins more than `delay` before T for some T.
  bool beginsBefore(size_t slot, double delay) const {
    return !isWithin(moments[slot], moments.back(), delay);
  }
  /// The first slot for some T in which there may be what is on a link in
  /// `slot` and then takes `hop` microseconds; the last one if it is too late.
  size_t arrivalSlot(size_t slot, double hop) const;

private:
  bool isWithin(Moment first, Moment last, double delay) const;
  bool isInOrder(Moment first, Moment last) const;
  bool isApart(Moment first, Moment last) const;
  void insert(Moment moment);

  const Span span;
  std::vector<Moment> moments; ///< in order, from 0 to T
};

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_TIMEDSLOTS_H
