//===- CollectiveTest.cpp - Tests of pre- and postconditions --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected sets are written out chunk by chunk for small cases; identities that
// hold for every kind are checked for every kind.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Collective.h"

#include "sccl/Model/RanksByChunk.h"

#include <gtest/gtest.h>

#include <limits>

using namespace sccl;

using Chunks = std::vector<unsigned>;
using ChunksPerRank = std::vector<Chunks>;
using Kind = CollectiveKind;

static Collective make(Kind kind, unsigned numRanks, unsigned chunks,
                       unsigned root = 0) {
  Result<Collective> result = Collective::make(kind, numRanks, chunks, root);
  if (!result) {
    ADD_FAILURE() << collectiveName(kind) << ": " << result.error();
    return *Collective::make(Kind::AllGather, 1, 1);
  }
  return *result;
}

static ChunksPerRank listed(const RankChunkSet &set) {
  ChunksPerRank result;
  for (unsigned rank = 0; rank < set.numRanks(); ++rank)
    result.push_back(set.chunksOf(rank));
  return result;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

TEST(CollectiveName, RoundTrip) {
  std::vector<std::string> names;
  for (Kind kind : allCollectiveKinds()) {
    names.emplace_back(collectiveName(kind));
    EXPECT_EQ(parseCollectiveName(collectiveName(kind)), kind);
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "all_gather", "all_reduce", "all_to_all", "broadcast",
                       "gather", "reduce", "reduce_scatter", "scatter"}));
  EXPECT_EQ(collectiveName(Kind::Custom), "custom");
  EXPECT_EQ(parseCollectiveName("custom"), Kind::Custom);
}

TEST(CollectiveName, WithoutUnderscores) {
  EXPECT_EQ(parseCollectiveName("allgather"), Kind::AllGather);
  EXPECT_EQ(parseCollectiveName("alltoall"), Kind::AllToAll);
  EXPECT_EQ(parseCollectiveName("reducescatter"), Kind::ReduceScatter);
  for (const char *name : {"", "all_toall", "_gather", "gather_", "AllGather",
                           "all gather", "scan"})
    EXPECT_EQ(parseCollectiveName(name), std::nullopt) << name;
}

TEST(CollectiveName, Traits) {
  std::string rooted, combining, segmented;
  for (Kind kind : allCollectiveKinds()) {
    std::string name = std::string(collectiveName(kind)) + " ";
    rooted += isRooted(kind) ? name : "";
    combining += isCombining(kind) ? name : "";
    segmented += sendsOneSegmentPerRank(kind) ? name : "";
  }
  EXPECT_EQ(rooted, "broadcast gather reduce scatter ");
  EXPECT_EQ(combining, "all_reduce reduce reduce_scatter ");
  EXPECT_EQ(segmented, "all_to_all reduce_scatter scatter ");
}

//===----------------------------------------------------------------------===//
// RankChunkSet
//===----------------------------------------------------------------------===//

TEST(RankChunkSet, CountsAcrossWords) {
  RankChunkSet set(2, 130);
  for (unsigned chunk : {0u, 63u, 64u, 127u, 128u, 129u})
    set.insert(1, chunk);
  set.insert(1, 64);
  EXPECT_EQ(set.count(0), 0u);
  EXPECT_EQ(set.count(1), 6u);
  EXPECT_EQ(set.countBelow(1, 0), 0u);
  EXPECT_EQ(set.countBelow(1, 63), 1u);
  EXPECT_EQ(set.countBelow(1, 64), 2u);
  EXPECT_EQ(set.countBelow(1, 65), 3u);
  EXPECT_EQ(set.countBelow(1, 129), 5u);
  EXPECT_EQ(set.chunksOf(1), (Chunks{0, 63, 64, 127, 128, 129}));
  EXPECT_EQ(set.chunksOf(0), Chunks());
  EXPECT_TRUE(set.contains(1, 127));
  EXPECT_FALSE(set.contains(0, 127));
}

TEST(RankChunkSet, FullWords) {
  // The end of the last row is the end of memory.
  RankChunkSet set(3, 128);
  for (unsigned chunk = 0; chunk < 128; ++chunk)
    set.insert(2, chunk);
  EXPECT_EQ(set.count(2), 128u);
  EXPECT_EQ(set.ranksOf(127), Chunks{2});
}

/// Few pairs are listed, many looked up one by one.
TEST(RankChunkSet, RanksByChunk) {
  for (unsigned chunks : {70u, 1u << 18}) {
    RankChunkSet set(24, chunks);
    for (unsigned rank = 0; rank < 24; ++rank)
      for (unsigned chunk = 0; chunk < chunks; ++chunk)
        if ((rank * 7 + chunk) % 5 != 0)
          set.insert(rank, chunk);
    RanksByChunk ranks(set);
    for (unsigned chunk = 0; chunk < chunks; chunk += 1 + chunks / 50)
      EXPECT_EQ(ranks[chunk], set.ranksOf(chunk));
  }
}

TEST(RankChunkSet, Equality) {
  RankChunkSet a(2, 3), b(2, 3);
  a.insert(0, 2);
  EXPECT_NE(a, b);
  b.insert(0, 2);
  EXPECT_EQ(a, b);
  EXPECT_NE(RankChunkSet(2, 3), RankChunkSet(3, 2));
}

//===----------------------------------------------------------------------===//
// The named kinds
//===----------------------------------------------------------------------===//

TEST(Collective, AllGather) {
  Collective c = make(Kind::AllGather, 3, 2);
  EXPECT_EQ(c.numChunks(), 6u);
  EXPECT_EQ(c.chunksPerSegment(), 2u);
  EXPECT_FALSE(c.combining());
  EXPECT_EQ(listed(c.pre()), (ChunksPerRank{{0, 1}, {2, 3}, {4, 5}}));
  Chunks all = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(listed(c.post()), (ChunksPerRank{all, all, all}));
  EXPECT_EQ(c.inputSlot(1, 3), 1u);
  EXPECT_EQ(c.inputSlot(1, 1), std::nullopt);
  EXPECT_EQ(c.outputSlot(1, 3), 3u);
  EXPECT_EQ(c.inputSlots(1), 2u);
  EXPECT_EQ(c.outputSlots(1), 6u);
}

TEST(Collective, Gather) {
  Collective c = make(Kind::Gather, 3, 2, 1);
  EXPECT_EQ(c.root(), 1u);
  EXPECT_EQ(c.chunksPerSegment(), 2u);
  EXPECT_EQ(listed(c.pre()), (ChunksPerRank{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(listed(c.post()), (ChunksPerRank{{}, {0, 1, 2, 3, 4, 5}, {}}));
  EXPECT_EQ(c.outputSlot(1, 4), 4u);
  EXPECT_EQ(c.outputSlot(0, 0), std::nullopt);
  EXPECT_EQ(c.outputSlots(0), 0u);
}

TEST(Collective, Broadcast) {
  Collective c = make(Kind::Broadcast, 3, 2, 2);
  EXPECT_EQ(c.numChunks(), 2u);
  EXPECT_EQ(c.chunksPerSegment(), 2u);
  EXPECT_EQ(listed(c.pre()), (ChunksPerRank{{}, {}, {0, 1}}));
  EXPECT_EQ(listed(c.post()), (ChunksPerRank{{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_EQ(c.inputSlots(0), 0u);
  EXPECT_EQ(c.inputSlot(2, 1), 1u);
  EXPECT_EQ(c.outputSlot(0, 1), 1u);
}

TEST(Collective, Scatter) {
  Collective c = make(Kind::Scatter, 3, 6, 1);
  EXPECT_EQ(c.numChunks(), 6u);
  EXPECT_EQ(c.chunksPerSegment(), 2u);
  EXPECT_EQ(listed(c.pre()), (ChunksPerRank{{}, {0, 1, 2, 3, 4, 5}, {}}));
  EXPECT_EQ(listed(c.post()), (ChunksPerRank{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(c.inputSlot(1, 5), 5u);
  EXPECT_EQ(c.outputSlot(2, 5), 1u);
}

TEST(Collective, AllToAll) {
  // Chunk source * 4 + destination * 2 + j.
  Collective c = make(Kind::AllToAll, 2, 4);
  EXPECT_EQ(c.numChunks(), 8u);
  EXPECT_EQ(c.chunksPerSegment(), 2u);
  EXPECT_EQ(listed(c.pre()), (ChunksPerRank{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(listed(c.post()), (ChunksPerRank{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(c.inputSlot(1, 6), 2u);
  EXPECT_EQ(c.outputSlot(1, 6), 2u);
  EXPECT_EQ(c.outputSlot(0, 4), 2u);
  EXPECT_EQ(c.outputSlot(0, 6), std::nullopt);
}

TEST(Collective, AllToAllOfThree) {
  Collective c = make(Kind::AllToAll, 3, 3);
  EXPECT_EQ(listed(c.post()), (ChunksPerRank{{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}));
  EXPECT_EQ(c.outputSlot(2, 5), 1u);
  EXPECT_EQ(c.inputSlot(1, 5), 2u);
}

TEST(Collective, Reduce) {
  Collective c = make(Kind::Reduce, 3, 2, 1);
  EXPECT_TRUE(c.combining());
  EXPECT_EQ(c.numChunks(), 2u);
  EXPECT_EQ(c.chunksPerSegment(), 2u);
  EXPECT_EQ(listed(c.pre()), (ChunksPerRank{{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_EQ(listed(c.post()), (ChunksPerRank{{}, {0, 1}, {}}));
}

TEST(Collective, AllReduce) {
  Collective c = make(Kind::AllReduce, 2, 3);
  EXPECT_TRUE(c.combining());
  EXPECT_EQ(c.chunksPerSegment(), 3u);
  EXPECT_EQ(listed(c.pre()), (ChunksPerRank{{0, 1, 2}, {0, 1, 2}}));
  EXPECT_EQ(c.pre(), c.post());
}

TEST(Collective, ReduceScatter) {
  Collective c = make(Kind::ReduceScatter, 2, 4);
  EXPECT_TRUE(c.combining());
  EXPECT_EQ(c.numChunks(), 4u);
  EXPECT_EQ(c.chunksPerSegment(), 2u);
  EXPECT_EQ(listed(c.pre()), (ChunksPerRank{{0, 1, 2, 3}, {0, 1, 2, 3}}));
  EXPECT_EQ(listed(c.post()), (ChunksPerRank{{0, 1}, {2, 3}}));
  EXPECT_EQ(c.inputSlot(0, 3), 3u);
  EXPECT_EQ(c.outputSlot(1, 3), 1u);
}

/// A chunk lies at the same place of its segment in every buffer, slots are a
/// numbering of each buffer, and every sender sends C chunks.
TEST(Collective, BuffersOfEveryKind) {
  for (Kind kind : allCollectiveKinds()) {
    Collective c = make(kind, 4, 8, isRooted(kind) ? 3 : 0);
    SCOPED_TRACE(c.name());
    EXPECT_EQ(c.name(), collectiveName(kind));
    EXPECT_EQ(c.kind(), kind);
    EXPECT_EQ(c.chunks(), 8u);
    EXPECT_EQ(c.numRanks(), 4u);
    for (unsigned rank = 0; rank < 4; ++rank) {
      EXPECT_TRUE(c.inputSlots(rank) == 0 || c.inputSlots(rank) == 8);
      unsigned in = 0, out = 0;
      for (unsigned chunk = 0; chunk < c.numChunks(); ++chunk) {
        if (std::optional<unsigned> slot = c.inputSlot(rank, chunk)) {
          EXPECT_EQ(*slot, in++);
          EXPECT_EQ(*slot % c.chunksPerSegment(), chunk % c.chunksPerSegment());
        }
        if (std::optional<unsigned> slot = c.outputSlot(rank, chunk)) {
          EXPECT_EQ(*slot, out++);
          EXPECT_EQ(*slot % c.chunksPerSegment(), chunk % c.chunksPerSegment());
        }
      }
      EXPECT_EQ(in, c.inputSlots(rank));
      EXPECT_EQ(out, c.outputSlots(rank));
    }
  }
}

TEST(Collective, RootIsReadForRootedKindsOnly) {
  EXPECT_EQ(make(Kind::AllGather, 4, 1, 77).root(), 0u);
  EXPECT_EQ(make(Kind::Reduce, 4, 1, 3).root(), 3u);
}

TEST(Collective, OneRank) {
  for (Kind kind : allCollectiveKinds()) {
    Collective c = make(kind, 1, 2);
    EXPECT_EQ(c.pre(), c.post()) << c.name();
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

static std::string makeError(Kind kind, unsigned numRanks, unsigned chunks,
                             unsigned root = 0) {
  Result<Collective> result = Collective::make(kind, numRanks, chunks, root);
  EXPECT_FALSE(result);
  return result.error();
}

TEST(Collective, Failures) {
  EXPECT_EQ(makeError(Kind::AllGather, 8, 0), "chunks must be at least 1");
  EXPECT_EQ(makeError(Kind::AllGather, 0, 1), "ranks must be at least 1");
  EXPECT_EQ(makeError(Kind::Scatter, 0, 1), "ranks must be at least 1");
  EXPECT_EQ(makeError(Kind::AllGather, 65537, 1),
            "ranks must be at most 65536, got 65537");
  EXPECT_EQ(makeError(Kind::AllToAll, 8, 12),
            "all_to_all needs chunks to be a multiple of 8 ranks, got 12");
  EXPECT_EQ(makeError(Kind::ReduceScatter, 4, 2),
            "reduce_scatter needs chunks to be a multiple of 4 ranks, got 2");
  EXPECT_EQ(makeError(Kind::Scatter, 4, 6),
            "scatter needs chunks to be a multiple of 4 ranks, got 6");
  EXPECT_EQ(makeError(Kind::Broadcast, 8, 1, 9),
            "root 9 is out of range for 8 ranks");
  EXPECT_EQ(makeError(Kind::Gather, 8, 1, 8),
            "root 8 is out of range for 8 ranks");
  EXPECT_EQ(makeError(Kind::Custom, 8, 1),
            "a custom collective needs a pre- and a postcondition");
}

TEST(Collective, TooManyPairs) {
  // 2^28 pairs are the most: 16384^2 of them.
  EXPECT_TRUE(Collective::make(Kind::AllGather, 16384, 1));
  EXPECT_EQ(makeError(Kind::AllGather, 16384, 2),
            "16384 ranks with 32768 distinct chunks are 536870912 pairs, more "
            "than 268435456");
  // Neither product may wrap around 32 or 64 bits.
  constexpr unsigned most = std::numeric_limits<unsigned>::max();
  makeError(Kind::AllGather, 65536, most);
  makeError(Kind::AllReduce, 65536, most);
  makeError(Kind::AllToAll, 65536, 65536);
  makeError(Kind::Broadcast, 1, most);
}

//===----------------------------------------------------------------------===//
// Custom collectives
//===----------------------------------------------------------------------===//

TEST(CustomCollective, Buffers) {
  RankChunkSet pre(3, 4), post(3, 4);
  pre.insert(0, 1);
  pre.insert(0, 3);
  post.insert(2, 3);
  post.insert(1, 1);
  Result<Collective> c = Collective::makeCustom("permute", 2, false, pre, post);
  ASSERT_TRUE(c) << c.error();
  EXPECT_EQ(c->kind(), Kind::Custom);
  EXPECT_EQ(c->name(), "permute");
  EXPECT_EQ(c->chunks(), 2u);
  EXPECT_EQ(c->numChunks(), 4u);
  EXPECT_EQ(c->root(), 0u);
  EXPECT_EQ(c->chunksPerSegment(), 1u);
  EXPECT_FALSE(c->combining());
  EXPECT_EQ(c->inputSlot(0, 3), 1u);
  EXPECT_EQ(c->outputSlot(2, 3), 0u);
  EXPECT_EQ(c->outputSlot(2, 1), std::nullopt);
}

TEST(CustomCollective, Combining) {
  RankChunkSet set(2, 1);
  set.insert(0, 0);
  EXPECT_TRUE(Collective::makeCustom("sum", 1, true, set, set)->combining());
}

TEST(CustomCollective, Failures) {
  RankChunkSet a(2, 3);
  auto error = [](unsigned chunks, RankChunkSet pre, RankChunkSet post) {
    Result<Collective> c = Collective::makeCustom(
        "c", chunks, false, std::move(pre), std::move(post));
    EXPECT_FALSE(c);
    return c.error();
  };
  EXPECT_EQ(error(1, a, RankChunkSet(3, 3)),
            "the precondition has 2 ranks and 3 chunks, but the postcondition "
            "has 3 ranks and 3 chunks");
  EXPECT_EQ(error(1, a, RankChunkSet(2, 4)),
            "the precondition has 2 ranks and 3 chunks, but the postcondition "
            "has 2 ranks and 4 chunks");
  EXPECT_EQ(error(0, a, a), "chunks must be at least 1");
  EXPECT_EQ(error(1, RankChunkSet(0, 1), RankChunkSet(0, 1)),
            "ranks must be at least 1");
  RankChunkSet post(2, 3);
  post.insert(1, 2);
  EXPECT_EQ(error(1, a, post),
            "rank 1 must get chunk 2, which no rank holds at the start");
}
