//===- Batch.cpp - What rows of a table share -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Search/Batch.h"

#include "sccl/Check/Certificate.h"

#include <algorithm>

using namespace sccl;

BatchFacts::BatchFacts(const SolverOptions &solver) {
  options.solver = solver;
  options.timeoutSeconds = solver.timeoutSeconds;
  options.probeWork = 1'000'000;
  options.stepWork = 1'000'000;
}

BatchFacts::FamilyKey BatchFacts::keyOf(const Instance &instance) {
  Certificate claim =
      makeClaim(instance.topology, instance.collective, std::nullopt);
  return {claim.topologyPrint, claim.kind, claim.root, claim.collectivePrint};
}

void BatchFacts::announce(const Instance &instance) {
  unsigned &steps = maxSteps[keyOf(instance)];
  steps =
      std::min(std::max(steps, instance.steps), FrontierOptions::maxMaxSteps);
  options.maxChunks =
      std::min(std::max(options.maxChunks, instance.collective.chunks()),
               FrontierOptions::maxMaxChunks);
}

const std::optional<LowerBound> &BatchFacts::boundAt(const Instance &instance,
                                                     unsigned steps) {
  auto [it, isNew] = bounds.try_emplace({keyOf(instance), steps});
  if (isNew && steps > 0)
    if (Result<LowerBound> bound =
            availableBound(instance.topology, instance.collective, steps))
      it->second = *bound;
  return it->second;
}

std::optional<bool> BatchFacts::isOnFrontier(const Instance &instance) {
  Rational cost(instance.rounds, instance.collective.chunks());
  for (const FrontierPoint &point : frontierOf(instance)) {
    bool sameSteps = point.steps == instance.steps;
    if (sameSteps && point.bandwidth() == cost && point.optimal &&
        needsAllSteps(instance, cost))
      return true;
    bool dominates = point.steps <= instance.steps &&
                     point.bandwidth() <= cost &&
                     (!sameSteps || point.bandwidth() < cost);
    if (dominates)
      return false;
  }
  return std::nullopt;
}

/// True if it is proved that one step less is dearer, or impossible.
bool BatchFacts::needsAllSteps(const Instance &instance, const Rational &cost) {
  if (instance.steps == 1)
    return true;
  const std::optional<LowerBound> &fewer =
      boundAt(instance, instance.steps - 1);
  return fewer && (!fewer->value || cost < *fewer->value);
}

std::vector<FrontierPoint> BatchFacts::frontierOf(const Instance &instance) {
  FamilyKey key = keyOf(instance);
  if (auto known = frontiers.find(key); known != frontiers.end())
    return known->second;
  options.maxSteps = maxSteps.at(key);
  CollectiveFamily family = CollectiveFamily::of(instance.collective);
  std::vector<FrontierPoint> points;
  if (Result<Frontier> frontier =
          searchFrontier(instance.topology, family, options))
    points = std::move(frontier->points);
  // An interrupt is for one row, and others may ask again.
  const std::atomic<bool> *interrupt = options.solver.interrupt;
  if (!interrupt || !*interrupt)
    frontiers.emplace(key, points);
  return points;
}
