//===- FrontierBenchmarks.cpp - Whole frontiers ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"

#include "sccl/Search/Frontier.h"

using namespace sccl;
using namespace sccl::bench;

/// Searches up to 8 steps; complains unless every point is proved optimal.
static std::string searchAndProve(const Case &which, const Topology &topology) {
  Result<Frontier> frontier =
      searchFrontier(topology, {which.kind, which.root}, FrontierOptions());
  if (!frontier)
    return frontier.error();
  if (frontier->points.empty())
    return which.name() + ": no point";
  Collective collective = smallest(which, topology);
  for (const FrontierPoint &point : frontier->points) {
    if (!point.optimal)
      return which.name() + ": a point is not proved optimal";
    if (auto problem =
            checkCertificate(point.bound->certificate, topology, collective))
      return which.name() + ": " + *problem;
  }
  return "";
}

void bench::registerFrontiers() {
  std::vector<std::pair<Case, Topology>> all;
  std::vector<Case> cases = machineCases();
  for (const char *spec : {"dgx1", "amd_z52"})
    cases.push_back({spec, CollectiveKind::AllReduce, 0});
  for (const Case &which : cases) {
    Topology topology = unwrap(makeBuiltinTopology(which.topology));
    all.emplace_back(which, topology);
    add("frontier/" + which.name(),
        [=] { return searchAndProve(which, topology); });
  }
  add("frontier/all", [all] {
    std::string problem;
    for (const auto &[which, topology] : all)
      if (problem.empty())
        problem = searchAndProve(which, topology);
    return problem;
  });
}
