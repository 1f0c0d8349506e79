//===- SearchWatchdog.h - Limits and interruption of a solver ---------*- C++
//-*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solvers do not keep their own limits reliably (z3 can overrun its `timeout`
// by minutes), so a thread of ours watches the clock and the memory, and keeps
// interrupting until the solver has returned.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_Z3_SEARCHWATCHDOG_H
#define SCCL_LIB_SOLVER_Z3_SEARCHWATCHDOG_H

#include "sccl/Model/Threads.h"
#include "sccl/Optimize/Deadline.h"

#include <condition_variable>
#include <functional>
#include <mutex>

namespace sccl {

/// "out of memory (limit 100 MiB)".
std::string outOfMemoryReason(unsigned memoryMiB);

/// Watches the user's limits of one search. Time counts from the construction;
/// work is for the solver to count.
class SearchWatchdog {
public:
  /// `memoryMiB` of 0 is no limit. `allocated` returns the bytes that the
  /// solver has allocated; it may be null if the solver cannot tell. `onExpire`
  /// is called every 20 ms from expiry to the destruction of this object. Both
  /// are called from another thread, and must not throw. Expires at once if
  /// that thread cannot be started: nobody would keep the limits.
  SearchWatchdog(const SearchLimits &limits, unsigned memoryMiB,
                 std::function<uint64_t()> allocated,
                 std::function<void()> onExpire);
  ~SearchWatchdog();
  SearchWatchdog(const SearchWatchdog &) = delete;
  SearchWatchdog &operator=(const SearchWatchdog &) = delete;

  /// True if the solver must give up; looks at the clock and the memory now.
  /// Once true, it stays true.
  bool poll();
  /// The same as of the last look, which is at most about 20 ms ago.
  bool expired() const { return cause.load() != Cause::None; }
  /// "timeout after 2 s", "interrupted", "out of memory (limit 100 MiB)" or
  /// "no thread can be started that watches the limits"; empty if not expired.
  std::string reason() const;

private:
  enum class Cause { None, Interrupt, Timeout, Memory, NoThread };

  Cause look() const;
  void watch();

  const SearchLimits limits;
  const unsigned memoryMiB;
  const std::function<uint64_t()> allocated;
  const std::function<void()> onExpire;
  const Deadline deadline{limits};
  std::atomic<Cause> cause = Cause::None;
  std::mutex mutex;
  std::condition_variable wakeUp;
  bool done = false;
  Thread thread; ///< only if there is a limit
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_Z3_SEARCHWATCHDOG_H
