//===- ShrinkTest.cpp - Cases get smaller and stay wrong ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prove/Shrink.h"

#include "sccl/Check/ScheduleChecker.h"

#include "gtest/gtest.h"

using namespace sccl;
using namespace sccl::test;

/// An all_gather on three ranks with everything that can be left out.
static RandomCase manyThings() {
  Topology topology("line", 3);
  for (auto [src, dst] : {std::pair(0, 1), {1, 2}, {2, 1}, {1, 0}})
    must(topology.addLink(src, dst, 2));
  must(topology.addLimit({0, 1}, 4));
  Collective collective =
      must(Collective::make(CollectiveKind::AllGather, 3, 2));
  Random random(1);
  Schedule schedule = growSchedule(random, topology, collective);
  RandomCase given{topology, {collective, schedule}, "grown"};
  given.lowering.throughScratch = given.lowering.doubleBuffer = true;
  given.lowering.pieces = 3;
  given.lowering.element = Element::F16;
  given.reach = Reach::Copies;
  given.inPlace = true;
  given.elements = 1000;
  return given;
}

TEST(Shrink, LeavesWhatTheFaultNeeds) {
  RandomCase smaller = shrink(manyThings(), [](const RandomCase &given) {
    return given.lowering.throughScratch && given.elements > 7 &&
           given.implementation.collective.numChunks() >= 2;
  });
  EXPECT_TRUE(smaller.lowering.throughScratch);
  EXPECT_EQ(smaller.elements, 8u);
  EXPECT_EQ(smaller.implementation.collective.numChunks(), 2u);
  EXPECT_FALSE(smaller.lowering.doubleBuffer);
  EXPECT_EQ(smaller.lowering.pieces, 1u);
  EXPECT_EQ(smaller.lowering.element, Element::F32);
  EXPECT_EQ(smaller.reach, Reach::Memory);
  EXPECT_FALSE(smaller.inPlace);
  // Each link keeps one.
  EXPECT_EQ(smaller.topology.limits().size(), 3u);
  EXPECT_FALSE(checkSchedule(smaller.topology,
                             smaller.implementation.collective,
                             smaller.implementation.schedule));
}

TEST(Shrink, StopsAsking) {
  unsigned asked = 0;
  shrink(
      manyThings(),
      [&](const RandomCase &) {
        ++asked;
        return true;
      },
      10);
  EXPECT_EQ(asked, 10u);
}

TEST(Shrink, GrownSchedulesAreRight) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    RandomCase given = makeCase(random, 10);
    const auto &[collective, schedule] = given.implementation;
    auto violation = checkSchedule(given.topology, collective, schedule);
    EXPECT_FALSE(violation) << seed << ": " << violation->message;
  }
}
