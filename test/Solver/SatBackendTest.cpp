//===- SatBackendTest.cpp - Tests of the sat engine -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of the SCCL paper, refutations next to them, collectives and limits that
// no other fast engine takes, and the counters against brute force.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"

#include "Optimize/Sat.h"

#include <bit>
#include <chrono>

using namespace sccl;
using namespace sccl::test;

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

static const Deadline noLimits{SearchLimits()};

/// Whether `solver` has a model with exactly the inputs of `set` true.
static bool allows(SatSolver &solver, const Literals &inputs, unsigned set) {
  for (size_t i = 0; i < inputs.size(); ++i)
    solver.assume(set >> i & 1 ? inputs[i] : -inputs[i]);
  return solver.search(1000) == SatSolver::Answer::Satisfiable;
}

TEST(Cnf, AtMost) {
  for (unsigned size = 1; size <= 7; ++size)
    for (unsigned bound = 0; bound <= size; ++bound) {
      SatSolver solver(noLimits, /*seed=*/0);
      Cnf cnf(solver);
      Literals inputs;
      for (unsigned i = 0; i < size; ++i)
        inputs.push_back(cnf.newVariable());
      cnf.atMost(inputs, bound);
      for (unsigned set = 0; set < 1u << size; ++set)
        EXPECT_EQ(allows(solver, inputs, set),
                  unsigned(std::popcount(set)) <= bound);
    }
}

TEST(Cnf, AtMostCountsRepetitions) {
  SatSolver solver(noLimits, /*seed=*/0);
  Cnf cnf(solver);
  Literals inputs = {cnf.newVariable(), cnf.newVariable(), cnf.newVariable()};
  cnf.atMost({inputs[0], inputs[1], inputs[2], inputs[0]}, 2);
  EXPECT_TRUE(allows(solver, inputs, 0b001));
  EXPECT_TRUE(allows(solver, inputs, 0b110));
  EXPECT_FALSE(allows(solver, inputs, 0b011));
}

TEST(Cnf, CountForcesItsOutputs) {
  for (unsigned size = 1; size <= 6; ++size)
    for (unsigned limit = 1; limit <= size; ++limit) {
      SatSolver solver(noLimits, /*seed=*/0);
      Cnf cnf(solver);
      Literals inputs;
      for (unsigned i = 0; i < size; ++i)
        inputs.push_back(cnf.newVariable());
      Literals outputs = cnf.count(inputs, limit);
      ASSERT_EQ(outputs.size(), limit);
      for (unsigned set = 0; set < 1u << size; ++set)
        for (unsigned i = 0; i < limit; ++i) {
          solver.assume(-outputs[i]);
          EXPECT_EQ(allows(solver, inputs, set),
                    unsigned(std::popcount(set)) <= i);
        }
    }
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class SatTest : public EngineTest {
protected:
  SatTest() : EngineTest("sat") {}
  static Instance named(std::string_view spec, CollectiveKind kind,
                        unsigned chunks, unsigned steps, unsigned rounds,
                        unsigned root = 0) {
    return instanceOn(builtin(spec), kind, chunks, steps, rounds, root);
  }
  using Rows = std::vector<std::array<unsigned, 3>>;
  void expectAllSatisfied(std::string_view spec, CollectiveKind kind,
                          const Rows &rows) {
    for (auto [c, s, r] : rows)
      expectSatisfied(named(spec, kind, c, s, r));
  }
  void expectAllRefuted(std::string_view spec, CollectiveKind kind,
                        const Rows &rows) {
    for (auto [c, s, r] : rows)
      expectRefuted(named(spec, kind, c, s, r));
  }
};
} // namespace

TEST_F(SatTest, RowsOfThePaper) {
  expectAllSatisfied("dgx1", CollectiveKind::AllGather,
                     {{1, 2, 2},
                      {2, 3, 3},
                      {3, 4, 4},
                      {4, 5, 5},
                      {5, 6, 6},
                      {6, 7, 7},
                      {6, 3, 7},
                      {2, 2, 3}});
  expectAllSatisfied("dgx1", CollectiveKind::Broadcast,
                     {{2, 2, 2}, {6, 3, 3}, {12, 4, 4}, {18, 5, 5}, {6, 3, 5}});
  expectAllSatisfied("dgx1", CollectiveKind::AllToAll,
                     {{8, 3, 3}, {8, 2, 3}, {24, 8, 8}, {24, 2, 8}});
  expectAllSatisfied("amd_z52", CollectiveKind::AllGather,
                     {{1, 4, 4}, {2, 7, 7}, {2, 4, 7}});
  expectAllSatisfied("amd_z52", CollectiveKind::Broadcast,
                     {{2, 4, 4}, {4, 5, 5}, {6, 6, 6}, {8, 7, 7}, {10, 8, 8}});
  expectAllSatisfied("amd_z52", CollectiveKind::AllToAll, {{8, 4, 8}});
}

TEST_F(SatTest, GatherAndScatter) {
  expectSatisfied(named("dgx1", CollectiveKind::Gather, 2, 2, 3));
  expectSatisfied(named("dgx1", CollectiveKind::Scatter, 16, 3, 3));
  expectRefuted(named("dgx1", CollectiveKind::Gather, 3, 2, 4));
}

TEST_F(SatTest, RefutesNextToTheRows) {
  expectAllRefuted("dgx1", CollectiveKind::AllGather,
                   {{2, 2, 2}, {3, 2, 4}, {5, 2, 7}, {4, 4, 4}, {7, 3, 8}});
  expectAllRefuted("dgx1", CollectiveKind::Broadcast,
                   {{7, 3, 3}, {13, 4, 4}, {19, 5, 5}});
  expectAllRefuted("amd_z52", CollectiveKind::Broadcast,
                   {{9, 7, 7}, {11, 8, 8}});
  // No single flow is too large here, so that this takes a search.
  expectAllRefuted("dgx1", CollectiveKind::AllToAll, {{16, 2, 5}});
  expectAllRefuted("amd_z52", CollectiveKind::AllToAll, {{8, 4, 7}});
}

TEST_F(SatTest, TheRootMatters) {
  expectSatisfied(named("dgx1", CollectiveKind::Broadcast, 7, 3, 3, 1));
  expectSatisfied(named("dgx1", CollectiveKind::Broadcast, 13, 4, 4, 1));
}

TEST_F(SatTest, SharedLimits) {
  expectSatisfied(named("switch:8,2", CollectiveKind::AllGather, 2, 1, 7));
  expectRefuted(named("switch:8,2", CollectiveKind::AllGather, 2, 1, 6));
  // All links of a ring on one bus: 2 chunks a round in all.
  Topology bus = builtin("ring:4");
  std::vector<unsigned> links;
  for (unsigned link = 0; link < bus.links().size(); ++link)
    links.push_back(link);
  ASSERT_TRUE(bus.addLimit(links, 2));
  expectSatisfied(instanceOn(bus, CollectiveKind::AllGather, 1, 2, 6));
  expectRefuted(instanceOn(bus, CollectiveKind::AllGather, 1, 2, 5));
  expectRefuted(instanceOn(bus, CollectiveKind::AllGather, 1, 5, 5));
}

TEST_F(SatTest, SeveralSources) {
  // Chunk 0 is at both ends of a line, chunk 1 moves against the one of them.
  RankChunkSet pre(5, 2), post(5, 2);
  for (unsigned rank : {0u, 4u})
    pre.insert(rank, 0);
  pre.insert(4, 1);
  for (unsigned rank = 0; rank < 5; ++rank)
    post.insert(rank, 0);
  post.insert(2, 1);
  auto collective = Collective::makeCustom("ends", 1, false, pre, post);
  ASSERT_TRUE(collective) << collective.error();
  auto instance = [&](unsigned steps, unsigned rounds) {
    auto result = Instance::make(builtin("line:5"), *collective, steps, rounds);
    EXPECT_TRUE(result) << result.error();
    return *result;
  };
  expectSatisfied(instance(2, 3));
  expectSatisfied(instance(3, 3));
  expectSatisfied(instance(2, 2)); // rank 2 gets chunk 0 from the other side
  expectRefuted(instance(1, 4));
}

TEST_F(SatTest, NothingToDo) {
  RankChunkSet pre(4, 1), post(4, 1);
  pre.insert(0, 0);
  auto collective = Collective::makeCustom("nothing", 1, false, pre, post);
  ASSERT_TRUE(collective);
  auto instance = Instance::make(builtin("ring:4"), *collective, 2, 5);
  ASSERT_TRUE(instance);
  expectSatisfied(*instance);
}

TEST_F(SatTest, ManyRoundsCostNothing) {
  expectSatisfied(
      named("ring:4", CollectiveKind::AllGather, 1, 2, Instance::maxRounds));
}

TEST_F(SatTest, IsDeterministic) {
  expectDeterministic(named("dgx1", CollectiveKind::AllGather, 6, 3, 7));
  expectDeterministic(named("dgx1", CollectiveKind::Broadcast, 18, 5, 5));
}

TEST_F(SatTest, Interrupt) {
  expectInterruptible(named("dgx1", CollectiveKind::AllGather, 6, 7, 7));
}

TEST_F(SatTest, Timeout) {
  SolverOptions options;
  options.timeoutSeconds = 0.3;
  auto start = std::chrono::steady_clock::now();
  Outcome outcome =
      solve(named("dgx1", CollectiveKind::AllToAll, 32, 3, 10), options);
  EXPECT_EQ(describe(outcome), "unknown: timeout after 0.3 s");
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  // The search takes minutes; a busy machine may take seconds to stop it.
  EXPECT_LT(seconds.count(), 30);
}

TEST_F(SatTest, MemoryLimit) {
  SolverOptions options;
  options.memoryMiB = 20;
  Instance instance = named("torus:4x4", CollectiveKind::Broadcast, 64, 8, 60);
  EXPECT_EQ(describe(solve(instance, options)),
            "unknown: out of memory (limit 20 MiB)");
}

TEST_F(SatTest, Refusals) {
  expectRefusal(named("dgx1", CollectiveKind::AllReduce, 8, 4, 4),
                "sat takes no collective that reduces, got 'all_reduce'");
}
