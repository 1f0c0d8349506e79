//===- PiecesTest.cpp - What the engines share ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The private parts of lib/Solver, without any engine.
//
//===----------------------------------------------------------------------===//

#include "Solver/Backends.h"
#include "Solver/Pruning.h"
#include "Solver/Windows.h"
#include "Solver/Z3/SearchWatchdog.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

using namespace sccl;

namespace {

Topology ring(unsigned ranks) {
  Topology topology("ring", ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    EXPECT_TRUE(topology.addLink(rank, (rank + 1) % ranks, 1));
  return topology;
}

Collective fromTo(unsigned ranks, std::vector<unsigned> sources,
                  std::vector<unsigned> destinations) {
  RankChunkSet pre(ranks, 1), post(ranks, 1);
  for (unsigned rank : sources)
    pre.insert(rank, 0);
  for (unsigned rank : destinations)
    post.insert(rank, 0);
  auto collective = Collective::makeCustom("test", 1, false, pre, post);
  EXPECT_TRUE(collective) << collective.error();
  return *collective;
}

TEST(HopDistances, BothDirections) {
  Topology topology = ring(5);
  HopDistances distances(topology);
  EXPECT_EQ(distances.from({0}), (std::vector<unsigned>{0, 1, 2, 3, 4}));
  EXPECT_EQ(distances.to({0}), (std::vector<unsigned>{0, 4, 3, 2, 1}));
  EXPECT_EQ(distances.from({0, 3}), (std::vector<unsigned>{0, 1, 2, 0, 1}));
}

TEST(HopDistances, Unreachable) {
  Topology topology("one way", 2);
  ASSERT_TRUE(topology.addLink(0, 1, 1));
  EXPECT_EQ(HopDistances(topology).from({1})[0], Topology::unreachable);
}

// 0 -> 1 -> 2 -> 3 in 4 steps: each arrival has one step of slack, ranks 4 and
// 5 are of no use.
TEST(WindowPlan, SlackAndUselessRanks) {
  Instance instance{ring(6), fromTo(6, {0}, {3}), 4, 4};
  WindowPlan plan(instance, 1000, [] { return false; });
  const ChunkClass *kind = plan.classOf(0);
  ASSERT_TRUE(kind);
  EXPECT_EQ(kind->sources, std::vector<unsigned>{0});
  EXPECT_EQ(kind->numDestinations, 1u);
  ASSERT_EQ(kind->windows.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(kind->windows[i].rank, i + 1);
    EXPECT_EQ(kind->windows[i].first, i + 1);
    EXPECT_EQ(kind->windows[i].last, i + 2);
    EXPECT_EQ(kind->windows[i].wanted, i == 2);
  }
  // 3 arrivals and 3 sends, each in 2 steps.
  EXPECT_EQ(plan.numVariables(), 12u);
  EXPECT_TRUE(plan.reachable());
}

TEST(WindowPlan, TooFar) {
  Instance instance{ring(6), fromTo(6, {0}, {3}), 2, 2};
  EXPECT_FALSE(WindowPlan(instance, 1000, [] { return false; }).reachable());
}

TEST(WindowPlan, NothingToDo) {
  Instance instance{ring(6), fromTo(6, {0, 1}, {1}), 2, 2};
  WindowPlan plan(instance, 1000, [] { return false; });
  EXPECT_FALSE(plan.classOf(0));
  EXPECT_EQ(plan.numVariables(), 0u);
}

TEST(Pruning, KeepsOnlyWhatServes) {
  // 0 must get to 2. Superfluous: 2 -> 3, which only leads away, the second
  // arrival at 1, and the send back to the source.
  Collective collective = fromTo(4, {0}, {2});
  Schedule schedule;
  schedule.steps = {{1, {{0, 0, 1}}},
                    {2, {{0, 1, 2}, {0, 0, 1}, {0, 1, 0}}},
                    {1, {{0, 2, 3}}}};
  dropUselessSends(collective, schedule);
  Schedule expected;
  expected.steps = {{1, {{0, 0, 1}}}, {2, {{0, 1, 2}}}, {1, {}}};
  EXPECT_EQ(schedule, expected);
}

TEST(SearchWatchdog, FirstCauseStays) {
  std::atomic<bool> flag = true;
  SearchLimits limits{.interrupt = &flag};
  SearchWatchdog watchdog(
      limits, /*memoryMiB=*/1, [] { return uint64_t(2) << 20; }, [] {});
  EXPECT_EQ(watchdog.reason(), "interrupted");
  flag = false;
  EXPECT_TRUE(watchdog.poll());
  EXPECT_EQ(watchdog.reason(), "interrupted");
}

TEST(SearchWatchdog, CallsUntilDestroyed) {
  SearchLimits limits{.timeoutSeconds = 0.05};
  std::atomic<unsigned> calls = 0;
  {
    SearchWatchdog watchdog(limits, 0, nullptr, [&] { ++calls; });
    EXPECT_FALSE(watchdog.expired());
    while (calls < 3)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(watchdog.reason(), "timeout after 0.05 s");
  }
  unsigned final = calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_EQ(calls, final);
}

TEST(SearchWatchdog, NoLimits) {
  SearchWatchdog watchdog(SearchLimits(), 0, nullptr, [] {});
  EXPECT_FALSE(watchdog.poll());
  EXPECT_EQ(watchdog.reason(), "");
}

} // namespace

namespace {
/// An engine that takes a single step only, and answers what it is told to.
class ToldEngine final : public SolverBackend {
public:
  explicit ToldEngine(std::function<Outcome()> answer)
      : SolverBackend(
            {.name = "told", .workUnit = "words", .takesMoves = true}),
        answer(std::move(answer)) {}
  std::string whyNot(const Instance &instance) const override {
    return instance.steps == 1 ? "" : "told takes one step only";
  }
  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options,
                     [&](const Deadline &) { return answer(); });
  }

private:
  std::function<Outcome()> answer;
};

SynthesisResult tell(std::function<Outcome()> answer, unsigned steps = 1) {
  auto instance = Instance::make(ring(3), fromTo(3, {0}, {1}), steps, steps);
  EXPECT_TRUE(instance) << instance.error();
  return ToldEngine(std::move(answer)).solve(*instance, {});
}
} // namespace

TEST(RunEngine, PassesAnswersOnWithNameAndTime) {
  SynthesisResult result = tell([] { return Unsatisfiable{"because"}; });
  ASSERT_TRUE(std::holds_alternative<Unsatisfiable>(result.outcome));
  EXPECT_EQ(std::get<Unsatisfiable>(result.outcome).reason, "because");
  EXPECT_EQ(result.engine, "told");
  EXPECT_GE(result.seconds, 0);
}

TEST(RunEngine, LackOfMemoryIsUnknownAndAMistakeFails) {
  SynthesisResult result = tell([]() -> Outcome { throw std::bad_alloc(); });
  ASSERT_TRUE(std::holds_alternative<Unknown>(result.outcome));
  EXPECT_EQ(std::get<Unknown>(result.outcome).reason, "out of memory");
  result = tell([]() -> Outcome { throw std::logic_error("no such rank"); });
  ASSERT_TRUE(std::holds_alternative<Failed>(result.outcome));
  EXPECT_EQ(std::get<Failed>(result.outcome).message,
            "told engine: no such rank");
}

TEST(RunEngine, AsksNothingThatTheEngineDoesNotTake) {
  bool asked = false;
  SynthesisResult result = tell(
      [&]() -> Outcome {
        asked = true;
        return Unknown{""};
      },
      /*steps=*/2);
  ASSERT_TRUE(std::holds_alternative<Failed>(result.outcome));
  EXPECT_EQ(std::get<Failed>(result.outcome).message,
            "told takes one step only");
  EXPECT_FALSE(asked);
}
