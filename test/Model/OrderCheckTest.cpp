//===- OrderCheckTest.cpp - Schedules that follow a tree of additions -----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/GatheredSums.h"
#include "sccl/Model/OrderCheck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;

static SumOrder order(std::string_view text) { return *SumOrder::parse(text); }

/// Four ranks, each chunk summed by pairs: (0, 1) and (2, 3) first.
static Implementation halving() {
  Implementation result{make(CollectiveKind::ReduceScatter, 4, 4),
                        {{Step{}, Step{}}}};
  for (uint32_t chunk = 0; chunk < 4; ++chunk) {
    uint32_t other = chunk ^ 2;
    for (uint32_t to : {chunk, other})
      result.schedule.steps[0].sends.push_back(
          {chunk, to ^ 1, to, SendAction::Reduce});
    result.schedule.steps[1].sends.push_back(
        {chunk, other, chunk, SendAction::Reduce});
  }
  return result;
}

TEST(OrderCheck, SumsThatTravelAreNodes) {
  auto [collective, schedule] = halving();
  for (const char *ordered :
       {"any", "same", "rank", "tree", "[[1, 0], [3, 2]]"})
    EXPECT_FALSE(checkOrder(collective, schedule, order(ordered))) << ordered;
  std::optional<Error> error = checkOrder(collective, schedule, order("left"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message,
            "in step 1 rank 2 sends the sum of chunk 0 of the ranks 2, 3, "
            "which is no node of the tree (((0+1)+2)+3)");
  error = checkOrder(collective, schedule, order("[0, 1]"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message,
            "the tree of additions is of 2 ranks, and 4 contribute");
}

TEST(OrderCheck, OwnersThatGetAllInputsTakeAnyTree) {
  Implementation direct{make(CollectiveKind::ReduceScatter, 4, 4), {{Step{}}}};
  for (uint32_t chunk = 0; chunk < 4; ++chunk)
    for (uint32_t from = 0; from < 4; ++from)
      if (from != chunk)
        direct.schedule.steps[0].sends.push_back(
            {chunk, from, chunk, SendAction::Reduce});
  for (const char *any : {"tree", "left", "ring:3", "[[0, 3], [2, 1]]"})
    EXPECT_FALSE(checkOrder(direct.collective, direct.schedule, order(any)));
}

TEST(OrderCheck, EachMutantIsRefused) {
  // The other pairs first, for one of the chunks.
  auto [collective, schedule] = halving();
  for (uint32_t chunk = 0; chunk < 4; ++chunk) {
    Schedule mutant = schedule;
    for (Step &step : mutant.steps)
      for (Send &send : step.sends)
        if (send.chunk == chunk) {
          auto renamed = [&](uint32_t rank) {
            return rank == (chunk ^ 1)   ? chunk ^ 2
                   : rank == (chunk ^ 2) ? chunk ^ 1
                                         : rank;
          };
          send.src = renamed(send.src);
          send.dst = renamed(send.dst);
        }
    std::optional<Error> error = checkOrder(collective, mutant, order("tree"));
    ASSERT_TRUE(error);
    EXPECT_NE(error->message.find("chunk " + std::to_string(chunk)),
              std::string::npos);
  }
}

//===----------------------------------------------------------------------===//
// Against sets of ranks
//===----------------------------------------------------------------------===//

using RankSet = std::set<unsigned>;

static std::set<RankSet> nodesOf(const SumTree &tree) {
  std::vector<RankSet> nodes(tree.numNodes());
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    nodes[node] = {node};
    if (tree.isLeaf(node))
      continue;
    nodes[node] = nodes[tree.left(node)];
    nodes[node].insert(nodes[tree.right(node)].begin(),
                       nodes[tree.right(node)].end());
  }
  return {nodes.begin(), nodes.end()};
}

/// Whether all that is sent is one of `nodes`.
static bool sendsNodesOnly(const Implementation &sum,
                           const std::set<RankSet> &nodes) {
  using Place = std::pair<uint32_t, uint32_t>;
  std::map<Place, RankSet> values;
  std::map<std::pair<Place, unsigned>, RankSet> kept;
  for (unsigned rank = 0; rank < sum.collective.numRanks(); ++rank)
    for (unsigned chunk : sum.collective.pre().chunksOf(rank))
      values[{rank, chunk}] = {rank};
  for (const Step &step : sum.schedule.steps) {
    auto before = values;
    auto keptBefore = kept;
    for (const Send &send : step.sends) {
      Place from{send.src, send.chunk}, to{send.dst, send.chunk};
      RankSet carried;
      if (send.payload == SendPayload::Current)
        carried = before[from];
      if (send.payload == SendPayload::Input)
        carried = {send.src};
      send.forEachKept([&](unsigned number) {
        const RankSet &part = keptBefore[{from, number}];
        carried.insert(part.begin(), part.end());
      });
      if (!nodes.contains(carried))
        return false;
      if (send.action == SendAction::Copy)
        values[to].clear();
      if (send.keep)
        kept[{to, send.keep}] = carried;
      if (send.action != SendAction::Keep)
        values[to].merge(carried);
    }
  }
  return true;
}

/// A random tree of `leaves` leaves.
static std::string randomTree(std::mt19937 &random, unsigned leaves) {
  std::vector<std::string> parts;
  for (unsigned leaf = 0; leaf < leaves; ++leaf)
    parts.push_back(std::to_string(leaf));
  while (parts.size() > 1) {
    std::shuffle(parts.begin(), parts.end(), random);
    std::string last = parts.back();
    parts.pop_back();
    parts.back() = "[" + parts.back() + ", " + last + "]";
  }
  return parts.front();
}

TEST(OrderCheck, AgreesWithSetsOfRanks) {
  std::mt19937 random(34);
  unsigned taken = 0, refused = 0;
  for (unsigned i = 0; i < 400; ++i) {
    unsigned ranks = 3 + i % 3;
    Topology topology = oneWay(ranks);
    Implementation gather =
        flood(random, topology, make(CollectiveKind::AllGather, ranks, 1));
    Result<Implementation> sum = invert(gather);
    Topology where = topology.reversed();
    if (i % 4 == 0) {
      sum = composeAllReduce(
          flood(random, where, make(CollectiveKind::AllGather, ranks, 1)),
          gather);
      where = topology;
    } else if (i % 4 == 1) {
      sum = sumOnArrival(gather);
      where = topology;
    }
    ASSERT_TRUE(sum) << sum.error();
    expectValid(where, *sum);
    SumOrder tree = order(randomTree(random, ranks));
    bool isTaken = !checkOrder(sum->collective, sum->schedule, tree);
    EXPECT_EQ(isTaken, sendsNodesOnly(*sum, nodesOf(*tree.treeOf(ranks))));
    ++(isTaken ? taken : refused);
  }
  EXPECT_GT(taken, 50u);
  EXPECT_GT(refused, 50u);
}
