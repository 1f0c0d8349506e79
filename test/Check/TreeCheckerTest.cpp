//===- TreeCheckerTest.cpp - Tests of the check of trees ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule that is right, one fault for each rule, and agreement with the
// checker of schedules on what the trees expand to.
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/TreeChecker.h"
#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

using namespace sccl;

static Topology ring(unsigned ranks) {
  return *makeBuiltinTopology("ring:" + std::to_string(ranks));
}

static Permutation turn(unsigned ranks, unsigned by) {
  Permutation result;
  for (unsigned rank = 0; rank < ranks; ++rank)
    result.push_back((rank + by) % ranks);
  return result;
}

/// A ring of 4 with links both ways: (C, S, R) = (2, 2, 3).
static TreeSchedule allGather() {
  ChunkTree right{0, 1, {{0, 0, 1}, {0, 0, 3}, {1, 1, 2}}};
  ChunkTree left{0, 1, {{0, 0, 1}, {0, 0, 3}, {1, 3, 2}}};
  return {CollectiveKind::AllGather, 2, {2, 1}, {turn(4, 1)}, {right, left}};
}

/// Sums on a ring of 3 at rank 0, and copies from there.
static TreeSchedule allReduce() {
  ChunkTree tree{0,
                 1,
                 {{0, 1, 0, SendAction::Reduce},
                  {0, 2, 0, SendAction::Reduce},
                  {1, 0, 1},
                  {1, 0, 2}}};
  return {CollectiveKind::AllReduce, 3, {1, 1}, {turn(3, 1)}, {tree}};
}

static std::string check(const TreeSchedule &schedule, unsigned ranks) {
  return checkTreeSchedule(ring(ranks), schedule).value_or("");
}

static void expectFault(const TreeSchedule &schedule, unsigned ranks,
                        const char *message) {
  std::string actual = check(schedule, ranks);
  EXPECT_NE(actual.find(message), std::string::npos) << actual;
}

/// Whether the schedule written out passes the other checker.
static void expectSound(const TreeSchedule &schedule, unsigned ranks) {
  EXPECT_EQ(check(schedule, ranks), "");
  Collective collective =
      *Collective::make(schedule.kind, ranks, unsigned(schedule.chunks));
  Result<Schedule> written = expand(schedule, collective);
  ASSERT_TRUE(written) << written.error();
  auto violation = checkSchedule(ring(ranks), collective, *written);
  EXPECT_FALSE(violation) << violation->message;
  EXPECT_EQ(written->rounds(), schedule.totalRounds());
  EXPECT_EQ(costOf(*written, collective).bandwidth, schedule.bandwidth());
}

TEST(TreeChecker, AcceptsWhatIsRight) {
  expectSound(allGather(), 4);
  expectSound(allReduce(), 3);
  TreeSchedule broadcast{CollectiveKind::Broadcast,
                         1,
                         {1, 1},
                         {},
                         {{0, 1, {{0, 0, 1}, {1, 1, 2}, {0, 0, 3}}}}};
  expectSound(broadcast, 4);
  // Written out without symmetries, it is the same.
  TreeSchedule listed = allReduce();
  listed.generators.clear();
  for (unsigned by : {1u, 2u}) {
    ChunkTree image = listed.trees.front();
    image.origin = by;
    for (TreeSend &send : image.sends) {
      send.src = (send.src + by) % 3;
      send.dst = (send.dst + by) % 3;
    }
    listed.trees.push_back(image);
  }
  expectSound(listed, 3);
}

TEST(TreeChecker, Groups) {
  TreeSchedule schedule = allGather();
  schedule.generators = {{1, 0, 2, 3}};
  expectFault(schedule, 4, "maps link");
  schedule.generators = {{0, 0, 2, 3}};
  expectFault(schedule, 4, "not a renumbering");
  schedule.generators = {turn(4, 2)};
  expectFault(schedule, 4, "rank 1 does not have 2 chunks");
  Topology limited = ring(4);
  ASSERT_TRUE(limited.addLimit({0, 1}, 9));
  auto failure = checkTreeSchedule(limited, allGather());
  EXPECT_EQ(failure, "a generator does not map limits to limits");
  TreeSchedule broadcast{CollectiveKind::Broadcast, 1, {1}, {turn(3, 1)}, {}};
  expectFault(broadcast, 3, "moves the root");
}

TEST(TreeChecker, Sends) {
  TreeSchedule schedule = allGather();
  schedule.trees[0].sends[2].step = 0;
  expectFault(schedule, 4, "carries a chunk that is not there");
  schedule = allGather();
  schedule.trees[0].sends[2].step = 2;
  expectFault(schedule, 4, "in step 3 of 2");
  schedule = allGather();
  schedule.trees[0].sends[2].src = 0;
  expectFault(schedule, 4, "no link 0 -> 2");
  schedule = allGather();
  schedule.trees[0].sends.push_back({1, 3, 2});
  expectFault(schedule, 4, "brings what is there already");
  schedule = allGather();
  schedule.trees[0].sends.pop_back();
  expectFault(schedule, 4, "rank 2 lacks a chunk");
  schedule = allGather();
  schedule.trees[0].sends[2].action = SendAction::Reduce;
  expectFault(schedule, 4, "reduces in a collective that does not");
}

TEST(TreeChecker, Sums) {
  TreeSchedule schedule = allReduce();
  schedule.trees[0].sends[3] = {1, 2, 1, SendAction::Reduce};
  expectFault(schedule, 3, "adds a contribution twice");
  schedule = allReduce();
  schedule.trees[0].sends[1] = {0, 1, 2, SendAction::Reduce};
  expectFault(schedule, 3, "overwrites a contribution");
  schedule = allReduce();
  schedule.trees[0].sends.erase(schedule.trees[0].sends.begin());
  expectFault(schedule, 3, "overwrites a contribution");
}

TEST(TreeChecker, Numbers) {
  TreeSchedule schedule = allGather();
  schedule.rounds = {1, 1};
  expectFault(schedule, 4, "is exceeded in step 1");
  schedule.rounds = {3, 0};
  expectFault(schedule, 4, "no rounds");
  schedule = allGather();
  schedule.chunks = 3;
  expectFault(schedule, 4, "does not have 3 chunks");
  schedule = allGather();
  schedule.trees[0].count = 2;
  expectFault(schedule, 4, "does not have 2 chunks");
  schedule = allGather();
  schedule.trees[0].count = ~uint64_t(0);
  expectFault(schedule, 4, "out of range");
  schedule = allReduce();
  schedule.chunks = 4;
  expectFault(schedule, 3, "there are not 4 chunks");
  schedule = allGather();
  schedule.kind = CollectiveKind::Gather;
  expectFault(schedule, 4, "no schedule of 'gather'");
}

TEST(TreeChecker, Periods) {
  TreeSchedule schedule = allGather();
  uint64_t rounds = schedule.totalRounds();
  schedule.period = rounds;
  EXPECT_EQ(check(schedule, 4), "");
  Collective collective =
      *Collective::make(schedule.kind, 4, unsigned(schedule.chunks));
  EXPECT_EQ(expand(schedule, collective)->period, rounds);
  schedule.period = 1;
  expectFault(schedule, 4, "is exceeded in all steps together");
  schedule.period = ~uint64_t(0);
  expectFault(schedule, 4, "the period, is out of range");
}

TEST(TreeChecker, ExpandRefusesWhatIsTooLong) {
  TreeSchedule schedule = allGather();
  Collective collective = *Collective::make(CollectiveKind::AllGather, 4, 3);
  EXPECT_FALSE(expand(schedule, collective));
  // Two trees of 3 sends, 4 times.
  unsigned each = unsigned(Schedule::maxSends) / 24 + 1;
  for (ChunkTree &tree : schedule.trees)
    tree.count = each;
  schedule.chunks = 2 * each;
  collective = *Collective::make(CollectiveKind::AllGather, 4, 2 * each);
  EXPECT_FALSE(expand(schedule, collective));
}
