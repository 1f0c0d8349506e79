//===- TimeLimit.h - How long a rank waits for others -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_TIMELIMIT_H
#define SCCL_LIB_RUNTIME_TIMELIMIT_H

#include <algorithm>
#include <chrono>

namespace sccl {

/// Tells whoever looks often whether a time has passed. While a whole job is
/// stopped, by a debugger or a shell, the clock goes on but nobody is late: the
/// time between two looks counts as a quarter of the limit at most.
class TimeLimit {
public:
  explicit TimeLimit(double seconds = 0)
      : limit(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(seconds))),
        looked(Clock::now()) {}

  /// Begins anew.
  void restart() {
    passed = {};
    looked = Clock::now();
  }
  bool isOver() {
    Clock::time_point now = Clock::now();
    passed += std::min(now - looked, limit / 4);
    looked = now;
    return passed >= limit;
  }
  /// The part of the limit that had passed when `isOver` was called last; it
  /// may be more than 1.
  double share() const { return double(passed.count()) / limit.count(); }

private:
  using Clock = std::chrono::steady_clock;
  Clock::duration limit, passed{};
  Clock::time_point looked;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_TIMELIMIT_H
