//===- MilpBackend.cpp - All-to-all by integer programming ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The relaxation comes first: it is often integral once the rounds are, and its
// multipliers refute exactly. Branch and bound is for the rest, on the
// quotients by large groups before those by small ones.
//
//===----------------------------------------------------------------------===//

#include "AllToAllProgram.h"

#include "Solver/Backends.h"
#include "Solver/Constants.h"
#include "Solver/StepSplitting.h"

#include <algorithm>

using namespace sccl;

namespace {
class MilpRun {
public:
  MilpRun(const Instance &instance, unsigned seed, const Deadline &deadline)
      : instance(instance), seed(seed), deadline(deadline) {}

  Outcome answer();

private:
  using Group = std::vector<Permutation>;
  std::vector<unsigned> stepCounts() const;
  std::optional<Outcome> tryGroup(unsigned steps, const Group &group);
  std::optional<std::vector<int64_t>> findSolution(const AllToAllProgram &flows,
                                                   const LPSolution &relaxed);

  const Instance &instance;
  const unsigned seed;
  const Deadline &deadline;
};
} // namespace

static unsigned longestDistance(const Topology &topology) {
  unsigned longest = 0;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    for (unsigned distance : topology.distancesFrom(rank))
      longest = std::max(longest, distance);
  return longest;
}

/// Numbers of steps to try: the fewest, whose program is the smallest and whose
/// schedules can be split, and S itself.
std::vector<unsigned> MilpRun::stepCounts() const {
  unsigned least = std::max(1u, longestDistance(instance.topology));
  if (least == instance.steps || !instance.topology.isPointToPoint())
    return {instance.steps};
  return {least, instance.steps};
}

/// An integral solution, once the relaxation has one.
std::optional<std::vector<int64_t>>
MilpRun::findSolution(const AllToAllProgram &flows, const LPSolution &relaxed) {
  IntegerProgram program =
      flows.withRounds(flows.nearestRounds(relaxed.values));
  LPSolution solution = solveRelaxation(program, deadline);
  if (solution.status == LPStatus::Optimal) {
    if (auto values = roundSolution(program, solution.values))
      return values;
    if (auto values =
            findIntegerSolution(program, tuned::milpNodes(), seed, deadline))
      return values;
  }
  return findIntegerSolution(flows.withinRounds(), tuned::milpNodes(), seed,
                             deadline);
}

/// Returns the answer, if it is one for the instance.
std::optional<Outcome> MilpRun::tryGroup(unsigned steps, const Group &group) {
  AllToAllProgram flows(instance, steps, group);
  const IntegerProgram &program = flows.program();
  LPSolution relaxed = solveRelaxation(program, deadline);
  if (relaxed.status != LPStatus::Optimal)
    return std::nullopt;
  if (proveCostAbove(program, relaxed.multipliers, instance.rounds)) {
    if (steps == instance.steps)
      return Unsatisfiable{"refuted by a linear relaxation"};
    return std::nullopt;
  }
  if (auto values = findSolution(flows, relaxed)) {
    Schedule schedule = flows.decode(*values);
    if (steps < instance.steps)
      schedule = splitSteps(instance.topology, std::move(schedule),
                            instance.steps, instance.rounds);
    return Satisfied{std::move(schedule)};
  }
  return std::nullopt;
}

Outcome MilpRun::answer() {
  if (unsigned needed = longestDistance(instance.topology);
      needed > instance.steps)
    return Unsatisfiable{"some chunk needs " + std::to_string(needed) +
                         " steps"};
  std::vector<Group> groups = quotientGroups(instance, /*perOrder=*/1);
  for (unsigned steps : stepCounts())
    for (const Group &group : groups) {
      std::optional<Outcome> outcome = tryGroup(steps, group);
      if (outcome)
        return std::move(*outcome);
      if (deadline.expired())
        return gaveUp(deadline);
    }
  return Unknown{"no integral flow found"};
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class MilpBackend final : public SolverBackend {
public:
  MilpBackend()
      : SolverBackend({.name = "milp",
                       .workUnit = "iterations",
                       .kinds = {CollectiveKind::AllToAll},
                       .refutes = true,
                       .hasSeed = true}) {}

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return MilpRun(instance, options.seed, deadline).answer();
    });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createMilpBackend() {
  return std::make_unique<MilpBackend>();
}
