//===- ReportTesting.h - Schedules to report on -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_REPORT_REPORTTESTING_H
#define SCCL_TEST_REPORT_REPORTTESTING_H

#include "sccl/Model/Baselines.h"
#include "sccl/Report/Subject.h"

namespace sccl::report {

/// A ring algorithm on a built-in topology.
inline Subject ringOn(const std::string &topologyName, CollectiveKind kind) {
  Topology topology = *makeBuiltinTopology(topologyName);
  Implementation made = *makeRingBaseline(topology, *findRings(topology), kind);
  return {"ring.mlir:@ring", std::move(topology), std::move(made.collective),
          std::move(made.schedule), std::nullopt};
}

/// Two pairs of ranks, 0 and 1, 2 and 3, with links of 4, joined by one link
/// each way between 0 and 2; and an all_gather in three steps: over each pair,
/// across, and over each pair.
inline Subject pairsWithBridge() {
  Topology topology("pairs", 4);
  for (auto [src, dst] : {std::pair(0u, 1u), {1u, 0u}, {2u, 3u}, {3u, 2u}})
    (void)topology.addLink(src, dst, 4);
  for (auto [src, dst] : {std::pair(0u, 2u), {2u, 0u}})
    (void)topology.addLink(src, dst, 1);
  Collective collective =
      *Collective::make(CollectiveKind::AllGather, 4, /*chunks=*/1);
  Schedule schedule;
  schedule.steps = {{1, {{0, 0, 1}, {1, 1, 0}, {2, 2, 3}, {3, 3, 2}}},
                    {2, {{0, 0, 2}, {1, 0, 2}, {2, 2, 0}, {3, 2, 0}}},
                    {1, {{0, 2, 3}, {1, 2, 3}, {2, 0, 1}, {3, 0, 1}}}};
  return {"pairs.mlir:@pairs", std::move(topology), std::move(collective),
          std::move(schedule), std::nullopt};
}

} // namespace sccl::report

#endif // SCCL_TEST_REPORT_REPORTTESTING_H
