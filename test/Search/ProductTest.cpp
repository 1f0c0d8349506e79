//===- ProductTest.cpp - Tests of sums on products ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "Search/ProductSums.h"
#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Search/Frontier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <random>

using namespace sccl;

static Topology builtin(const char *spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(topology) << topology.error();
  return std::move(*topology);
}

/// The same with other numbers of ranks and links.
static Topology shuffled(const Topology &topology, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned> ranks(topology.numRanks());
  std::iota(ranks.begin(), ranks.end(), 0u);
  std::ranges::shuffle(ranks, random);
  std::vector<unsigned> links(topology.links().size());
  std::iota(links.begin(), links.end(), 0u);
  std::ranges::shuffle(links, random);
  Topology result("shuffled", topology.numRanks());
  for (unsigned link : links)
    EXPECT_TRUE(result.addLink(ranks[topology.links()[link].src],
                               ranks[topology.links()[link].dst],
                               topology.capacity(link)));
  return result;
}

/// The numbers of ranks of the factors, ascending.
static std::vector<unsigned> sizesOf(const std::optional<Product> &product) {
  std::vector<unsigned> sizes;
  if (product)
    for (const Topology &factor : product->factors)
      sizes.push_back(factor.numRanks());
  std::ranges::sort(sizes);
  return sizes;
}

/// What is there before a bound or a C is asked for, by steps.
static std::map<unsigned, Rational> atOnce(const Topology &topology,
                                           unsigned maxSteps) {
  std::atomic<bool> interrupt = false;
  FrontierOptions options;
  options.maxSteps = maxSteps;
  options.solver.interrupt = &interrupt;
  options.watch = [&](const FrontierActivity &) { interrupt = true; };
  auto frontier =
      searchFrontier(topology, {CollectiveKind::AllReduce}, options);
  EXPECT_TRUE(frontier) << frontier.error();
  std::map<unsigned, Rational> costs;
  for (const FrontierPoint &point : frontier->points) {
    auto violation =
        checkSchedule(topology,
                      *Collective::make(CollectiveKind::AllReduce,
                                        topology.numRanks(), point.chunks),
                      point.schedule.get());
    EXPECT_FALSE(violation) << violation->message;
    costs[point.steps] = point.bandwidth();
  }
  return costs;
}

using Sizes = std::vector<unsigned>;

TEST(Product, FactorsDoNotDependOnNumbers) {
  for (unsigned seed : {1, 2, 3}) {
    EXPECT_EQ(sizesOf(factorize(shuffled(builtin("torus:3x7x5"), seed))),
              (Sizes{3, 5, 7}));
    // A cycle of four is a product, too.
    EXPECT_EQ(sizesOf(factorize(shuffled(builtin("torus:4x6"), seed))),
              (Sizes{2, 2, 6}));
  }
  EXPECT_EQ(sizesOf(factorize(builtin("hypercube:11"))), Sizes(11, 2));
  EXPECT_EQ(sizesOf(factorize(test::boxesOnRails(5, 4, 3))), (Sizes{4, 5}));
}

TEST(Product, RanksMoveInOnePlace) {
  Topology topology = shuffled(builtin("torus:3x5"), 7);
  std::optional<Product> product = factorize(topology);
  ASSERT_TRUE(product);
  for (const Link &link : topology.links()) {
    unsigned changed = 0;
    for (unsigned factor : {0u, 1u}) {
      unsigned to = product->places[factor][link.dst];
      if (product->places[factor][link.src] == to)
        continue;
      ++changed;
      EXPECT_EQ(product->moved(link.src, factor, to), link.dst);
    }
    EXPECT_EQ(changed, 1u);
  }
}

TEST(Product, OthersHaveNoFactors) {
  EXPECT_FALSE(factorize(builtin("ring:9")));
  EXPECT_FALSE(factorize(builtin("mesh:6")));
  // One row less a link.
  Topology grid = builtin("torus:3x5"), less("less", 15), turned("turned", 15);
  for (const Link &link : grid.links())
    if (link != Link{0, 1} && link != Link{1, 0}) {
      EXPECT_TRUE(less.addLink(link.src, link.dst, 1));
    }
  EXPECT_FALSE(factorize(less));
  // A way round that ends a row further on: like a torus near each rank.
  for (unsigned row = 0; row < 5; ++row)
    for (unsigned i = 0; i < 3; ++i) {
      unsigned rank = row * 3 + i, next = (i + 1) % 3 + row * 3;
      unsigned up = row < 4 ? rank + 3 : (i + 1) % 3;
      for (unsigned other : {next, up}) {
        EXPECT_TRUE(turned.addLink(rank, other, 1));
        EXPECT_TRUE(turned.addLink(other, rank, 1));
      }
    }
  EXPECT_FALSE(factorize(turned));
  // Links of which some lead one way only.
  Topology oneWay("one way", 6);
  for (unsigned rank = 0; rank < 6; ++rank)
    EXPECT_TRUE(oneWay.addLink(rank, rank / 3 * 3 + (rank + 1) % 3, 1));
  for (unsigned rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(oneWay.addLink(rank, rank + 3, 1));
    EXPECT_TRUE(oneWay.addLink(rank + 3, rank, 1));
  }
  EXPECT_FALSE(factorize(oneWay));
}

TEST(Product, SumsByDoublingAndHalving) {
  // With each step more, a factor more scatters. In the end all but one do, and
  // 21/64 is the bandwidth bound.
  using Costs = std::map<unsigned, Rational>;
  EXPECT_EQ(atOnce(shuffled(builtin("hypercube:6"), 3), 12),
            (Costs{{6, Rational(1)},
                   {7, Rational(7, 12)},
                   {8, Rational(5, 12)},
                   {9, Rational(17, 48)},
                   {10, Rational(1, 3)},
                   {11, Rational(21, 64)}}));
}

TEST(Product, EachTorusHasASum) {
  // Cycles of five need an input again in their third step, unless there are
  // four.
  for (const char *spec : {"torus:3x4x5", "torus:6x6", "torus:2x9"}) {
    Topology topology = shuffled(builtin(spec), 5);
    std::map<unsigned, Rational> costs = atOnce(topology, 11);
    EXPECT_GE(costs.size(), 2u) << spec;
  }
}

TEST(Product, SlowAndFastFactors) {
  // Seven chunks in a box take 7/2 rounds: of one piece each they would take 4.
  std::map<unsigned, Rational> costs = atOnce(test::boxesOnRails(2, 8, 2), 2);
  EXPECT_EQ(costs[2], Rational(7, 2));
}

TEST(Product, ScaleDoesNotMatter) {
  Topology topology = builtin("torus:3x3x3"), scaled("scaled", 27);
  for (const Link &link : topology.links())
    EXPECT_TRUE(scaled.addLink(link.src, link.dst, 50));
  std::map<unsigned, Rational> costs = atOnce(topology, 6);
  std::map<unsigned, Rational> less = atOnce(scaled, 6);
  ASSERT_EQ(costs.size(), less.size());
  for (auto [steps, cost] : costs)
    EXPECT_EQ(less[steps], Rational(cost.numerator(), cost.denominator() * 50));
}
