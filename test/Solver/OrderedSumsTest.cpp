//===- OrderedSumsTest.cpp - Engines that add up by a tree ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"
#include "ExhaustiveSums.h"

#include "sccl/Model/OrderCheck.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

using namespace sccl;
using namespace sccl::test;

using Kind = CollectiveKind;

static Instance ordered(std::string_view spec, Kind kind, unsigned chunks,
                        unsigned steps, unsigned rounds,
                        std::string_view order) {
  Instance instance = instanceOn(builtin(spec), kind, chunks, steps, rounds);
  instance.order = *SumOrder::parse(order);
  return instance;
}

namespace {
/// Each engine that decides such instances.
class OrderedSums : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!findEngine(GetParam()))
      GTEST_SKIP() << "the engine is not built";
  }
  /// Whether there is a schedule, which must keep the order; nothing, after a
  /// failure, where there is no answer.
  std::optional<bool> ask(const Instance &instance) {
    Outcome outcome =
        findEngine(GetParam())->solve(instance, SolverOptions()).outcome;
    if (std::holds_alternative<Unsatisfiable>(outcome))
      return false;
    const Schedule *schedule = checkedSchedule(instance, outcome);
    if (!schedule)
      return std::nullopt;
    auto error = checkOrder(instance.collective, *schedule, instance.order);
    EXPECT_FALSE(error) << error->message;
    return true;
  }
  void expect(bool exists, const Instance &instance) {
    EXPECT_EQ(ask(instance), exists)
        << instance.topology.name() << ' ' << instance.order.toString();
  }
};
} // namespace

/// A tree over `ranks`, joined at random.
static std::string randomTree(std::vector<unsigned> ranks,
                              std::mt19937 &random) {
  std::vector<std::string> nodes;
  for (unsigned rank : ranks)
    nodes.push_back(std::to_string(rank));
  while (nodes.size() > 1) {
    std::swap(nodes[random() % (nodes.size() - 1)], nodes.back());
    std::string last = nodes.back();
    nodes.pop_back();
    std::string &other = nodes[random() % nodes.size()];
    other = "(" + other + "+" + last + ")";
  }
  return nodes.front();
}

TEST_P(OrderedSums, AgreeWithAllSchedulesThereAre) {
  std::mt19937 random(7);
  unsigned numSatisfied = 0, numRefuted = 0, numOfOrder = 0;
  for (unsigned round = 0; round < 500; ++round) {
    // More takes too long to enumerate.
    unsigned numRanks = 3 + random() % 2, spare = random() % 3;
    bool hasRelay = random() % 2 == 0; // all others send to rank 1, it to 0
    Topology topology("small", numRanks);
    for (unsigned src = 0; src < numRanks; ++src)
      for (unsigned dst = 0; dst < numRanks; ++dst) {
        bool isNeeded = hasRelay ? src != 0 && dst == (src == 1 ? 0 : 1)
                                 : dst == (src + 1) % numRanks;
        bool isMore = src != dst && !isNeeded && spare > 0 && random() % 3 == 0;
        spare -= isMore;
        if (isNeeded || isMore) {
          ASSERT_TRUE(topology.addLink(src, dst, 1));
        }
      }
    std::vector<unsigned> ranks(numRanks);
    std::iota(ranks.begin(), ranks.end(), 0u);
    Kind kind = hasRelay ? Kind::Reduce : Kind::AllReduce;
    unsigned steps = 2 + random() % 2;
    Instance instance = *Instance::make(
        topology, *Collective::make(kind, numRanks, 1, 0), steps, steps,
        *SumOrder::parse(randomTree(ranks, random)));
    bool exists = existsWithSums(instance);
    expect(exists, instance);
    ++(exists ? numSatisfied : numRefuted);
    instance.order = SumOrder::Same;
    numOfOrder += exists != existsWithSums(instance);
  }
  EXPECT_GT(numSatisfied, 20u);
  EXPECT_GT(numRefuted, 20u);
  EXPECT_GT(numOfOrder, 20u);
}

/// Neighbours in the ring are neighbours in the tree, or are not.
TEST_P(OrderedSums, FollowTheTree) {
  expect(false, ordered("ring:4", Kind::ReduceScatter, 8, 2, 3, "tree"));
  expect(true, ordered("ring:4", Kind::ReduceScatter, 8, 2, 4, "tree"));
  expect(true, ordered("hypercube:3", Kind::AllReduce, 1, 3, 3, "tree"));
  expect(false, ordered("hypercube:3", Kind::AllReduce, 2, 3, 3, "left"));
}

/// On a full mesh each owner gets all inputs.
TEST_P(OrderedSums, CostNothingOnAMesh) {
  expect(true, ordered("mesh:4", Kind::ReduceScatter, 4, 1, 1, "left"));
  expect(true, ordered("mesh:4", Kind::AllReduce, 4, 2, 2, "ring:2"));
}

INSTANTIATE_TEST_SUITE_P(Engines, OrderedSums, testing::Values("direct", "z3"),
                         [](const auto &info) { return info.param; });

TEST(OrderedSumsRefusal, EnginesThatFollowNoTree) {
  Instance instance = ordered("ring:4", Kind::AllReduce, 1, 2, 2, "tree");
  EXPECT_THAT(findEngine("compose")->whyNot(instance),
              testing::HasSubstr("sums in any order only, got the order tree"));
  instance.order = *SumOrder::parse("(0+1)");
  SynthesisResult result = synthesize(instance);
  EXPECT_EQ(statusName(result.outcome), "failed");
}
