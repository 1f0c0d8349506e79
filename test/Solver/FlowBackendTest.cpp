//===- FlowBackendTest.cpp - Tests of the flow engine ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gather rows of the SCCL paper, refutations next to them, and the parts
// that the engine is made of against brute force.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"

#include "Model/FlowNetwork.h"
#include "Solver/RoundSearch.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

using namespace sccl;
using namespace sccl::test;

static const Deadline never{SearchLimits()};

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

TEST(FlowNetwork, MatchesTheSmallestCut) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    unsigned numNodes = 2 + random() % 6;
    struct Arc {
      unsigned from, to, capacity;
    };
    std::vector<Arc> arcs;
    FlowNetwork network(numNodes);
    for (unsigned i = 0; i < 2 * numNodes; ++i) {
      Arc arc = {unsigned(random() % numNodes), unsigned(random() % numNodes),
                 unsigned(random() % 5)};
      arcs.push_back(arc);
      EXPECT_EQ(network.addArc(arc.from, arc.to, arc.capacity), i);
    }
    int64_t smallest = INT64_MAX;
    for (unsigned set = 0; set < 1u << numNodes; ++set) {
      if (!(set & 1) || (set >> 1 & 1))
        continue; // node 0 is the source, 1 the sink
      int64_t cut = 0;
      for (const Arc &arc : arcs)
        if ((set >> arc.from & 1) && !(set >> arc.to & 1))
          cut += arc.capacity;
      smallest = std::min(smallest, cut);
    }
    EXPECT_EQ(network.maximize(0, 1, FlowNetwork::most), smallest);
    // The flow is one, and its own cut proves it largest.
    std::vector<int64_t> balance(numNodes);
    int64_t cut = 0;
    for (unsigned i = 0; i < arcs.size(); ++i) {
      EXPECT_GE(network.flow(i), 0);
      EXPECT_LE(network.flow(i), arcs[i].capacity);
      balance[arcs[i].from] -= network.flow(i);
      balance[arcs[i].to] += network.flow(i);
      cut += network.isCut(i) ? arcs[i].capacity : 0;
    }
    EXPECT_EQ(balance[1], smallest);
    EXPECT_EQ(balance[0], -smallest);
    for (unsigned node = 2; node < numNodes; ++node)
      EXPECT_EQ(balance[node], 0);
    EXPECT_EQ(cut, smallest);
  }
}

static void listDistributions(unsigned steps, unsigned rounds,
                              std::vector<unsigned> &prefix,
                              std::set<std::vector<unsigned>> &all) {
  if (prefix.size() + 1 == steps) {
    prefix.push_back(rounds);
    all.insert(prefix);
    prefix.pop_back();
    return;
  }
  for (unsigned first = 1; first + (steps - prefix.size() - 1) <= rounds;
       ++first) {
    prefix.push_back(first);
    listDistributions(steps, rounds - first, prefix, all);
    prefix.pop_back();
  }
}

static bool satisfies(const RoundCut &cut,
                      const std::vector<unsigned> &rounds) {
  return std::inner_product(rounds.begin(), rounds.end(), cut.weight.begin(),
                            int64_t(0)) >= cut.least;
}

TEST(RoundSearch, FindsExactlyWhatTheCutsLeave) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    unsigned steps = 1 + random() % 5, rounds = steps + random() % 5;
    std::vector<unsigned> prefix;
    std::set<std::vector<unsigned>> expected, actual;
    listDistributions(steps, rounds, prefix, expected);
    RoundSearch search(steps, rounds);
    for (unsigned i = random() % 4; i > 0; --i) {
      RoundCut cut{{}, int64_t(random() % (3 * rounds))};
      for (unsigned step = 0; step < steps; ++step)
        cut.weight.push_back(random() % 4);
      std::erase_if(expected, [&](const std::vector<unsigned> &candidate) {
        return !satisfies(cut, candidate);
      });
      search.require(cut);
    }
    if (auto guess = search.guess()) {
      EXPECT_TRUE(expected.count(*guess));
    }
    while (auto found = search.next(never)) {
      EXPECT_EQ(*search.next(never), *found); // stays until told to move on
      EXPECT_TRUE(actual.insert(*found).second);
      search.skip();
    }
    EXPECT_EQ(actual, expected);
  }
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class FlowTest : public EngineTest {
protected:
  FlowTest() : EngineTest("flow") {}
  static Instance gather(std::string_view spec, unsigned chunks, unsigned steps,
                         unsigned rounds, unsigned root = 0) {
    return instanceOn(builtin(spec), CollectiveKind::Gather, chunks, steps,
                      rounds, root);
  }
  static Instance scatter(std::string_view spec, unsigned chunks,
                          unsigned steps, unsigned rounds, unsigned root = 0) {
    return instanceOn(builtin(spec), CollectiveKind::Scatter, chunks, steps,
                      rounds, root);
  }
};
} // namespace

TEST_F(FlowTest, GatherOfThePaper) {
  for (auto [c, s, r] : std::vector<std::array<unsigned, 3>>{{1, 2, 2},
                                                             {2, 3, 3},
                                                             {3, 4, 4},
                                                             {4, 5, 5},
                                                             {5, 6, 6},
                                                             {6, 7, 7},
                                                             {6, 3, 7},
                                                             {2, 2, 3}}) {
    expectSatisfied(gather("dgx1", c, s, r));
    expectSatisfied(scatter("dgx1", 8 * c, s, r));
    expectRefuted(gather("dgx1", c + 1, s, r));
    expectRefuted(scatter("dgx1", 8 * c + 8, s, r));
  }
  expectSatisfied(gather("amd_z52", 1, 4, 4));
  expectSatisfied(gather("amd_z52", 2, 4, 7));
  expectRefuted(gather("amd_z52", 2, 4, 6));
}

// Other roots of DGX-1 allow what root 0 does not; the first were found by
// msccl-tools.
TEST_F(FlowTest, TheRootMatters) {
  for (auto [c, s, r] :
       std::vector<std::array<unsigned, 3>>{{3, 2, 4}, {4, 2, 5}, {6, 2, 7}}) {
    expectSatisfied(gather("dgx1", c, s, r, /*root=*/1));
    expectRefuted(gather("dgx1", c, s, r, /*root=*/0));
  }
}

TEST_F(FlowTest, Ports) {
  // 15 senders with 2 chunks each, 6 of which get in per round.
  expectSatisfied(gather("switch:16,6", 2, 1, 5));
  expectRefuted(gather("switch:16,6", 2, 1, 4));
  expectRefuted(gather("switch:16,6", 2, 3, 4));
  expectSatisfied(scatter("switch:16,6", 32, 1, 5, 3));
  expectRefuted(scatter("switch:16,6", 32, 2, 4, 3));
}

TEST_F(FlowTest, SpareStepsAndRounds) {
  expectSatisfied(gather("ring:4", 1, 5, 9));
  expectSatisfied(scatter("line:3", 3, 4, 4));
  Topology alone("alone", 1);
  expectSatisfied(instanceOn(alone, CollectiveKind::Gather, 2, 2, 3));
}

TEST_F(FlowTest, ManyRanks) {
  expectSatisfied(gather("torus:8x8", 4, 8, 63));
  expectRefuted(gather("torus:8x8", 4, 8, 62));
}

TEST_F(FlowTest, IsDeterministic) {
  expectDeterministic(gather("torus:4x4", 4, 4, 15));
}

TEST_F(FlowTest, Interrupt) {
  expectInterruptible(gather("torus:8x8", 4, 8, 63));
}

TEST_F(FlowTest, Refusals) {
  expectRefusal(instanceOn(builtin("dgx1"), CollectiveKind::AllGather, 1, 2, 2),
                "flow takes gather and scatter only, got 'all_gather'");
  Topology shared = builtin("ring:4");
  ASSERT_TRUE(shared.addLimit({0, 2}, 1));
  expectRefusal(instanceOn(shared, CollectiveKind::Gather, 1, 2, 2),
                "flow takes limits on one link, or on all links into or out "
                "of a rank, only");
}
