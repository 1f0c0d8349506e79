//===- ClockTest.cpp - Answers do not depend on the machine ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same questions on a machine that seems a thousand times slower, because
// the clock runs faster, and on a busy one: every schedule, certificate and
// word must be the same. Questions are chosen so that several engines give up
// before one answers.
//
//===----------------------------------------------------------------------===//

#include "sccl/Search/Frontier.h"

#include "Solver/EngineTesting.h"
#include "sccl/Optimize/Clock.h"

#include <chrono>
#include <sstream>
#include <thread>

using namespace sccl;
using namespace sccl::test;

using Kind = CollectiveKind;

namespace {
/// Takes a processor away while it lives.
class BusyThread {
public:
  BusyThread() : thread([this] { spin(); }) {}
  ~BusyThread() {
    done = true;
    thread.join();
  }

private:
  void spin() {
    volatile unsigned count = 0;
    while (!done)
      count = count + 1;
  }
  std::atomic<bool> done = false;
  std::thread thread;
};

void print(std::ostream &out, const Schedule &schedule) {
  for (const Step &step : schedule.steps) {
    out << "step " << step.rounds << ':';
    for (const Send &send : step.sends)
      out << ' ' << send.chunk << ',' << send.src << ',' << send.dst << ','
          << int(send.action);
    out << '\n';
  }
}

/// Everything about the answer but how long it took.
std::string answerTo(const Instance &instance, uint64_t maxWork) {
  SolverOptions options;
  options.maxWork = maxWork;
  SynthesisResult result = synthesize(instance, options);
  std::ostringstream text;
  text << describe(result.outcome) << " by " << result.engine << " after "
       << result.work << '\n';
  if (const auto *satisfied = std::get_if<Satisfied>(&result.outcome))
    print(text, satisfied->schedule);
  return text.str();
}

std::string frontierOf(const char *spec, Kind kind, unsigned maxSteps) {
  FrontierOptions options;
  options.maxSteps = maxSteps;
  options.probeWork = options.stepWork = 50'000;
  Result<Frontier> frontier = searchFrontier(builtin(spec), {kind, 0}, options);
  EXPECT_TRUE(frontier) << frontier.error();
  std::ostringstream text;
  for (const FrontierPoint &point : frontier->points) {
    text << point.chunks << ' ' << point.steps << ' ' << point.rounds << " by "
         << point.engine << '\n';
    print(text, point.schedule.get());
    if (point.bound)
      text << printCertificate(point.bound->certificate);
  }
  text << frontier->why << '\n';
  return text.str();
}

std::string allAnswers() {
  std::string text;
  for (auto [spec, kind, chunks, steps, rounds] :
       {std::tuple("dgx1", Kind::AllReduce, 12u, 4u, 4u),
        {"dgx1", Kind::AllReduce, 24u, 5u, 7u},
        {"torus:3x3", Kind::AllGather, 9u, 3u, 19u},
        {"ring:6", Kind::AllToAll, 12u, 4u, 10u},
        {"dgx1", Kind::Broadcast, 18u, 5u, 5u}})
    text += answerTo(instanceOn(builtin(spec), kind, chunks, steps, rounds),
                     /*maxWork=*/50'000);
  text += frontierOf("ring:5", Kind::AllReduce, 4);
  return text;
}
} // namespace

TEST(Clock, AnswersAreTheSameOnEveryMachine) {
  const std::string quiet = allAnswers();
  // Some engine gave up, or this shows nothing.
  EXPECT_NE(quiet.find("gave up after"), std::string::npos);
  {
    ScopedClockRate fast(1000);
    EXPECT_EQ(allAnswers(), quiet) << "with a clock that runs faster";
  }
  BusyThread busy, busier;
  EXPECT_EQ(allAnswers(), quiet) << "on a busy machine";
}

TEST(Clock, TheLimitOfTheUserIsTime) {
  ScopedClockRate fast(1e6);
  SolverOptions options;
  options.timeoutSeconds = 1000; // a millisecond
  SynthesisResult result = synthesize(
      instanceOn(builtin("dgx1"), Kind::AllReduce, 17, 5, 5), options);
  EXPECT_EQ(describe(result.outcome), "unknown: timeout after 1000 s");
}

TEST(Clock, TheLimitHoldsOnManyRanks) {
  // To ask each of 16,384 ranks how far the others are takes a minute, and so
  // do programs of 260,000 rows.
  for (auto [spec, kind] : {std::pair("hypercube:14", Kind::AllReduce),
                            std::pair("mesh:512", Kind::Scatter)}) {
    Topology topology = builtin(spec);
    FrontierOptions options;
    options.timeoutSeconds = 1;
    auto begin = std::chrono::steady_clock::now();
    Result<Frontier> frontier = searchFrontier(topology, {kind, 0}, options);
    std::chrono::duration<double> used =
        std::chrono::steady_clock::now() - begin;
    EXPECT_LT(used.count(), 15) << spec;
    ASSERT_TRUE(frontier) << frontier.error();
    EXPECT_TRUE(frontier->stopped);
    EXPECT_TRUE(frontier->throughput);
  }
}
