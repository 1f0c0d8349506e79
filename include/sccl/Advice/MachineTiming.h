//===- MachineTiming.h - How fast a machine is ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ADVICE_MACHINETIMING_H
#define SCCL_ADVICE_MACHINETIMING_H

#include "sccl/Advice/Fabric.h"
#include "sccl/Machine/Derivation.h"

#include <map>
#include <optional>
#include <string>

namespace sccl {

/// Microseconds from a signal to its arrival over an edge, by the edge's kind
/// without the digits at its end ("NVLink", "IB"), or by "" for all others.
using LatencyByKind = std::map<std::string, double, std::less<>>;

/// What is assumed where neither the machine nor the user says.
LatencyByKind assumedLatencies();
/// GB/s of copies within a rank, which no machine gives.
inline constexpr double assumedCopyRate = 1000;

/// Sets GB/s of copies within a rank, assumed if not given. If they are 0, only
/// links and their latencies take time.
void setCopies(std::optional<double> copies, Timing &timing,
               std::vector<std::string> &assumptions);

struct MachineFabric {
  Fabric fabric;
  /// What was not in the machine: latencies, a line for each kind of edge, what
  /// its GPUs do, and what links leave to data.
  std::vector<std::string> assumptions;
  /// Kinds of `latencies` that no edge takes its latency from.
  std::vector<std::string> unused;
  std::string
      boundClass; ///< of which programs bounds hold, and what they are of
};

/// Of which programs bounds on time hold that are of `topology`.
std::string boundClassOf(const Topology &topology);

/// The machine of `derivation`, with the topology whose bounds hold for it: at
/// its own rates, whatever way transfers take, and each link at the latency of
/// the fastest way. The latency of a link is the sum over the edges of its
/// route: what the machine says, else what `latencies` says of the edge's kind,
/// else what is assumed. For `copies` see setCopies. Fails where
/// `boundTopology` does.
Result<MachineFabric> fabricOf(const Derivation &derivation,
                               const LatencyByKind &latencies = {},
                               std::optional<double> copies = {});

} // namespace sccl

#endif // SCCL_ADVICE_MACHINETIMING_H
