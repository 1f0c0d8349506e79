//===- Deadline.h - Polled limits of a search ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two kinds of limits end a search. The user's, a time and a flag, end it
// wherever it is. Those that engines set one another are amounts of work: what
// a search has done when it gives up, and so what it answers, must not depend
// on how fast or how busy the machine is.
//
// What can ask in its inner loops needs no watchdog thread, which would cost
// more than many answers do.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_OPTIMIZE_DEADLINE_H
#define SCCL_OPTIMIZE_DEADLINE_H

#include "sccl/Optimize/Clock.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

namespace sccl {

/// What one search may take.
struct SearchLimits {
  /// Wall time, the user's; 0 means no limit.
  double timeoutSeconds = 0;
  /// Units of work; 0 means no limit. Each solver counts what it does (see
  /// `Deadline::charge`), the same on every machine: conflicts for CaDiCaL,
  /// iterations for Clp and Cbc, the resource count for z3, arcs for flows. A
  /// unit is about a microsecond on the machine that the rates were measured
  /// on.
  uint64_t maxWork = 0;
  /// Set from another thread or a signal handler to give up early.
  const std::atomic<bool> *interrupt = nullptr;
};

/// The limits of one search, and the work it has done. Time counts from the
/// construction. Used by one thread.
class Deadline {
public:
  explicit Deadline(const SearchLimits &limits) : limits(limits) {}

  double elapsedSeconds() const { return steadySeconds() - start; }
  /// What is left of the user's time, as the limit of a part of the work: 0 if
  /// there is no limit, and else more than that.
  double remainingLimit() const {
    return limits.timeoutSeconds > 0
               ? std::max(limits.timeoutSeconds - elapsedSeconds(), 1e-6)
               : 0;
  }

  /// Counts `units` of work as done.
  void charge(uint64_t units) const { done += units; }
  uint64_t work() const { return done; }
  /// Units left, `unlimited` if there is no limit.
  uint64_t remainingWork() const {
    if (limits.maxWork == 0)
      return unlimited;
    return limits.maxWork - std::min(done, limits.maxWork);
  }

  /// True if the search must give up, for whatever reason.
  bool expired() const { return isOutOfWork() || isOver(); }
  /// True if it must because of the user: nobody must go on with anything.
  bool isOver() const {
    return isInterrupted() || (limits.timeoutSeconds > 0 &&
                               elapsedSeconds() >= limits.timeoutSeconds);
  }
  bool isOutOfWork() const { return remainingWork() == 0; }
  /// `charge`, then `expired`.
  bool tick(uint64_t units = 1) const {
    charge(units);
    return expired();
  }
  /// Why an expired deadline expired.
  std::string reason() const;

  static constexpr uint64_t unlimited = ~uint64_t(0);

private:
  bool isInterrupted() const {
    return limits.interrupt &&
           limits.interrupt->load(std::memory_order_relaxed);
  }

  const SearchLimits limits;
  const double start = steadySeconds();
  mutable uint64_t done = 0;
};

} // namespace sccl

#endif // SCCL_OPTIMIZE_DEADLINE_H
