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
#include "sccl/Model/CostModel.h"

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

TEST(Schedule, PeriodAndRoundsThatLimitsAllow) {
  Topology line = *makeBuiltinTopology("line:3");
  Schedule schedule{{{9, {{0, 0, 1}, {1, 0, 1}, {2, 1, 2}}},
                     {9, {{0, 1, 2}, {1, 1, 2}}},
                     {9, {}}}};
  fitRounds(schedule, line);
  EXPECT_EQ(schedule.steps[0].rounds, 2u);
  EXPECT_EQ(schedule.steps[1].rounds, 2u);
  EXPECT_EQ(schedule.steps[2].rounds, 1u);
  schedule.period = leastPeriod(schedule, line);
  EXPECT_EQ(schedule.period, 3u);
  Collective collective =
      *Collective::make(CollectiveKind::Broadcast, 3, 6, /*root=*/0);
  EXPECT_EQ(pipelinedCostOf(schedule, collective),
            (PipelinedCost{3, Rational(1, 2)}));
  // A limit on several links counts them together.
  ASSERT_TRUE(line.addLimit({*line.findLink(0, 1), *line.findLink(1, 2)}, 2));
  EXPECT_EQ(leastPeriod(schedule, line), 3u);
  ASSERT_TRUE(line.addLimit({*line.findLink(1, 2), *line.findLink(0, 1)}, 1));
  EXPECT_EQ(leastPeriod(schedule, line), 5u);
}

TEST(Schedule, PiecesThatPay) {
  // 5 us, and 1 MiB over a link of 1 byte per ns in 1 us / 1000 bytes.
  CostModel model{5, 1e-3};
  PipelinedCost cost{4, Rational(1, 2)};
  EXPECT_DOUBLE_EQ(model.microseconds(cost, 2e6, 10), 13 * (5 + 100));
  // sqrt(3 * 1000 / 5) is 24.5.
  unsigned best = model.bestPieces(cost, 2e6, 1000);
  EXPECT_TRUE(best == 24 || best == 25);
  for (unsigned pieces = 1; pieces < 100; ++pieces)
    EXPECT_LE(model.microseconds(cost, 2e6, best),
              model.microseconds(cost, 2e6, pieces));
  EXPECT_EQ(model.bestPieces(cost, 2e6, 8), 8u);
  EXPECT_EQ(model.bestPieces(cost, 1, 1000), 1u);
  EXPECT_EQ(model.bestPieces({1, Rational(1, 2)}, 2e6, 1000), 1u);
  EXPECT_EQ((CostModel{0, 1e-3}).bestPieces(cost, 2e6, 1000), 1000u);
  EXPECT_EQ((CostModel{0, 1e-3}).bestPieces({1, Rational(1)}, 2e6, 1000), 1u);
}
