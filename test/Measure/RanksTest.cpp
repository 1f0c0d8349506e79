//===- RanksTest.cpp - What ranks gather ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/Ranks.h"

#include <gtest/gtest.h>

using namespace sccl;

/// Whoever takes the others for lost asks them nothing any more: what they
/// would answer belongs to another question.
TEST(RanksTest, GathersNothingAfterOneHasFailed) {
  bool isCut = false;
  unsigned gathers = 0;
  scclAllGatherFn second = [](void *context, const void *, void *, size_t) {
    return ++*static_cast<unsigned *>(context) == 2 ? 1 : 0;
  };
  RankEnd end{0, 2, second, &gathers, nullptr, true, &isCut};
  std::vector<int> all;
  EXPECT_TRUE(end.gather(1, all));
  EXPECT_FALSE(end.isCut());
  EXPECT_FALSE(end.gather(1, all));
  EXPECT_TRUE(end.isCut());
  EXPECT_FALSE(end.gather(1, all));
  EXPECT_EQ(gathers, 2u);
}
