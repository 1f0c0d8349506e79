//===- PipelinedCheckTest.cpp - Checks of pipelined schedules -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Periods of schedules, bounds on loads, and the sends between boxes that bound
// both.
//
//===----------------------------------------------------------------------===//

#include "CertificateText.h"

#include "sccl/Check/ScheduleChecker.h"

using namespace sccl;
using namespace sccl::testing;

using Kind = CollectiveKind;
using Rule = Violation::Rule;
constexpr SendAction copy = SendAction::Copy;
constexpr SendPayload current = SendPayload::Current;
constexpr SendPayload input = SendPayload::Input;

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

TEST(PipelinedCheck, StepsOfAPeriodShareItsLimits) {
  Topology t = *makeBuiltinTopology("line:3");
  Collective c = *Collective::make(CollectiveKind::AllGather, 3, 1);
  Schedule s{{{1,
               {{0, 0, 1, copy, current},
                {1, 1, 0, copy, current},
                {1, 1, 2, copy, current},
                {2, 2, 1, copy, current}}},
              {1, {{0, 1, 2, copy, current}, {2, 1, 0, copy, current}}}}};
  // Every step fits into one round, both together do not.
  EXPECT_FALSE(checkSchedule(t, c, s));
  s.period = 2;
  EXPECT_FALSE(checkSchedule(t, c, s));
  s.period = 1;
  std::optional<Violation> found = checkSchedule(t, c, s);
  ASSERT_TRUE(found);
  const Violation &v = *found;
  EXPECT_EQ(v.rule, Rule::Bandwidth);
  EXPECT_FALSE(v.step);
  EXPECT_EQ(v.message, "link 1 -> 0 carries 2 chunks in all steps together, "
                       "the limit is 1 (bandwidth 1, period 1)");
  // What goes wrong in a step comes first, what is missing at the end last.
  s.steps[1].sends.pop_back();
  s.steps[1].sends[0] = {0, 1, 2, copy, input};
  EXPECT_EQ(checkSchedule(t, c, s)->rule, Rule::ChunkNotHeld);
}

TEST(PipelinedCheck, APeriodDoesNotReplaceRounds) {
  Topology t = *makeBuiltinTopology("line:2");
  Collective c = *Collective::make(CollectiveKind::Broadcast, 2, 2);
  Schedule s{{{1, {{0, 0, 1, copy, current}, {1, 0, 1, copy, current}}}}};
  s.period = 2;
  EXPECT_EQ(checkSchedule(t, c, s)->step, 0u);
  s.steps[0].rounds = 2;
  EXPECT_FALSE(checkSchedule(t, c, s));
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

TEST(PipelinedCheck, LoadsPayForEachLimitOnce) {
  // Both chunks from afar enter rank 2 over one link, in whatever steps. That
  // its prices are for different steps makes no difference.
  const std::string claim = "gather root 2 on 3 ranks with 2 steps has load "
                            "below ";
  Collective gather = make(Kind::Gather, 3, 2);
  EXPECT_EQ(judge(line(), gather, claim + "2", "prices\nprice 1 1 on 1->2\n"),
            "accepted");
  EXPECT_EQ(judge(line(), gather, claim + "3", "prices\nprice 1 1 on 1->2\n"),
            "the claim is a bound of 3, the proof gives 2 only");
  // Step by step each limit could be used in both steps; R/C is at least the
  // load, but prices of several limits add up here.
  const std::string both = "prices\nprice 1 0 on 0->1\nprice 0 1 on 1->2\n";
  EXPECT_EQ(judge(line(), gather,
                  "gather root 2 on 3 ranks with 2 steps has R/C below 2",
                  both),
            "accepted");
  EXPECT_EQ(judge(line(), gather, claim + "2", both),
            "the claim is a bound of 2, the proof gives 1 only");
  EXPECT_EQ(judge(line(), gather, claim + "1", both), "accepted");
}

TEST(PipelinedCheck, CutsBoundLoadsToo) {
  EXPECT_EQ(judge(line(), make(Kind::AllGather),
                  "all_gather on 3 ranks with any steps has load below 2",
                  "cut 0 1\nprice 1 on 1->2\n"),
            "accepted");
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

TEST(PipelinedCheck, GossipBetweenBlocks) {
  // 0 and 1 in one box, 2 and 3 in another, one link each way between them.
  Topology boxes("boxes", 4);
  for (auto [a, b] : {std::pair(0, 1), {2, 3}}) {
    ASSERT_TRUE(boxes.addLink(a, b, 9));
    ASSERT_TRUE(boxes.addLink(b, a, 9));
  }
  ASSERT_TRUE(boxes.addLink(1, 2, 1));
  ASSERT_TRUE(boxes.addLink(2, 1, 1));
  Collective sum = make(Kind::AllReduce, 4);
  const std::string claim = "all_reduce on 4 ranks with any steps has R/C "
                            "below ";
  const std::string head = "prices\nprice 1 on 1->2\nprice 1 on 2->1\n"
                           "commodity from 0 1 2 3 to 0 1 2 3\ngossip 1\n";
  const std::string both = "block 0 1\nblock 2 3\n";
  // Each chunk goes there and back: 2 sends over 2 links.
  EXPECT_EQ(judge(boxes, sum, claim + "1", head + both), "accepted");
  EXPECT_EQ(judge(boxes, sum, claim + "2", head + both),
            "the claim is a bound of 2, the proof gives 1 only");
  // Rank 0 is a block of its own then, and 0->1 has no price.
  EXPECT_EQ(judge(boxes, sum, claim + "1", head + "block 2 3\n"),
            "the proof of a commodity takes more than the price of link 0->1 "
            "in step 1");
  EXPECT_EQ(judge(boxes, sum, claim + "1", head + "block 0 1\nblock 1 2 3\n"),
            "rank 1 is in two blocks");
  EXPECT_EQ(judge(boxes, sum, claim + "1", head + "block 0\nblock 2 3\n"),
            "9:8: expected a block of several ranks");
  EXPECT_EQ(judge(boxes, sum, claim + "1", head + "block 2 3\nblock 0 1\n"),
            "10:10: this line repeats or belongs before an earlier one");
  // All in one block is no statement.
  EXPECT_EQ(judge(boxes, sum, claim + "1", head + "block 0 1 2 3\n"),
            "the claim is a bound of 1, the proof gives 0 only");
  // Without a gossip value there is nothing for blocks to say.
  EXPECT_NE(judge(boxes, sum, claim + "1",
                  "prices\nprice 1 on 1->2\n"
                  "commodity from 0 1 2 3 to 0 1 2 3\n" +
                      both),
            "accepted");
}
