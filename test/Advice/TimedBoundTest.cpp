//===- TimedBoundTest.cpp - How many bytes can move within a time ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Advice/TimedBound.h"
#include "Advice/Blockwise.h"
#include "AdviceTesting.h"

#include "sccl/Model/Pieces.h"
#include "sccl/Solver/Pipelined.h"

#include <gtest/gtest.h>

#include <random>

using namespace sccl;
using advice::TimedBound;
using Kind = CollectiveKind;

namespace {
const Deadline noLimit{SearchLimits{}};
/// Of one question.
constexpr uint64_t someWork = 100'000;

LoweringOptions randomLowering(std::mt19937 &random) {
  LoweringOptions options;
  const TransportChoice transports[] = {
      TransportChoice::Auto, TransportChoice::Push, TransportChoice::Pull};
  switch (random() % 3) {
  case 0:
    options.transport = transports[random() % 3];
    break;
  case 1:
    options.throughScratch = options.doubleBuffer = true;
    break;
  default:
    options.ll = true;
  }
  return options;
}
} // namespace

TEST(TimedBound, NoProgramIsFaster) {
  PipelineContext context;
  std::mt19937 random(15);
  unsigned simulated = 0, known = 0;
  double closest = 0;
  for (unsigned i = 0; i < 150; ++i) {
    Fabric fabric = randomFabric(random);
    const Kind kinds[] = {Kind::AllGather, Kind::AllReduce, Kind::Broadcast,
                          Kind::Reduce, Kind::ReduceScatter};
    Kind kind = kinds[random() % 5];
    unsigned root = isRooted(kind) ? random() % fabric.topology.numRanks() : 0;
    std::vector<Implementation> tried;
    if (auto found = synthesizePipelined(fabric.topology, kind, root))
      tried.push_back(std::move(found->implementation));
    if (kind == Kind::AllReduce)
      for (Implementation &whole : advice::blockwiseAllReduces(fabric))
        tried.push_back(std::move(whole));
    for (const Implementation &whole : tried) {
      auto cut = cutIntoPieces(whole, fabric.topology, 1 + random() % 4,
                               1 + random() % 4);
      if (!cut || cut->schedule.numSends() > 400)
        continue;
      double bytes = std::exp2(double(random() % 12));
      std::optional<double> time =
          timeOf(context.get(), fabric, *cut, randomLowering(random), bytes);
      if (!time)
        continue;
      ++simulated;
      TimedBound bound(fabric.topology, cut->collective, fabric.timing);
      Deadline limit({0, someWork, nullptr});
      double most = bound.mostBytes(*time, limit);
      known += std::isfinite(most);
      EXPECT_GE(most, bytes * (1 - 1e-6))
          << collectiveName(kind) << ", " << fabric.topology.numRanks()
          << " ranks, " << *time << " us, round " << i;
      if (std::isfinite(most))
        closest = std::max(closest, bytes / most);
    }
  }
  EXPECT_GT(simulated, 60u);
  EXPECT_GT(known, simulated / 2);
  // The bound is met now and then, so it could not be much higher.
  EXPECT_GT(closest, 0.95);
}

TEST(TimedBound, HopsTakeTimeThatBytesDoNotHave) {
  Result<Topology> line = makeBuiltinTopology("line:3");
  ASSERT_TRUE(bool(line));
  Timing timing = Timing::uniform(*line, 5, 10);
  Result<Collective> all = Collective::make(Kind::AllGather, 3, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(*line, *all, timing);
  // Over two links in 5 + 5 + t; both links need the time for one more byte.
  EXPECT_NEAR(bound.mostBytes(12, noLimit), 20, 1);
  double least = bound.leastTime(20, 0, 40, noLimit);
  EXPECT_LE(least, 12);
  EXPECT_GE(least, 10);
  // Without bytes only latencies count.
  EXPECT_LE(bound.mostBytes(10.1, noLimit), 7);
  EXPECT_EQ(bound.mostBytes(9.9, noLimit), 0);
}

TEST(TimedBound, KnowsNothingOfOthers) {
  Result<Topology> ring = makeBuiltinTopology("ring:200");
  ASSERT_TRUE(bool(ring));
  Result<Collective> all = Collective::make(Kind::AllGather, 200, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(*ring, *all, Timing::uniform(*ring, 1, 1));
  EXPECT_TRUE(std::isinf(bound.mostBytes(1, noLimit)));
  EXPECT_EQ(bound.leastTime(1e9, 3, 100, noLimit), 3);
}
