//===- SolverTesting.h - Questions, and what answers are like ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests of `synthesize`, with all that it does around engines.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_SOLVER_SOLVERTESTING_H
#define SCCL_TEST_SOLVER_SOLVERTESTING_H

#include "EngineTesting.h"

namespace sccl::test {

inline Instance instanceOf(Topology topology, Collective collective,
                           unsigned steps, unsigned rounds) {
  auto instance =
      Instance::make(std::move(topology), std::move(collective), steps, rounds);
  EXPECT_TRUE(instance) << instance.error();
  return *instance;
}

/// The instance (C, S, R) of a named collective with root 0.
inline Instance named(std::string_view spec, CollectiveKind kind,
                      unsigned chunks, unsigned steps, unsigned rounds) {
  Topology topology = builtin(spec);
  auto collective = Collective::make(kind, topology.numRanks(), chunks);
  EXPECT_TRUE(collective) << collective.error();
  return instanceOf(std::move(topology), *collective, steps, rounds);
}

/// Checks the schedule of `result`, which must be there, against `instance`.
/// Its sends are in order.
inline void expectSchedule(const Instance &instance,
                           const SynthesisResult &result) {
  const Schedule *schedule = checkedSchedule(instance, result.outcome);
  ASSERT_TRUE(schedule);
  Schedule normal = *schedule;
  normal.normalize();
  EXPECT_EQ(*schedule, normal);
}

inline constexpr std::string_view dgx1 = "dgx1";
inline constexpr std::string_view amd = "amd_z52";

class Z3Test : public testing::Test {
protected:
  void SetUp() override {
    for (const auto &backend : solverBackends())
      if (backend->name() == "z3")
        return;
    GTEST_SKIP() << "built without z3";
  }
};

} // namespace sccl::test

#endif // SCCL_TEST_SOLVER_SOLVERTESTING_H
