//===- CombiningTest.cpp - Tests of the compose engine --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers of inversion must agree with those of the direct engine, which knows
// nothing of inverses; compositions need only be right where there are any.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"

#include "Solver/Backends.h"

#include <algorithm>
#include <array>
#include <random>

using namespace sccl;
using namespace sccl::test;

namespace {
class CombiningTest : public testing::Test {
protected:
  static Instance named(std::string_view spec, CollectiveKind kind,
                        unsigned chunks, unsigned steps, unsigned rounds,
                        unsigned root = 0) {
    return instanceOn(builtin(spec), kind, chunks, steps, rounds, root);
  }
  Outcome solve(const Instance &instance, SolverOptions options = {}) {
    if (options.timeoutSeconds == 0)
      options.timeoutSeconds = 60;
    EXPECT_EQ(engine->whyNot(instance), "");
    SynthesisResult result = engine->solve(instance, options);
    EXPECT_EQ(result.engine.substr(0, 7), "compose");
    return std::move(result.outcome);
  }
  /// Expects a right schedule with exactly S steps and R rounds.
  void expectSatisfied(const Instance &instance) {
    Outcome outcome = solve(instance);
    auto *satisfied = std::get_if<Satisfied>(&outcome);
    ASSERT_TRUE(satisfied) << describe(outcome);
    EXPECT_EQ(satisfied->schedule.steps.size(), instance.steps);
    EXPECT_EQ(satisfied->schedule.rounds(), instance.rounds);
    auto violation = checkSchedule(instance.topology, instance.collective,
                                   satisfied->schedule);
    EXPECT_FALSE(violation) << violation->message;
  }
  void expectStatus(const Instance &instance, std::string_view status) {
    Outcome outcome = solve(instance);
    EXPECT_EQ(statusName(outcome), status) << describe(outcome);
  }
  /// True if the engines that this test is about have parts to work with.
  static bool hasParts() { return findEngine("z3") || findEngine("sat"); }
  void SetUp() override {
    if (!hasParts())
      GTEST_SKIP() << "no engine for the parts is built";
  }

  const std::unique_ptr<SolverBackend> engine = createCombiningBackend();
};

/// Ranks 1, 2, 3 send three chunks per round to rank 0, but get only one.
Topology funnel() {
  Topology topology("funnel", 4);
  for (unsigned rank = 1; rank < 4; ++rank) {
    EXPECT_TRUE(topology.addLink(rank, 0, 3));
    EXPECT_TRUE(topology.addLink(0, rank, 1));
  }
  return topology;
}

/// A cycle through all ranks and some chords, with random bandwidths.
Topology randomTopology(std::mt19937 &random) {
  unsigned numRanks = 2 + random() % 3;
  Topology topology("random", numRanks);
  for (unsigned src = 0; src < numRanks; ++src)
    for (unsigned dst = 0; dst < numRanks; ++dst)
      if (src != dst && (dst == (src + 1) % numRanks || random() % 3 == 0)) {
        EXPECT_TRUE(topology.addLink(src, dst, 1 + random() % 2));
      }
  if (random() % 3 == 0) {
    for (unsigned rank = 0; rank < numRanks; ++rank)
      EXPECT_TRUE(topology.addLimit(topology.inLinks(rank), 1));
  }
  return topology;
}
} // namespace

//===----------------------------------------------------------------------===//
// Inversion
//===----------------------------------------------------------------------===//

TEST_F(CombiningTest, InvertedRowsOfThePaper) {
  using Rows = std::vector<std::array<unsigned, 3>>;
  for (auto [c, s, r] : Rows{{1, 2, 2}, {2, 3, 3}, {6, 3, 7}, {2, 2, 3}})
    expectSatisfied(named("dgx1", CollectiveKind::ReduceScatter, 8 * c, s, r));
  for (auto [c, s, r] : Rows{{1, 4, 4}, {2, 7, 7}, {2, 4, 7}})
    expectSatisfied(
        named("amd_z52", CollectiveKind::ReduceScatter, 8 * c, s, r));
  for (auto [c, s, r] : Rows{{2, 2, 2}, {6, 3, 3}, {12, 4, 4}})
    for (unsigned root : {0, 3})
      expectSatisfied(named("dgx1", CollectiveKind::Reduce, c, s, r, root));
  expectSatisfied(named("dgx1", CollectiveKind::Reduce, 7, 3, 3, /*root=*/1));
}

TEST_F(CombiningTest, RefutationsNextToThem) {
  for (auto [c, s, r] : {std::array{2u, 2u, 2u}, {3u, 2u, 4u}, {5u, 2u, 7u}})
    expectStatus(named("dgx1", CollectiveKind::ReduceScatter, 8 * c, s, r),
                 "unsatisfiable");
  Outcome outcome = solve(named("dgx1", CollectiveKind::Reduce, 7, 3, 3));
  auto *no = std::get_if<Unsatisfiable>(&outcome);
  ASSERT_TRUE(no) << describe(outcome);
  EXPECT_TRUE(no->reason.starts_with("its inverse 'broadcast' on the reversed "
                                     "topology is impossible: "))
      << no->reason;
}

TEST_F(CombiningTest, DirectionsAreNotConfused) {
  // Three chunks per round get into rank 0 of the funnel, but one gets out.
  expectSatisfied(
      instanceOn(funnel(), CollectiveKind::Reduce, 3, 1, 1, /*root=*/0));
  expectStatus(
      instanceOn(funnel(), CollectiveKind::Reduce, 3, 2, 2, /*root=*/1),
      "unsatisfiable");
  expectSatisfied(
      instanceOn(funnel(), CollectiveKind::Reduce, 3, 2, 4, /*root=*/1));
}

TEST_F(CombiningTest, AgreesWithTheDirectSearch) {
  const SolverBackend *direct = findEngine("direct");
  if (!direct)
    GTEST_SKIP() << "the direct engine is not built";
  std::mt19937 random(7);
  unsigned numSatisfied = 0, numRefuted = 0;
  for (unsigned round = 0; round < 500; ++round) {
    Topology topology = randomTopology(random);
    unsigned n = topology.numRanks();
    bool toRoot = random() % 2;
    unsigned chunks = toRoot ? 1 + random() % 4 : n * (1 + random() % 2);
    unsigned steps = 1 + random() % 4;
    Instance instance = instanceOn(
        topology,
        toRoot ? CollectiveKind::Reduce : CollectiveKind::ReduceScatter, chunks,
        steps, steps + random() % 3, random() % n);
    Outcome expected = direct->solve(instance, {}).outcome;
    Outcome outcome = solve(instance);
    if (std::holds_alternative<Satisfied>(expected)) {
      ++numSatisfied;
      expectSatisfied(instance);
    } else {
      ++numRefuted;
      EXPECT_EQ(statusName(expected), "unsatisfiable") << describe(expected);
      EXPECT_EQ(statusName(outcome), "unsatisfiable") << describe(outcome);
    }
  }
  EXPECT_GT(numSatisfied, 100u);
  EXPECT_GT(numRefuted, 100u);
}

TEST_F(CombiningTest, UserDefinedSum) {
  // Rank 3 gets a chunk from ranks 0 and 1, by way of rank 2, which has none.
  RankChunkSet pre(4, 1), post(4, 1);
  pre.insert(0, 0);
  pre.insert(1, 0);
  post.insert(3, 0);
  Topology topology("meeting", 4);
  for (auto [src, dst] : {Link{0, 2}, Link{1, 2}, Link{2, 3}, Link{3, 0}})
    ASSERT_TRUE(topology.addLink(src, dst, 1));
  Result<Collective> sum =
      Collective::makeCustom("sum_of_two", 1, /*combining=*/true, pre, post);
  ASSERT_TRUE(sum) << sum.error();
  Result<Instance> instance = Instance::make(topology, *sum, 2, 2);
  ASSERT_TRUE(instance) << instance.error();
  expectSatisfied(*instance);
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

TEST_F(CombiningTest, AllReduceRowsOfThePaper) {
  using Rows = std::vector<std::array<unsigned, 3>>;
  for (auto [c, s, r] : Rows{{8, 4, 4},
                             {16, 6, 6},
                             {24, 8, 8},
                             {32, 10, 10},
                             {40, 12, 12},
                             {48, 14, 14},
                             {48, 6, 14},
                             {16, 4, 6}})
    expectSatisfied(named("dgx1", CollectiveKind::AllReduce, c, s, r));
  for (auto [c, s, r] : Rows{{8, 8, 8}, {16, 14, 14}, {16, 8, 14}})
    expectSatisfied(named("amd_z52", CollectiveKind::AllReduce, c, s, r));
}

TEST_F(CombiningTest, RoundsGoWhereTheyAreNeeded) {
  // An all_gather takes (1, 2, 3) on the funnel and (1, 2, 2) turned round.
  expectSatisfied(instanceOn(funnel(), CollectiveKind::AllReduce, 4, 4, 5));
  expectSatisfied(
      instanceOn(funnel().reversed(), CollectiveKind::AllReduce, 4, 4, 5));
  expectStatus(instanceOn(funnel(), CollectiveKind::AllReduce, 4, 4, 4),
               "unknown");
  // Spare rounds and steps are no harm.
  expectSatisfied(instanceOn(funnel(), CollectiveKind::AllReduce, 4, 4, 9));
  expectSatisfied(instanceOn(funnel(), CollectiveKind::AllReduce, 4, 7, 9));
}

TEST_F(CombiningTest, FewChunksGoOverOneRank) {
  expectSatisfied(named("dgx1", CollectiveKind::AllReduce, 1, 4, 4));
  expectSatisfied(named("line:5", CollectiveKind::AllReduce, 1, 4, 4));
}

TEST_F(CombiningTest, FailureToComposeRefutesNothing) {
  // Both exist.
  for (const Instance &instance :
       {named("dgx1", CollectiveKind::AllReduce, 2, 2, 2),
        named("dgx1", CollectiveKind::AllReduce, 12, 4, 4)})
    EXPECT_EQ(
        describe(solve(instance)),
        "unknown: neither a composition of an inverted all_gather or "
        "broadcast with another nor an all_gather to add up exists, which "
        "does not exclude other schedules");
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

TEST_F(CombiningTest, PartsByANamedEngine) {
  if (!findEngine("z3"))
    GTEST_SKIP() << "z3 is not built";
  std::unique_ptr<SolverBackend> overZ3 = createCombiningBackend("z3");
  SynthesisResult result =
      overZ3->solve(named("ring:4", CollectiveKind::AllReduce, 8, 4, 6), {});
  EXPECT_TRUE(std::holds_alternative<Satisfied>(result.outcome))
      << describe(result.outcome);
  EXPECT_EQ(result.engine, "compose/z3/direct");
  std::unique_ptr<SolverBackend> overNone = createCombiningBackend("none");
  EXPECT_TRUE(std::holds_alternative<Failed>(
      overNone->solve(named("ring:4", CollectiveKind::Reduce, 1, 2, 2), {})
          .outcome));
}

TEST_F(CombiningTest, Refusals) {
  EXPECT_EQ(engine->whyNot(named("ring:4", CollectiveKind::Gather, 1, 2, 2)),
            "compose takes collectives that reduce only, got 'gather'");
  RankChunkSet all(4, 1);
  for (unsigned rank = 0; rank < 4; ++rank)
    all.insert(rank, 0);
  Result<Collective> mine = Collective::makeCustom("mine", 1, true, all, all);
  ASSERT_TRUE(mine);
  Result<Instance> instance = Instance::make(builtin("ring:4"), *mine, 2, 2);
  ASSERT_TRUE(instance);
  std::string refusal = "'mine' has no inverse: the sum of chunk 0 goes to 4 "
                        "ranks, at most 1 is allowed";
  EXPECT_EQ(engine->whyNot(*instance), refusal);
  EXPECT_EQ(describe(engine->solve(*instance, {}).outcome),
            "failed: " + refusal);
}

TEST_F(CombiningTest, Interruption) {
  std::atomic<bool> flag = true;
  SolverOptions options;
  options.interrupt = &flag;
  for (const Instance &instance :
       {named("dgx1", CollectiveKind::AllReduce, 48, 6, 14),
        named("dgx1", CollectiveKind::Reduce, 18, 5, 5)})
    EXPECT_EQ(describe(solve(instance, options)), "unknown: interrupted");
}

TEST_F(CombiningTest, Deterministic) {
  Instance instance = named("dgx1", CollectiveKind::AllReduce, 24, 8, 8);
  Outcome first = solve(instance), second = solve(instance);
  ASSERT_TRUE(std::holds_alternative<Satisfied>(first)) << describe(first);
  ASSERT_TRUE(std::holds_alternative<Satisfied>(second)) << describe(second);
  EXPECT_EQ(std::get<Satisfied>(first).schedule,
            std::get<Satisfied>(second).schedule);
}
