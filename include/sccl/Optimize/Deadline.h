//===- Deadline.h - Polled limits of a search ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can ask in its inner loops needs no watchdog thread, which would cost
// more than many answers do.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_OPTIMIZE_DEADLINE_H
#define SCCL_OPTIMIZE_DEADLINE_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

namespace sccl {

/// The time limit and the interrupt flag of one search. The limit counts from
/// the construction.
class Deadline {
public:
  /// A limit of 0 is none.
  Deadline(double limitSeconds, const std::atomic<bool> *interrupt)
      : limitSeconds(limitSeconds), interrupt(interrupt) {}
  /// Those of SolverOptions or LowerBoundOptions.
  template <typename Options>
  explicit Deadline(const Options &options)
      : Deadline(options.timeoutSeconds, options.interrupt) {}

  double elapsedSeconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  /// Seconds left, `forever` if there is no limit.
  double remainingSeconds() const {
    return limitSeconds > 0 ? limitSeconds - elapsedSeconds() : forever;
  }
  /// What is left, as the limit of a part of the work: 0 if there is no limit,
  /// and else more than that.
  double remainingLimit() const {
    return limitSeconds > 0 ? std::max(remainingSeconds(), 1e-3) : 0;
  }
  bool expired() const {
    return (interrupt && interrupt->load(std::memory_order_relaxed)) ||
           remainingSeconds() <= 0;
  }
  /// Why an expired deadline expired.
  std::string reason() const {
    if (interrupt && interrupt->load(std::memory_order_relaxed))
      return "interrupted";
    char text[64];
    std::snprintf(text, sizeof text, "timeout after %g s", limitSeconds);
    return text;
  }

  static constexpr double forever = 1e9;

private:
  using Clock = std::chrono::steady_clock;
  const double limitSeconds;
  const std::atomic<bool> *const interrupt;
  const Clock::time_point start = Clock::now();
};

} // namespace sccl

#endif // SCCL_OPTIMIZE_DEADLINE_H
