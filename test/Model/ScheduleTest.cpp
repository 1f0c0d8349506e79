//===- ScheduleTest.cpp - Tests of steps of sends -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs, the order that makes equal schedules print alike, and the table.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Schedule.h"

#include <gtest/gtest.h>

#include <limits>

using namespace sccl;

static Schedule example() {
  Schedule s;
  s.steps = {{1, {{2, 1, 0}, {0, 0, 1}}}, {3, {{1, 1, 2}}}};
  return s;
}

TEST(Schedule, Counts) {
  EXPECT_EQ(example().rounds(), 4u);
  EXPECT_EQ(example().numSends(), 3u);
  EXPECT_EQ(Schedule().rounds(), 0u);
  EXPECT_EQ(Schedule().numSends(), 0u);
}

TEST(Schedule, RoundsDoNotWrapAround) {
  constexpr unsigned most = std::numeric_limits<unsigned>::max();
  Schedule s;
  s.steps = {{most, {}}, {2, {}}};
  EXPECT_EQ(s.rounds(), most);
  Collective c = *Collective::make(CollectiveKind::AllGather, 2, 1);
  EXPECT_EQ(costOf(s, c).bandwidth, Rational(int64_t(most) + 2));
}

TEST(Schedule, Normalize) {
  Schedule s;
  s.steps = {{1,
              {{1, 0, 2},
               {1, 0, 1, SendAction::Reduce},
               {0, 3, 1},
               {1, 0, 1, SendAction::Copy},
               {0, 2, 3},
               {1, 0, 1, SendAction::Copy, SendPayload::Input}}},
             {2, {{5, 1, 0}, {4, 1, 0}}}};
  s.normalize();
  EXPECT_EQ(
      s.steps[0].sends,
      (std::vector<Send>{{0, 2, 3},
                         {0, 3, 1},
                         {1, 0, 1, SendAction::Copy, SendPayload::Current},
                         {1, 0, 1, SendAction::Copy, SendPayload::Input},
                         {1, 0, 1, SendAction::Reduce},
                         {1, 0, 2}}));
  EXPECT_EQ(s.steps[1].sends, (std::vector<Send>{{4, 1, 0}, {5, 1, 0}}));
  EXPECT_EQ(s.steps[1].rounds, 2u);
}

TEST(Schedule, OrderOfStepsMatters) {
  Schedule a = example(), b = example();
  std::swap(b.steps[0], b.steps[1]);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, example());
}

TEST(Schedule, Cost) {
  Collective c = *Collective::make(CollectiveKind::AllGather, 3, 6);
  Cost cost = costOf(example(), c);
  EXPECT_EQ(cost.steps, 2u);
  EXPECT_EQ(cost.bandwidth, Rational(2, 3));
  EXPECT_EQ(cost, (Cost{2, Rational(4, 6)}));
}

TEST(ScheduleTable, RowsFollowTheTopology) {
  Topology t("t", 3);
  ASSERT_TRUE(t.addLink(1, 2));
  ASSERT_TRUE(t.addLink(2, 0));
  ASSERT_TRUE(t.addLink(1, 0));
  ASSERT_TRUE(t.addLink(0, 1));
  // Link 2 -> 0 carries nothing, so it has no row.
  EXPECT_EQ(toTable(example(), t),
            "t: 2 steps, 4 rounds, 3 sends\n"
            "link   | step 0 (1 round) | step 1 (3 rounds)\n"
            "1 -> 2 |                  | 1\n"
            "1 -> 0 | 2                |\n"
            "0 -> 1 | 0                |\n");
}

TEST(ScheduleTable, Marks) {
  Schedule s;
  s.steps = {{1,
              {{10, 0, 1, SendAction::Reduce},
               {3, 0, 1},
               {4, 0, 1, SendAction::Reduce, SendPayload::Input},
               {5, 7, 0}}}};
  Topology t = *makeBuiltinTopology("ring:2");
  EXPECT_EQ(toTable(s, t), "ring:2: 1 step, 1 round, 4 sends\n"
                           "link            | step 0 (1 round)\n"
                           "0 -> 1          | +10 3 +4*\n"
                           "7 -> 0 (absent) | 5\n");
}

TEST(ScheduleTable, Empty) {
  EXPECT_EQ(toTable(Schedule(), *makeBuiltinTopology("ring:2")),
            "ring:2: 0 steps, 0 rounds, 0 sends\nlink\n");
}
