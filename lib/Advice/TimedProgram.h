//===- TimedProgram.h - A linear program over links and times ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See TimedBound.h for what it says and why.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_TIMEDPROGRAM_H
#define SCCL_LIB_ADVICE_TIMEDPROGRAM_H

#include "Blockwise.h"
#include "Optimize/LinearProgram.h"
#include "TimedModel.h"

#include "sccl/Simulate/Simulator.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace sccl::advice {

// What matters in the time from 0 to T happens at sums of latencies after the
// beginning and before the end. While T varies so little that none of these
// moments passes another one, each slot between two of them has a length that
// is linear in T, and it is known from which slot to which the arrival of bytes
// leads: so T can be a column of a linear program.

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

/// A bound that is linear in the bytes of a send buffer, for times within a
/// span: what takes less time than the span begins with counts as if it took
/// that.
struct TimeLine {
  Span span;
  double constant; ///< microseconds
  double perByte;  ///< microseconds

  /// Microseconds that no program for `bytes` bytes stays below, if that is
  /// more than the span begins with.
  double at(double bytes) const {
    return std::min(constant + perByte * bytes, span.to);
  }
};

/// How little time do `bytes` bytes take, if it is of `span`?
class TimedProgram {
public:
  TimedProgram(const Topology &topology, const Timing &timing,
               const TimedProblem &problem, Span span, double bytes);
  /// What its multipliers prove; nothing once `deadline` is over.
  std::optional<TimeLine> solve(const Deadline &deadline) const;

private:
  using Term = LinearProgram::Term;
  using Columns = std::vector<std::vector<unsigned>>; ///< by group, slot
  /// Columns.
  static constexpr unsigned time = 0, overtime = 1, firstOfBytes = 2;

  bool isPossible(const LinkGroup &group, size_t slot) const;
  void addCommodity(const TimedCommodity &commodity);
  Columns addFlow(const Pair &pair);
  void addConservation(const Pair &pair, const Columns &flow);
  void addCover(const TimedCommodity &commodity, const Pair &pair,
                const Columns &flow, const Columns &carried);
  void addGossip(const TimedCommodity &commodity, const Columns &carried,
                 const Blocks &blocks);
  double useOf(unsigned link, size_t slot, const Blocks &blocks,
               const std::vector<unsigned> &blockOf) const;
  void addUse(double part, const Columns &columns,
              const std::vector<std::vector<unsigned>> &links);
  void addCapacities();
  TimeLine provenBy(std::vector<double> multipliers) const;

  const Topology &topology;
  const Timing &timing;
  const TimedProblem &problem;
  const Span span;
  const double bytes;
  const double unit; ///< of the program's times, microseconds
  const Slots slots;
  std::vector<std::vector<unsigned>> limitsOf; ///< orbits, of each link
  LinearProgram program;
  double mostCarried = 1;  ///< what a column of bytes need not be above
  unsigned numDemands = 0; ///< rows before those of limits
  /// What limits carry, by orbit and slot.
  std::vector<std::vector<std::vector<Term>>> use;
};

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_TIMEDPROGRAM_H
