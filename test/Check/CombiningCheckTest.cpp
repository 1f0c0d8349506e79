//===- CombiningCheckTest.cpp - Who has contributed to what ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingSchedules.h"
#include "ScheduleChecking.h"

using namespace sccl;

static Violation reductionOn(std::string_view spec, Kind kind,
                             std::vector<Step> steps) {
  Topology t = builtin(spec);
  return rejected(t, make(kind, t.numRanks(), 1), Schedule{std::move(steps)});
}

TEST(ScheduleChecker, ContributionTwice) {
  Violation v = reductionOn(
      "line:3", Kind::Reduce,
      {{1, {{0, 2, 1, reduce}}}, {1, {{0, 2, 1, reduce}, {0, 1, 0, reduce}}}});
  expectAt(v, Rule::Contribution, 1, 0,
           "rank 1 would count the contribution of rank 2 to chunk 0 twice in "
           "step 1");
  EXPECT_EQ(v.rank, 1u);
  EXPECT_EQ(v.chunk, 0u);
}

TEST(ScheduleChecker, ContributionTwiceInOneStep) {
  // Ranks 1 and 3 both hold the contribution of 2 when they send to 0.
  Violation v = reductionOn("ring:4", Kind::Reduce,
                            {{1, {{0, 2, 1, reduce}, {0, 2, 3, reduce}}},
                             {1, {{0, 1, 0, reduce}, {0, 3, 0, reduce}}}});
  expectAt(v, Rule::Contribution, 1, 1,
           "rank 0 would count the contribution of rank 2 to chunk 0 twice in "
           "step 1");
}

TEST(ScheduleChecker, CopyNextToAnotherArrival) {
  for (SendAction other : {copy, reduce}) {
    Violation v = reductionOn("line:3", Kind::AllReduce,
                              {{1, {{0, 0, 1, copy}, {0, 2, 1, other}}}});
    expectAt(v, Rule::RedundantSend, 0, 1,
             "rank 1 receives chunk 0 twice in step 0");
    v = reductionOn("line:3", Kind::AllReduce,
                    {{1, {{0, 0, 1, other}, {0, 2, 1, copy}}}});
    EXPECT_EQ(v.rule, Rule::RedundantSend);
    EXPECT_EQ(v.send, 1u);
  }
}

TEST(ScheduleChecker, CopyThatChangesNothing) {
  expectAt(reductionOn("mesh:2", Kind::AllReduce,
                       {{1, {{0, 0, 1, reduce}, {0, 1, 0, reduce}}},
                        {1, {{0, 1, 0, copy}}}}),
           Rule::RedundantSend, 1, 0,
           "rank 0 already holds chunk 0 before step 1");
}

TEST(ScheduleChecker, CopyReplacesContributions) {
  // Rank 1's own contribution is lost when rank 0 overwrites it.
  Violation v = reductionOn("line:3", Kind::AllReduce,
                            {{1, {{0, 0, 1, copy}}},
                             {1, {{0, 1, 2, reduce}}},
                             {1, {{0, 2, 1, copy}}},
                             {1, {{0, 1, 0, copy}}}});
  EXPECT_EQ(v.rule, Rule::Postcondition);
  EXPECT_EQ(v.message,
            "rank 0 lacks the contribution of rank 1 to chunk 0 after step 3");
  EXPECT_EQ(v.step, 3u);
  EXPECT_EQ(v.rank, 0u);
  EXPECT_EQ(v.chunk, 0u);
}

TEST(ScheduleChecker, RanksThatDoNotContribute) {
  // Ranks 0 and 2 contribute to what rank 1 must hold.
  RankChunkSet pre(3, 1), post(3, 1);
  pre.insert(0, 0);
  pre.insert(2, 0);
  post.insert(1, 0);
  Collective c = *Collective::makeCustom("sum", 1, true, pre, post);
  Topology line = builtin("line:3");
  Schedule s;
  s.steps = {{1, {{0, 0, 1, reduce}, {0, 2, 1, reduce}}}};
  expectAccepted(line, c, s);
  s.steps = {{1, {{0, 0, 1, copy}}}, {1, {{0, 2, 1, reduce}}}};
  expectAccepted(line, c, s);
  s.steps = {{1, {{0, 1, 0, reduce}}}};
  EXPECT_EQ(rejected(line, c, s).message,
            "rank 1 does not hold chunk 0 before step 0");
  s.steps = {{1, {{0, 0, 1, copy}}}, {1, {{0, 1, 2, reduce, input}}}};
  EXPECT_EQ(rejected(line, c, s).message,
            "rank 1 has no input for chunk 0 to send in step 1");
  EXPECT_EQ(rejected(line, c, Schedule()).message,
            "rank 1 lacks chunk 0 after 0 steps");
}

TEST(ScheduleChecker, EachChunkHasItsOwnContributors) {
  // Ranks 0 and 1 contribute to chunk 0, only rank 1 to chunk 1.
  RankChunkSet pre(2, 2), post(2, 2);
  pre.insert(0, 0);
  pre.insert(1, 0);
  pre.insert(1, 1);
  post.insert(0, 0);
  post.insert(1, 1);
  Collective c = *Collective::makeCustom("sums", 1, true, pre, post);
  Schedule s;
  s.steps = {{1, {{0, 1, 0, reduce}}}};
  expectAccepted(builtin("mesh:2"), c, s);
}
