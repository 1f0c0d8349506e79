//===- Latencies.h - Of all links -------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_LATENCIES_H
#define SCCL_LIB_ADVICE_LATENCIES_H

#include "sccl/Simulate/Simulator.h"

#include <algorithm>

namespace sccl::advice {

/// The longest latency of a link, in microseconds; 0 where one rank has none.
inline double longestLatency(const Timing &timing) {
  return timing.latencies.empty() ? 0 : std::ranges::max(timing.latencies);
}

/// The same with what a transfer and a flag take beside.
inline double longestHop(const Timing &timing) {
  return longestLatency(timing) + timing.leastTime() + timing.flagTime();
}

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_LATENCIES_H
