//===- MatchingBackendTest.cpp - Tests of the matching engine -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All-gather in breadth-first order, from the rows of the SCCL paper to a
// thousand ranks, and the splitting of steps.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"

#include "Solver/StepSplitting.h"

using namespace sccl;
using namespace sccl::test;

namespace {
class MatchingTest : public EngineTest {
protected:
  MatchingTest() : EngineTest("matching") {}
  static Instance allGather(std::string_view spec, unsigned chunks,
                            unsigned steps, unsigned rounds) {
    return instanceOn(builtin(spec), CollectiveKind::AllGather, chunks, steps,
                      rounds);
  }
};
} // namespace

TEST_F(MatchingTest, RowsOfThePaper) {
  expectSatisfied(allGather("dgx1", 1, 2, 2));
  expectSatisfied(allGather("dgx1", 2, 2, 3));
  expectSatisfied(allGather("amd_z52", 1, 4, 4));
  expectSatisfied(allGather("amd_z52", 2, 4, 7));
  // By splitting steps.
  expectSatisfied(allGather("dgx1", 2, 3, 3));
  expectSatisfied(allGather("amd_z52", 2, 7, 7));
}

// Breadth-first order is one choice of many, so that its failure says nothing.
TEST_F(MatchingTest, NeverRefutesByRounds) {
  EXPECT_EQ(describe(solve(allGather("dgx1", 3, 4, 4))),
            "unknown: breadth-first order needs more than 4 rounds");
  EXPECT_EQ(describe(solve(allGather("dgx1", 2, 2, 2))),
            "unknown: breadth-first order needs more than 2 rounds");
}

TEST_F(MatchingTest, RefutesByDistance) {
  expectRefuted(allGather("amd_z52", 1, 3, 9));
}

TEST_F(MatchingTest, SpareStepsAndRounds) {
  expectSatisfied(allGather("dgx1", 2, 4, 9));
  expectSatisfied(allGather("ring:4", 1, 7, 7));
  expectSatisfied(
      instanceOn(Topology("alone", 1), CollectiveKind::AllGather, 2, 2, 3));
}

TEST_F(MatchingTest, WithoutSymmetry) {
  expectSatisfied(allGather("line:7", 2, 6, 12));
  Topology topology("lopsided", 4);
  for (auto [src, dst, bandwidth] : std::vector<std::array<unsigned, 3>>{
           {0, 1, 1}, {1, 2, 2}, {2, 3, 1}, {3, 0, 3}, {1, 3, 1}, {2, 0, 1}})
    ASSERT_TRUE(topology.addLink(src, dst, bandwidth));
  expectSatisfied(instanceOn(topology, CollectiveKind::AllGather, 3, 3, 12));
}

TEST_F(MatchingTest, OptimalOnLargeTopologies) {
  expectSatisfied(allGather("ring:64", 2, 32, 63));
  expectSatisfied(allGather("torus:8x8", 4, 8, 63));
  expectSatisfied(allGather("hypercube:6", 6, 6, 63));
  expectSatisfied(allGather("mesh:16", 1, 1, 1));
  expectSatisfied(allGather("torus:16x16", 4, 16, 255));
}

TEST_F(MatchingTest, AThousandRanks) {
  Instance instance = allGather("torus:32x32", 4, 32, 1023);
  Outcome outcome = solve(instance);
  ASSERT_TRUE(std::holds_alternative<Satisfied>(outcome)) << describe(outcome);
  const Schedule &schedule = std::get<Satisfied>(outcome).schedule;
  EXPECT_EQ(schedule.numSends(), size_t(4) * 1024 * 1023);
  auto violation =
      checkSchedule(instance.topology, instance.collective, schedule);
  EXPECT_FALSE(violation) << violation->message;
  // `synthesize` counts on it being cheap to sort.
  for (const Step &step : schedule.steps)
    EXPECT_TRUE(std::is_sorted(step.sends.begin(), step.sends.end()));
}

TEST_F(MatchingTest, MemoryLimit) {
  SolverOptions options;
  options.memoryMiB = 1;
  EXPECT_EQ(describe(solve(allGather("torus:16x16", 4, 16, 255), options)),
            "unknown: out of memory (limit 1 MiB): the schedule needs 5 MiB");
}

TEST_F(MatchingTest, Interrupt) {
  expectInterruptible(allGather("torus:8x8", 4, 8, 63));
}

TEST_F(MatchingTest, Refusals) {
  expectRefusal(instanceOn(builtin("dgx1"), CollectiveKind::Broadcast, 1, 2, 2),
                "matching takes all_gather only, got 'broadcast'");
  expectRefusal(allGather("switch:4,1", 1, 1, 3),
                "matching takes limits on one link only");
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

TEST(StepSplitting, EveryNumberOfStepsUpToTheRounds) {
  Topology topology = builtin("dgx1");
  Result<Collective> collective =
      Collective::make(CollectiveKind::Scatter, 8, 24, 0);
  ASSERT_TRUE(collective);
  const SolverBackend *engine = findEngine("flow");
  ASSERT_TRUE(engine);
  Instance instance{topology, *collective, 2, 5};
  Outcome outcome = engine->solve(instance, {}).outcome;
  ASSERT_TRUE(std::holds_alternative<Satisfied>(outcome)) << describe(outcome);
  const Schedule &schedule = std::get<Satisfied>(outcome).schedule;
  for (unsigned rounds = 5; rounds <= 8; ++rounds)
    for (unsigned steps = 2; steps <= rounds; ++steps) {
      SCOPED_TRACE(steps);
      instance.steps = steps;
      instance.rounds = rounds;
      expectSchedule(instance,
                     Satisfied{splitSteps(topology, schedule, steps, rounds)});
    }
}

TEST(StepSplitting, KeepsSendsAndTheirOrder) {
  Topology topology("pair", 2);
  ASSERT_TRUE(topology.addLink(0, 1, 2));
  Schedule schedule{
      {{3, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}, {4, 0, 1}}}}};
  Schedule expected{
      {{2, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}}}, {1, {{4, 0, 1}}}}};
  EXPECT_EQ(splitSteps(topology, schedule, 2, 3), expected);
  EXPECT_EQ(splitSteps(topology, schedule, 1, 3), schedule);
}
