//===- TreeSumsTest.cpp - Sums packed of ways to compute a tree -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Solver/Multicasts.h"

#include <gtest/gtest.h>

#include <random>

using namespace sccl;

static constexpr SearchLimits limits{.maxWork = 300'000};

/// The cheapest that is found, which must be right and in order.
static std::optional<Implementation> packed(const Topology &topology,
                                            const Collective &smallest,
                                            std::string_view text,
                                            unsigned steps, bool pipelined) {
  SumOrder order = *SumOrder::parse(text);
  MulticastSynthesis synthesis(topology, smallest, order);
  TreeSynthesis::Wanted wanted{steps, 8, 4096, 1 << 16};
  wanted.pipelined = pipelined;
  std::optional<Implementation> found = synthesis.best(wanted, limits);
  if (!found)
    return std::nullopt;
  EXPECT_EQ(found->schedule.isPipelined(), pipelined);
  auto violation = checkSchedule(topology, found->collective, found->schedule);
  EXPECT_FALSE(violation) << violation->message;
  auto error = checkOrder(found->collective, found->schedule, order);
  EXPECT_FALSE(error) << error->message;
  return found;
}

static Topology builtin(const char *spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(topology) << topology.error();
  return std::move(*topology);
}

TEST(TreeSums, RandomTopologies) {
  std::mt19937 random(35);
  for (unsigned i = 0; i < 40; ++i) {
    unsigned ranks = 3 + i % 4;
    Topology topology("random", ranks);
    for (unsigned src = 0; src < ranks; ++src)
      for (unsigned dst = 0; dst < ranks; ++dst)
        if (src != dst && (dst == (src + 1) % ranks || random() % 3 == 0)) {
          EXPECT_TRUE(topology.addLink(src, dst, 1 + unsigned(random() % 3)));
        }
    bool scatters = i % 3 == 1;
    Collective sum =
        *Collective::make(i % 3 == 0 ? CollectiveKind::AllReduce
                          : scatters ? CollectiveKind::ReduceScatter
                                     : CollectiveKind::Reduce,
                          ranks, scatters ? ranks : 1);
    const char *order = i % 2 == 0 ? "tree" : "ring:1";
    EXPECT_TRUE(packed(topology, sum, order, ranks - 1 + i % 2, i % 5 == 0));
  }
}

TEST(TreeSums, UnequalSegmentsAndRanksThatOnlyRelay) {
  // 0 and 3 add up three and one chunks by way of 1 and 2.
  RankChunkSet pre(4, 4), post(4, 4);
  for (unsigned chunk = 0; chunk < 4; ++chunk) {
    for (unsigned rank : {0u, 3u})
      pre.insert(rank, chunk);
    post.insert(chunk < 3 ? 0 : 3, chunk);
  }
  Result<Collective> sum =
      Collective::makeCustom("sum", 4, true, std::move(pre), std::move(post));
  ASSERT_TRUE(sum) << sum.error();
  std::optional<Implementation> found =
      packed(builtin("ring:4"), *sum, "[1, 0]", 2, false);
  ASSERT_TRUE(found);
  // Three chunks share two ways: the link from 3 to 0, and that by way of 2, 1.
  EXPECT_GE(costOf(found->schedule, found->collective).bandwidth,
            Rational(3, 8));
}

TEST(TreeSums, EachRankOfARingAddsItsInputOnTheWay) {
  // The chain from 0 on follows the links of a one-way ring.
  Topology ring("ring", 4);
  for (unsigned rank = 0; rank < 4; ++rank)
    ASSERT_TRUE(ring.addLink(rank, (rank + 1) % 4, 1));
  Collective reduce = *Collective::make(CollectiveKind::Reduce, 4, 1, 3);
  std::optional<Implementation> chain =
      packed(ring, reduce, "left", 3, /*pipelined=*/true);
  ASSERT_TRUE(chain);
  EXPECT_EQ(pipelinedCostOf(chain->schedule, chain->collective).load,
            Rational(1));
  // From 1 on, the input of 0 has to come to 3 apart from the others.
  std::optional<Implementation> turned =
      packed(ring, reduce, "ring:1", 3, /*pipelined=*/true);
  ASSERT_TRUE(turned);
  EXPECT_EQ(pipelinedCostOf(turned->schedule, turned->collective).load,
            Rational(2));
}
