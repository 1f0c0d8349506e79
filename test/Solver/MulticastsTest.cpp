//===- MulticastsTest.cpp - Tests of trees to some of the ranks -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is packed passes the checker, and is never below the certified bound;
// where it meets that, it is the best there is.
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "EngineTesting.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Solver/Multicasts.h"

using namespace sccl;
using namespace sccl::test;

using Kind = CollectiveKind;

/// The cheapest schedule of up to `steps` steps, checked, and the bound.
struct BestAndBound {
  std::optional<Rational> cost, bound;
};
static BestAndBound bestOf(const Topology &topology,
                           const CollectiveFamily &family, unsigned steps) {
  unsigned ranks = topology.numRanks();
  Collective smallest = *family.make(ranks, unsigned(family.unit(ranks)));
  BestAndBound result;
  if (Result<LowerBound> bound = availableBound(topology, smallest, steps))
    result.bound = bound->value;
  MulticastSynthesis synthesis(topology, smallest);
  std::optional<Implementation> found =
      synthesis.best({steps, 96, 4096, 1u << 20, std::nullopt}, {});
  if (!found)
    return result;
  auto violation = checkSchedule(topology, found->collective, found->schedule);
  EXPECT_FALSE(violation) << violation->message;
  EXPECT_LE(found->schedule.steps.size(), steps);
  EXPECT_EQ(found->collective.pre(),
            family.make(ranks, found->collective.chunks())->pre());
  EXPECT_EQ(found->collective.post(),
            family.make(ranks, found->collective.chunks())->post());
  result.cost = Rational(found->schedule.rounds(), found->collective.chunks());
  if (result.bound) {
    EXPECT_GE(*result.cost, *result.bound);
  }
  return result;
}

TEST(MulticastsTest, MeetsTheBoundForOneRankOfEachBox) {
  Topology topology = boxesOnRails(4, 4, 5);
  for (const char *text :
       {"strides:4", "0,5,10,15/1,6,11,12/2,7,8,13/3,4,9,14"}) {
    RankGroups groups = *parseRankGroups(text, 16);
    for (Kind kind : {Kind::AllGather, Kind::ReduceScatter}) {
      auto [cost, bound] = bestOf(topology, {kind, 0, groups}, 2);
      ASSERT_TRUE(cost && bound) << text;
      EXPECT_EQ(*cost, *bound) << text;
      EXPECT_EQ(*bound, kind == Kind::AllGather ? Rational(3) : Rational(3, 4));
    }
  }
}

TEST(MulticastsTest, OthersRelay) {
  // Half the ranks of each box have half of its network cards.
  Topology topology = boxesOnRails(2, 4, 9);
  RankGroups groups = {{0, 1, 4, 5}};
  auto [direct, directBound] =
      bestOf(topology, {Kind::AllGather, 0, groups}, 2);
  ASSERT_TRUE(direct);
  auto [relayed, bound] = bestOf(topology, {Kind::AllGather, 0, groups}, 4);
  ASSERT_TRUE(relayed && bound);
  EXPECT_LT(*relayed, Rational(1));
  EXPECT_LT(*relayed, *direct);
}

TEST(MulticastsTest, TakesEveryKindThatMovesOrInvertsToIt) {
  Topology topology = boxesOnRails(2, 3, 4);
  RankGroups groups = {{0, 1, 3}, {5, 2}};
  for (Kind kind : allCollectiveKinds()) {
    CollectiveFamily family{kind, kind == Kind::Broadcast ? 1u : 0u, groups};
    Collective smallest = *family.make(6, unsigned(family.unit(6)));
    EXPECT_EQ(MulticastSynthesis::takes(smallest), kind != Kind::AllReduce);
    // The last: inverses in groups of different sizes are not of a kind.
    if (kind == Kind::AllReduce || kind == Kind::ReduceScatter)
      continue;
    EXPECT_TRUE(bestOf(topology, family, 3).cost) << collectiveName(kind);
  }
}

TEST(MulticastsTest, GatherAndScatterMeetTheBound) {
  Topology topology = boxesOnRails(3, 4, 9);
  for (Kind kind : {Kind::Gather, Kind::Scatter})
    for (unsigned steps : {2u, 3u}) {
      auto [cost, bound] = bestOf(topology, {kind, 5}, steps);
      ASSERT_TRUE(cost && bound);
      // Whole chunks cost a little.
      EXPECT_LE(cost->toDouble(), 1.01 * bound->toDouble());
    }
}

TEST(MulticastsTest, UnequalCounts) {
  Topology topology = boxesOnRails(2, 4, 3);
  CollectiveFamily family = CollectiveFamily::of(
      *Collective::makeAllGatherV({3, 0, 1, 0, 2, 2, 0, 0}));
  auto [cost, bound] = bestOf(topology, family, 3);
  ASSERT_TRUE(cost && bound);
  EXPECT_LE(cost->toDouble(), 1.1 * bound->toDouble());
}

TEST(MulticastsTest, ChunksMayHaveSeveralSources) {
  // Rank 2 may get it from 0 or 1; over both at once with two pieces.
  Topology topology("two sources", 3);
  for (unsigned rank : {0u, 1u})
    ASSERT_TRUE(topology.addLink(rank, 2, 1));
  RankChunkSet pre(3, 1), post(3, 1);
  pre.insert(0, 0);
  pre.insert(1, 0);
  post.insert(2, 0);
  Collective collective = *Collective::makeCustom(
      "either", 1, false, std::move(pre), std::move(post));
  auto [cost, bound] = bestOf(topology, CollectiveFamily::of(collective), 1);
  ASSERT_TRUE(cost);
  EXPECT_EQ(*cost, Rational(1, 2));
}

TEST(MulticastsTest, NothingWhereStepsAreTooFew) {
  Topology topology = boxesOnRails(2, 4, 9);
  EXPECT_FALSE(bestOf(topology, {Kind::AllGather, 0, {{0, 5}}}, 1).cost);
}

TEST(MulticastsTest, AnswersSingleInstances) {
  Topology topology = boxesOnRails(4, 4, 5);
  RankGroups groups = *parseRankGroups("strides:4", 16);
  auto ask = [&](Kind kind, unsigned chunks, unsigned steps, unsigned rounds) {
    Collective collective = *Collective::makeGrouped(kind, 16, groups, chunks);
    return synthesize({topology, collective, steps, rounds});
  };
  EXPECT_TRUE(
      std::holds_alternative<Satisfied>(ask(Kind::AllGather, 1, 1, 3).outcome));
  EXPECT_TRUE(std::holds_alternative<Satisfied>(
      ask(Kind::ReduceScatter, 4, 1, 3).outcome));
  SynthesisResult allReduce = ask(Kind::AllReduce, 4, 2, 6);
  EXPECT_TRUE(std::holds_alternative<Satisfied>(allReduce.outcome))
      << statusName(allReduce.outcome);
  EXPECT_TRUE(std::holds_alternative<Unsatisfiable>(
      ask(Kind::AllGather, 1, 1, 2).outcome));
}
