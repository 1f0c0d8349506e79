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

/// A plan that sends one chunk over `link` of `topology`, or without a link
/// copies one within rank 0, for the CPU of this host or a GPU `target`
/// ("sm_90"). Emits an error and fails if it cannot be compiled.
mlir::FailureOr<HostPlan> compileLinkProbe(const Topology &topology,
                                           std::optional<unsigned> link,
                                           llvm::StringRef target = "");

/// How long and how often links are measured.
struct LinkProbeOptions {
  uint64_t bytes = uint64_t(1)
                   << 25; ///< of the longest message, 4 KiB at least
  unsigned batches = 20;  ///< of which the best counts
};

/// What one launch takes.
struct LinkTimes {
  double first; ///< microseconds for 4 bytes
  double per;   ///< microseconds more for each byte, from an eighth of `bytes`
                ///< to all of them; if that took no longer, for each of all
};

/// Measures the link of `plan`. Collective over the ranks of the plan; all get
/// the same answer. Fails on all of them if one fails.
Result<LinkTimes> measureLink(const HostPlan &plan, const RankEnd &end,
                              const scclConfig &config,
                              const LinkProbeOptions &options);

} // namespace sccl

#endif // SCCL_MEASURE_LINKPROBE_H
