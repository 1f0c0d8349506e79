//===- TransformsTest.cpp - Tests of inversion and composition ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever comes out must pass the checker, on a topology whose links are not
// alike in both directions, so that no mistake in a direction cancels out.
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

static Implementation inverted(const Implementation &implementation) {
  Result<Implementation> result = invert(implementation);
  EXPECT_TRUE(result) << result.error();
  return *result;
}

static Implementation composed(const Implementation &first,
                               const Implementation &second) {
  Result<Implementation> result = compose(first, second);
  EXPECT_TRUE(result) << result.error();
  return *result;
}

/// A collective with the given holders of chunk 0, 1, ... before and after.
static Collective custom(unsigned numRanks, bool combining,
                         const std::vector<std::vector<unsigned>> &before,
                         const std::vector<std::vector<unsigned>> &after) {
  unsigned numChunks = before.size();
  RankChunkSet pre(numRanks, numChunks), post(numRanks, numChunks);
  for (unsigned chunk = 0; chunk < numChunks; ++chunk) {
    for (unsigned rank : before[chunk])
      pre.insert(rank, chunk);
    for (unsigned rank : after[chunk])
      post.insert(rank, chunk);
  }
  Result<Collective> collective =
      Collective::makeCustom("mine", 1, combining, pre, post);
  EXPECT_TRUE(collective) << collective.error();
  return *collective;
}

//===----------------------------------------------------------------------===//
// Inverse of a collective
//===----------------------------------------------------------------------===//

TEST(InverseOf, NamedKinds) {
  struct Pair {
    CollectiveKind kind, inverse;
    unsigned chunks, inverseChunks;
  };
  using enum CollectiveKind;
  for (auto [kind, inverse, chunks, inverseChunks] :
       {Pair{AllGather, ReduceScatter, 3, 12}, Pair{Broadcast, Reduce, 5, 5},
        Pair{Gather, Scatter, 3, 12}, Pair{AllToAll, AllToAll, 8, 8}})
    for (bool back : {false, true}) {
      Collective from =
          back ? make(inverse, 4, inverseChunks, 2) : make(kind, 4, chunks, 2);
      Result<Collective> to = inverseOf(from);
      ASSERT_TRUE(to) << to.error();
      EXPECT_EQ(to->kind(), back ? kind : inverse);
      EXPECT_EQ(to->chunks(), back ? chunks : inverseChunks);
      EXPECT_EQ(to->root(), isRooted(kind) ? 2u : 0u);
    }
}

TEST(InverseOf, AllReduceHasNone) {
  EXPECT_EQ(inverseOf(make(CollectiveKind::AllReduce, 4, 1)).error(),
            "'all_reduce' has no inverse: the sum of chunk 0 goes to 4 ranks, "
            "at most 1 is allowed");
}

TEST(InverseOf, CustomSwapsItsConditions) {
  // Chunk 0 goes to two ranks and is summed up on the way back.
  Collective spread = custom(3, false, {{0}, {1}}, {{1, 2}, {2}});
  Result<Collective> sum = inverseOf(spread);
  ASSERT_TRUE(sum) << sum.error();
  EXPECT_TRUE(sum->combining());
  EXPECT_EQ(sum->name(), "mine_inverse");
  EXPECT_EQ(sum->pre(), spread.post());
  EXPECT_EQ(sum->post(), spread.pre());
  Result<Collective> back = inverseOf(*sum);
  ASSERT_TRUE(back) << back.error();
  EXPECT_FALSE(back->combining());
  EXPECT_EQ(back->pre(), spread.pre());
  // With one destination each there is nothing to sum up.
  Result<Collective> moved = inverseOf(custom(3, false, {{0}}, {{2}}));
  ASSERT_TRUE(moved) << moved.error();
  EXPECT_FALSE(moved->combining());
}

TEST(InverseOf, CustomWithUnwantedChunk) {
  Result<Collective> inverse =
      inverseOf(custom(2, false, {{0}, {1}}, {{1}, {}}));
  ASSERT_TRUE(inverse) << inverse.error();
  EXPECT_EQ(inverse->post().count(0), 1u);
  EXPECT_EQ(inverse->post().count(1), 0u);
}

TEST(InverseOf, CustomWithSeveralSources) {
  EXPECT_EQ(inverseOf(custom(3, false, {{0}, {0, 1}}, {{2}, {2}})).error(),
            "'mine' has no inverse: chunk 1 is at 2 ranks at the start, at "
            "most 1 is allowed");
}

//===----------------------------------------------------------------------===//
// Inverse of a schedule
//===----------------------------------------------------------------------===//

TEST(Invert, AllGatherOfOneRing) {
  // 0 -> 1 -> 2 -> 0; chunk 0 goes on from rank 1 to rank 2 in step 1.
  Schedule schedule{{{1, {{0, 0, 1}, {1, 1, 2}, {2, 2, 0}}},
                     {1, {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}}}}};
  Implementation result =
      inverted({make(CollectiveKind::AllGather, 3, 1), schedule});
  constexpr SendAction reduce = SendAction::Reduce;
  Schedule expected{
      {{1, {{0, 2, 1, reduce}, {1, 0, 2, reduce}, {2, 1, 0, reduce}}},
       {1, {{0, 1, 0, reduce}, {1, 2, 1, reduce}, {2, 0, 2, reduce}}}}};
  EXPECT_EQ(result.schedule, expected);
  EXPECT_EQ(result.collective.kind(), CollectiveKind::ReduceScatter);
  EXPECT_EQ(result.collective.chunks(), 3u);
}

TEST(Invert, RandomSchedulesOfAllKindsAndBack) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 40; ++round)
    for (CollectiveKind kind :
         {CollectiveKind::AllGather, CollectiveKind::AllToAll,
          CollectiveKind::Broadcast, CollectiveKind::Gather,
          CollectiveKind::Scatter}) {
      unsigned numRanks = 2 + random() % 6;
      unsigned chunks = numRanks * (1 + random() % 2);
      Topology topology = oneWay(numRanks);
      Implementation original = flood(
          random, topology, make(kind, numRanks, chunks, random() % numRanks));
      expectValid(topology, original);
      Implementation turned = inverted(original);
      expectValid(topology.reversed(), turned);
      EXPECT_EQ(turned.schedule.rounds(), original.schedule.rounds());
      Implementation back = inverted(turned);
      expectValid(topology, back);
      EXPECT_EQ(back.collective.kind(), kind);
      EXPECT_EQ(back.collective.chunks(), chunks);
      // Pruned once, it is its own inverse's inverse.
      EXPECT_EQ(inverted(inverted(back)).schedule, back.schedule);
    }
}

TEST(Invert, RandomCustomCollectives) {
  std::mt19937 random(2);
  for (unsigned round = 0; round < 60; ++round) {
    unsigned numRanks = 3 + random() % 4;
    Topology topology = oneWay(numRanks);
    std::vector<std::vector<unsigned>> before(4), after(4);
    for (unsigned chunk = 0; chunk < 4; ++chunk) {
      before[chunk] = {unsigned(random() % numRanks)};
      for (unsigned rank = 0; rank < numRanks; ++rank)
        if (random() % 3 == 0)
          after[chunk].push_back(rank);
    }
    Implementation original =
        flood(random, topology, custom(numRanks, false, before, after));
    expectValid(topology, original);
    Implementation turned = inverted(original);
    expectValid(topology.reversed(), turned);
    expectValid(topology, inverted(turned));
  }
}

TEST(Invert, ReductionsThatAreNoTrees) {
  // Rank 1 sends its input in both steps; the first is replaced at rank 2.
  Topology topology("line", 3);
  ASSERT_TRUE(topology.addLink(0, 1, 1));
  ASSERT_TRUE(topology.addLink(1, 2, 1));
  Schedule schedule{{{1,
                      {{0, 0, 1, SendAction::Reduce},
                       {0, 1, 2, SendAction::Copy, SendPayload::Input}}},
                     {1, {{0, 1, 2, SendAction::Copy}}}}};
  Collective sum = custom(3, true, {{0, 1}}, {{2}});
  expectValid(topology, {sum, schedule});
  Implementation turned = inverted({sum, schedule});
  expectValid(topology.reversed(), turned);
  EXPECT_EQ(turned.schedule.numSends(), 2u);
}

TEST(Invert, NumbersOutOfRange) {
  Collective broadcast = make(CollectiveKind::Broadcast, 3, 2);
  EXPECT_EQ(invert({broadcast, {{{1, {{0, 0, 3}}}}}}).error(),
            "rank 3 of a send is out of range for 3 ranks");
  EXPECT_EQ(invert({broadcast, {{{1, {{2, 0, 1}}}}}}).error(),
            "chunk 2 of a send is out of range for 2 chunks");
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

TEST(Compose, NamedResults) {
  using enum CollectiveKind;
  std::mt19937 random(3);
  const unsigned n = 4, root = 2;
  Topology topology = oneWay(n);
  auto of = [&](CollectiveKind kind, unsigned chunks) {
    if (!isCombining(kind))
      return flood(random, topology, make(kind, n, chunks, root));
    CollectiveKind from = kind == Reduce ? Broadcast : AllGather;
    unsigned fewer = kind == Reduce ? chunks : chunks / n;
    return inverted(
        flood(random, topology.reversed(), make(from, n, fewer, root)));
  };
  struct Case {
    CollectiveKind first;
    unsigned firstChunks;
    CollectiveKind second;
    unsigned secondChunks;
    CollectiveKind result;
  };
  for (const Case &c : {Case{ReduceScatter, 8, AllGather, 2, AllReduce},
                        Case{Reduce, 3, Broadcast, 3, AllReduce},
                        Case{ReduceScatter, 8, Gather, 2, Reduce},
                        Case{Reduce, 8, Scatter, 8, ReduceScatter},
                        Case{Scatter, 8, AllGather, 2, Broadcast},
                        Case{Gather, 2, Broadcast, 8, AllGather},
                        Case{Gather, 2, Scatter, 8, Custom}}) {
    Implementation first = of(c.first, c.firstChunks);
    Implementation second = of(c.second, c.secondChunks);
    Implementation both = composed(first, second);
    EXPECT_EQ(both.collective.kind(), c.result);
    EXPECT_EQ(both.collective.chunks(), c.firstChunks);
    expectValid(topology, both);
    EXPECT_EQ(both.schedule.rounds(),
              first.schedule.rounds() + second.schedule.rounds());
    EXPECT_EQ(both.schedule.steps.size(),
              first.schedule.steps.size() + second.schedule.steps.size());
    EXPECT_EQ(both.collective.root(), isRooted(c.result) ? root : 0);
    EXPECT_EQ(both.collective.name(),
              c.result == Custom ? "gather_scatter" : collectiveName(c.result));
  }
}

TEST(Compose, LeavesOutWhatIsThere) {
  // The scatter leaves chunks 1 and 2 at rank 0, and chunk 2 on its way at
  // rank 1.
  Topology topology = oneWay(3);
  Implementation scatter{make(CollectiveKind::Scatter, 3, 3),
                         {{{2, {{1, 0, 1}, {2, 0, 1}}}, {1, {{2, 1, 2}}}}}};
  expectValid(topology, scatter);
  std::mt19937 random(4);
  Implementation allGather =
      flood(random, topology, make(CollectiveKind::AllGather, 3, 1));
  Implementation both = composed(scatter, allGather);
  expectValid(topology, both);
  EXPECT_EQ(both.schedule.numSends(),
            scatter.schedule.numSends() + allGather.schedule.numSends() - 3);
}

TEST(Compose, KeepsReductionsThatAreNotComplete) {
  // After the reduce, rank 1 has a part of the sum, which must be replaced.
  Topology topology("pair_and_tail", 3);
  for (auto [src, dst] : {Link{2, 1}, Link{1, 0}, Link{0, 1}, Link{1, 2}})
    ASSERT_TRUE(topology.addLink(src, dst, 1));
  constexpr SendAction reduce = SendAction::Reduce;
  Implementation sum{make(CollectiveKind::Reduce, 3, 1),
                     {{{1, {{0, 2, 1, reduce}}}, {1, {{0, 1, 0, reduce}}}}}};
  Implementation spread{make(CollectiveKind::Broadcast, 3, 1),
                        {{{1, {{0, 0, 1}}}, {1, {{0, 1, 2}}}}}};
  Implementation both = composed(sum, spread);
  expectValid(topology, both);
  EXPECT_EQ(both.schedule.numSends(), 4u);
}

TEST(Compose, Refusals) {
  using enum CollectiveKind;
  Implementation broadcast{make(Broadcast, 3, 2), {}};
  Implementation reduce{make(Reduce, 3, 2), {}};
  Implementation fromOther{make(Broadcast, 3, 2, /*root=*/1), {}};
  Implementation longer{make(Broadcast, 3, 4), {}};
  EXPECT_EQ(compose(broadcast, reduce).error(),
            "cannot compose 'broadcast' with 'reduce': the second must not "
            "combine");
  EXPECT_EQ(compose(reduce, fromOther).error(),
            "cannot compose 'reduce' with 'broadcast': rank 0 has chunk 0 "
            "after the first, but must not have it before the second");
  EXPECT_EQ(
      compose({make(Gather, 3, 1), {}}, {make(AllGather, 3, 1), {}}).error(),
      "cannot compose 'gather' with 'all_gather': rank 0 has chunk 1 "
      "after the first, but must not have it before the second");
  EXPECT_EQ(compose(reduce, longer).error(),
            "cannot compose 'reduce' with 'broadcast': the first has 3 ranks "
            "and 2 chunks, the second 3 ranks and 4 chunks");
}

TEST(ComposeAllReduce, OnLinksThatDiffer) {
  std::mt19937 random(5);
  for (unsigned numRanks = 2; numRanks <= 7; ++numRanks) {
    Topology topology = oneWay(numRanks);
    Collective allGather = make(CollectiveKind::AllGather, numRanks, 2);
    Implementation onReversed = flood(random, topology.reversed(), allGather);
    Implementation forward = flood(random, topology, allGather);
    Result<Implementation> result = composeAllReduce(onReversed, forward);
    ASSERT_TRUE(result) << result.error();
    EXPECT_EQ(result->collective.kind(), CollectiveKind::AllReduce);
    EXPECT_EQ(result->collective.chunks(), 2 * numRanks);
    expectValid(topology, *result);
  }
}

TEST(ComposeAllReduce, TakesAllGathersOnly) {
  Implementation broadcast{make(CollectiveKind::Broadcast, 3, 2), {}};
  EXPECT_EQ(composeAllReduce(broadcast, broadcast).error(),
            "all_reduce is composed of two all_gather schedules, got "
            "'broadcast'");
}
