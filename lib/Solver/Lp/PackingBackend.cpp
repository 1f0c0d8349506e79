//===- PackingBackend.cpp - The engine that packs ways of chunks ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

#include "Solver/Backends.h"
#include "Solver/CanonicalInstance.h"
#include "Solver/Constants.h"
#include "Solver/Quotient.h"

#include <algorithm>
#include <map>

using namespace sccl;
using namespace sccl::packing;

/// Groups whose order divides the number of chunks and that keep the root, if
/// there is one: one of each order, the largest first.
static std::vector<std::vector<Permutation>>
groupsFor(const Instance &instance) {
  const Topology &topology = instance.topology;
  std::optional<unsigned> fixed;
  if (!instance.collective.combining())
    fixed = instance.collective.root();
  std::vector<std::vector<Permutation>> candidates;
  candidates.push_back(groupElements(automorphismGenerators(topology, fixed),
                                     topology.numRanks(),
                                     tuned::mostGroupElements()));
  for (std::vector<Permutation> &group :
       freeSubgroups(topology, tuned::mostGroupElements()))
    candidates.push_back(std::move(group));
  std::map<size_t, std::vector<Permutation>, std::greater<>> byOrder;
  for (std::vector<Permutation> &group : candidates) {
    bool keepsRoot = !fixed || std::ranges::all_of(group, [&](const auto &g) {
      return g[*fixed] == *fixed;
    });
    if (keepsRoot && !group.empty() &&
        instance.collective.chunks() % group.size() == 0)
      byOrder.try_emplace(group.size(), std::move(group));
  }
  std::vector<std::vector<Permutation>> groups;
  for (auto &[order, group] : byOrder)
    groups.push_back(std::move(group));
  return groups;
}

static Outcome pack(const Instance &instance, const SolverOptions &options,
                    const Deadline &deadline) {
  for (std::vector<Permutation> &group : groupsFor(instance)) {
    Packing packing(instance, options, deadline, std::move(group));
    bool isPossible = packing.relax();
    if (isPossible)
      if (std::optional<Schedule> schedule = packing.find())
        return Satisfied{std::move(*schedule)};
    if (deadline.expired())
      return gaveUp(deadline);
    // The mean over a group is a solution too, so all groups relax alike. With
    // a smaller one the clauses are far too many.
    if (!isPossible || packing.usesClauses())
      break;
  }
  return Unknown{"no packing of trees found, which does not exclude other "
                 "schedules"};
}

namespace {
class PackingBackend final : public SolverBackend {
public:
  // Time and memory grow with 3^ranks and 2^ranks.
  PackingBackend()
      : SolverBackend(
            {.name = "packing",
             .workUnit = "iterations",
             .kinds = {CollectiveKind::Broadcast, CollectiveKind::AllReduce},
             .maxRanks = 10,
             .endsEarly = true,
             .hasSeed = true}) {}

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return solveCanonically(instance, [&](const Instance &canonical) {
        return pack(canonical, options, deadline);
      });
    });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createPackingBackend() {
  return std::make_unique<PackingBackend>();
}
