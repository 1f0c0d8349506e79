//===- TreesBackend.cpp - Trees for one C, S and R ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreePacking.h"

#include "Solver/Backends.h"
#include "sccl/Solver/Trees.h"

#include <cmath>

using namespace sccl;
using namespace sccl::trees;

/// The schedule of `found` for as many chunks and rounds as asked for; nothing
/// if it takes more rounds, or its chunks do not divide those.
static std::optional<Schedule> fitTo(const Instance &instance,
                                     std::optional<TreeSchedule> found) {
  uint64_t chunks = instance.collective.chunks();
  if (!found || found->rounds.size() != instance.steps ||
      chunks % found->chunks != 0)
    return std::nullopt;
  uint64_t factor = chunks / found->chunks;
  if (found->totalRounds() > instance.rounds / factor)
    return std::nullopt;
  found->chunks = chunks;
  for (ChunkTree &tree : found->trees)
    tree.count *= factor;
  for (uint64_t &rounds : found->rounds)
    rounds *= factor;
  Result<Schedule> schedule = expand(*found, instance.collective);
  if (!schedule)
    return std::nullopt;
  schedule->steps.back().rounds += instance.rounds - schedule->rounds();
  return std::move(*schedule);
}

static Outcome packTrees(const Instance &instance, const Deadline &deadline) {
  const Collective &collective = instance.collective;
  PackingProblem problem{instance.topology, collective.kind(),
                         collective.root(), instance.steps};
  chooseGroup(problem);
  TreePacking packing(std::move(problem), deadline);
  std::optional<double> value = packing.generate(std::nullopt, deadline);
  if (!value && deadline.expired())
    return gaveUp(deadline);
  double least = value.value_or(INFINITY) * collective.chunks();
  if (least <= instance.rounds + 1e-6) {
    auto whole = fitTo(instance, packing.round(collective.chunks(), deadline));
    if (!whole)
      whole = fitTo(instance, packing.exact(deadline));
    if (whole)
      return Satisfied{std::move(*whole)};
  }
  if (deadline.expired())
    return gaveUp(deadline);
  return Unknown{"no packing of trees found, which does not exclude other "
                 "schedules"};
}

namespace {
class TreesBackend final : public SolverBackend {
public:
  TreesBackend()
      : SolverBackend(
            {.name = TreeSynthesis::engine,
             .workUnit = "iterations, and edges looked at",
             .kinds = {CollectiveKind::AllGather, CollectiveKind::Broadcast,
                       CollectiveKind::AllReduce}}) {}

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return packTrees(instance, deadline);
    });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createTreesBackend() {
  return std::make_unique<TreesBackend>();
}
