//===- HastyTest.cpp - Questions that searches leave out ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Search/Frontier.h"

#include <gtest/gtest.h>

using namespace sccl;

using Kind = CollectiveKind;

/// DGX-1 without the link between two ranks.
static Topology dgx1Without(unsigned a, unsigned b) {
  Topology whole = *makeBuiltinTopology("dgx1");
  Topology left("left", whole.numRanks());
  for (const BandwidthLimit &limit : whole.limits()) {
    auto [src, dst] = whole.links()[limit.links.front()];
    if (std::pair(src, dst) != std::pair(a, b) &&
        std::pair(src, dst) != std::pair(b, a)) {
      EXPECT_TRUE(left.addLink(src, dst, limit.bandwidth));
    }
  }
  return left;
}

TEST(Hasty, HastyOnesAskNobodyWhereTreesAreClose) {
  Topology topology = dgx1Without(4, 7);
  std::vector<unsigned> asked(7);
  FrontierOptions options;
  options.maxSteps = 5;
  options.maxChunks = 32;
  options.probeWork = 100'000;
  options.stepWork = 200'000;
  options.watch = [&](const FrontierActivity &activity) {
    asked[activity.steps] += activity.chunks > 0;
  };
  Result<Frontier> patient =
      searchFrontier(topology, {Kind::AllReduce}, options);
  ASSERT_TRUE(patient);
  std::vector<unsigned> askedByPatient = asked;
  asked.assign(7, 0);
  options.hasty = true;
  options.maxSteps = 6;
  Result<Frontier> hasty = searchFrontier(topology, {Kind::AllReduce}, options);
  ASSERT_TRUE(hasty);
  // One question about what meets the bound, to an engine that is brief.
  EXPECT_GT(askedByPatient[5], 2u);
  EXPECT_EQ(asked[5], 1u);
  // The same where trees are not far from it.
  EXPECT_GT(askedByPatient[4], 2u);
  EXPECT_EQ(asked[4], 1u);
  // Fewer steps were close already.
  EXPECT_EQ(asked[6], 0u);
  EXPECT_EQ(hasty->points.back().steps, 5u);
  EXPECT_LE(hasty->points.back().bandwidth().toDouble(),
            patient->points.back().bandwidth().toDouble() * 1.01);
  for (const FrontierPoint &point : hasty->points)
    EXPECT_FALSE(checkSchedule(
        topology, *Collective::make(Kind::AllReduce, 8, point.chunks),
        point.schedule.get()));
}

TEST(Hasty, MoreRoundsThanSendsAreNotAskedFor) {
  // A chunk that takes each link once needs no more rounds than steps, so one
  // answer for so many is an answer for all.
  Topology topology = dgx1Without(4, 7);
  unsigned mostRounds = 0;
  FrontierOptions options;
  options.maxSteps = 2;
  options.probeWork = 100'000;
  options.watch = [&](const FrontierActivity &activity) {
    if (activity.chunks == 1)
      mostRounds = std::max(mostRounds, activity.rounds);
  };
  ASSERT_TRUE(searchFrontier(topology, {Kind::AllReduce}, options));
  EXPECT_EQ(mostRounds, 2u);
}
