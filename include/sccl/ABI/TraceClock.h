//===- TraceClock.h - The clock of traces -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_TRACECLOCK_H
#define SCCL_ABI_TRACECLOCK_H

#include <cstdint>
#include <ctime>

namespace sccl {

/// Nanoseconds, as in `scclTraceEvent`; the same clock for all processes of a
/// host.
inline uint64_t traceClock() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

} // namespace sccl

#endif // SCCL_ABI_TRACECLOCK_H
