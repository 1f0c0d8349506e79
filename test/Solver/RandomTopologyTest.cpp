//===- RandomTopologyTest.cpp - Engines against one another ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small random instances: every engine that takes one must agree with the
// reference engine, or say that it does not know.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"

#include "Data/RandomInstance.h"

#include <algorithm>
#include <map>

using namespace sccl;
using namespace sccl::test;

namespace {
/// What the reference engines answer at once.
constexpr unsigned maxRanks = 5;

Instance randomInstance(Random &random) {
  Topology topology = randomTopology(random, maxRanks);
  addSharedLimits(random, topology);
  unsigned longest = 1;
  for (unsigned distance : topology.distancesFrom(0))
    longest = std::max(longest, distance);
  unsigned steps = longest + random() % 3;
  Collective collective = randomCollective(random, topology.numRanks());
  auto instance =
      Instance::make(topology, collective, steps, steps + random() % 3);
  EXPECT_TRUE(instance) << instance.error();
  return *instance;
}

/// A small reduction, as the search for one is long.
Instance randomReduction(Random &random) {
  Topology topology = randomTopology(random, maxRanks);
  addSharedLimits(random, topology);
  Collective collective = randomSumOf(random, topology.numRanks());
  unsigned steps = 1 + random() % 4;
  auto instance =
      Instance::make(topology, collective, steps, steps + random() % 3);
  EXPECT_TRUE(instance) << instance.error();
  return *instance;
}

/// How often an engine gave an answer, by name and status.
using Tally = std::map<std::pair<std::string, std::string>, unsigned>;

/// Expects a schedule of S steps and R rounds that the checker accepts.
void expectAccepted(const Instance &instance, const Schedule &schedule) {
  EXPECT_EQ(schedule.steps.size(), instance.steps);
  EXPECT_EQ(schedule.rounds(), instance.rounds);
  auto violation =
      checkSchedule(instance.topology, instance.collective, schedule);
  EXPECT_FALSE(violation) << violation->message;
}

void compareEngines(const Instance &instance, const SolverBackend &reference,
                    Tally &tally) {
  SolverOptions options;
  options.timeoutSeconds = 60;
  Outcome expected = reference.solve(instance, options).outcome;
  std::string expectedStatus(statusName(expected));
  ++tally[{"reference", expectedStatus}];
  for (const auto &engine : solverBackends()) {
    if (engine.get() == &reference || !engine->whyNot(instance).empty())
      continue;
    SCOPED_TRACE(engine->name());
    Outcome outcome = engine->solve(instance, options).outcome;
    std::string status(statusName(outcome));
    ++tally[{std::string(engine->name()), status}];
    if (std::holds_alternative<Unknown>(outcome))
      continue;
    EXPECT_EQ(status, expectedStatus) << describe(outcome);
    auto *satisfied = std::get_if<Satisfied>(&outcome);
    // What sends a reduction can do without is no question of copies.
    if (satisfied && instance.collective.combining())
      expectAccepted(instance, satisfied->schedule);
    else if (satisfied)
      expectSchedule(instance, outcome);
  }
}
} // namespace

TEST(RandomTopology, EnginesAgree) {
  const SolverBackend *reference = findEngine("z3");
  if (!reference)
    reference = findEngine("sat");
  if (!reference)
    GTEST_SKIP() << "neither z3 nor sat is built";
  Random random(20260101);
  Tally tally;
  for (unsigned trial = 0; trial < 1000; ++trial) {
    SCOPED_TRACE(trial);
    Instance instance = randomInstance(random);
    SCOPED_TRACE(instance.collective.name());
    compareEngines(instance, *reference, tally);
  }
  // Otherwise the comparison would say little.
  EXPECT_GE((tally[{"reference", "satisfiable"}]), 150u);
  EXPECT_GE((tally[{"reference", "unsatisfiable"}]), 100u);
  EXPECT_EQ((tally[{"reference", "unknown"}]), 0u);
  EXPECT_EQ((tally[{"sat", "unknown"}]), 0u);
  EXPECT_EQ((tally[{"flow", "unknown"}]), 0u);
  EXPECT_GE((tally[{"flow", "satisfiable"}]), 30u);
  EXPECT_GE((tally[{"flow", "unsatisfiable"}]), 15u);
  EXPECT_GE((tally[{"matching", "satisfiable"}]), 15u);
  if (findEngine("milp")) {
    EXPECT_EQ((tally[{"milp", "unknown"}]), 0u);
    EXPECT_GE((tally[{"milp", "satisfiable"}]), 50u);
    EXPECT_GE((tally[{"milp", "unsatisfiable"}]), 25u);
  }
  if (findEngine("packing")) {
    EXPECT_GE((tally[{"packing", "satisfiable"}]), 60u);
  }
  for (const auto &[key, count] : tally)
    RecordProperty(key.first + "." + key.second, int(count));
}

TEST(RandomTopology, ReducingEnginesAgree) {
  const SolverBackend *reference = findEngine("direct");
  if (!reference)
    GTEST_SKIP() << "the direct engine is not built";
  Random random(20260102);
  Tally tally;
  for (unsigned trial = 0; trial < 1000; ++trial) {
    SCOPED_TRACE(trial);
    Instance instance = randomReduction(random);
    SCOPED_TRACE(instance.collective.name());
    compareEngines(instance, *reference, tally);
  }
  // An engine that never knew would pass the comparison.
  EXPECT_GE((tally[{"reference", "satisfiable"}]), 400u);
  EXPECT_GE((tally[{"reference", "unsatisfiable"}]), 125u);
  EXPECT_EQ((tally[{"reference", "unknown"}]), 0u);
  EXPECT_GE((tally[{"compose", "satisfiable"}]), 300u);
  EXPECT_GE((tally[{"compose", "unsatisfiable"}]), 60u);
  if (findEngine("packing")) {
    EXPECT_GE((tally[{"packing", "satisfiable"}]), 70u);
  }
  for (const auto &[key, count] : tally)
    RecordProperty(key.first + "." + key.second, int(count));
}
