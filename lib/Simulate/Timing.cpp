//===- Timing.cpp - How fast the parts of a machine are -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Simulate/Simulator.h"

#include <algorithm>
#include <limits>

using namespace sccl;

Timing Timing::withHops(double hopTime) const {
  Timing result = *this;
  for (double &latency : result.latencies)
    latency += hopTime;
  return result;
}

Timing Timing::uniform(const Topology &topology, double latency,
                       double unitRate) {
  Timing timing;
  timing.latencies.assign(topology.links().size(), latency);
  for (const BandwidthLimit &limit : topology.limits())
    timing.rates.push_back(limit.bandwidth * unitRate);
  return timing;
}

double Action::blockRate(const Timing &timing) const {
  double rate = std::numeric_limits<double>::infinity();
  if (timing.loadRate > 0 && kind != Kind::Pull)
    rate = std::min(rate, timing.loadRate / inputs);
  if (timing.sendRate > 0 && kind != Kind::Copy)
    rate = std::min(rate, timing.sendRate);
  if (timing.wordRate > 0 && isWords)
    rate = std::min(rate, timing.wordRate / inputs);
  return rate;
}
