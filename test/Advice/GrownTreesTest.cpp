//===- GrownTreesTest.cpp - Schedules of trees that grow ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Advice/GrownTrees.h"

#include "AdviceTesting.h"

#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sccl;
using Kind = CollectiveKind;

static Fabric uniformFabric(const char *name) {
  Result<Topology> topology = makeBuiltinTopology(name);
  EXPECT_TRUE(bool(topology));
  return {*topology, Timing::uniform(*topology, 1, 1), 1};
}

static std::vector<Implementation> grow(const Fabric &fabric,
                                        const CollectiveFamily &family) {
  return advice::grownSchedules(fabric, family, Deadline({}));
}

/// Of the fullest limit, in rounds, per C.
static double leastLoad(const Fabric &fabric, const CollectiveFamily &family) {
  double least = 1e9;
  for (const Implementation &found : grow(fabric, family))
    least = std::min(least, exactPeriod(found.schedule, fabric.topology) /
                                found.collective.chunks());
  return least;
}

TEST(GrownTrees, AllCollectivesOnAnyMachine) {
  std::mt19937 random(5);
  for (unsigned trial = 0; trial < 12; ++trial) {
    Fabric fabric = randomFabric(random);
    for (Kind kind : allCollectiveKinds()) {
      std::vector<Implementation> found = grow(fabric, {kind, /*root=*/1});
      EXPECT_FALSE(found.empty()) << collectiveName(kind);
      for (const auto &[collective, schedule] : found) {
        EXPECT_EQ(collective.kind(), kind);
        EXPECT_FALSE(checkSchedule(fabric.topology, collective, schedule));
      }
    }
  }
}

TEST(GrownTrees, AmongGroups) {
  Fabric torus = uniformFabric("torus:2x3");
  CollectiveFamily family{Kind::ReduceScatter, 0, {{0, 4}, {1, 2, 3}}};
  std::vector<Implementation> found = grow(torus, family);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].collective.name(), "reduce_scatter_groups");
}

TEST(GrownTrees, LoadsThatCannotBeLess) {
  // Half of the others' chunks come from either side.
  EXPECT_DOUBLE_EQ(leastLoad(uniformFabric("ring:9"), {Kind::AllGather}), 4);
  EXPECT_DOUBLE_EQ(leastLoad(uniformFabric("ring:9"), {Kind::ReduceScatter}),
                   4.0 / 9);
  EXPECT_DOUBLE_EQ(leastLoad(uniformFabric("ring:9"), {Kind::AllReduce}),
                   8.0 / 9);
  EXPECT_DOUBLE_EQ(leastLoad(uniformFabric("switch:6,1"), {Kind::AllGather}),
                   5);
  // Each link of a cube carries 7 / 3 chunks of each rank.
  EXPECT_LT(leastLoad(uniformFabric("hypercube:3"), {Kind::AllGather}), 2.51);
}

TEST(GrownTrees, TheFewestHopsComeToo) {
  Fabric torus = uniformFabric("torus:4x4");
  size_t least = 100;
  for (const Implementation &found : grow(torus, {Kind::Broadcast}))
    least = std::min(least, found.schedule.steps.size());
  EXPECT_EQ(least, 4u);
}

TEST(GrownTrees, TheSameEachTime) {
  Fabric torus = uniformFabric("torus:3x3");
  std::vector<Implementation> once = grow(torus, {Kind::AllReduce});
  std::vector<Implementation> again = grow(torus, {Kind::AllReduce});
  ASSERT_EQ(once.size(), again.size());
  for (size_t i = 0; i < once.size(); ++i)
    EXPECT_EQ(once[i].schedule, again[i].schedule);
}

TEST(GrownTrees, NoneWhereRanksAreApart) {
  Fabric fabric{Topology("one way", 3), {}, 1};
  ASSERT_TRUE(bool(fabric.topology.addLink(0, 1, 1)));
  ASSERT_TRUE(bool(fabric.topology.addLink(0, 2, 1)));
  fabric.timing = Timing::uniform(fabric.topology, 1, 1);
  EXPECT_TRUE(grow(fabric, {Kind::AllGather}).empty());
  EXPECT_FALSE(grow(fabric, {Kind::Broadcast}).empty());
  EXPECT_FALSE(grow(fabric, {Kind::Scatter}).empty());
  EXPECT_TRUE(grow(fabric, {Kind::Broadcast, /*root=*/1}).empty());
  EXPECT_TRUE(grow({Topology("apart", 2), {}, 1}, {Kind::AllGather}).empty());
}

TEST(GrownTrees, NoneWhenTimeIsOver) {
  std::atomic<bool> stop = true;
  EXPECT_TRUE(advice::grownSchedules(uniformFabric("ring:5"), {Kind::AllGather},
                                     Deadline({0, 0, &stop}))
                  .empty());
}
