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

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

using namespace sccl;
using namespace sccl::test;

namespace {
using Random = std::mt19937;

/// A cycle through all ranks, so that all are connected, and random links.
Topology randomTopology(Random &random) {
  unsigned numRanks = 2 + random() % 4;
  Topology topology("random", numRanks);
  std::vector<unsigned> order(numRanks);
  std::iota(order.begin(), order.end(), 0u);
  for (unsigned i = numRanks; i-- > 1;)
    std::swap(order[i], order[random() % (i + 1)]);
  std::vector<std::vector<bool>> linked(numRanks, std::vector<bool>(numRanks));
  for (unsigned i = 0; i < numRanks; ++i)
    linked[order[i]][order[(i + 1) % numRanks]] = true;
  bool symmetric = random() % 2;
  for (unsigned src = 0; src < numRanks; ++src)
    for (unsigned dst = 0; dst < numRanks; ++dst) {
      if (linked[src][dst] && symmetric)
        linked[dst][src] = true;
      if (src != dst && random() % 4 == 0)
        linked[src][dst] = true;
    }
  for (unsigned src = 0; src < numRanks; ++src)
    for (unsigned dst = 0; dst < numRanks; ++dst)
      if (src != dst && linked[src][dst]) {
        EXPECT_TRUE(topology.addLink(src, dst, 1 + random() % 5 / 3));
      }
  return topology;
}

/// Adds, to one topology in three, limits on ports or on any sets of links.
void addSharedLimits(Random &random, Topology &topology) {
  unsigned kind = random() % 6;
  if (kind == 0)
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
      EXPECT_TRUE(topology.addLimit(topology.outLinks(rank), 1 + random() % 2));
      EXPECT_TRUE(topology.addLimit(topology.inLinks(rank), 1 + random() % 2));
    }
  if (kind == 1) {
    std::vector<unsigned> links;
    for (unsigned link = 0; link < topology.links().size(); ++link)
      if (random() % 2)
        links.push_back(link);
    if (!links.empty()) {
      EXPECT_TRUE(topology.addLimit(links, 1 + random() % 3));
    }
  }
}

Collective randomCustom(Random &random, unsigned numRanks) {
  unsigned numChunks = 1 + random() % 4;
  RankChunkSet pre(numRanks, numChunks), post(numRanks, numChunks);
  for (unsigned chunk = 0; chunk < numChunks; ++chunk) {
    pre.insert(random() % numRanks, chunk);
    if (random() % 3 == 0)
      pre.insert(random() % numRanks, chunk);
    for (unsigned rank = 0; rank < numRanks; ++rank)
      if (random() % 2)
        post.insert(rank, chunk);
  }
  auto collective = Collective::makeCustom("random", 1, false, pre, post);
  EXPECT_TRUE(collective) << collective.error();
  return *collective;
}

Collective randomCollective(Random &random, unsigned numRanks) {
  constexpr CollectiveKind kinds[] = {
      CollectiveKind::AllGather, CollectiveKind::AllToAll,
      CollectiveKind::Broadcast, CollectiveKind::Gather,
      CollectiveKind::Scatter,   CollectiveKind::Custom,
  };
  CollectiveKind kind = kinds[random() % std::size(kinds)];
  if (kind == CollectiveKind::Custom)
    return randomCustom(random, numRanks);
  unsigned chunks = 1 + random() % 4;
  if (sendsOneSegmentPerRank(kind))
    chunks = numRanks * (1 + chunks / 4);
  auto collective =
      Collective::make(kind, numRanks, chunks, random() % numRanks);
  EXPECT_TRUE(collective) << collective.error();
  return *collective;
}

Instance randomInstance(Random &random) {
  Topology topology = randomTopology(random);
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

/// A sum of any contributors in any places.
Collective randomSum(Random &random, unsigned numRanks) {
  unsigned numChunks = 1 + random() % 2;
  RankChunkSet pre(numRanks, numChunks), post(numRanks, numChunks);
  for (unsigned chunk = 0; chunk < numChunks; ++chunk) {
    pre.insert(random() % numRanks, chunk);
    for (unsigned rank = 0; rank < numRanks; ++rank) {
      if (random() % 2)
        pre.insert(rank, chunk);
      if (random() % 2)
        post.insert(rank, chunk);
    }
  }
  auto collective = Collective::makeCustom("sum", 1, true, pre, post);
  EXPECT_TRUE(collective) << collective.error();
  return *collective;
}

/// A small reduction, as the search for one is long.
Instance randomReduction(Random &random) {
  Topology topology = randomTopology(random);
  addSharedLimits(random, topology);
  unsigned numRanks = topology.numRanks();
  constexpr CollectiveKind kinds[] = {
      CollectiveKind::Reduce, CollectiveKind::ReduceScatter,
      CollectiveKind::AllReduce, CollectiveKind::Custom};
  CollectiveKind kind = kinds[random() % std::size(kinds)];
  unsigned chunks = 1 + random() % 2;
  if (kind == CollectiveKind::ReduceScatter)
    chunks = numRanks;
  Collective collective =
      kind == CollectiveKind::Custom
          ? randomSum(random, numRanks)
          : *Collective::make(kind, numRanks, chunks, random() % numRanks);
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
