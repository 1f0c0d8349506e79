//===- ExchangeTest.cpp - Reductions in one step --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Search/Frontier.h"

#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

using namespace sccl;

TEST(Exchange, AllReduceInOneStepOnManyRanks) {
  // Too many sends for the engines, but there is only one way.
  Result<Topology> rack = makeBuiltinTopology("switch:40,1");
  ASSERT_TRUE(rack) << rack.error();
  FrontierOptions options;
  options.maxSteps = 1;
  auto frontier = searchFrontier(*rack, {CollectiveKind::AllReduce}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  ASSERT_EQ(frontier->points.size(), 1u);
  const FrontierPoint &point = frontier->points[0];
  EXPECT_EQ(point.bandwidth(), Rational(39));
  EXPECT_TRUE(point.optimal);
  auto violation = checkSchedule(
      *rack, *Collective::make(CollectiveKind::AllReduce, 40, point.chunks),
      point.schedule);
  EXPECT_FALSE(violation) << violation->message;
}
