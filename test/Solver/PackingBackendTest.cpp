//===- PackingBackendTest.cpp - Tests of the packing engine ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules that use all of the bandwidth, and what the engine must not claim.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"

using namespace sccl;
using namespace sccl::test;

static Instance allReduce(std::string_view spec, unsigned chunks,
                          unsigned steps, unsigned rounds) {
  return instanceOn(builtin(spec), CollectiveKind::AllReduce, chunks, steps,
                    rounds);
}

namespace {
class PackingTest : public EngineTest {
protected:
  PackingTest() : EngineTest("packing") {}
  void expectFound(const Instance &instance) {
    checkedSchedule(instance, solve(instance));
  }
  void expectUnknown(const Instance &instance) {
    Outcome outcome = solve(instance);
    EXPECT_EQ(statusName(outcome), "unknown") << describe(outcome);
  }
};
} // namespace

TEST_F(PackingTest, AllReduceWithTheFewestSends) {
  if (!findEngine("sat"))
    GTEST_SKIP() << "tree pairs need cadical";
  expectFound(allReduce("dgx1", 12, 4, 4));
  expectFound(allReduce("dgx1", 48, 5, 14));
  expectFound(allReduce("amd_z52", 8, 7, 7));
  // Roots must be pairs of ranks here: 3 + 1 + 3 steps, where 4 + 4 do not fit.
  expectFound(allReduce("amd_z52", 1, 7, 7));
}

TEST_F(PackingTest, AllReduceWithLargeCores) {
  expectFound(allReduce("dgx1", 6, 3, 3));
  expectFound(allReduce("mesh:4", 1, 1, 1));
}

TEST_F(PackingTest, BroadcastWithSeveralRounds) {
  expectFound(instanceOn(builtin("dgx1"), CollectiveKind::Broadcast, 22, 3, 9,
                         /*root=*/1));
  expectFound(
      instanceOn(builtin("ring:5"), CollectiveKind::Broadcast, 2, 3, 3, 2));
}

TEST_F(PackingTest, EveryScheduleIsCorrect) {
  unsigned found = 0;
  for (std::string_view spec :
       {"ring:4", "ring:5", "line:4", "mesh:4", "torus:2x3", "switch:4,2"})
    for (unsigned chunks = 1; chunks <= 4; ++chunks)
      for (unsigned steps = 2; steps <= 5; ++steps) {
        Instance instance = allReduce(spec, chunks, steps, steps + chunks);
        Outcome outcome = solve(instance);
        if (std::holds_alternative<Unknown>(outcome))
          continue;
        SCOPED_TRACE(std::string(spec) + " " + std::to_string(chunks) + " " +
                     std::to_string(steps));
        expectFound(instance);
        ++found;
      }
  EXPECT_GE(found, 40u);
}

TEST_F(PackingTest, NothingIsRefuted) {
  // Other engines find (2,2,2); (7,3,3) and (23,3,9) do not exist.
  expectUnknown(allReduce("dgx1", 2, 2, 2));
  expectUnknown(allReduce("dgx1", 7, 3, 3));
  expectUnknown(
      instanceOn(builtin("dgx1"), CollectiveKind::Broadcast, 23, 3, 9, 1));
  // Too few steps for any tree.
  expectUnknown(allReduce("amd_z52", 2, 3, 99));
}

TEST_F(PackingTest, Determinism) {
  Instance instance = allReduce("amd_z52", 8, 7, 7);
  Outcome first = solve(instance), second = solve(instance);
  ASSERT_TRUE(std::holds_alternative<Satisfied>(first)) << describe(first);
  ASSERT_TRUE(std::holds_alternative<Satisfied>(second)) << describe(second);
  EXPECT_EQ(std::get<Satisfied>(first).schedule,
            std::get<Satisfied>(second).schedule);
}

TEST_F(PackingTest, InterruptAndRefusal) {
  expectInterruptible(allReduce("dgx1", 48, 5, 14));
  expectRefusal(instanceOn(builtin("dgx1"), CollectiveKind::AllGather, 1, 2, 2),
                "packing takes broadcast and all_reduce only, got "
                "'all_gather'");
  expectRefusal(allReduce("ring:12", 1, 12, 12),
                "packing takes at most 10 ranks, got 12");
}
