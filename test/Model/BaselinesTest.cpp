//===- BaselinesTest.cpp - Tests of the algorithms of NCCL ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Baselines.h"

#include "Data/BoxesOnRails.h"

#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
  std::vector<Ring> rings = {{0, 1, 2, 3, 4}, {0, 2, 4, 1, 3}};
  expectBaseline(mesh, rings, CollectiveKind::AllGather, 2, 4);
}

TEST(Baselines, RingsAreSearchedFor) {
  using test::boxesOnRails;
  // What a rank can take in per round is an upper bound everywhere.
  for (auto [topology, count] : {std::pair{builtin("mesh:5"), 4u},
                                 {builtin("torus:4x4"), 4u},
                                 {builtin("hypercube:4"), 4u},
                                 {builtin("switch:72,18"), 18u},
                                 {boxesOnRails(4, 8, 9), 8u},
                                 {boxesOnRails(16, 8, 9), 8u},
                                 {boxesOnRails(128, 8, 9), 8u}}) {
    std::vector<Ring> rings = ringsOf(topology);
    EXPECT_EQ(rings.size(), count) << topology.name();
    auto made = makeRingBaseline(topology, rings, CollectiveKind::Broadcast);
    ASSERT_TRUE(made) << made.error();
    EXPECT_FALSE(checkSchedule(topology, made->collective, made->schedule));
    EXPECT_EQ(made->schedule.rounds(), made->schedule.steps.size());
  }
}

TEST(Baselines, ALimitThatARingMeetsTwice) {
  Topology bus("bus", 4);
  std::vector<unsigned> links;
  for (unsigned rank = 0; rank < 4; ++rank)
    links.push_back(*bus.addLink(rank, (rank + 1) % 4));
  ASSERT_TRUE(bus.addLimit(links, 3));
  std::vector<Ring> rings = ringsOf(bus);
  ASSERT_EQ(rings.size(), 1u);
  auto made = makeRingBaseline(bus, rings, CollectiveKind::AllGather);
  ASSERT_TRUE(made) << made.error();
  EXPECT_FALSE(checkSchedule(bus, made->collective, made->schedule));
  EXPECT_EQ(made->schedule.rounds(), 6u);
}

TEST(Baselines, NoRing) {
  Topology path("path", 3);
  ASSERT_TRUE(path.addLink(0, 1, 1));
  ASSERT_TRUE(path.addLink(1, 2, 1));
  EXPECT_EQ(findRings(path).error(),
            "no ring through all ranks of topology 'path' was found");
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

static RankGroups blocks(unsigned boxes, unsigned gpus) {
  RankGroups groups(boxes);
  for (unsigned rank = 0; rank < boxes * gpus; ++rank)
    groups[rank / gpus].push_back(rank);
  return groups;
}

TEST(Trees, LeavesOfOneAreInsideOfTheOther) {
  for (unsigned boxes : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 37u}) {
    Topology topology = test::boxesOnRails(boxes, 2, 3);
    auto trees = findTrees(topology, blocks(boxes, 2));
    ASSERT_TRUE(trees) << trees.error();
    ASSERT_EQ(trees->size(), boxes == 1 ? 2u : 4u);
    if (boxes == 1)
      continue;
    // The heads of channel 0 are ranks 0, 2, 4, ...
    std::vector<unsigned> inside(boxes);
    for (unsigned t : {0u, 1u})
      for (unsigned box = 0; box < boxes; ++box) {
        std::set<unsigned> children;
        for (unsigned other = 0; other < boxes; ++other)
          if (other != box && (*trees)[t].parents[2 * other] == 2 * box)
            children.insert(other);
        EXPECT_LE(children.size(), 2u);
        inside[box] += !children.empty();
      }
    EXPECT_LE(std::ranges::count(inside, 2u), 2) << boxes;
  }
}

TEST(Trees, SchedulesAreRight) {
  for (unsigned boxes : {1u, 2u, 3u, 5u, 8u})
    for (unsigned m : {1u, 3u}) {
      Topology topology = test::boxesOnRails(boxes, 4, 3);
      auto trees = findTrees(topology, blocks(boxes, 4));
      ASSERT_TRUE(trees) << trees.error();
      auto made = makeTreeBaseline(topology, *trees, m);
      ASSERT_TRUE(made) << made.error();
      EXPECT_EQ(made->collective.chunks(), trees->size() * m);
      auto violation =
          checkSchedule(topology, made->collective, made->schedule);
      EXPECT_FALSE(violation) << violation->message;
    }
  Topology dgx1 = builtin("dgx1");
  auto trees = findTrees(dgx1, blocks(1, 8));
  ASSERT_TRUE(trees) << trees.error();
  EXPECT_EQ(trees->size(), 8u);
}

TEST(Trees, Refused) {
  Topology ring = builtin("ring:4");
  EXPECT_EQ(findTrees(ring, {{0, 1}, {2}}).error(),
            "the boxes must have each of 4 ranks once");
  EXPECT_EQ(findTrees(ring, {{0, 1, 2, 3}, {}}).error(), "a box has no rank");
  EXPECT_EQ(
      findTrees(builtin("ring:8"), {{0, 4}, {1, 5}, {2, 6}, {3, 7}}).error(),
      "no tree of chains in 4 boxes of topology 'ring:8' was found");
  EXPECT_EQ(makeTreeBaseline(ring, {}).error(),
            "a tree algorithm needs at least 1 tree");
  EXPECT_EQ(makeTreeBaseline(ring, {{0, {0, 0, 3, 2}}}).error(),
            "the parents of rank 2 do not lead to the root of its tree");
  EXPECT_EQ(makeTreeBaseline(ring, {{0, {0, 0, 0, 0}}}).error(),
            "tree 0 needs a link that topology 'ring:4' does not have");
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

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
}

TEST(Baselines, SharedLimitsCount) {
  // Every rank sends 1 chunk per round, so that two rings take turns.
  Topology bus = builtin("switch:4,1");
  std::vector<Ring> one = {{0, 1, 2, 3}}, two = {{0, 1, 2, 3}, {0, 2, 1, 3}};
  expectBaseline(bus, one, CollectiveKind::AllGather, 1, 3);
  auto made = makeRingBaseline(bus, two, CollectiveKind::AllGather);
  ASSERT_TRUE(made) << made.error();
  EXPECT_FALSE(checkSchedule(bus, made->collective, made->schedule));
  EXPECT_EQ(made->schedule.rounds(), 6u);
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
