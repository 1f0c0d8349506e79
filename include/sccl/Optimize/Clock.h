//===- Clock.h - The time that limits are measured in -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All limits of time look at this clock, and nothing else does, so that a test
// can make it run faster and see that no answer changes.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_OPTIMIZE_CLOCK_H
#define SCCL_OPTIMIZE_CLOCK_H

namespace sccl {

/// Seconds since some moment; never goes back.
double steadySeconds();

/// For tests: while this object lives, every second counts as `rate` seconds.
class ScopedClockRate {
public:
  explicit ScopedClockRate(double rate);
  ~ScopedClockRate();
  ScopedClockRate(const ScopedClockRate &) = delete;
  ScopedClockRate &operator=(const ScopedClockRate &) = delete;

private:
  const double previous;
};

} // namespace sccl

#endif // SCCL_OPTIMIZE_CLOCK_H
