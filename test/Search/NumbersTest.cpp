//===- NumbersTest.cpp - Frontiers whatever the numbers of ranks ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Search/Frontier.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Symmetry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

using namespace sccl;

using Kind = CollectiveKind;

/// `topology`, where rank r is called `order[r]`, with its links in the reverse
/// order.
static Topology renumbered(const Topology &topology, const Permutation &order) {
  Topology result(topology.name(), topology.numRanks());
  unsigned count = topology.links().size();
  for (unsigned i = count; i-- > 0;) {
    auto [src, dst] = topology.links()[i];
    EXPECT_TRUE(result.addLink(order[src], order[dst]));
  }
  for (BandwidthLimit limit : topology.limits()) {
    for (unsigned &link : limit.links)
      link = count - 1 - link;
    std::ranges::sort(limit.links);
    EXPECT_TRUE(result.addLimit(limit.links, limit.bandwidth));
  }
  return result;
}

/// Rank 0 has a chunk for some ranks, and rank 3 one for another.
static CollectiveFamily ownCollective(const Permutation &order) {
  RankChunkSet pre(8, 2), post(8, 2);
  pre.insert(order[0], 0);
  post.insert(order[1], 0);
  post.insert(order[5], 0);
  pre.insert(order[3], 1);
  post.insert(order[6], 1);
  return {Kind::Custom,
          0,
          {},
          std::make_shared<const Collective>(*Collective::makeCustom(
              "own", 1, /*combining=*/false, pre, post))};
}

/// C, S and R of the frontier of `family`, of which all schedules are correct.
static std::vector<std::array<unsigned, 3>>
costsOf(const Topology &topology, const CollectiveFamily &family,
        unsigned maxSteps) {
  FrontierOptions options;
  options.maxSteps = maxSteps;
  Result<Frontier> frontier = searchFrontier(topology, family, options);
  EXPECT_TRUE(frontier) << frontier.error();
  std::vector<std::array<unsigned, 3>> costs;
  for (const FrontierPoint &point : frontier->points) {
    Collective collective = *family.make(topology.numRanks(), point.chunks);
    auto violation = checkSchedule(topology, collective, point.schedule.get());
    EXPECT_FALSE(violation) << violation->message;
    costs.push_back({point.chunks, point.steps, point.rounds});
  }
  return costs;
}

/// Expects what `familyFor` makes of the numbers to have one frontier.
template <typename Make>
static void expectOneFrontier(unsigned maxSteps, Make familyFor) {
  Topology dgx1 = *makeBuiltinTopology("dgx1");
  Permutation order(8);
  std::iota(order.begin(), order.end(), 0u);
  auto first = costsOf(dgx1, familyFor(order), maxSteps);
  EXPECT_GE(first.size(), 2u);
  std::mt19937 random(34);
  for (unsigned i = 0; i < 3; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    EXPECT_EQ(costsOf(renumbered(dgx1, order), familyFor(order), maxSteps),
              first);
  }
}

TEST(Numbers, GroupsHaveOneFrontier) {
  expectOneFrontier(6, [](const Permutation &order) {
    return CollectiveFamily{
        Kind::AllGather, 0, {{order[0], order[1], order[2]}}};
  });
}

TEST(Numbers, RootedGroupsHaveOneFrontier) {
  for (Kind kind : {Kind::Broadcast, Kind::Reduce, Kind::Scatter})
    expectOneFrontier(4, [kind](const Permutation &order) {
      return CollectiveFamily{
          kind,
          1,
          {{order[5], order[0], order[2]}, {order[6], order[1], order[3]}}};
    });
}

TEST(Numbers, OwnCollectivesHaveOneFrontier) {
  expectOneFrontier(3, ownCollective);
}
