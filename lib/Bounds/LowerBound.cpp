//===- LowerBound.cpp - Certified bounds on the bandwidth cost ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries linear programs from cheap to strong, turns each dual solution into a
// certificate, and keeps the best one that the checker accepts.
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/LowerBound.h"

#include "Certify.h"
#include "PriceModel.h"
#include "Problem.h"

#include "sccl/Model/Instance.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::bounds;

static std::optional<Error> checkArguments(const Topology &topology,
                                           const Collective &collective,
                                           unsigned steps) {
  if (topology.numRanks() != collective.numRanks())
    return Error{"the topology has " + std::to_string(topology.numRanks()) +
                 " ranks, but the collective has " +
                 std::to_string(collective.numRanks())};
  if (steps < 1 || steps > Instance::maxRounds)
    return Error{"steps must be between 1 and " +
                 std::to_string(Instance::maxRounds) + ", got " +
                 std::to_string(steps)};
  if (topology.limits().empty())
    return Error{"a topology without limits has no bandwidth cost"};
  return std::nullopt;
}

/// True if all trees are of one commodity.
static bool hasOneCommodity(const Problem &problem) {
  return std::all_of(problem.trees.begin(), problem.trees.end(),
                     [](const Tree &tree) { return tree.commodity == 0; });
}

/// The programs to try, in this order.
static std::vector<TreeRules> programsFor(const Problem &problem) {
  if (problem.trees.empty())
    return {TreeRules::ArrivalsOnly};
  // Chunks of one source (or of all together) compete too little for links for
  // arrivals alone to say much.
  if (hasOneCommodity(problem))
    return {TreeRules::WithPaths, TreeRules::ArrivalsOnly};
  return {TreeRules::ArrivalsOnly, TreeRules::WithPaths};
}

Result<LowerBound> sccl::lowerBound(const Topology &topology,
                                    const Collective &collective,
                                    unsigned steps,
                                    const LowerBoundOptions &options) {
  if (auto error = checkArguments(topology, collective, steps))
    return *error;
  Certificate claim = makeClaim(topology, collective, steps);
  if (auto tooDistant = findTooDistant(topology, collective, steps)) {
    claim.proof = *tooDistant;
    return finish(std::move(claim), topology, collective);
  }
  Deadline deadline(options);
  Problem problem = makeProblem(topology, collective, steps);
  std::optional<LowerBound> best;
  std::string why;
  for (TreeRules rules : programsFor(problem)) {
    // With one commodity the stronger program came first.
    if (best && (hasOneCommodity(problem) || !options.target ||
                 *best->value >= *options.target))
      break;
    auto duals = solvePrices(problem, rules, options.maxColumns, deadline);
    if (!duals) {
      why = why.empty() ? duals.error() : why;
      continue;
    }
    Result<LowerBound> bound =
        certify(problem, *duals, claim, topology, collective);
    if (!bound)
      why = bound.error();
    else if (!best || *bound->value > *best->value)
      best = std::move(*bound);
  }
  if (!best)
    return Error{why};
  return std::move(*best);
}

Result<LowerBound> sccl::availableBound(const Topology &topology,
                                        const Collective &collective,
                                        unsigned steps,
                                        const LowerBoundOptions &options) {
  Deadline deadline(options);
  Result<LowerBound> bound = lowerBound(topology, collective, steps, options);
  if (bound)
    return bound;
  LowerBoundOptions rest = options;
  rest.timeoutSeconds = deadline.remainingLimit();
  Result<LowerBound> anySteps = throughputBound(topology, collective, rest);
  if (anySteps || anySteps.error() == bound.error())
    return anySteps;
  return Error{bound.error() +
               "; for any number of steps: " + anySteps.error()};
}
