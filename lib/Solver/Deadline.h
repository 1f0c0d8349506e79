//===- Deadline.h - Polled limits of an engine ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines that can ask in their inner loops need no watchdog thread, which
// would cost more than many of their answers.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_DEADLINE_H
#define SCCL_LIB_SOLVER_DEADLINE_H

#include "sccl/Solver/Solver.h"

#include <chrono>
#include <cstdio>

namespace sccl {

/// The time limit and the interrupt flag of one synthesis. The limit counts
/// from the construction.
class Deadline {
public:
  explicit Deadline(const SolverOptions &options)
      : limitSeconds(options.timeoutSeconds), interrupt(options.interrupt) {}

  double elapsedSeconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  /// Seconds left, `forever` if there is no limit.
  double remainingSeconds() const {
    return limitSeconds > 0 ? limitSeconds - elapsedSeconds() : forever;
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

#endif // SCCL_LIB_SOLVER_DEADLINE_H
