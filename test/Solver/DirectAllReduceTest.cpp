//===- DirectAllReduceTest.cpp - Tests of the direct engine ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules that no composition reaches, refutations next to them, and small
// instances against all schedules there are.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"
#include "ExhaustiveReduction.h"

#include "Optimize/Sat.h"
#include "Solver/Pruning.h"
#include "Solver/Sat/ContributionEncoding.h"

#include <numeric>
#include <random>

using namespace sccl;
using namespace sccl::test;

static Instance named(std::string_view spec, CollectiveKind kind,
                      unsigned chunks, unsigned steps, unsigned rounds) {
  return instanceOn(builtin(spec), kind, chunks, steps, rounds);
}

static Instance allReduce(std::string_view spec, unsigned chunks,
                          unsigned steps, unsigned rounds) {
  return named(spec, CollectiveKind::AllReduce, chunks, steps, rounds);
}

static void expectValid(const Instance &instance, const Schedule &schedule) {
  EXPECT_EQ(schedule.steps.size(), instance.steps);
  EXPECT_EQ(schedule.rounds(), instance.rounds);
  auto violation =
      checkSchedule(instance.topology, instance.collective, schedule);
  EXPECT_FALSE(violation) << violation->message;
}

/// Expects that the schedule is wrong without any one of its sends.
static void expectNothingUseless(const Instance &instance,
                                 const Schedule &schedule) {
  for (size_t step = 0; step < schedule.steps.size(); ++step)
    for (size_t i = 0; i < schedule.steps[step].sends.size(); ++i) {
      Schedule without = schedule;
      std::vector<Send> &sends = without.steps[step].sends;
      sends.erase(sends.begin() + i);
      EXPECT_TRUE(
          checkSchedule(instance.topology, instance.collective, without))
          << "send " << i << " of step " << step << " is useless";
    }
}

namespace {
class DirectTest : public EngineTest {
protected:
  DirectTest() : EngineTest("direct") {}
  void expectFound(const Instance &instance) {
    Outcome outcome = solve(instance);
    auto *satisfied = std::get_if<Satisfied>(&outcome);
    ASSERT_TRUE(satisfied) << describe(outcome);
    expectValid(instance, satisfied->schedule);
    expectNothingUseless(instance, satisfied->schedule);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Known instances
//===----------------------------------------------------------------------===//

TEST_F(DirectTest, FasterThanAnyComposition) {
  expectFound(allReduce("dgx1", 2, 2, 2));
  expectFound(allReduce("dgx1", 6, 3, 3));
  expectFound(allReduce("dgx1", 12, 4, 4));
  expectFound(allReduce("amd_z52", 2, 4, 4));
  expectFound(allReduce("amd_z52", 4, 5, 5));
  expectFound(allReduce("amd_z52", 8, 7, 7));
}

TEST_F(DirectTest, RefutationsNextToThem) {
  expectRefuted(allReduce("dgx1", 3, 2, 2));
  expectRefuted(allReduce("dgx1", 3, 2, 3));
  expectRefuted(allReduce("dgx1", 5, 2, 4));
  expectRefuted(allReduce("dgx1", 7, 3, 3));
  expectRefuted(allReduce("amd_z52", 3, 4, 4));
  expectRefuted(allReduce("amd_z52", 6, 6, 6));
}

TEST_F(DirectTest, RoundsAreChosen) {
  expectFound(allReduce("dgx1", 4, 2, 4));
  expectFound(allReduce("ring:4", 2, 2, 3));
  expectRefuted(allReduce("ring:4", 3, 2, 3));
  expectFound(allReduce("ring:4", 1, 2, 9));
}

TEST_F(DirectTest, CountingRefutes) {
  EXPECT_EQ(describe(solve(allReduce("ring:4", 3, 2, 2))),
            "unsatisfiable: refuted by counting: 18 sends are needed, the "
            "links carry at most 16");
  // As many as fit.
  expectFound(allReduce("ring:4", 4, 3, 3));
}

TEST_F(DirectTest, OtherReductions) {
  expectFound(named("dgx1", CollectiveKind::Reduce, 6, 3, 3));
  expectRefuted(named("dgx1", CollectiveKind::Reduce, 7, 3, 3));
  expectFound(named("dgx1", CollectiveKind::ReduceScatter, 8, 2, 2));
  expectFound(named("dgx1", CollectiveKind::ReduceScatter, 16, 2, 3));
  expectRefuted(named("dgx1", CollectiveKind::ReduceScatter, 16, 2, 2));
}

TEST_F(DirectTest, SharedLimits) {
  // A rank sends and gets one chunk per round: recursive doubling.
  expectFound(allReduce("switch:4,1", 1, 2, 2));
  expectRefuted(allReduce("switch:4,1", 2, 2, 2));
  expectRefuted(allReduce("switch:4,1", 2, 2, 3));
  expectFound(allReduce("switch:4,1", 2, 2, 4));
}

TEST_F(DirectTest, UnlimitedLinks) {
  Topology topology("free", 3);
  for (auto [src, dst] :
       {Link{0, 1}, Link{1, 0}, Link{0, 2}, Link{2, 0}, Link{1, 2}, Link{2, 1}})
    ASSERT_TRUE(topology.addLink(src, dst));
  expectFound(instanceOn(topology, CollectiveKind::AllReduce, 9, 1, 1));
}

//===----------------------------------------------------------------------===//
// Small instances
//===----------------------------------------------------------------------===//

/// A strongly connected topology of 2 or 3 ranks.
static Topology smallTopology(std::mt19937 &random) {
  unsigned numRanks = 2 + random() % 2;
  Topology topology("small", numRanks);
  for (unsigned src = 0; src < numRanks; ++src)
    for (unsigned dst = 0; dst < numRanks; ++dst)
      if (src != dst && (dst == (src + 1) % numRanks || random() % 2)) {
        EXPECT_TRUE(topology.addLink(src, dst, 1 + random() % 2));
      }
  if (random() % 3 == 0) {
    EXPECT_TRUE(topology.addLimit(topology.outLinks(0), 1));
  }
  return topology;
}

/// Any contributors, any destinations.
static Collective smallCollective(std::mt19937 &random, unsigned numRanks) {
  unsigned numChunks = 1 + random() % 2;
  RankChunkSet pre(numRanks, numChunks), post(numRanks, numChunks);
  for (unsigned chunk = 0; chunk < numChunks; ++chunk) {
    for (unsigned rank = 0; rank < numRanks; ++rank) {
      if (random() % 4)
        pre.insert(rank, chunk);
      if (random() % 4)
        post.insert(rank, chunk);
    }
    pre.insert(random() % numRanks, chunk);
  }
  Result<Collective> collective =
      Collective::makeCustom("mine", 1, /*combining=*/true, pre, post);
  EXPECT_TRUE(collective) << collective.error();
  return *collective;
}

TEST_F(DirectTest, AgreesWithAllSchedulesThereAre) {
  std::mt19937 random(11);
  unsigned numSatisfied = 0, numRefuted = 0, numMore = 0;
  for (unsigned round = 0; round < 1000; ++round) {
    Topology topology = smallTopology(random);
    Collective collective = smallCollective(random, topology.numRanks());
    if (random() % 2)
      collective = *Collective::make(CollectiveKind::AllReduce,
                                     topology.numRanks(), 1 + random() % 2);
    // More takes too long to enumerate.
    unsigned maxSteps = collective.numChunks() == 1 ? 3 : 2;
    unsigned steps = 1 + random() % maxSteps;
    Result<Instance> instance =
        Instance::make(topology, collective, steps, steps + random() % 2);
    ASSERT_TRUE(instance) << instance.error();
    Outcome outcome = solve(*instance);
    bool exists = existsReduction(*instance);
    auto *satisfied = std::get_if<Satisfied>(&outcome);
    // With several partial sums there may be more; see PartialSumsTest.cpp.
    bool isMore = satisfied && satisfied->schedule.keepsArrivals();
    numMore += isMore;
    EXPECT_EQ(statusName(outcome),
              exists || isMore ? "satisfiable" : "unsatisfiable")
        << describe(outcome);
    if (satisfied) {
      expectValid(*instance, satisfied->schedule);
      expectNothingUseless(*instance, satisfied->schedule);
    }
    ++(exists ? numSatisfied : numRefuted);
  }
  EXPECT_GT(numSatisfied, 200u);
  EXPECT_GT(numRefuted, 200u);
  EXPECT_LT(numMore, numRefuted / 10);
}

//===----------------------------------------------------------------------===//
// Symmetric schedules
//===----------------------------------------------------------------------===//

TEST(ContributionEncoding, EveryGroupGivesRightSchedules) {
  // 5 chunks are cycles of 4 or 2 and one left over.
  Instance instance = allReduce("dgx1", 5, 4, 4);
  std::vector<std::vector<Permutation>> groups =
      freeSubgroups(instance.topology, 256);
  EXPECT_EQ(groups.size(), 5u);
  for (const std::vector<Permutation> &group : groups) {
    Deadline deadline{SearchLimits()};
    SatSolver solver(deadline, /*seed=*/0);
    ContributionEncoding encoding(instance, group, solver);
    encoding.encode([] { return false; });
    ASSERT_EQ(solver.search(1000000), SatSolver::Answer::Satisfiable)
        << "group of order " << group.size();
    expectValid(instance, encoding.decode());
  }
}

TEST(ContributionEncoding, ActsOnAlikeChunksOnly) {
  auto acts = [](CollectiveKind kind) {
    return ContributionEncoding::actsOn(*Collective::make(kind, 4, 4));
  };
  EXPECT_TRUE(acts(CollectiveKind::AllReduce));
  EXPECT_FALSE(acts(CollectiveKind::Reduce));
  EXPECT_FALSE(acts(CollectiveKind::ReduceScatter));
}

//===----------------------------------------------------------------------===//
// Pruning
//===----------------------------------------------------------------------===//

TEST(ReductionPruning, DropsWhatNobodyReads) {
  constexpr SendAction reduce = SendAction::Reduce;
  constexpr SendPayload input = SendPayload::Input;
  Collective sum = *Collective::make(CollectiveKind::Reduce, 3, 1, 0);
  // Rank 2 gets the input of rank 1, then has it replaced by its own value,
  // which nobody reads; rank 1 is read before it is changed again.
  Schedule schedule{
      {{1, {{0, 2, 1, reduce}, {0, 1, 2, reduce}}},
       {1, {{0, 1, 0, reduce}, {0, 0, 2, SendAction::Copy, input}}},
       {1, {{0, 0, 1, SendAction::Copy}}}}};
  Schedule expected{
      {{1, {{0, 2, 1, reduce}}}, {1, {{0, 1, 0, reduce}}}, {1, {}}}};
  dropUselessReductions(sum, schedule);
  EXPECT_EQ(schedule, expected);
}

TEST(ReductionPruning, DropsCopiesThatChangeNothing) {
  constexpr SendAction reduce = SendAction::Reduce;
  Collective both = *Collective::make(CollectiveKind::AllReduce, 2, 1);
  Schedule schedule{{{1, {{0, 0, 1, reduce}, {0, 1, 0, reduce}}},
                     {1, {{0, 0, 1, SendAction::Copy}}}}};
  Schedule expected{{{1, {{0, 0, 1, reduce}, {0, 1, 0, reduce}}}, {1, {}}}};
  dropUselessReductions(both, schedule);
  EXPECT_EQ(schedule, expected);
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

TEST_F(DirectTest, Refusal) {
  expectRefusal(named("ring:4", CollectiveKind::AllGather, 1, 2, 2),
                "direct takes collectives that reduce only, got 'all_gather'");
}

TEST_F(DirectTest, Limits) {
  expectInterruptible(allReduce("dgx1", 12, 4, 4));
  SolverOptions options;
  options.timeoutSeconds = 0.05;
  EXPECT_EQ(describe(solve(allReduce("dgx1", 17, 5, 5), options)),
            "unknown: timeout after 0.05 s");
  options = {};
  options.memoryMiB = 1;
  EXPECT_EQ(describe(solve(allReduce("dgx1", 30, 9, 9), options)),
            "unknown: out of memory (limit 1 MiB): the formula needs 120960 "
            "variables");
}

/// Where all links share a limit, counting what goes over them takes most of
/// the formula, and few of its variables.
TEST_F(DirectTest, CountersKeepToTheMemory) {
  Topology topology = builtin("mesh:8");
  std::vector<unsigned> all(topology.links().size());
  std::iota(all.begin(), all.end(), 0u);
  ASSERT_TRUE(topology.addLimit(all, 448));
  SolverOptions options;
  options.memoryMiB = 16;
  EXPECT_EQ(
      describe(solve(instanceOn(topology, CollectiveKind::AllReduce, 8, 2, 3),
                     options)),
      "unknown: out of memory (limit 16 MiB)");
}

TEST_F(DirectTest, Deterministic) {
  expectDeterministic(allReduce("dgx1", 6, 3, 3));
  expectDeterministic(allReduce("amd_z52", 8, 7, 7));
}
