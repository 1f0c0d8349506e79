//===- ProgramSizeTest.cpp - Which linear program a bound takes -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/LowerBound.h"

#include <gtest/gtest.h>

using namespace sccl;

using Kind = CollectiveKind;

TEST(ProgramSize, ReduceTakesTheProgramOfABroadcast) {
  // Not the larger one of reductions to several ranks.
  Topology dgx1 = *makeBuiltinTopology("dgx1");
  auto fits = [&](Kind kind, size_t columns) {
    LowerBoundOptions options;
    options.maxColumns = columns;
    return bool(lowerBound(dgx1, *Collective::make(kind, 8, 1, 0), 4, options));
  };
  size_t columns = 1;
  while (!fits(Kind::Broadcast, columns))
    columns *= 2;
  EXPECT_GT(columns, 1u);
  EXPECT_TRUE(fits(Kind::Reduce, columns));
}
