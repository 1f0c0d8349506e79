//===- ClockOffsetsTest.cpp - Clocks of several hosts ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/PlanRank.h"

#include "gtest/gtest.h"

#include <chrono>

using namespace sccl;

static uint64_t steadyNanoseconds() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// Hours ahead, or behind.
static int64_t shiftOf(unsigned rank) {
  constexpr int64_t hour = 3'600'000'000'000;
  return rank % 2 ? hour * rank : -hour * rank / 7;
}

// However long exchanges take, the offset is between what they say.
TEST(ClockOffsets, AreWithinTheBoundsOfExchanges) {
  for (RanksAs kind : {RanksAs::Threads, RanksAs::Processes})
    EXPECT_EQ(0, runRanks(4, kind, [](const RankEnd &end) {
                auto clock = [&] {
                  return steadyNanoseconds() + shiftOf(end.rank);
                };
                uint64_t begin = clock();
                std::vector<ClockOffset> offsets = compareClocks(end, clock);
                int wrong = offsets.size() != 4;
                for (unsigned rank = 0; rank < offsets.size(); ++rank) {
                  const ClockOffset &offset = offsets[rank];
                  wrong += offset.least > shiftOf(rank);
                  wrong += offset.most < shiftOf(rank);
                  wrong += offset.best() < offset.least;
                  wrong += offset.best() > offset.most;
                }
                wrong += offsets[end.rank].at < begin;
                wrong += offsets[end.rank].at > clock();
                return wrong;
              }));
}

TEST(ClockOffsets, AreNoneIfARankHasGone) {
  EXPECT_EQ(0, runRanks(3, RanksAs::Processes, [](const RankEnd &end) {
              if (end.rank == 2)
                return 0;
              return compareClocks(end, steadyNanoseconds).empty() ? 0 : 1;
            }));
}

// A clock that is 5 seconds ahead and gains 1 us in a second.
TEST(ClockOffsets, GrowEvenly) {
  constexpr uint64_t second = 1'000'000'000, us = 1000;
  ClockOffset before = {5 * int64_t(second) - 10, 5 * int64_t(second) + 10,
                        100 * second};
  ClockOffset after = {before.least + 10 * int64_t(us),
                       before.most + 10 * int64_t(us), 110 * second};
  EXPECT_EQ(onFirstClock(100 * second, before, after), 95 * second);
  EXPECT_EQ(onFirstClock(105 * second, before, after), 100 * second - 5 * us);
  EXPECT_EQ(onFirstClock(110 * second, before, after), 105 * second - 10 * us);
  // And one that is behind.
  ClockOffset behind = {-7, -5, 50};
  EXPECT_EQ(onFirstClock(60, behind, behind), 66u);
}

// What rank 1 waits for ends after rank 0 has sent it, though its clock is
// late.
TEST(ClockOffsets, BringTracesTogether) {
  constexpr int64_t second = 1'000'000'000;
  scclTraceEvent sent = {}, wait = {};
  sent.begin = 10 * second;
  sent.end = sent.begin + 100;
  wait.begin = sent.begin + 20 - 3 * second;
  wait.end = sent.begin + 120 - 3 * second;
  PlanRank::Trace trace = {{sent}, {wait}};
  ClockOffset none, late = {-3 * second, -3 * second, 7 * second};
  alignClocks(trace, {none, late}, {none, late});
  EXPECT_EQ(trace[0][0].begin, sent.begin);
  EXPECT_EQ(trace[1][0].begin, sent.begin + 20);
  EXPECT_EQ(trace[1][0].end, sent.begin + 120);
}
