//===- InstanceTest.cpp - Tests of synthesis problems ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no schedule can do must be refused with the chunk and the rank at fault.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Instance.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace sccl;

using Kind = CollectiveKind;

/// Links 0 -> 1 -> 2 -> ..., one way only.
static Topology oneWay(unsigned numRanks) {
  Topology t("one_way", numRanks);
  for (unsigned rank = 0; rank + 1 < numRanks; ++rank)
    EXPECT_TRUE(t.addLink(rank, rank + 1, 1));
  return t;
}

static Collective make(Kind kind, unsigned numRanks, unsigned chunks,
                       unsigned root = 0) {
  return *Collective::make(kind, numRanks, chunks, root);
}

static std::string errorOf(const Topology &topology,
                           const Collective &collective, unsigned steps = 2,
                           unsigned rounds = 2) {
  Result<Instance> instance =
      Instance::make(topology, collective, steps, rounds);
  EXPECT_FALSE(instance);
  return instance.error();
}

TEST(Instance, KeepsWhatItIsGiven) {
  Result<Instance> i = Instance::make(*makeBuiltinTopology("ring:4"),
                                      make(Kind::AllGather, 4, 2), 2, 3);
  ASSERT_TRUE(i) << i.error();
  EXPECT_EQ(i->topology.name(), "ring:4");
  EXPECT_EQ(i->collective.numChunks(), 8u);
  EXPECT_EQ(i->steps, 2u);
  EXPECT_EQ(i->rounds, 3u);
}

TEST(Instance, Numbers) {
  Topology ring = *makeBuiltinTopology("ring:4");
  Collective gather = make(Kind::AllGather, 4, 1);
  EXPECT_EQ(errorOf(ring, gather, 0, 1), "steps must be at least 1");
  EXPECT_EQ(errorOf(ring, gather, 4, 3),
            "rounds (3) must be at least steps (4)");
  EXPECT_EQ(errorOf(ring, gather, 1, Instance::maxRounds + 1),
            "rounds (1048577) must be at most 1048576");
  EXPECT_TRUE(Instance::make(ring, gather, 4, 4));
  EXPECT_TRUE(Instance::make(ring, gather, 1, Instance::maxRounds));
  EXPECT_EQ(errorOf(ring, make(Kind::AllGather, 8, 1)),
            "topology 'ring:4' has 4 ranks, but collective 'all_gather' has 8");
}

TEST(Instance, EveryKindOnAStronglyConnectedTopology) {
  for (Kind kind : allCollectiveKinds())
    EXPECT_TRUE(
        Instance::make(*makeBuiltinTopology("dgx1"), make(kind, 8, 8), 1, 1))
        << collectiveName(kind);
}

TEST(Instance, RootedKindsAlongOneWay) {
  Topology t = oneWay(4);
  EXPECT_TRUE(Instance::make(t, make(Kind::Broadcast, 4, 2, 0), 2, 2));
  EXPECT_TRUE(Instance::make(t, make(Kind::Scatter, 4, 4, 0), 2, 2));
  EXPECT_TRUE(Instance::make(t, make(Kind::Gather, 4, 2, 3), 2, 2));
  EXPECT_TRUE(Instance::make(t, make(Kind::Reduce, 4, 2, 3), 2, 2));
}

TEST(Instance, UnreachableRanks) {
  Topology t = oneWay(4);
  EXPECT_EQ(errorOf(t, make(Kind::Broadcast, 4, 2, 2)),
            "chunk 0 cannot reach rank 0: no path from rank 2");
  // Chunk 2 belongs to rank 1, the first with a rank before it.
  EXPECT_EQ(errorOf(t, make(Kind::AllGather, 4, 2)),
            "chunk 2 cannot reach rank 0: no path from rank 1");
  EXPECT_EQ(errorOf(t, make(Kind::Scatter, 4, 8, 1)),
            "chunk 0 cannot reach rank 0: no path from rank 1");
  EXPECT_EQ(errorOf(t, make(Kind::Gather, 4, 1, 2)),
            "chunk 3 cannot reach rank 2: no path from rank 3");
  EXPECT_EQ(errorOf(t, make(Kind::AllToAll, 4, 4)),
            "chunk 4 cannot reach rank 0: no path from rank 1");
}

TEST(Instance, EveryContributorMustArrive) {
  Topology t = oneWay(4);
  EXPECT_EQ(errorOf(t, make(Kind::Reduce, 4, 1, 2)),
            "chunk 0 cannot reach rank 2: no path from rank 3");
  EXPECT_EQ(errorOf(t, make(Kind::AllReduce, 4, 1)),
            "chunk 0 cannot reach rank 0: no path from rank 1");
  EXPECT_EQ(errorOf(t, make(Kind::ReduceScatter, 4, 4)),
            "chunk 0 cannot reach rank 0: no path from rank 1");
}

TEST(Instance, OneOfSeveralSourcesIsEnoughUnlessCombining) {
  RankChunkSet pre(4, 2), post(4, 2);
  pre.insert(0, 1);
  pre.insert(3, 1);
  post.insert(2, 1);
  auto custom = [&](bool combining) {
    return *Collective::makeCustom("c", 1, combining, pre, post);
  };
  EXPECT_TRUE(Instance::make(oneWay(4), custom(false), 2, 2));
  EXPECT_EQ(errorOf(oneWay(4), custom(true)),
            "chunk 1 cannot reach rank 2: no path from rank 3");
  // Against the links no source helps.
  EXPECT_EQ(errorOf(oneWay(4).reversed(), custom(true)),
            "chunk 1 cannot reach rank 2: no path from rank 0");
  pre.insert(2, 0);
  pre.insert(3, 0);
  post.insert(1, 0);
  EXPECT_EQ(errorOf(oneWay(4), custom(false)),
            "chunk 0 cannot reach rank 1: no path from any of the 2 ranks with "
            "it");
}

TEST(Instance, SameContributorsOtherDestinations) {
  // Ranks 0 and 1 add up both chunks; chunk 1 is wanted where 1 cannot send.
  RankChunkSet pre(4, 2), post(4, 2);
  for (unsigned rank : {0, 1})
    for (unsigned chunk : {0, 1})
      pre.insert(rank, chunk);
  post.insert(3, 0);
  post.insert(0, 1);
  EXPECT_EQ(
      errorOf(oneWay(4), *Collective::makeCustom("c", 1, true, pre, post)),
      "chunk 1 cannot reach rank 0: no path from rank 1");
}

TEST(Instance, HeldAtTheStartNeedsNoPath) {
  Topology apart("apart", 3);
  EXPECT_EQ(errorOf(apart, make(Kind::AllGather, 3, 1)),
            "chunk 0 cannot reach rank 1: no path from rank 0");
  RankChunkSet set(3, 1);
  set.insert(1, 0);
  EXPECT_TRUE(Instance::make(
      apart, *Collective::makeCustom("stay", 1, false, set, set), 1, 1));
}

TEST(Instance, LargeIsFast) {
  // The bound is generous: it catches a search per chunk, not a slow machine.
  auto start = std::chrono::steady_clock::now();
  Topology ring = *makeBuiltinTopology("ring:1024");
  EXPECT_TRUE(Instance::make(ring, make(Kind::AllGather, 1024, 10), 1, 10));
  EXPECT_TRUE(
      Instance::make(oneWay(1024), make(Kind::Gather, 1024, 10, 1023), 1, 10));
  EXPECT_TRUE(Instance::make(oneWay(1024),
                             make(Kind::Reduce, 1024, 10240, 1023), 1, 10));
  auto taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(std::chrono::duration<double>(taken).count(), 20.0);
}
