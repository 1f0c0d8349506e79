//===- Watchdog.h - Deadline and interruption of a solver -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solvers do not keep their own time limits reliably (z3 can overrun its
// `timeout` by minutes), so a thread of ours watches the clock and keeps
// interrupting until the solver has returned.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_WATCHDOG_H
#define SCCL_LIB_SOLVER_WATCHDOG_H

#include "sccl/Solver/Solver.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sccl {

/// Watches the time limit and the interrupt flag of one synthesis. The limit
/// counts from the construction.
class Watchdog {
public:
  /// `onExpire` is called from another thread, every 20 ms from expiry to the
  /// destruction of this object. It must not throw.
  Watchdog(const SolverOptions &options, std::function<void()> onExpire);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

  /// True once the solver must give up. Cheap enough for inner loops.
  bool expired() const {
    return cause.load(std::memory_order_relaxed) != Cause::None;
  }
  /// "timeout after 2 s" or "interrupted"; empty if not expired.
  std::string reason() const;

private:
  enum class Cause { None, Timeout, Interrupt };
  using Clock = std::chrono::steady_clock;

  bool poll();
  void watch();

  const double limitSeconds;
  const std::atomic<bool> *const interrupt;
  const std::function<void()> onExpire;
  const Clock::time_point start = Clock::now();
  std::atomic<Cause> cause = Cause::None;
  std::mutex mutex;
  std::condition_variable wakeUp;
  bool done = false;
  std::thread thread;
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_WATCHDOG_H
