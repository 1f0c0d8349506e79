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
  for (unsigned i = 0; i < 80; ++i) {
    Fabric fabric = randomFabric(random);
    fabric.timing.accessTime = 0.4 * double(random() % 3);
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
      TimedBound bound(fabric.topology, whole.collective,
                       fabric.timing.withHops(fabric.timing.accessTime));
      Deadline limit({0, someWork, nullptr});
      // What is proven for a size is used for the others.
      for (unsigned size = 0; size < 3; ++size) {
        auto cut =
            cutIntoPieces(whole, fabric.topology, 1 + random() % 4,
                          {unsigned(1 + random() % 4), random() % 2 == 0});
        if (!cut || cut->schedule.numSends() > 400)
          continue;
        double bytes = std::exp2(double(random() % 12));
        std::optional<double> time =
            timeOf(context.get(), fabric, *cut, randomLowering(random), bytes);
        if (!time)
          continue;
        ++simulated;
        // Also where more time would do.
        double least = bound.leastTime(bytes, 0, *time * 1.5, limit);
        known += least > 0;
        EXPECT_LE(least, *time * (1 + 1e-6))
            << collectiveName(kind) << ", " << fabric.topology.numRanks()
            << " ranks, " << bytes << " bytes, round " << i;
        closest = std::max(closest, least / *time);
      }
    }
  }
  EXPECT_GT(simulated, 60u);
  EXPECT_GT(known, simulated / 2);
  // The bound is met now and then, so it could not be much higher.
  EXPECT_GT(closest, 0.98);
}

TEST(TimedBound, HopsTakeTimeThatBytesDoNotHave) {
  Result<Topology> line = makeBuiltinTopology("line:3");
  ASSERT_TRUE(bool(line));
  Timing timing = Timing::uniform(*line, 5, 10);
  Result<Collective> all = Collective::make(Kind::AllGather, 3, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(*line, *all, timing);
  // Over two links in 5 + 5 + t; both links need the time for one more byte.
  EXPECT_NEAR(bound.leastTime(20, 0, 40, noLimit), 12, 1e-6);
  EXPECT_NEAR(bound.leastTime(40, 0, 40, noLimit), 14, 1e-6);
  // From 50 bytes on a link is busy all the time but a latency.
  EXPECT_NEAR(bound.leastTime(500, 0, 1000, noLimit), 105, 1e-6);
  // Without bytes only latencies count.
  EXPECT_NEAR(bound.leastTime(1e-3, 0, 40, noLimit), 10, 1e-3);
}

TEST(TimedBound, LoadsTakeTimeInWhichBytesMove) {
  Result<Topology> line = makeBuiltinTopology("line:3");
  ASSERT_TRUE(bool(line));
  Timing timing = Timing::uniform(*line, 5, 10);
  timing.accessTime = 1;
  Result<Collective> all = Collective::make(Kind::AllGather, 3, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(*line, *all, timing.withHops(timing.accessTime));
  // As without loads, but that the first byte waits for the second hop's.
  EXPECT_NEAR(bound.leastTime(20, 0, 40, noLimit), 13, 1e-6);
  EXPECT_NEAR(bound.leastTime(1e-3, 0, 40, noLimit), 12, 1e-3);
  // Much takes no longer, for bytes move while loads take their time.
  EXPECT_NEAR(bound.leastTime(500, 0, 1000, noLimit), 105, 1e-6);
}

/// Three boxes of two ranks, which slow links join to those of the same place.
TEST(TimedBound, SlowLinksWaitForSums) {
  Topology topology("boxes", 6);
  Timing timing;
  for (unsigned src = 0; src < 6; ++src)
    for (unsigned dst = 0; dst < 6; ++dst) {
      bool isSlow = src / 2 != dst / 2;
      if (src == dst || (isSlow && src % 2 != dst % 2))
        continue;
      ASSERT_TRUE(bool(topology.addLink(src, dst, 1)));
      timing.latencies.push_back(isSlow ? 20 : 5);
      timing.rates.push_back(isSlow ? 10 : 1e6);
    }
  Result<Collective> all = Collective::make(Kind::AllReduce, 6, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(topology, *all, timing);
  // Four sums cross for each byte, which keeps all 12 slow links busy for 400
  // microseconds, up to 20 before the end. In the first 5 and in the last 5
  // they carry what is of one rank, or for one: half of what they could.
  EXPECT_NEAR(bound.leastTime(12000, 0, 1000, noLimit), 400 + 20 + 5, 1e-4);
}

TEST(TimedBound, SaysNoMoreThanWhatIsReached) {
  Result<Topology> line = makeBuiltinTopology("line:3");
  ASSERT_TRUE(bool(line));
  Result<Collective> all = Collective::make(Kind::AllGather, 3, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(*line, *all, Timing::uniform(*line, 5, 10));
  EXPECT_EQ(bound.leastTime(20, 11, 11, noLimit), 11);
  EXPECT_EQ(bound.leastTime(20, 12.5, 40, noLimit), 12.5);
}

TEST(TimedBound, KnowsNothingOfOthers) {
  Result<Topology> ring = makeBuiltinTopology("ring:200");
  ASSERT_TRUE(bool(ring));
  Result<Collective> all = Collective::make(Kind::AllGather, 200, 1);
  ASSERT_TRUE(bool(all));
  TimedBound bound(*ring, *all, Timing::uniform(*ring, 1, 1));
  EXPECT_EQ(bound.leastTime(1e9, 3, 100, noLimit), 3);
}
