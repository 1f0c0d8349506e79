//===- OrderTest.cpp - Frontiers under an order of additions --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Search/Frontier.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace sccl;

static Topology builtin(const char *spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(topology) << topology.error();
  return std::move(*topology);
}

/// A ring and some chords, of random bandwidths.
static Topology randomTopology(std::mt19937 &random, unsigned ranks) {
  Topology topology("random", ranks);
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src != dst && (dst == (src + 1) % ranks || random() % 3 == 0)) {
        EXPECT_TRUE(topology.addLink(src, dst, 1 + unsigned(random() % 3)));
      }
  return topology;
}

/// The points by steps, each of which must be right, in order, and no cheaper
/// than its bound.
static std::map<unsigned, Rational> frontierOf(const Topology &topology,
                                               const CollectiveFamily &family,
                                               std::string_view order,
                                               unsigned maxSteps) {
  FrontierOptions options;
  options.maxSteps = maxSteps;
  options.order = *SumOrder::parse(order);
  Result<Frontier> frontier = searchFrontier(topology, family, options);
  EXPECT_TRUE(frontier) << frontier.error();
  std::map<unsigned, Rational> costs;
  for (const FrontierPoint &point : frontier->points) {
    Result<Implementation> found = point.implement(family, topology.numRanks());
    EXPECT_TRUE(found) << found.error();
    auto violation =
        checkSchedule(topology, found->collective, found->schedule);
    EXPECT_FALSE(violation) << violation->message;
    auto error =
        checkOrder(found->collective, found->schedule, *SumOrder::parse(order));
    EXPECT_FALSE(error) << error->message;
    if (point.bound && point.bound->value) {
      EXPECT_LE(*point.bound->value, point.bandwidth());
    }
    costs.emplace(point.steps, point.bandwidth());
  }
  return costs;
}

TEST(Order, RandomTopologies) {
  std::mt19937 random(35);
  const char *trees[] = {"tree", "left", "ring:2"};
  for (unsigned i = 0; i < 18; ++i) {
    unsigned ranks = 3 + i % 4;
    Topology topology = randomTopology(random, ranks);
    CollectiveKind kind = i % 3 == 0   ? CollectiveKind::AllReduce
                          : i % 3 == 1 ? CollectiveKind::ReduceScatter
                                       : CollectiveKind::Reduce;
    // Over the ring alone each rank gets to each other in so many steps, where
    // all inputs can be added up.
    EXPECT_FALSE(
        frontierOf(topology, {kind}, trees[random() % 3], ranks - 1).empty());
  }
}

TEST(Order, OwnersGetAllInputsWhereLinksJoinAll) {
  for (const char *order : {"tree", "left", "[[0, 7], [1, 2, 3, 4], [6, 5]]"}) {
    // (P - 1) / P of the buffer, as without an order.
    std::map<unsigned, Rational> expected = {{1, Rational(1, 8)}};
    EXPECT_EQ(frontierOf(builtin("mesh:8"), {CollectiveKind::ReduceScatter},
                         order, 3),
              expected);
    expected = {{1, Rational(1)}, {2, Rational(1, 4)}};
    EXPECT_EQ(
        frontierOf(builtin("mesh:8"), {CollectiveKind::AllReduce}, order, 3),
        expected);
  }
}

TEST(Order, SumsOfBoxesTravelWhereTheyAreNodes) {
  Topology boxes = test::boxesOnRails(2, 4, 3);
  CollectiveFamily scatter{CollectiveKind::ReduceScatter};
  // A chain that begins inside of a box has no sum of the other box.
  EXPECT_LT(frontierOf(boxes, scatter, "tree", 2).at(2),
            frontierOf(boxes, scatter, "ring:2", 2).at(2));
}

TEST(Order, CountsRanksThatContribute) {
  // Sums in groups have trees of their own.
  CollectiveFamily pairs{CollectiveKind::AllReduce, 0, {{0, 1}, {2, 3}}};
  EXPECT_EQ(frontierOf(builtin("mesh:4"), pairs, "[1, 0]", 1).size(), 1u);
  FrontierOptions options;
  options.order = *SumOrder::parse("[0, 1]");
  Result<Frontier> wrong =
      searchFrontier(builtin("mesh:4"), {CollectiveKind::AllReduce}, options);
  EXPECT_EQ(wrong.error(),
            "the tree of additions is of 2 ranks, and 4 contribute");
  // What reduces nothing has no order.
  EXPECT_TRUE(
      searchFrontier(builtin("mesh:4"), {CollectiveKind::AllGather}, options));
}
