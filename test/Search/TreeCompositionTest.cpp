//===- TreeCompositionTest.cpp - Tests of all_reduces made of trees -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "Search/TreeCompositions.h"
#include "sccl/Check/TreeChecker.h"
#include "sccl/Search/Frontier.h"

#include <gtest/gtest.h>

#include <atomic>

using namespace sccl;
using sccl::test::boxesOnRails;

TEST(TreeComposition, IsAnAllReduce) {
  Topology topology = boxesOnRails(3, 4, 4);
  TreeSynthesis synthesis(topology, CollectiveKind::AllGather);
  auto first = synthesis.rounded(2, 8, {}),
       second = synthesis.rounded(3, 12, {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->chunks, 8u);
  auto joined = composeTrees(*first, *second, 12);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->chunks, 24u * 12);
  EXPECT_EQ(joined->rounds.size(), 5u);
  EXPECT_EQ(joined->totalRounds(),
            3 * first->totalRounds() + 2 * second->totalRounds());
  auto failure = checkTreeSchedule(topology, *joined, 0);
  EXPECT_FALSE(failure) << *failure;
}

TEST(TreeComposition, OfTheSameSymmetriesAndOriginsOnly) {
  Topology topology = boxesOnRails(3, 4, 4);
  auto found =
      TreeSynthesis(topology, CollectiveKind::AllGather).rounded(2, 4, {});
  ASSERT_TRUE(found);
  TreeSchedule other = *found;
  other.generators.pop_back();
  EXPECT_FALSE(composeTrees(*found, other, 12));
  other = *found;
  other.trees.front().origin = 5;
  EXPECT_FALSE(composeTrees(*found, other, 12));
  other = *found;
  other.trees.front().count += 1;
  EXPECT_FALSE(composeTrees(*found, other, 12));
}

TEST(TreeComposition, IsThereBeforeAnythingElseIsLookedFor) {
  Topology topology = boxesOnRails(17, 8, 9);
  std::atomic<bool> interrupt = false;
  FrontierOptions options;
  options.maxSteps = 4;
  options.solver.interrupt = &interrupt;
  options.watch = [&](const FrontierActivity &) { interrupt = true; };
  auto frontier =
      searchFrontier(topology, {CollectiveKind::AllReduce}, options);
  ASSERT_TRUE(frontier) << frontier.error();
  EXPECT_TRUE(frontier->stopped);
  ASSERT_FALSE(frontier->points.empty());
  EXPECT_EQ(frontier->points.front().steps, 2u);
  for (const FrontierPoint &point : frontier->points)
    EXPECT_EQ(point.engine, "compose");
  ASSERT_EQ(frontier->trees.size(), 1u);
  EXPECT_EQ(frontier->trees.front().steps, 4u);
  EXPECT_LT(frontier->trees.front().bandwidth(), Rational(1, 2));
}
