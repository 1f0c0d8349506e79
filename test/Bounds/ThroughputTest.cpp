//===- ThroughputTest.cpp - Bounds for any number of steps ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "sccl/Bounds/LowerBound.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

using namespace sccl;
using sccl::test::boxesOnCore;
using sccl::test::boxesOnRails;

using Kind = CollectiveKind;

namespace {
/// The bound of `kind`, whose certificate must survive its text.
Rational throughputOf(const Topology &topology, Kind kind, unsigned root = 0) {
  unsigned ranks = topology.numRanks();
  auto collective = Collective::make(
      kind, ranks, sendsOneSegmentPerRank(kind) ? ranks : 1, root);
  EXPECT_TRUE(collective) << collective.error();
  auto bound = throughputBound(topology, *collective);
  EXPECT_TRUE(bound) << bound.error();
  if (!bound)
    return 0;
  EXPECT_EQ(bound->certificate.steps, std::nullopt);
  auto parsed = parseCertificate(printCertificate(bound->certificate));
  EXPECT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(*parsed, bound->certificate);
  EXPECT_EQ(checkCertificate(*parsed, topology, *collective), std::nullopt);
  return *bound->value;
}

Topology builtin(const char *spec) { return *makeBuiltinTopology(spec); }
} // namespace

TEST(Throughput, MachinesOfThePaper) {
  Topology dgx1 = builtin("dgx1"), ring = builtin("amd_z52");
  EXPECT_EQ(throughputOf(dgx1, Kind::AllGather), Rational(7, 6));
  EXPECT_EQ(throughputOf(dgx1, Kind::Gather), Rational(7, 6));
  EXPECT_EQ(throughputOf(dgx1, Kind::Broadcast), Rational(1, 6));
  EXPECT_EQ(throughputOf(dgx1, Kind::Reduce, 4), Rational(1, 6));
  EXPECT_EQ(throughputOf(dgx1, Kind::ReduceScatter), Rational(7, 48));
  EXPECT_EQ(throughputOf(dgx1, Kind::Scatter, 3), Rational(7, 48));
  EXPECT_EQ(throughputOf(dgx1, Kind::AllToAll), Rational(1, 3));
  EXPECT_EQ(throughputOf(dgx1, Kind::AllReduce), Rational(7, 24));
  EXPECT_EQ(throughputOf(ring, Kind::AllGather), Rational(7, 2));
  EXPECT_EQ(throughputOf(ring, Kind::Broadcast), Rational(1, 2));
  EXPECT_EQ(throughputOf(ring, Kind::AllToAll), Rational(1));
  EXPECT_EQ(throughputOf(ring, Kind::AllReduce), Rational(7, 8));
}

TEST(Throughput, CutsThatAreNoSingleRank) {
  // Two cliques of 3 ranks with bandwidth 5 inside, one link each way between.
  Topology boxes("boxes", 6);
  for (unsigned a = 0; a < 6; ++a)
    for (unsigned b = 0; b < 6; ++b)
      if (a != b && a / 3 == b / 3) {
        ASSERT_TRUE(boxes.addLink(a, b, 5));
      }
  ASSERT_TRUE(boxes.addLink(0, 3, 2));
  ASSERT_TRUE(boxes.addLink(3, 0, 1));
  EXPECT_EQ(throughputOf(boxes, Kind::AllGather), Rational(3));
  EXPECT_EQ(throughputOf(boxes, Kind::Gather, 4), Rational(3, 2));
  EXPECT_EQ(throughputOf(boxes, Kind::Gather, 1), Rational(3));
  EXPECT_EQ(throughputOf(boxes, Kind::Broadcast, 0), Rational(1, 2));
  EXPECT_EQ(throughputOf(boxes, Kind::Broadcast, 5), Rational(1));
  EXPECT_EQ(throughputOf(boxes, Kind::Reduce, 0), Rational(1));
  EXPECT_EQ(throughputOf(boxes, Kind::Reduce, 5), Rational(1, 2));
  EXPECT_EQ(throughputOf(boxes, Kind::Scatter, 0), Rational(1, 4));
  // 3 of 6 segments of 3 ranks cross the narrow direction.
  EXPECT_EQ(throughputOf(boxes, Kind::AllToAll), Rational(3, 2));
  EXPECT_EQ(throughputOf(boxes, Kind::ReduceScatter), Rational(1, 2));
}

namespace {
/// What the links that leave `side`, a set of ranks as bits, carry per round.
unsigned bandwidthOut(const Topology &topology, unsigned side) {
  unsigned sum = 0;
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    auto [src, dst] = topology.links()[link];
    if (side >> src & 1 && !(side >> dst & 1))
      sum += topology.capacity(link);
  }
  return sum;
}

/// All pairs of ranks in one direction or both, or none, at random, and a cycle
/// that makes every rank reachable.
Topology randomTopology(std::mt19937 &random, unsigned ranks) {
  Topology topology("random", ranks);
  for (unsigned a = 0; a < ranks; ++a)
    for (unsigned b = 0; b < ranks; ++b)
      if (a != b && (b == (a + 1) % ranks || random() % 2)) {
        EXPECT_TRUE(topology.addLink(a, b, 1 + random() % 4));
      }
  return topology;
}
} // namespace

TEST(Throughput, NarrowestOfAllCuts) {
  std::mt19937 random(20);
  for (unsigned round = 0; round < 300; ++round) {
    unsigned ranks = 2 + random() % 6, root = random() % ranks;
    Topology topology = randomTopology(random, ranks);
    Rational gathered = 0, sent = 0;
    for (unsigned side = 1; side + 1 < 1u << ranks; ++side) {
      unsigned out = bandwidthOut(topology, side);
      gathered = std::max(gathered, Rational(std::popcount(side), out));
      if (side >> root & 1)
        sent = std::max(sent, Rational(1, out));
    }
    EXPECT_EQ(throughputOf(topology, Kind::AllGather), gathered) << round;
    EXPECT_EQ(throughputOf(topology, Kind::Broadcast, root), sent) << round;
  }
}

TEST(Throughput, PortsOfASwitch) {
  Topology box = builtin("switch:8,3");
  EXPECT_EQ(throughputOf(box, Kind::AllGather), Rational(7, 3));
  EXPECT_EQ(throughputOf(box, Kind::Broadcast), Rational(1, 3));
  EXPECT_EQ(throughputOf(box, Kind::AllToAll), Rational(7, 24));
  EXPECT_EQ(throughputOf(box, Kind::AllReduce), Rational(7, 12));
}

TEST(Throughput, BoxesOfSwitches) {
  // Into a rank come 3 + 1 chunks per round, into a box 4.
  Topology slow = boxesOnRails(4, 4, 3);
  EXPECT_EQ(throughputOf(slow, Kind::AllGather), Rational(15, 4));
  EXPECT_EQ(throughputOf(slow, Kind::Broadcast, 5), Rational(1, 4));
  EXPECT_EQ(throughputOf(slow, Kind::ReduceScatter), Rational(15, 64));
  // With 20 + 1 into a rank, the box is what limits.
  Topology fast = boxesOnRails(4, 4, 20);
  EXPECT_EQ(throughputOf(fast, Kind::AllGather), Rational(3));
  EXPECT_EQ(throughputOf(fast, Kind::Gather, 2), Rational(3));
  EXPECT_EQ(throughputOf(fast, Kind::Broadcast, 5), Rational(1, 4));
  // Too many links for the search for symmetries.
  Topology large = boxesOnRails(128, 4, 20);
  EXPECT_GT(large.links().size(), 1u << 15);
  EXPECT_EQ(throughputOf(large, Kind::AllGather), Rational(127));
}

TEST(Throughput, CardsOfSeveralRanks) {
  // Two cards let the chunks of three other boxes in.
  Topology boxes = boxesOnCore(4, 4, 20, /*perCard=*/2);
  EXPECT_EQ(throughputOf(boxes, Kind::AllGather), Rational(6));
  EXPECT_EQ(throughputOf(boxes, Kind::ReduceScatter), Rational(6, 16));
  EXPECT_EQ(throughputOf(boxes, Kind::Broadcast, 3), Rational(1, 2));
  // Of more ranks nothing else sees them.
  EXPECT_EQ(
      throughputOf(boxesOnCore(16, 8, 40, /*perCard=*/4), Kind::AllGather),
      Rational(60));
}

TEST(Throughput, BusThatNoCutSees) {
  Topology bus("bus", 4);
  std::vector<unsigned> all;
  for (unsigned a = 0; a < 4; ++a)
    for (unsigned b = 0; b < 4; ++b)
      if (a != b)
        all.push_back(*bus.addLink(a, b));
  ASSERT_TRUE(bus.addLimit(all, 2));
  EXPECT_EQ(throughputOf(bus, Kind::AllGather), Rational(6));
  EXPECT_EQ(throughputOf(bus, Kind::Broadcast), Rational(3, 2));
  EXPECT_EQ(throughputOf(bus, Kind::AllReduce), Rational(3));
}

TEST(Throughput, ThousandRanks) {
  EXPECT_EQ(throughputOf(builtin("torus:32x32"), Kind::AllGather),
            Rational(1023, 4));
  EXPECT_EQ(throughputOf(builtin("hypercube:10"), Kind::Broadcast),
            Rational(1, 10));
}

TEST(Throughput, NeverAboveTheBoundForSomeSteps) {
  LowerBoundOptions options;
  options.target = Rational(1000000);
  for (const char *spec : {"dgx1", "ring:5", "line:4", "switch:4,3", "mesh:5"})
    for (Kind kind : allCollectiveKinds()) {
      Topology topology = builtin(spec);
      unsigned ranks = topology.numRanks();
      auto collective = Collective::make(
          kind, ranks, sendsOneSegmentPerRank(kind) ? ranks : 1);
      for (unsigned steps = 3; steps <= 4; ++steps) {
        auto bound = lowerBound(topology, *collective, steps, options);
        ASSERT_TRUE(bound) << bound.error();
        EXPECT_LE(throughputOf(topology, kind), *bound->value)
            << spec << " " << collectiveName(kind);
      }
    }
}

TEST(Throughput, InterruptIsKept) {
  std::atomic<bool> flag = true;
  LowerBoundOptions options;
  options.interrupt = &flag;
  auto collective = Collective::make(Kind::Broadcast, 1024, 1);
  EXPECT_FALSE(throughputBound(builtin("ring:1024"), *collective, options));
  EXPECT_TRUE(throughputBound(builtin("ring:1024"), *collective));
}

/// A sum needs as many sends between boxes as boxes, less one, to collect and
/// to spread each chunk. What leaves a box or a rank says less.
TEST(Throughput, SumsAcrossBoxes) {
  constexpr unsigned boxes = 8, gpus = 2, ranks = boxes * gpus;
  Topology topology("boxes", ranks);
  std::vector<std::vector<unsigned>> ports(2 * ranks);
  for (unsigned a = 0; a < ranks; ++a)
    for (unsigned b = 0; b < ranks; ++b)
      if (a / gpus == b / gpus && a != b) {
        ASSERT_TRUE(topology.addLink(a, b, 9));
      } else if (a % gpus == b % gpus && a != b) {
        unsigned link = *topology.addLink(a, b);
        ports[2 * a].push_back(link);
        ports[2 * b + 1].push_back(link);
      }
  for (const std::vector<unsigned> &port : ports)
    ASSERT_TRUE(topology.addLimit(port, 1));
  EXPECT_EQ(throughputOf(topology, Kind::AllReduce),
            Rational(2 * (boxes - 1), ranks));
}

TEST(Throughput, Errors) {
  Topology oneWay("one-way", 2);
  ASSERT_TRUE(oneWay.addLink(0, 1, 1));
  auto collective = Collective::make(Kind::AllGather, 2, 1);
  EXPECT_EQ(throughputBound(oneWay, *collective).error(),
            "there is no path from rank 1 to rank 0");
  EXPECT_EQ(throughputBound(builtin("ring:3"), *collective).error(),
            "the topology has 3 ranks, but the collective has 2");
}

TEST(Throughput, StandsInForAProgramThatIsTooLarge) {
  Topology dgx1 = builtin("dgx1");
  auto gather = Collective::make(Kind::AllGather, 8, 1);
  ASSERT_TRUE(gather);
  auto atTwo = availableBound(dgx1, *gather, 2);
  ASSERT_TRUE(atTwo) << atTwo.error();
  EXPECT_EQ(atTwo->value, Rational(3, 2));
  EXPECT_EQ(atTwo->certificate.steps, 2u);
  LowerBoundOptions options;
  options.maxColumns = 1;
  auto any = availableBound(dgx1, *gather, 2, options);
  ASSERT_TRUE(any) << any.error();
  EXPECT_EQ(any->value, Rational(7, 6));
  EXPECT_EQ(any->certificate.steps, std::nullopt);
  auto none = availableBound(Topology("empty", 8), *gather, 2);
  EXPECT_EQ(none.error(), "a topology without limits has no bandwidth cost");
}
