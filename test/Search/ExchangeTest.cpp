//===- ExchangeTest.cpp - Reductions on many ranks ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "sccl/Search/Frontier.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Check/Certificate.h"
#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

#include <set>

using namespace sccl;

/// Boxes of eight ranks, joined by a rail for each.
static Topology boxesOnRails(unsigned boxes, unsigned inBox) {
  unsigned ranks = 8 * boxes;
  Topology topology("boxes", ranks);
  std::vector<std::vector<unsigned>> ports(4 * ranks);
  for (unsigned a = 0; a < ranks; ++a)
    for (unsigned b = 0; b < ranks; ++b) {
      bool sameBox = a / 8 == b / 8;
      if (a == b || (!sameBox && a % 8 != b % 8))
        continue;
      unsigned link = *topology.addLink(a, b);
      ports[4 * a + (sameBox ? 0 : 2)].push_back(link);
      ports[4 * b + (sameBox ? 1 : 3)].push_back(link);
    }
  for (unsigned i = 0; i < ports.size(); ++i)
    EXPECT_TRUE(topology.addLimit(ports[i], i % 4 < 2 ? inBox : 1));
  return topology;
}

TEST(Exchange, EachNumberOfStepsHasASchedule) {
  // Without limits of time or work: it ends by itself.
  Topology topology = boxesOnRails(3, 6);
  FrontierOptions options;
  options.maxSteps = 6;
  auto frontier =
      searchFrontier(topology, {CollectiveKind::AllReduce}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  ASSERT_EQ(frontier->points.size(), 5u);
  for (unsigned i = 0; i < 5; ++i) {
    const FrontierPoint &point = frontier->points[i];
    EXPECT_EQ(point.steps, i + 2);
    auto violation = checkSchedule(
        topology,
        *Collective::make(CollectiveKind::AllReduce, 24, point.chunks),
        point.schedule.get());
    EXPECT_FALSE(violation) << violation->message;
    ASSERT_TRUE(point.bound && point.bound->value);
    EXPECT_LE(point.bandwidth().toDouble(),
              point.bound->value->toDouble() * 1.25);
  }
}

TEST(Exchange, ReduceScatterCostsWhatAllGatherDoes) {
  // Its C counts the chunks of all ranks, which leaves less below a limit.
  Topology topology = boxesOnRails(4, 9);
  FrontierOptions options;
  options.maxSteps = 6;
  auto gathers = searchFrontier(topology, {CollectiveKind::AllGather}, options);
  auto scatters =
      searchFrontier(topology, {CollectiveKind::ReduceScatter}, options);
  ASSERT_TRUE(gathers && scatters);
  ASSERT_EQ(gathers->points.size(), 5u);
  ASSERT_EQ(scatters->points.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    const FrontierPoint &point = scatters->points[i];
    Rational gathered = gathers->points[i].bandwidth();
    EXPECT_EQ(point.steps, gathers->points[i].steps);
    EXPECT_EQ(point.bandwidth(),
              Rational(gathered.numerator(), gathered.denominator() * 32));
    EXPECT_FALSE(checkSchedule(
        topology,
        *Collective::make(CollectiveKind::ReduceScatter, 32, point.chunks),
        point.schedule.get()));
  }
}

TEST(Exchange, BroadcastsToBoxesThatDiffer) {
  // The boxes of 40 ranks get chunks at other times each, over other rails.
  for (unsigned boxes : {2, 5}) {
    Topology topology = boxesOnRails(boxes, 7);
    FrontierOptions options;
    options.maxSteps = 4;
    auto frontier =
        searchFrontier(topology, {CollectiveKind::Broadcast}, options);
    ASSERT_TRUE(frontier) << frontier.error();
    ASSERT_EQ(frontier->points.size(), 3u);
    for (const FrontierPoint &point : frontier->points) {
      ASSERT_TRUE(point.bound && point.bound->value);
      EXPECT_LE(point.bandwidth().toDouble(),
                point.bound->value->toDouble() * 1.05);
    }
  }
}

TEST(Exchange, BroadcastsToManyBoxesAtEachNumberOfSteps) {
  // Each number of steps has a schedule, and the search ends by itself.
  Topology topology = boxesOnRails(12, 9);
  FrontierOptions options;
  options.maxSteps = 6;
  auto frontier =
      searchFrontier(topology, {CollectiveKind::Broadcast}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  ASSERT_EQ(frontier->points.size(), 5u);
  for (const FrontierPoint &point : frontier->points) {
    ASSERT_TRUE(point.bound && point.bound->value);
    EXPECT_LE(point.bandwidth().toDouble(),
              point.bound->value->toDouble() * 1.12);
    EXPECT_FALSE(checkSchedule(
        topology,
        *Collective::make(CollectiveKind::Broadcast, 96, point.chunks),
        point.schedule.get()));
  }
}

TEST(Exchange, SearchesOnManyRanksHaveTheirWorkTogether) {
  // Trees leave a gap at S = 3, and nothing that is asked for finds more.
  Topology topology = test::boxesOnCore(3, 8, 12);
  FrontierOptions options;
  options.maxSteps = 3;
  options.manyRanksWork = 1;
  std::set<std::pair<unsigned, unsigned>> asked;
  options.watch = [&](const FrontierActivity &activity) {
    if (activity.chunks > 0)
      asked.emplace(activity.chunks, activity.rounds);
  };
  auto frontier =
      searchFrontier(topology, {CollectiveKind::AllReduce}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  EXPECT_EQ(frontier->points.size(), 3u);
  EXPECT_FALSE(frontier->stopped);
  EXPECT_EQ(frontier->open, std::vector<unsigned>{3});
  // In the first turn of S = 3; there is no second.
  EXPECT_LE(asked.size(), 5u);
}

TEST(Exchange, SearchesOnSomeRanksHaveTheirWorkTogether) {
  // Where engines find a little more than trees, if they get more work.
  Topology topology = *makeBuiltinTopology("torus:3x4");
  FrontierOptions options;
  options.maxSteps = 7;
  options.probeWork = 160'000;
  auto askedWith = [&](uint64_t work) {
    unsigned asked = 0;
    options.manyRanksWork = work;
    options.watch = [&](const FrontierActivity &activity) {
      asked += activity.chunks > 0;
    };
    auto frontier =
        searchFrontier(topology, {CollectiveKind::Broadcast}, options);
    EXPECT_TRUE(frontier && !frontier->stopped);
    EXPECT_GE(frontier->points.size(), 4u);
    return asked;
  };
  EXPECT_LT(askedWith(1), askedWith(1'000'000));
}

TEST(Exchange, EndsOnBoxesOfCardsForTwo) {
  // Where trees do not meet the bound, nothing else would within minutes.
  Topology topology = test::boxesOnCore(10, 8, 7, /*perCard=*/2);
  FrontierOptions options;
  options.maxSteps = 4;
  auto frontier =
      searchFrontier(topology, {CollectiveKind::AllGather}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  ASSERT_EQ(frontier->points.size(), 4u);
  for (const FrontierPoint &point : frontier->points) {
    ASSERT_TRUE(point.bound && point.bound->value);
    EXPECT_LE(point.bandwidth().toDouble(),
              point.bound->value->toDouble() * 1.3);
  }
}

TEST(Exchange, FewChunksWhereTheyMeetTheBound) {
  FrontierOptions options;
  options.maxSteps = 3;
  auto frontier =
      searchFrontier(boxesOnRails(2, 9), {CollectiveKind::AllGather}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  ASSERT_EQ(frontier->points.size(), 2u);
  EXPECT_EQ(frontier->points[1].bandwidth(), Rational(3, 2));
  EXPECT_EQ(frontier->points[1].chunks, 2u);
}

TEST(Exchange, TreesOfAnyNumberOfChunksMeetTheBound) {
  Topology topology = boxesOnRails(3, 9);
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    FrontierOptions options;
    options.maxSteps = 4;
    std::vector<uint64_t> passed;
    options.trees = [&](const TreePoint &point) {
      passed.push_back(point.chunks);
    };
    auto frontier = searchFrontier(topology, {kind}, options);
    ASSERT_TRUE(frontier) << frontier.error();
    EXPECT_TRUE(frontier->open.empty()) << collectiveName(kind);
    ASSERT_EQ(frontier->points.size(), 3u);
    EXPECT_FALSE(frontier->points[2].optimal);
    ASSERT_EQ(frontier->trees.size(), 1u);
    const TreePoint &point = frontier->trees[0];
    EXPECT_EQ(passed, std::vector{point.chunks});
    EXPECT_EQ(point.steps, 4u);
    EXPECT_TRUE(point.optimal);
    EXPECT_LT(point.bandwidth(), frontier->points[2].bandwidth());
    Result<Implementation> written = writeOut(point, {kind}, 24);
    ASSERT_TRUE(written) << written.error();
    EXPECT_EQ(written->collective.chunks(), point.chunks);
    EXPECT_EQ(written->schedule.numSends(), point.sends);
    auto violation =
        checkSchedule(topology, written->collective, written->schedule);
    EXPECT_FALSE(violation) << violation->message;
    // Who says how many chunks there may be gets no more.
    options.maxChunksIsFirm = true;
    EXPECT_TRUE(searchFrontier(topology, {kind}, options)->trees.empty());
  }
}

TEST(Exchange, SumsInTwoStepsOfAGrid) {
  // Boxes first, or rails first: each half of the chunks.
  Topology topology = boxesOnRails(20, 9);
  FrontierOptions options;
  options.maxSteps = 2;
  auto frontier =
      searchFrontier(topology, {CollectiveKind::AllReduce}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  ASSERT_EQ(frontier->points.size(), 1u);
  const FrontierPoint &point = frontier->points[0];
  EXPECT_EQ(point.bandwidth(), Rational(19));
  EXPECT_TRUE(point.optimal);
  auto violation = checkSchedule(
      topology, *Collective::make(CollectiveKind::AllReduce, 160, point.chunks),
      point.schedule.get());
  EXPECT_FALSE(violation) << violation->message;
}

TEST(Exchange, BoundsOnSumsOfManyRanksAreThoseOfBroadcasts) {
  Topology topology = boxesOnRails(12, 9);
  auto boundOf = [&](CollectiveKind kind) {
    LowerBoundOptions options;
    options.maxWork = 10'000'000;
    Collective collective = *Collective::make(kind, 96, 1);
    Result<LowerBound> bound = lowerBound(topology, collective, 3, options);
    EXPECT_TRUE(bound) << bound.error();
    EXPECT_FALSE(checkCertificate(bound->certificate, topology, collective));
    return bound->value;
  };
  EXPECT_EQ(boundOf(CollectiveKind::AllReduce), Rational(11, 10));
  EXPECT_EQ(boundOf(CollectiveKind::Broadcast), Rational(11, 10));
}

TEST(Exchange, AllReduceInOneStepOnManyRanks) {
  // Too many sends for the engines, but there is only one way.
  Result<Topology> rack = makeBuiltinTopology("switch:40,1");
  ASSERT_TRUE(rack) << rack.error();
  FrontierOptions options;
  options.maxSteps = 1;
  auto frontier = searchFrontier(*rack, {CollectiveKind::AllReduce}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  ASSERT_EQ(frontier->points.size(), 1u);
  const FrontierPoint &point = frontier->points[0];
  EXPECT_EQ(point.bandwidth(), Rational(39));
  EXPECT_TRUE(point.optimal);
  auto violation = checkSchedule(
      *rack, *Collective::make(CollectiveKind::AllReduce, 40, point.chunks),
      point.schedule.get());
  EXPECT_FALSE(violation) << violation->message;
}
