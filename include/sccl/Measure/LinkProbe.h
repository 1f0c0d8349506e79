//===- LinkProbe.h - What one link does -------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The latency and the bandwidth of a link, by plans in which one chunk goes
// over it and nothing else happens.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MEASURE_LINKPROBE_H
#define SCCL_MEASURE_LINKPROBE_H

#include "sccl/Measure/HostPlan.h"
#include "sccl/Model/Topology.h"

namespace sccl {

/// Plans that measure one link.
struct LinkProbe {
  HostPlan handover; ///< sends one chunk
  /// Sends it there, and back what was reduced there: ranks that exchange
  /// messages begin the next launch before the others are done with the last,
  /// so that only this tells how long a message takes.
  std::optional<HostPlan> roundTrip;
};

/// Plans for `link` of `topology`, or without a link one that copies a chunk
/// within rank 0, for the CPU of this host or a GPU `target` ("sm_90"); with
/// `messages` also for ranks on several hosts. Emits an error and fails if it
/// cannot be compiled. Where no link leads back there is no round trip.
mlir::FailureOr<LinkProbe> compileLinkProbe(const Topology &topology,
                                            std::optional<unsigned> link,
                                            llvm::StringRef target = "",
                                            bool messages = false);

/// How long and how often links are measured.
struct LinkProbeOptions {
  uint64_t bytes = uint64_t(1)
                   << 25; ///< of the longest message, 4 KiB at least
  unsigned batches = 20;  ///< of which the best counts
};

/// What one launch takes.
struct LinkTimes {
  double first;  ///< microseconds for 4 bytes
  unsigned hops; ///< messages one after the other that these are
  double per;    ///< microseconds more for each byte, from an eighth of `bytes`
                 ///< to all of them; if that took no longer, for each of all
};

/// Measures the link of `probe`. Collective over the ranks of its plans; all
/// get the same answer. Fails on all of them if one fails.
Result<LinkTimes> measureLink(const LinkProbe &probe, const RankEnd &end,
                              const scclConfig &config,
                              const LinkProbeOptions &options);

} // namespace sccl

#endif // SCCL_MEASURE_LINKPROBE_H
