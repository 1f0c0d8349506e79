//===- TimeBoundTest.cpp - How little time a collective can take ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/TimeBound.h"

#include <gtest/gtest.h>

using namespace sccl;
using Kind = CollectiveKind;

static TimeBound boundOf(const Topology &topology, Kind kind, Timing timing,
                         std::optional<Rational> throughput) {
  Result<Collective> collective =
      Collective::make(kind, topology.numRanks(), topology.numRanks());
  EXPECT_TRUE(bool(collective));
  return timeBound(topology, *collective, timing, throughput, 0.1);
}

TEST(TimeBound, LatencyOfTheFarthestPair) {
  Result<Topology> line = makeBuiltinTopology("line:4");
  ASSERT_TRUE(bool(line));
  Timing timing = Timing::uniform(*line, 2, 10);
  // The link from 2 to 3 is slow.
  timing.latencies[*line->findLink(2, 3)] = 5;
  TimeBound gather = boundOf(*line, Kind::AllGather, timing, {});
  EXPECT_EQ(gather.flags.latency, 2 + 2 + 5);
  EXPECT_EQ(gather.flags.leastLatency, 2);
  EXPECT_EQ(gather.microseconds(1e6), 9);
  EXPECT_EQ(boundOf(*line, Kind::AllReduce, timing, {}).flags.latency, 9);
  EXPECT_EQ(boundOf(*line, Kind::Broadcast, timing, {}).flags.latency, 9);
  EXPECT_EQ(boundOf(*line, Kind::Gather, timing, {}).flags.latency, 6);
}

TEST(TimeBound, BytesThroughTheNarrowestLimit) {
  Result<Topology> ring = makeBuiltinTopology("ring:8");
  ASSERT_TRUE(bool(ring));
  Timing timing = Timing::uniform(*ring, 2, 10);
  // Seven chunks come in over two links.
  TimeBound bound = boundOf(*ring, Kind::AllGather, timing, Rational(7, 2));
  EXPECT_DOUBLE_EQ(bound.microseconds(1000), 350 + 2);
  EXPECT_DOUBLE_EQ(bound.microseconds(1), 4 * 2);
}
