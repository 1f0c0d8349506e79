//===- ScheduleCheckerTest.cpp - Tests of the independent check -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules written by hand that are right, each rule broken once, and random
// schedules against a slow replay that shares no code with the checker.
//
//===----------------------------------------------------------------------===//

#include "RandomSchedule.h"
#include "RingSchedules.h"
#include "ScheduleChecking.h"
#include "SlowReplay.h"

#include <gtest/gtest.h>

#include <map>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Accepted
//===----------------------------------------------------------------------===//

TEST(ScheduleChecker, AllGatherOnRing) {
  // Both directions: neighbours first, then each passes on one.
  Schedule s;
  s.steps.resize(2);
  s.steps[0].sends = {{0, 0, 1}, {0, 0, 3}, {1, 1, 2}, {1, 1, 0},
                      {2, 2, 3}, {2, 2, 1}, {3, 3, 0}, {3, 3, 2}};
  s.steps[1].sends = {{0, 1, 2}, {1, 2, 3}, {2, 3, 0}, {3, 0, 1}};
  expectNoSendToSpare(builtin("ring:4"), make(Kind::AllGather, 4, 1), s);
  expectNoSendToSpare(builtin("ring:5"), make(Kind::AllGather, 5, 2),
                      ringAllGather(5, 2));
}

TEST(ScheduleChecker, BroadcastOnLine) {
  Schedule s;
  s.steps = {{2, {{0, 0, 1}, {1, 0, 1}}}, {2, {{0, 1, 2}, {1, 1, 2}}}};
  expectNoSendToSpare(builtin("line:3"), make(Kind::Broadcast, 3, 2), s);
}

TEST(ScheduleChecker, ReduceOnLine) {
  Schedule s;
  s.steps = {{1, {{0, 2, 1, reduce}}}, {1, {{0, 1, 0, reduce}}}};
  expectNoSendToSpare(builtin("line:3"), make(Kind::Reduce, 3, 1), s);
}

TEST(ScheduleChecker, ReduceToTheMiddle) {
  // Two contributions may arrive in one step.
  Schedule s;
  s.steps = {{1, {{0, 0, 1, reduce}, {0, 2, 1, reduce}}}};
  expectNoSendToSpare(builtin("line:3"), make(Kind::Reduce, 3, 1, 1), s);
}

TEST(ScheduleChecker, AllReduceOnMesh) {
  Schedule s;
  s.steps = {{1, {{0, 0, 1, reduce}, {0, 1, 0, reduce}}}};
  expectNoSendToSpare(builtin("mesh:2"), make(Kind::AllReduce, 2, 1), s);
}

TEST(ScheduleChecker, ReduceScatterOnRing) {
  Schedule s = ringReduceScatter(4);
  expectNoSendToSpare(builtin("ring:4"), make(Kind::ReduceScatter, 4, 4), s);
}

TEST(ScheduleChecker, AllReduceOnRing) {
  Schedule s = ringReduceScatter(5), gather = ringAllGather(5, 1);
  s.steps.insert(s.steps.end(), gather.steps.begin(), gather.steps.end());
  expectNoSendToSpare(builtin("ring:5"), make(Kind::AllReduce, 5, 5), s);
}

TEST(ScheduleChecker, AllReduceOfManyRanks) {
  // More ranks than bits in a word.
  Schedule s = ringReduceScatter(130), gather = ringAllGather(130, 1);
  s.steps.insert(s.steps.end(), gather.steps.begin(), gather.steps.end());
  Topology t = builtin("ring:130");
  Collective c = make(Kind::AllReduce, 130, 130);
  expectAccepted(t, c, s);
  s.steps[64].sends.pop_back();
  EXPECT_TRUE(checkSchedule(t, c, s));
}

TEST(ScheduleChecker, AllReduceWithOwnInputs) {
  // Rank 1 has changed its value of the chunk when it sends its input to 2.
  Schedule s;
  s.steps = {{1, {{0, 0, 1, reduce}, {0, 2, 1, reduce}}},
             {1, {{0, 1, 0, copy}, {0, 1, 2, reduce, input}}},
             {1, {{0, 1, 2, copy}}}};
  expectAccepted(builtin("line:3"), make(Kind::AllReduce, 3, 1), s);
  // Its value would count rank 2 twice.
  s.steps[1].sends[1].payload = current;
  expectAt(rejected(builtin("line:3"), make(Kind::AllReduce, 3, 1), s),
           Rule::Contribution, 1, 1,
           "rank 2 would count the contribution of rank 2 to chunk 0 twice in "
           "step 1");
}

TEST(ScheduleChecker, ScatterGatherAllToAll) {
  Schedule scatter, gather, exchange;
  scatter.steps = {{2, {{1, 0, 1}, {2, 0, 1}}}, {1, {{2, 1, 2}}}};
  gather.steps = {{1, {{2, 2, 1}, {1, 1, 0}}}, {1, {{2, 1, 0}}}};
  exchange.steps = {{1, {{1, 0, 1}, {2, 1, 0}}}};
  Topology line = builtin("line:3");
  expectNoSendToSpare(line, make(Kind::Scatter, 3, 3), scatter);
  expectNoSendToSpare(line, make(Kind::Gather, 3, 1), gather);
  expectNoSendToSpare(builtin("mesh:2"), make(Kind::AllToAll, 2, 2), exchange);
}

TEST(ScheduleChecker, InputsOutsideReductions) {
  Schedule s = ringAllGather(4, 1);
  for (Send &send : s.steps[0].sends)
    send.payload = input;
  expectAccepted(builtin("ring:4"), make(Kind::AllGather, 4, 1), s);
  s.steps[1].sends[2].payload = input;
  Violation v = rejected(builtin("ring:4"), make(Kind::AllGather, 4, 1), s);
  expectAt(v, Rule::ChunkNotHeld, 1, 2,
           "rank 2 has no input for chunk 1 to send in step 1");
}

TEST(ScheduleChecker, NothingToDo) {
  Schedule idle;
  idle.steps = {{1, {}}, {7, {}}};
  for (Kind kind : allCollectiveKinds()) {
    Topology alone("alone", 1);
    expectAccepted(alone, make(kind, 1, 3), Schedule());
    expectAccepted(alone, make(kind, 1, 3), idle);
  }
}

//===----------------------------------------------------------------------===//
// Sends and links
//===----------------------------------------------------------------------===//

/// An all_gather on a ring of 4 whose send number 1 of step 1 is replaced.
static Violation withSend(Send send) {
  Schedule s = ringAllGather(4, 1);
  s.steps[1].sends[1] = send;
  return rejected(builtin("ring:4"), make(Kind::AllGather, 4, 1), s);
}

TEST(ScheduleChecker, MalformedSend) {
  Violation v = withSend({0, 4, 1});
  expectAt(v, Rule::MalformedSend, 1, 1,
           "rank 4 in step 1 is out of range for 4 ranks");
  EXPECT_EQ(v.rank, 4u);
  EXPECT_FALSE(v.link);
  expectAt(withSend({0, 1, ~0u}), Rule::MalformedSend, 1, 1,
           "rank 4294967295 in step 1 is out of range for 4 ranks");
  v = withSend({4, 1, 2});
  expectAt(v, Rule::MalformedSend, 1, 1,
           "chunk 4 in step 1 is out of range for 4 chunks");
  EXPECT_EQ(v.chunk, 4u);
  EXPECT_FALSE(v.rank);
  expectAt(withSend({0, 1, 1}), Rule::MalformedSend, 1, 1,
           "rank 1 sends chunk 0 to itself in step 1");
}

TEST(ScheduleChecker, AbsentLink) {
  Violation v = withSend({0, 1, 3});
  expectAt(v, Rule::AbsentLink, 1, 1,
           "step 1 uses link 1 -> 3, which topology 'ring:4' does not have");
  EXPECT_EQ(v.link, (Link{1, 3}));
  EXPECT_EQ(v.chunk, 0u);
}

TEST(ScheduleChecker, LinksInAnyOrder) {
  Topology t("t", 4);
  for (unsigned dst : {3, 1, 2})
    ASSERT_TRUE(t.addLink(0, dst, dst));
  Schedule s;
  s.steps = {{1, {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}}}};
  expectAccepted(t, make(Kind::Broadcast, 4, 1), s);
  // And one way only.
  s.steps = {{1, {{1, 1, 0}}}};
  EXPECT_EQ(rejected(t, make(Kind::Gather, 4, 1), s).rule, Rule::AbsentLink);
}

TEST(ScheduleChecker, WrongAction) {
  Violation v = withSend({0, 1, 2, reduce});
  expectAt(v, Rule::WrongAction, 1, 1,
           "step 1 reduces chunk 0 into rank 2, but collective 'all_gather' "
           "does not combine");
  EXPECT_EQ(v.rank, 2u);
}

TEST(ScheduleChecker, ZeroRounds) {
  Schedule s = ringAllGather(4, 1);
  s.steps[2].rounds = 0;
  // Even if the step sends what it should not.
  s.steps[2].sends[0] = {9, 9, 9};
  Violation v = rejected(builtin("ring:4"), make(Kind::AllGather, 4, 1), s);
  EXPECT_EQ(v.rule, Rule::ZeroRounds);
  EXPECT_EQ(v.step, 2u);
  EXPECT_EQ(v.message, "step 2 has 0 rounds, the least is 1");
  EXPECT_FALSE(v.send || v.rank || v.chunk || v.link);
}

TEST(ScheduleChecker, NumbersOfRanksDiffer) {
  Violation v = rejected(builtin("ring:4"), make(Kind::AllGather, 8, 1),
                         ringAllGather(8, 1));
  EXPECT_EQ(v.rule, Rule::MalformedSend);
  EXPECT_EQ(v.message,
            "topology 'ring:4' has 4 ranks, but collective 'all_gather' has 8");
  EXPECT_FALSE(v.step);
  EXPECT_EQ(rejected(builtin("ring:8"), make(Kind::AllGather, 4, 1),
                     ringAllGather(4, 1))
                .rule,
            Rule::MalformedSend);
}

//===----------------------------------------------------------------------===//
// Who holds what
//===----------------------------------------------------------------------===//

TEST(ScheduleChecker, ChunkNotHeld) {
  Violation v = withSend({3, 1, 2});
  expectAt(v, Rule::ChunkNotHeld, 1, 1,
           "rank 1 does not hold chunk 3 before step 1");
  EXPECT_EQ(v.rank, 1u);
  EXPECT_EQ(v.chunk, 3u);
  EXPECT_EQ(v.link, (Link{1, 2}));
}

TEST(ScheduleChecker, SendsOfAStepDoNotSeeEachOther) {
  Schedule s;
  s.steps = {{1, {{0, 0, 1}, {0, 1, 2}}}};
  expectAt(rejected(builtin("line:3"), make(Kind::Broadcast, 3, 1), s),
           Rule::ChunkNotHeld, 0, 1,
           "rank 1 does not hold chunk 0 before step 0");
  // A reduction likewise: rank 1 sends what it had, without rank 2.
  s.steps = {{1, {{0, 2, 1, reduce}, {0, 1, 0, reduce}}}};
  Violation v = rejected(builtin("line:3"), make(Kind::Reduce, 3, 1), s);
  EXPECT_EQ(v.rule, Rule::Postcondition);
  EXPECT_EQ(v.message,
            "rank 0 lacks the contribution of rank 2 to chunk 0 after step 0");
}

TEST(ScheduleChecker, RedundantSend) {
  Violation v = withSend({1, 1, 2});
  expectAt(v, Rule::RedundantSend, 1, 1,
           "rank 2 already holds chunk 1 before step 1");
  EXPECT_EQ(v.rank, 2u);
  EXPECT_EQ(v.chunk, 1u);
}

TEST(ScheduleChecker, ReceivedTwiceInAStep) {
  Schedule s;
  s.steps = {{1, {{0, 0, 1}, {0, 0, 3}}}, {1, {{0, 1, 2}, {0, 3, 2}}}};
  expectAt(rejected(builtin("ring:4"), make(Kind::Broadcast, 4, 1), s),
           Rule::RedundantSend, 1, 1,
           "rank 2 receives chunk 0 twice in step 1");
}

//===----------------------------------------------------------------------===//
// Bandwidth
//===----------------------------------------------------------------------===//

TEST(ScheduleChecker, BandwidthOfALink) {
  Topology t = builtin("dgx1");
  Collective c = make(Kind::Broadcast, 8, 7);
  Schedule s;
  // Link 0 -> 1 carries 2 chunks per round, link 0 -> 2 carries 1.
  Step &step = s.steps.emplace_back();
  step.rounds = 3;
  for (unsigned chunk = 0; chunk < 7; ++chunk)
    step.sends.push_back({chunk, 0, 1});
  Violation v = rejected(t, c, s);
  EXPECT_EQ(v.rule, Rule::Bandwidth);
  EXPECT_EQ(v.message, "link 0 -> 1 carries 7 chunks in step 0, the limit is 6 "
                       "(bandwidth 2, rounds 3)");
  EXPECT_EQ(v.link, (Link{0, 1}));
  EXPECT_EQ(v.step, 0u);
  EXPECT_FALSE(v.send);
  s.steps[0].sends.pop_back();
  EXPECT_EQ(rejected(t, c, s).rule, Rule::Postcondition);
  for (unsigned chunk = 0; chunk < 4; ++chunk)
    s.steps[0].sends.push_back({chunk, 0, 2});
  EXPECT_EQ(rejected(t, c, s).message,
            "link 0 -> 2 carries 4 chunks in step 0, the limit is 3 "
            "(bandwidth 1, rounds 3)");
}

TEST(ScheduleChecker, BandwidthIsPerStep) {
  Schedule s;
  s.steps = {{1, {{0, 0, 1}}}, {1, {{1, 0, 1}}}, {1, {{2, 0, 1}, {3, 0, 1}}}};
  Violation v = rejected(builtin("mesh:2"), make(Kind::Broadcast, 2, 4), s);
  EXPECT_EQ(v.rule, Rule::Bandwidth);
  EXPECT_EQ(v.step, 2u);
  s.steps[2].rounds = 2;
  expectAccepted(builtin("mesh:2"), make(Kind::Broadcast, 2, 4), s);
}

TEST(ScheduleChecker, BandwidthOfASwitch) {
  // One rank sends to all others, then all send to one: 3 chunks each.
  Collective broadcast = make(Kind::Broadcast, 4, 1);
  Collective gather = make(Kind::Gather, 4, 1);
  Schedule out, in;
  out.steps = {{1, {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}}}};
  in.steps = {{1, {{1, 1, 0}, {2, 2, 0}, {3, 3, 0}}}};
  expectAccepted(builtin("switch:4,3"), broadcast, out);
  expectAccepted(builtin("switch:4,3"), gather, in);
  Violation v = rejected(builtin("switch:4,2"), broadcast, out);
  EXPECT_EQ(v.rule, Rule::Bandwidth);
  EXPECT_EQ(v.message, "the 3 links of limit 0 carry 3 chunks in step 0, the "
                       "limit is 2 (bandwidth 2, rounds 1)");
  EXPECT_FALSE(v.link);
  EXPECT_EQ(rejected(builtin("switch:4,2"), gather, in).message,
            "the 3 links of limit 1 carry 3 chunks in step 0, the limit is 2 "
            "(bandwidth 2, rounds 1)");
  out.steps[0].rounds = 2;
  expectAccepted(builtin("switch:4,2"), broadcast, out);
}

TEST(ScheduleChecker, FirstOfSeveralLimits) {
  // Limits 1 and 2 are exceeded; the sends meet limit 2 first.
  Topology t("t", 3);
  ASSERT_TRUE(t.addLink(0, 1));
  ASSERT_TRUE(t.addLink(0, 2));
  ASSERT_TRUE(t.addLimit({0, 1}, 9));
  ASSERT_TRUE(t.addLimit({1}, 1));
  ASSERT_TRUE(t.addLimit({0}, 1));
  Schedule s;
  s.steps = {{1, {{0, 0, 1}, {1, 0, 1}, {0, 0, 2}, {1, 0, 2}}}};
  Violation v = rejected(t, make(Kind::Broadcast, 3, 2), s);
  EXPECT_EQ(v.rule, Rule::Bandwidth);
  EXPECT_EQ(v.link, (Link{0, 2}));
}

TEST(ScheduleChecker, UnlimitedLinkAndHugeRounds) {
  Topology t("t", 2);
  ASSERT_TRUE(t.addLink(0, 1));
  Schedule s;
  s.steps.emplace_back();
  for (unsigned chunk = 0; chunk < 1000; ++chunk)
    s.steps[0].sends.push_back({chunk, 0, 1});
  expectAccepted(t, make(Kind::Broadcast, 2, 1000), s);
  // 2^20 * 2^12 is 0 in 32 bits.
  ASSERT_TRUE(t.addLimit({0}, 1u << 20));
  s.steps[0].rounds = 1u << 12;
  expectAccepted(t, make(Kind::Broadcast, 2, 1000), s);
}

TEST(ScheduleChecker, Postcondition) {
  Schedule s = ringAllGather(4, 1);
  s.steps.back().sends.erase(s.steps.back().sends.begin() + 2);
  Violation v = rejected(builtin("ring:4"), make(Kind::AllGather, 4, 1), s);
  EXPECT_EQ(v.rule, Rule::Postcondition);
  EXPECT_EQ(v.message, "rank 3 lacks chunk 0 after step 2");
  EXPECT_EQ(v.step, 2u);
  EXPECT_EQ(v.rank, 3u);
  EXPECT_EQ(v.chunk, 0u);
  EXPECT_FALSE(v.send || v.link);
}

TEST(ScheduleChecker, PostconditionByRankThenChunk) {
  EXPECT_EQ(rejected(builtin("ring:4"), make(Kind::AllGather, 4, 1), Schedule())
                .message,
            "rank 0 lacks chunk 1 after 0 steps");
  // Rank 1 lacks chunk 0, but rank 0 comes first although it lacks chunk 1.
  Schedule s;
  s.steps = {{1, {{0, 1, 0, reduce}}}};
  EXPECT_EQ(rejected(builtin("mesh:2"), make(Kind::AllReduce, 2, 2), s).message,
            "rank 0 lacks the contribution of rank 1 to chunk 1 after step 0");
}

TEST(ScheduleChecker, PostconditionOfTheFirstChunk) {
  // Chunk 0 is incomplete at rank 0, chunk 1 only at rank 1.
  Schedule s;
  s.steps = {{1, {{0, 0, 1, reduce}, {1, 1, 0, reduce}}}};
  EXPECT_EQ(rejected(builtin("mesh:2"), make(Kind::AllReduce, 2, 2), s).message,
            "rank 0 lacks the contribution of rank 1 to chunk 0 after step 0");
}

TEST(ScheduleChecker, EarlierViolationWins) {
  Topology t = builtin("ring:4");
  for (Kind kind : {Kind::Broadcast, Kind::AllReduce}) {
    Collective c = make(kind, 4, 2);
    SendAction bad = c.combining() ? reduce : copy;
    Schedule s;
    // Chunk 1 goes wrong at send 2, chunk 0 at send 3, a link is absent at 4
    // and the bandwidth is exceeded at the end.
    s.steps = {{1, {{1, 0, 1, bad}, {0, 0, 1, bad}}}, {1, {}}};
    s.steps[1].sends = {
        {0, 1, 2, bad}, {1, 1, 2, bad}, {1, 0, 1, bad}, {0, 0, 1, bad}};
    s.steps[0].rounds = 2;
    Violation v = rejected(t, c, s);
    EXPECT_EQ(v.step, 1u);
    EXPECT_EQ(v.send, 2u) << v.message;
    EXPECT_EQ(v.chunk, 1u);
    std::vector<Send> &sends = s.steps[1].sends;
    std::swap(sends[2], sends[3]);
    EXPECT_EQ(rejected(t, c, s).chunk, 0u);
    sends.insert(sends.begin() + 2, Send{0, 0, 2});
    EXPECT_EQ(rejected(t, c, s).rule, Rule::AbsentLink);
    sends.erase(sends.begin() + 2, sends.end());
    EXPECT_EQ(rejected(t, c, s).rule, Rule::Bandwidth);
  }
}

//===----------------------------------------------------------------------===//
// Against a replay with sets
//===----------------------------------------------------------------------===//

TEST(ScheduleChecker, AgreesWithASlowReplay) {
  std::mt19937 random(20240607);
  std::map<Rule, unsigned> seen;
  unsigned accepted = 0;
  for (unsigned trial = 0; trial < 1200; ++trial) {
    const char *specs[] = {"ring:4", "line:3", "mesh:2", "switch:3,2"};
    Topology t = builtin(specs[trial % 4]);
    Kind kind = allCollectiveKinds()[trial / 4 % 8];
    unsigned chunks = sendsOneSegmentPerRank(kind) ? t.numRanks() : 1;
    Collective c = make(kind, t.numRanks(), chunks);
    Schedule s = randomSchedule(random, t, c);
    mutate(random, t, s);
    std::optional<Verdict> expected = slowCheck(t, c, s);
    std::optional<Violation> found = checkSchedule(t, c, s);
    ASSERT_EQ(bool(found), bool(expected)) << toTable(s, t);
    if (!found) {
      ++accepted;
      continue;
    }
    ++seen[found->rule];
    Verdict actual{found->rule, found->step, found->send};
    ASSERT_EQ(actual, *expected) << found->message << "\n" << toTable(s, t);
  }
  // The comparison is worth something only if it met every outcome.
  EXPECT_GT(accepted, 20u);
  for (Rule rule : {Rule::MalformedSend, Rule::AbsentLink, Rule::ZeroRounds,
                    Rule::WrongAction, Rule::ChunkNotHeld, Rule::RedundantSend,
                    Rule::Contribution, Rule::Bandwidth, Rule::Postcondition})
    EXPECT_GT(seen[rule], 5u) << static_cast<int>(rule);
}
