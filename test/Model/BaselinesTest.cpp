//===- BaselinesTest.cpp - Tests of the ring algorithms -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Baselines.h"

#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

using namespace sccl;

static Topology builtin(std::string_view spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(topology) << topology.error();
  return *topology;
}

static std::vector<Ring> ringsOf(const Topology &topology) {
  Result<std::vector<Ring>> rings = findRings(topology);
  EXPECT_TRUE(rings) << rings.error();
  return *rings;
}

/// Expects a right schedule with the given C, S = R.
static void expectBaseline(const Topology &topology,
                           const std::vector<Ring> &rings, CollectiveKind kind,
                           unsigned chunks, unsigned steps, unsigned m = 1,
                           unsigned root = 0) {
  Result<Implementation> made =
      makeRingBaseline(topology, rings, kind, m, root);
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made->collective.kind(), kind);
  EXPECT_EQ(made->collective.chunks(), chunks);
  EXPECT_EQ(made->collective.root(), root);
  EXPECT_EQ(made->schedule.steps.size(), steps);
  EXPECT_EQ(made->schedule.rounds(), steps);
  auto violation = checkSchedule(topology, made->collective, made->schedule);
  EXPECT_FALSE(violation) << violation->message;
}

TEST(Baselines, TableOfThePaper) {
  using enum CollectiveKind;
  Topology dgx1 = builtin("dgx1");
  std::vector<Ring> rings = ringsOf(dgx1);
  EXPECT_EQ(rings.size(), 6u);
  expectBaseline(dgx1, rings, AllGather, 6, 7);
  expectBaseline(dgx1, rings, ReduceScatter, 48, 7);
  expectBaseline(dgx1, rings, AllReduce, 48, 14);
  for (unsigned m : {1, 2, 5, 20})
    for (unsigned root = 0; root < 8; ++root) {
      expectBaseline(dgx1, rings, Broadcast, 6 * m, 6 + m, m, root);
      expectBaseline(dgx1, rings, Reduce, 6 * m, 6 + m, m, root);
    }
}

TEST(Baselines, OtherRings) {
  using enum CollectiveKind;
  for (auto [spec, count] : {std::pair{"amd_z52", 2u},
                             {"ring:2", 1u},
                             {"ring:3", 2u},
                             {"ring:13", 2u}}) {
    Topology topology = builtin(spec);
    std::vector<Ring> rings = ringsOf(topology);
    EXPECT_EQ(rings.size(), count) << spec;
    unsigned n = topology.numRanks(), k = rings.size();
    expectBaseline(topology, rings, AllGather, k, n - 1);
    expectBaseline(topology, rings, ReduceScatter, k * n, n - 1);
    expectBaseline(topology, rings, AllReduce, k * n, 2 * (n - 1));
    expectBaseline(topology, rings, Broadcast, 3 * k, n + 1, 3, n - 1);
    expectBaseline(topology, rings, Reduce, 3 * k, n + 1, 3, n - 1);
  }
}

TEST(Baselines, OneDirectionOnly) {
  for (bool backward : {false, true}) {
    Topology topology("cycle", 5);
    for (unsigned rank = 0; rank < 5; ++rank)
      ASSERT_TRUE(topology.addLink(rank, (rank + (backward ? 4 : 1)) % 5, 1));
    std::vector<Ring> rings = ringsOf(topology);
    EXPECT_EQ(rings.size(), 1u);
    expectBaseline(topology, rings, CollectiveKind::AllReduce, 5, 8);
    expectBaseline(topology, rings, CollectiveKind::Reduce, 2, 5, 2, 3);
  }
}

TEST(Baselines, RingsGivenByTheCaller) {
  Topology mesh = builtin("mesh:5");
  EXPECT_EQ(findRings(mesh).error(),
            "no rings are known that use all links of topology 'mesh:5'");
  std::vector<Ring> rings = {{0, 1, 2, 3, 4}, {0, 2, 4, 1, 3}};
  expectBaseline(mesh, rings, CollectiveKind::AllGather, 2, 4);
}

TEST(Baselines, RefusedRings) {
  Topology ring = builtin("ring:4");
  auto error = [&](const std::vector<Ring> &rings) {
    return makeRingBaseline(ring, rings, CollectiveKind::AllGather).error();
  };
  EXPECT_EQ(error({}), "a ring algorithm needs at least 1 ring");
  EXPECT_EQ(error({{0, 1, 2}}), "a ring must visit each of 4 ranks once");
  EXPECT_EQ(error({{0, 1, 2, 2}}), "a ring must visit each of 4 ranks once");
  EXPECT_EQ(error({{0, 1, 2, 4}}), "a ring must visit each of 4 ranks once");
  EXPECT_EQ(error({{0, 2, 1, 3}}),
            "a ring uses link 0 -> 2, which topology 'ring:4' does not have");
  EXPECT_EQ(error({{0, 1, 2, 3}, {1, 2, 3, 0}}),
            "2 rings go through the limit on link 0 -> 1, its bandwidth is 1");
}

TEST(Baselines, SharedLimitsCount) {
  // Every rank sends 1 chunk per round, so that only one ring fits.
  Topology bus = builtin("switch:4,1");
  std::vector<Ring> one = {{0, 1, 2, 3}}, two = {{0, 1, 2, 3}, {0, 2, 1, 3}};
  expectBaseline(bus, one, CollectiveKind::AllGather, 1, 3);
  EXPECT_EQ(makeRingBaseline(bus, two, CollectiveKind::AllGather).error(),
            "2 rings go through the limit on link 0 -> 1 and others, its "
            "bandwidth is 1");
}

TEST(Baselines, RefusedRequests) {
  Topology ring = builtin("ring:4");
  std::vector<Ring> rings = ringsOf(ring);
  EXPECT_EQ(makeRingBaseline(ring, rings, CollectiveKind::AllToAll).error(),
            "there is no ring algorithm for all_to_all");
  EXPECT_EQ(makeRingBaseline(ring, rings, CollectiveKind::Broadcast, 0).error(),
            "chunks must be at least 1");
  EXPECT_EQ(makeRingBaseline(ring, rings, CollectiveKind::Reduce, 1, 4).error(),
            "root 4 is out of range for 4 ranks");
  EXPECT_EQ(
      makeRingBaseline(Topology("alone", 1), {{0}}, CollectiveKind::AllGather)
          .error(),
      "a ring algorithm needs at least 2 ranks, got 1");
}
