//===- RankGroupsTest.cpp - Tests of groups of ranks ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/Certificate.h"
#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/Composition.h"
#include "sccl/Model/Symmetry.h"

#include <gtest/gtest.h>

using namespace sccl;

using Kind = CollectiveKind;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

TEST(RankGroupsTest, ReadsRanksAndRanges) {
  EXPECT_EQ(*parseRankGroups("0-3,8-11", 16),
            (RankGroups{{0, 1, 2, 3, 8, 9, 10, 11}}));
  EXPECT_EQ(*parseRankGroups("1-9:4/3,2", 16), (RankGroups{{1, 5, 9}, {3, 2}}));
  EXPECT_EQ(*parseRankGroups("0-7:3,15", 16), (RankGroups{{0, 3, 6, 15}}));
}

TEST(RankGroupsTest, ReadsRegularGroups) {
  EXPECT_EQ(*parseRankGroups("blocks:2", 6),
            (RankGroups{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(*parseRankGroups("strides:2", 6),
            (RankGroups{{0, 2, 4}, {1, 3, 5}}));
}

TEST(RankGroupsTest, ReadsGroupsOfOne) {
  EXPECT_EQ(*parseRankGroups("2", 8), (RankGroups{{2}}));
  EXPECT_EQ(*parseRankGroups("0-3/5", 8), (RankGroups{{0, 1, 2, 3}, {5}}));
  EXPECT_EQ(*parseRankGroups("blocks:1", 3), (RankGroups{{0}, {1}, {2}}));
  EXPECT_EQ(*parseRankGroups("strides:3", 3), (RankGroups{{0}, {1}, {2}}));
  EXPECT_EQ(checkRankGroups({{0}, {}}, 2)->message, "a group has no ranks");
}

TEST(RankGroupsTest, PrintsWhatItReads) {
  for (const char *text : {"0-3,8-11", "1-9:4/3,2", "5,7", "0-2/4,3",
                           "0-56:8/1-57:8", "9,0-1,14-15"}) {
    RankGroups groups = *parseRankGroups(text, 64);
    EXPECT_EQ(printRankGroups(groups), text);
    EXPECT_EQ(*parseRankGroups(printRankGroups(groups), 64), groups);
  }
}

TEST(RankGroupsTest, SaysWhatIsWrong) {
  auto complaint = [](const char *text) {
    return parseRankGroups(text, 8).error();
  };
  EXPECT_EQ(complaint(""), "a group without ranks in ''");
  EXPECT_EQ(complaint("0-3/"), "a group without ranks in '0-3/'");
  EXPECT_EQ(complaint("0,,1"),
            "'' is no rank and no range of ranks, as 5, 0-7 or 0-56:8");
  for (const char *item :
       {"x", "-1", "3-1", "0-7:0", "0:2", "1-", "1-x", "0x1", "99999999999"})
    EXPECT_EQ(complaint(item), "'" + std::string(item) +
                                   "' is no rank and no range of ranks, as 5, "
                                   "0-7 or 0-56:8");
  EXPECT_EQ(complaint("0,8"), "rank 8 is out of range for 8 ranks");
  EXPECT_EQ(complaint("0-4294967295"),
            "rank 4294967295 is out of range for 8 ranks");
  EXPECT_EQ(complaint("0,1,0"), "rank 0 is twice in the group 0-1,0");
  EXPECT_EQ(complaint("0-3/3-5"), "rank 3 is in two groups, which must not "
                                  "overlap: 0-3 and 3-5");
  EXPECT_EQ(complaint("blocks:3"),
            "'blocks:3': '3' is no divisor of the number of ranks, 8");
  EXPECT_EQ(complaint("strides:0"),
            "'strides:0': '0' is no divisor of the number of ranks, 8");
}

//===----------------------------------------------------------------------===//
// Collectives in groups
//===----------------------------------------------------------------------===//

TEST(GroupedCollectiveTest, EachGroupDoesItsOwn) {
  Collective grouped =
      *Collective::makeGrouped(Kind::AllGather, 6, {{4, 1}, {0, 5, 2}}, 2);
  EXPECT_EQ(grouped.name(), "all_gather_groups");
  EXPECT_EQ(grouped.kind(), Kind::Custom);
  EXPECT_EQ(grouped.groupKind(), Kind::AllGather);
  EXPECT_EQ(grouped.numChunks(), 10u);
  EXPECT_EQ(grouped.chunksPerSegment(), 2u);
  // The order of the group is that of its chunks.
  EXPECT_EQ(grouped.pre().chunksOf(4), (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(grouped.pre().chunksOf(5), (std::vector<unsigned>{6, 7}));
  EXPECT_EQ(grouped.post().chunksOf(1), (std::vector<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(grouped.outputSlots(2), 6u);
  // Who is in no group has nothing and gets nothing.
  EXPECT_EQ(grouped.inputSlots(3), 0u);
  EXPECT_EQ(grouped.outputSlots(3), 0u);
}

TEST(GroupedCollectiveTest, RootsCountWithinGroups) {
  Collective grouped = *Collective::makeGrouped(Kind::Broadcast, 6,
                                                {{0, 1, 2}, {5, 4, 3}}, 1, 2);
  EXPECT_EQ(grouped.pre().ranksOf(0), (std::vector<unsigned>{2}));
  EXPECT_EQ(grouped.pre().ranksOf(1), (std::vector<unsigned>{3}));
  EXPECT_EQ(
      Collective::makeGrouped(Kind::Broadcast, 6, {{0, 1}, {5, 4, 3}}, 1, 2)
          .error(),
      "in group 0-1: root 2 is out of range for 2 ranks");
}

TEST(GroupedCollectiveTest, NeedsChunksForEachMember) {
  RankGroups groups = {{0, 1}, {2, 3, 4}};
  EXPECT_EQ(
      Collective::makeGrouped(Kind::ReduceScatter, 6, groups, 4).error(),
      "in group 2-4: reduce_scatter needs chunks to be a multiple of 3 ranks, "
      "got 4");
  CollectiveFamily family{Kind::ReduceScatter, 0, groups};
  EXPECT_EQ(family.unit(6), 6u);
  Collective scatter = *family.make(6, 6);
  EXPECT_EQ(scatter.outputSlots(0), 3u);
  EXPECT_EQ(scatter.outputSlots(3), 2u);
  EXPECT_EQ(scatter.chunksPerSegment(), 1u);
}

TEST(GroupedCollectiveTest, PiecesAreNumberedLikeMoreChunks) {
  RankGroups groups = {{0, 3}, {4, 1}};
  for (Kind kind : allCollectiveKinds()) {
    CollectiveFamily family{kind, 0, groups};
    unsigned unit = unsigned(family.unit(5));
    Collective cut = *Collective::cutChunks(*family.make(5, unit), 3);
    Collective more = *family.make(5, 3 * unit);
    EXPECT_EQ(cut.pre(), more.pre()) << more.name();
    EXPECT_EQ(cut.post(), more.post()) << more.name();
    EXPECT_EQ(cut.chunks(), more.chunks());
    EXPECT_EQ(cut.chunksPerSegment(), more.chunksPerSegment());
    // What is proved of the one is proved of the other.
    EXPECT_EQ(fingerprint(cut), fingerprint(*family.make(5, unit)));
  }
}

TEST(GroupedCollectiveTest, InversesHaveTheSameGroups) {
  RankGroups groups = {{0, 3}, {4, 1}};
  Collective gather = *Collective::makeGrouped(Kind::AllGather, 5, groups, 3);
  Collective scatter = *inverseOf(gather);
  EXPECT_EQ(scatter.groupKind(), Kind::ReduceScatter);
  EXPECT_EQ(scatter.groups(), groups);
  EXPECT_EQ(scatter.chunks(), 6u);
  EXPECT_EQ(inverseOf(scatter)->pre(), gather.pre());
  // Of groups of different sizes C would differ: it stays as it is.
  Collective uneven =
      *Collective::makeGrouped(Kind::ReduceScatter, 5, {{0, 3}, {4, 1, 2}}, 6);
  Collective inverse = *inverseOf(uneven);
  EXPECT_FALSE(inverse.combining());
  EXPECT_EQ(inverse.chunks(), 6u);
  EXPECT_EQ(inverse.pre(), uneven.post());
}

TEST(GroupedCollectiveTest, ComposesAllReduces) {
  Topology topology = *makeBuiltinTopology("mesh:4");
  Collective gather =
      *Collective::makeGrouped(Kind::AllGather, 4, {{0, 1}, {2, 3}}, 1);
  Schedule schedule;
  schedule.steps = {{1, {{0, 0, 1}, {1, 1, 0}, {2, 2, 3}, {3, 3, 2}}}};
  ASSERT_FALSE(checkSchedule(topology, gather, schedule));
  Result<Implementation> joined =
      composeAllReduce({gather, schedule}, {gather, schedule});
  ASSERT_TRUE(joined) << joined.error();
  EXPECT_EQ(joined->collective.groupKind(), Kind::AllReduce);
  EXPECT_EQ(joined->collective.groups(), gather.groups());
  EXPECT_FALSE(checkSchedule(topology, joined->collective, joined->schedule));
}

TEST(GroupedCollectiveTest, SymmetriesKeepGroups) {
  Topology topology = *makeBuiltinTopology("mesh:6");
  auto order = [&](const Collective &collective) {
    return groupElements(automorphismGenerators(topology, collective), 6, 1000)
        .size();
  };
  RankGroups pairs = {{0, 1}, {2, 3}, {4, 5}}, one = {{0, 1}};
  EXPECT_EQ(order(*Collective::make(Kind::AllGather, 6, 1)), 720u);
  EXPECT_EQ(order(*Collective::makeGrouped(Kind::AllGather, 6, pairs, 1)), 48u);
  EXPECT_EQ(order(*Collective::makeGrouped(Kind::AllGather, 6, one, 1)), 48u);
  // A root stays a root, and who has more chunks than others keeps them.
  EXPECT_EQ(order(*Collective::makeGrouped(Kind::Broadcast, 6, pairs, 1)), 6u);
  EXPECT_EQ(order(*Collective::makeAllGatherV({2, 1, 1, 1, 1, 1})), 120u);
  EXPECT_EQ(order(*Collective::makeAllGatherV({2, 2, 1, 1, 0, 0})), 8u);
}

TEST(CollectiveFamilyTest, UserDefinedOnesAreCut) {
  Collective gather = *Collective::makeAllGatherV({2, 0, 1});
  CollectiveFamily family = CollectiveFamily::of(gather);
  EXPECT_EQ(family.name(), "all_gatherv");
  EXPECT_EQ(family.unit(3), 2u);
  EXPECT_EQ(family.make(3, 2)->pre(), gather.pre());
  EXPECT_EQ(family.make(3, 4)->pre().chunksOf(2),
            (std::vector<unsigned>{4, 5}));
  EXPECT_EQ(family.make(3, 3).error(),
            "collective 'all_gatherv' has 2 chunks; C must be a multiple of "
            "that, got 3");
  EXPECT_EQ(family.make(4, 2).error(),
            "collective 'all_gatherv' is for 3 ranks, got 4");
  EXPECT_FALSE(Collective::cutChunks(gather, 1u << 30));
}

TEST(CollectiveFamilyTest, SegmentsAreWhole) {
  RankChunkSet pre(2, 4), post(2, 4);
  for (unsigned chunk : {0u, 1u, 2u})
    pre.insert(0, chunk);
  EXPECT_EQ(Collective::makeCustom("odd", 2, false, pre, post, 2).error(),
            "rank 0 has chunk 2, but not all 2 of its segment");
  EXPECT_EQ(Collective::makeCustom("odd", 2, false, pre, post, 3).error(),
            "4 chunks are no multiple of the 3 of a segment");
}
