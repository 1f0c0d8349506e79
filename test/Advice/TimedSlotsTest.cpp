//===- TimedSlotsTest.cpp - Slots of time whose end may vary --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Advice/TimedProgram.h"

#include <gtest/gtest.h>

using namespace sccl;
using namespace sccl::advice;

namespace {
Timing timingOf(std::vector<double> latencies) {
  Timing timing;
  timing.latencies = std::move(latencies);
  return timing;
}
} // namespace

TEST(TimedSlots, SumsAndCrossings) {
  EXPECT_EQ(sumsOfLatencies(timingOf({2, 2})), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(crossingTimes(timingOf({2})),
            (std::vector<double>{2, 4, 6, 8, 10, 12}));
  // Three latencies at most before and after the crossing.
  EXPECT_EQ(crossingTimes(timingOf({1, 10})).front(), 1);
  EXPECT_EQ(crossingTimes(timingOf({1, 10})).back(), 60);
}

TEST(TimedSlots, MomentsKeepTheirOrder) {
  // 0, T - 2, 1, T - 1, 2, T: slots grow, shrink and grow.
  Slots slots(timingOf({1}), {2.00001, 2.99999});
  ASSERT_EQ(slots.count(), 5u);
  for (size_t slot = 0; slot < 5; ++slot)
    EXPECT_NEAR(slots.growth(slot), slot % 2 == 0 ? 1 : -1, 1e-9);
  EXPECT_NEAR(slots.length(1), 1, 1e-4);
  // A latency leads to the slot after the next one, and not to the one after
  // that.
  for (size_t slot = 0; slot < 3; ++slot)
    EXPECT_EQ(slots.arrivalSlot(slot, 1), slot + 2);
  EXPECT_EQ(slots.arrivalSlot(3, 1), 4u);
  EXPECT_TRUE(slots.endsAfter(2, 1));
  EXPECT_FALSE(slots.endsAfter(1, 1));
  EXPECT_TRUE(slots.beginsBefore(2, 1));
  EXPECT_FALSE(slots.beginsBefore(3, 1));
}

TEST(TimedSlots, MomentsThatMeetAreLeftOut) {
  // 1 and T - 1 meet at 2.
  Slots slots(timingOf({1}), {1.5, 2.5});
  for (size_t slot = 0; slot < slots.count(); ++slot) {
    EXPECT_GE(slots.length(slot), 0);
    EXPECT_GE(slots.length(slot) + slots.growth(slot) * 1.0, -1e-9);
  }
  EXPECT_EQ(slots.count(), 2u);
}

TEST(TimedSlots, TheMiddleGrowsWithoutEnd) {
  Slots slots(timingOf({1}), {6, 6e9});
  ASSERT_EQ(slots.count(), 7u);
  for (size_t slot = 0; slot < 7; ++slot)
    EXPECT_NEAR(slots.growth(slot), slot == 3, 1e-9);
  EXPECT_EQ(slots.arrivalSlot(3, 1), 3u);
  EXPECT_EQ(slots.arrivalSlot(2, 1), 3u);
}
