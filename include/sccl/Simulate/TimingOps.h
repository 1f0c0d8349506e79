//===- TimingOps.h - Timing as coll.timing ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SIMULATE_TIMINGOPS_H
#define SCCL_SIMULATE_TIMINGOPS_H

#include "sccl/Simulate/Simulator.h"

#include <optional>

namespace sccl::coll {

class TopologyOp;

/// Adds a coll.timing to `op`, which was exported from `topology`.
void setTiming(TopologyOp op, const Topology &topology, const Timing &timing);

/// What the coll.timing of `op` says, for `topology`, which was imported from
/// it; nothing if it has none.
std::optional<Timing> timingOf(TopologyOp op, const Topology &topology);

} // namespace sccl::coll

#endif // SCCL_SIMULATE_TIMINGOPS_H
