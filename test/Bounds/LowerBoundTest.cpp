//===- LowerBoundTest.cpp - Values and certificates of bounds -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are compared with what schedules are known to reach, so that a bound
// that is too low and one that is too high both fail. Certificates are damaged
// in many ways, and must never then prove more than is true.
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/LowerBound.h"

#include <gtest/gtest.h>

#include <random>

using namespace sccl;

using Kind = CollectiveKind;

namespace {
/// The bound of `kind` on `topology`, whose certificate must survive a round
/// trip through its text.
std::optional<Rational> boundOf(const Topology &topology, Kind kind,
                                unsigned steps, unsigned root = 0,
                                LowerBoundOptions options = {}) {
  unsigned ranks = topology.numRanks();
  auto collective = Collective::make(
      kind, ranks, sendsOneSegmentPerRank(kind) ? ranks : 1, root);
  EXPECT_TRUE(collective) << collective.error();
  auto bound = lowerBound(topology, *collective, steps, options);
  EXPECT_TRUE(bound) << bound.error();
  if (!bound)
    return std::nullopt;
  EXPECT_TRUE(bound->isOptimumOfProgram);
  EXPECT_EQ(bound->value, bound->certificate.bound);
  auto parsed = parseCertificate(printCertificate(bound->certificate));
  EXPECT_TRUE(parsed) << parsed.error();
  if (!parsed)
    return std::nullopt;
  EXPECT_EQ(*parsed, bound->certificate);
  EXPECT_EQ(checkCertificate(*parsed, topology, *collective), std::nullopt);
  return bound->value;
}

Topology builtin(const char *spec) { return *makeBuiltinTopology(spec); }
} // namespace

//===----------------------------------------------------------------------===//
// Values that schedules reach
//===----------------------------------------------------------------------===//

TEST(LowerBound, Dgx1PointToPointKinds) {
  Topology dgx1 = builtin("dgx1");
  for (Kind kind : {Kind::AllGather, Kind::Gather}) {
    EXPECT_EQ(boundOf(dgx1, kind, 2), Rational(3, 2));
    for (unsigned steps = 3; steps <= 7; ++steps)
      EXPECT_EQ(boundOf(dgx1, kind, steps), Rational(7, 6));
  }
  // C counts the chunks for all destinations here.
  for (Kind kind : {Kind::Scatter, Kind::ReduceScatter}) {
    EXPECT_EQ(boundOf(dgx1, kind, 2), Rational(3, 16));
    EXPECT_EQ(boundOf(dgx1, kind, 3), Rational(7, 48));
  }
  for (unsigned steps = 2; steps <= 8; ++steps)
    EXPECT_EQ(boundOf(dgx1, Kind::AllToAll, steps), Rational(1, 3));
}

TEST(LowerBound, Dgx1Broadcast) {
  Topology dgx1 = builtin("dgx1");
  for (Kind kind : {Kind::Broadcast, Kind::Reduce}) {
    EXPECT_EQ(boundOf(dgx1, kind, 2), Rational(1));
    for (unsigned steps = 3; steps <= 8; ++steps)
      EXPECT_EQ(boundOf(dgx1, kind, steps), Rational(steps, 6 * (steps - 2)));
  }
}

TEST(LowerBound, Dgx1RootsOfTheOtherOrbitAreBetter) {
  Topology dgx1 = builtin("dgx1");
  for (unsigned root : {0u, 3u, 5u, 6u}) {
    EXPECT_EQ(boundOf(dgx1, Kind::Broadcast, 4, root), Rational(1, 3));
    EXPECT_EQ(boundOf(dgx1, Kind::Gather, 2, root), Rational(3, 2));
  }
  for (unsigned root : {1u, 2u, 4u, 7u}) {
    // Reached by (13,4,4), (19,5,5) and (6,2,7).
    EXPECT_EQ(boundOf(dgx1, Kind::Broadcast, 4, root), Rational(4, 13));
    EXPECT_EQ(boundOf(dgx1, Kind::Broadcast, 5, root), Rational(5, 19));
    EXPECT_EQ(boundOf(dgx1, Kind::Gather, 2, root), Rational(7, 6));
    // At most (12,3,5) and (7,3,3).
    EXPECT_LE(*boundOf(dgx1, Kind::Broadcast, 3, root), Rational(5, 12));
    EXPECT_GT(*boundOf(dgx1, Kind::Broadcast, 3, root), Rational(2, 5));
  }
}

TEST(LowerBound, AmdZ52) {
  Topology ring = builtin("amd_z52");
  for (unsigned steps = 4; steps <= 8; ++steps) {
    EXPECT_EQ(boundOf(ring, Kind::AllGather, steps), Rational(7, 2));
    EXPECT_EQ(boundOf(ring, Kind::Gather, steps), Rational(7, 2));
    EXPECT_EQ(boundOf(ring, Kind::AllToAll, steps), Rational(1));
    EXPECT_EQ(boundOf(ring, Kind::Broadcast, steps),
              Rational(steps, 2 * (steps - 3)));
    EXPECT_EQ(boundOf(ring, Kind::Reduce, steps),
              Rational(steps, 2 * (steps - 3)));
  }
}

TEST(LowerBound, DirectAllReduceIsOptimal) {
  // Reached by (2,2,2), (6,3,3), (12,4,4) and (2,4,4), (4,5,5), (8,7,7).
  Topology dgx1 = builtin("dgx1"), ring = builtin("amd_z52");
  EXPECT_EQ(boundOf(dgx1, Kind::AllReduce, 2), Rational(1));
  EXPECT_EQ(boundOf(dgx1, Kind::AllReduce, 3), Rational(1, 2));
  EXPECT_EQ(boundOf(dgx1, Kind::AllReduce, 4), Rational(1, 3));
  EXPECT_EQ(boundOf(ring, Kind::AllReduce, 4), Rational(2));
  EXPECT_EQ(boundOf(ring, Kind::AllReduce, 5), Rational(5, 4));
  EXPECT_EQ(boundOf(ring, Kind::AllReduce, 7), Rational(7, 8));
}

TEST(LowerBound, OtherTopologies) {
  EXPECT_EQ(boundOf(builtin("torus:4x4"), Kind::AllGather, 4), Rational(15, 4));
  EXPECT_EQ(boundOf(builtin("hypercube:4"), Kind::AllToAll, 4), Rational(1, 2));
  EXPECT_EQ(boundOf(builtin("mesh:8"), Kind::AllGather, 1), Rational(1));
  EXPECT_EQ(boundOf(builtin("line:3"), Kind::AllGather, 2), Rational(2));
  EXPECT_EQ(boundOf(builtin("ring:5"), Kind::AllGather, 2), Rational(2));
}

TEST(LowerBound, LimitsOnSetsOfLinks) {
  // 15 chunks of others (sends to others) through a port of 6.
  EXPECT_EQ(boundOf(builtin("switch:16,6"), Kind::AllGather, 1),
            Rational(5, 2));
  EXPECT_EQ(boundOf(builtin("switch:16,6"), Kind::AllToAll, 1),
            Rational(5, 32));
  // One bus of 2 chunks per round for all links of 3 ranks: 6 receptions.
  Topology bus("bus", 3);
  std::vector<unsigned> all;
  for (unsigned a = 0; a < 3; ++a)
    for (unsigned b = 0; b < 3; ++b)
      if (a != b)
        all.push_back(*bus.addLink(a, b));
  ASSERT_TRUE(bus.addLimit(all, 2));
  EXPECT_EQ(boundOf(bus, Kind::AllGather, 1), Rational(3));
  EXPECT_EQ(boundOf(bus, Kind::Broadcast, 2), Rational(1));
  // 2 (P - 1) = 4 sends.
  EXPECT_EQ(boundOf(bus, Kind::AllReduce, 2), Rational(2));
}

TEST(LowerBound, StrongerProgramsAreTriedForATarget) {
  LowerBoundOptions options;
  options.target = Rational(100);
  EXPECT_EQ(boundOf(builtin("dgx1"), Kind::AllGather, 3, 0, options),
            Rational(7, 6));
}

TEST(LowerBound, TooFewStepsHaveNoSchedule) {
  for (Kind kind : allCollectiveKinds()) {
    EXPECT_EQ(boundOf(builtin("dgx1"), kind, 1), std::nullopt);
    EXPECT_EQ(boundOf(builtin("amd_z52"), kind, 3), std::nullopt);
  }
}

TEST(LowerBound, BoundDoesNotDependOnChunks) {
  Topology dgx1 = builtin("dgx1");
  auto three = Collective::make(Kind::AllGather, 8, 3);
  auto bound = lowerBound(dgx1, *three, 2);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->value, Rational(3, 2));
  auto many = Collective::make(Kind::AllGather, 8, 100);
  EXPECT_EQ(checkCertificate(bound->certificate, dgx1, *many), std::nullopt);
}

TEST(LowerBound, Custom) {
  // Rank 0 has two chunks for both neighbours on a line 1 - 0 - 2 - 3, and
  // rank 3 wants one of them.
  Topology line("line", 4);
  for (auto [a, b] : {std::pair(0u, 1u), {0u, 2u}, {2u, 3u}})
    ASSERT_TRUE(line.addLink(a, b, 1));
  RankChunkSet pre(4, 2), post(4, 2);
  for (unsigned chunk : {0u, 1u}) {
    pre.insert(0, chunk);
    post.insert(1, chunk);
    post.insert(2, chunk);
  }
  post.insert(3, 0);
  auto custom = Collective::makeCustom("mine", 1, false, pre, post);
  auto bound = lowerBound(line, *custom, 2);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->value, Rational(2));
  auto parsed = parseCertificate(printCertificate(bound->certificate));
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(checkCertificate(*parsed, line, *custom), std::nullopt);
  post.insert(3, 1);
  auto other = Collective::makeCustom("mine", 1, false, pre, post);
  EXPECT_EQ(checkCertificate(*parsed, line, *other),
            "the claim is for another collective");
  // One step cannot bring anything to rank 3.
  auto infeasible = lowerBound(line, *custom, 1);
  ASSERT_TRUE(infeasible) << infeasible.error();
  EXPECT_EQ(infeasible->value, std::nullopt);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(LowerBound, BadArguments) {
  auto collective = Collective::make(Kind::AllGather, 8, 1);
  Topology ring = builtin("ring:8");
  EXPECT_EQ(lowerBound(builtin("ring:4"), *collective, 4).error(),
            "the topology has 4 ranks, but the collective has 8");
  EXPECT_EQ(lowerBound(ring, *collective, 0).error(),
            "steps must be between 1 and 1048576, got 0");
  EXPECT_EQ(lowerBound(Topology("empty", 8), *collective, 1).error(),
            "a topology without limits has no bandwidth cost");
  LowerBoundOptions options;
  options.maxColumns = 3;
  EXPECT_EQ(lowerBound(ring, *collective, 4, options).error(),
            "the linear program would have 36 columns, the limit is 3");
}

//===----------------------------------------------------------------------===//
// Schedules never beat the bound
//===----------------------------------------------------------------------===//

namespace {
using Random = std::mt19937;

unsigned below(Random &random, unsigned n) { return random() % n; }

/// A strongly connected topology with limits on links and on sets of links.
Topology randomTopology(Random &random) {
  unsigned ranks = 3 + below(random, 3);
  Topology topology("random", ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    (void)topology.addLink(rank, (rank + 1) % ranks, 1 + below(random, 2));
  for (unsigned i = below(random, 2 * ranks); i-- > 0;)
    (void)topology.addLink(below(random, ranks), below(random, ranks),
                           1 + below(random, 3));
  for (unsigned i = below(random, 3); i-- > 0;) {
    std::vector<unsigned> set;
    for (unsigned link = 0; link < topology.links().size(); ++link)
      if (below(random, 2))
        set.push_back(link);
    (void)topology.addLimit(set, 1 + below(random, 3));
  }
  return topology;
}

/// Floods all chunks along random links, and returns steps and rounds.
std::pair<unsigned, unsigned> flood(Random &random, const Topology &topology,
                                    const Collective &collective) {
  RankChunkSet held = collective.pre();
  auto done = [&] {
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
      for (unsigned chunk : collective.post().chunksOf(rank))
        if (!held.contains(rank, chunk))
          return false;
    return true;
  };
  unsigned steps = 0, rounds = 0;
  for (; !done(); ++steps) {
    RankChunkSet next = held;
    std::vector<unsigned> sends(topology.links().size());
    for (unsigned link = 0; link < sends.size(); ++link)
      for (unsigned chunk : held.chunksOf(topology.links()[link].src))
        if (!next.contains(topology.links()[link].dst, chunk) &&
            below(random, 4)) {
          next.insert(topology.links()[link].dst, chunk);
          ++sends[link];
        }
    unsigned needed = 1;
    for (const BandwidthLimit &limit : topology.limits()) {
      unsigned load = 0;
      for (unsigned link : limit.links)
        load += sends[link];
      needed = std::max(needed, (load + limit.bandwidth - 1) / limit.bandwidth);
    }
    rounds += needed;
    held = next;
  }
  return {steps, rounds};
}
} // namespace

TEST(LowerBound, NoRandomScheduleIsBelow) {
  Random random(1);
  const Kind kinds[] = {Kind::AllGather, Kind::Broadcast, Kind::Gather,
                        Kind::Scatter, Kind::AllToAll};
  for (unsigned trial = 0; trial < 150; ++trial) {
    Topology topology = randomTopology(random);
    unsigned ranks = topology.numRanks();
    Kind kind = kinds[trial % 5];
    unsigned chunks = sendsOneSegmentPerRank(kind) ? ranks : 1;
    auto collective =
        Collective::make(kind, ranks, chunks, below(random, ranks));
    for (unsigned run = 0; run < 3; ++run) {
      auto [steps, rounds] = flood(random, topology, *collective);
      LowerBoundOptions options;
      options.target = Rational(rounds, chunks);
      auto bound = lowerBound(topology, *collective, steps, options);
      ASSERT_TRUE(bound) << bound.error();
      ASSERT_TRUE(bound->value);
      EXPECT_GT(*bound->value, Rational(0));
      EXPECT_LE(*bound->value, Rational(rounds, chunks));
      // More steps can only help.
      auto limit = throughputBound(topology, *collective);
      ASSERT_TRUE(limit) << limit.error();
      EXPECT_GT(*limit->value, Rational(0));
      EXPECT_LE(*limit->value, Rational(rounds, chunks));
    }
  }
}
