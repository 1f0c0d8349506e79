//===- EngineTesting.h - What the tests of engines share --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines are asked directly, without `synthesize`, so that neither its checks
// nor its tests by distance can hide a mistake of theirs.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_SOLVER_ENGINETESTING_H
#define SCCL_TEST_SOLVER_ENGINETESTING_H

#include "Solver/Pruning.h"
#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Solver/Solver.h"

#include <gtest/gtest.h>

namespace sccl::test {

inline const SolverBackend *findEngine(std::string_view name) {
  for (const auto &backend : solverBackends())
    if (backend->name() == name)
      return backend.get();
  return nullptr;
}

inline Topology builtin(std::string_view spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(topology) << topology.error();
  return *topology;
}

/// The instance (C, S, R) of a named collective on `topology`.
inline Instance instanceOn(Topology topology, CollectiveKind kind,
                           unsigned chunks, unsigned steps, unsigned rounds,
                           unsigned root = 0) {
  Result<Collective> collective =
      Collective::make(kind, topology.numRanks(), chunks, root);
  EXPECT_TRUE(collective) << collective.error();
  Result<Instance> instance =
      Instance::make(std::move(topology), *collective, steps, rounds);
  EXPECT_TRUE(instance) << instance.error();
  return *instance;
}

inline std::string describe(const Outcome &outcome) {
  return std::string(statusName(outcome)) + ": " +
         std::string(reasonOf(outcome));
}

/// Expects a correct schedule of exactly S steps and R rounds, and returns it;
/// null if there is none.
inline const Schedule *checkedSchedule(const Instance &instance,
                                       const Outcome &outcome) {
  auto *satisfied = std::get_if<Satisfied>(&outcome);
  EXPECT_TRUE(satisfied) << describe(outcome);
  if (!satisfied)
    return nullptr;
  const Schedule &schedule = satisfied->schedule;
  EXPECT_EQ(schedule.steps.size(), instance.steps);
  EXPECT_EQ(schedule.rounds(), instance.rounds);
  auto violation =
      checkSchedule(instance.topology, instance.collective, schedule);
  EXPECT_FALSE(violation) << violation->message;
  return &schedule;
}

/// The same without useless sends.
inline void expectSchedule(const Instance &instance, const Outcome &outcome) {
  const Schedule *schedule = checkedSchedule(instance, outcome);
  ASSERT_TRUE(schedule);
  Schedule pruned = *schedule;
  dropUselessSends(instance.collective, pruned);
  EXPECT_EQ(pruned.numSends(), schedule->numSends());
}

/// The tests of one engine; skipped if it is not built.
class EngineTest : public testing::Test {
protected:
  explicit EngineTest(std::string_view name) : engine(findEngine(name)) {}
  void SetUp() override {
    if (!engine)
      GTEST_SKIP() << "the engine is not built";
  }

  Outcome solve(const Instance &instance, SolverOptions options = {}) {
    if (options.timeoutSeconds == 0)
      options.timeoutSeconds = 60;
    EXPECT_EQ(engine->whyNot(instance), "");
    SynthesisResult result = engine->solve(instance, options);
    EXPECT_EQ(result.engine, engine->name());
    return std::move(result.outcome);
  }
  void expectSatisfied(const Instance &instance) {
    expectSchedule(instance, solve(instance));
  }
  void expectRefuted(const Instance &instance) {
    Outcome outcome = solve(instance);
    EXPECT_EQ(statusName(outcome), "unsatisfiable") << describe(outcome);
  }
  /// Two runs must give the same schedule.
  void expectDeterministic(const Instance &instance) {
    Outcome first = solve(instance), second = solve(instance);
    ASSERT_TRUE(std::holds_alternative<Satisfied>(first)) << describe(first);
    ASSERT_TRUE(std::holds_alternative<Satisfied>(second)) << describe(second);
    EXPECT_EQ(std::get<Satisfied>(first).schedule,
              std::get<Satisfied>(second).schedule);
  }
  /// A raised flag must end the search before it answers.
  void expectInterruptible(const Instance &instance) {
    std::atomic<bool> flag = true;
    SolverOptions options;
    options.interrupt = &flag;
    EXPECT_EQ(describe(solve(instance, options)), "unknown: interrupted");
  }
  void expectRefusal(const Instance &instance, std::string_view reason) {
    EXPECT_EQ(engine->whyNot(instance), reason);
    EXPECT_EQ(describe(engine->solve(instance, {}).outcome),
              "failed: " + std::string(reason));
  }

  const SolverBackend *const engine;
};

} // namespace sccl::test

#endif // SCCL_TEST_SOLVER_ENGINETESTING_H
