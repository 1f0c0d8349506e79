//===- SolverTest.cpp - Known answers, limits and failures ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances whose answer is known from the SCCL paper or by hand. Every
// schedule goes through the checker twice: in `synthesize`, and here.
//
//===----------------------------------------------------------------------===//

#include "SolverTesting.h"

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

using namespace sccl;
using namespace sccl::test;

namespace {

/// Everything that both encodings answer quickly.
class EncodingTest : public Z3Test,
                     public testing::WithParamInterface<Encoding> {
protected:
  SynthesisResult solve(const Instance &instance) {
    SolverOptions options;
    options.encoding = GetParam();
    options.timeoutSeconds = 60;
    return synthesize(instance, options, "z3");
  }
  void expectSat(const Instance &instance) {
    SynthesisResult result = solve(instance);
    EXPECT_EQ(result.engine, std::string("z3/") + encodingName());
    expectSchedule(instance, result);
  }
  void expectUnsat(const Instance &instance) {
    SynthesisResult result = solve(instance);
    EXPECT_EQ(statusName(result.outcome), "unsatisfiable");
    EXPECT_EQ(reasonOf(result.outcome),
              std::string("refuted by z3 (") + encodingName() + " encoding)");
  }
  const char *encodingName() const {
    return GetParam() == Encoding::Direct ? "direct" : "paper";
  }
};

INSTANTIATE_TEST_SUITE_P(Both, EncodingTest,
                         testing::Values(Encoding::Direct, Encoding::Paper),
                         [](const auto &info) {
                           return info.param == Encoding::Direct ? "Direct"
                                                                 : "Paper";
                         });

//===----------------------------------------------------------------------===//
// Known answers
//===----------------------------------------------------------------------===//

TEST_P(EncodingTest, Dgx1AllGather) {
  expectSat(named(dgx1, CollectiveKind::AllGather, 1, 2, 2));
  expectSat(named(dgx1, CollectiveKind::AllGather, 2, 2, 3));
  expectUnsat(named(dgx1, CollectiveKind::AllGather, 2, 2, 2));
  expectUnsat(named(dgx1, CollectiveKind::AllGather, 3, 2, 4));
}

TEST_P(EncodingTest, Dgx1Broadcast) {
  expectSat(named(dgx1, CollectiveKind::Broadcast, 6, 3, 3));
  expectUnsat(named(dgx1, CollectiveKind::Broadcast, 7, 3, 3));
}

TEST_P(EncodingTest, Dgx1GatherAndScatter) {
  expectSat(named(dgx1, CollectiveKind::Gather, 2, 2, 3));
  expectUnsat(named(dgx1, CollectiveKind::Gather, 3, 2, 4));
  // C of a scatter is the root's whole buffer: 2 chunks per destination.
  expectSat(named(dgx1, CollectiveKind::Scatter, 16, 2, 3));
  expectUnsat(named(dgx1, CollectiveKind::Scatter, 24, 2, 4));
}

TEST_P(EncodingTest, AmdAllGather) {
  expectSat(named(amd, CollectiveKind::AllGather, 1, 4, 4));
  expectSat(named(amd, CollectiveKind::AllGather, 2, 4, 7));
  expectUnsat(named(amd, CollectiveKind::AllGather, 2, 4, 6));
}

// 4 ranks behind a switch take 2 chunks per round each: 3 chunks need 2 rounds,
// 6 need 3.
TEST_P(EncodingTest, SharedBandwidth) {
  expectSat(named("switch:4,2", CollectiveKind::AllGather, 1, 1, 2));
  expectUnsat(named("switch:4,2", CollectiveKind::AllGather, 1, 1, 1));
  expectSat(named("switch:4,2", CollectiveKind::AllGather, 2, 1, 3));
  expectUnsat(named("switch:4,2", CollectiveKind::AllGather, 2, 1, 2));
}

// More rounds than any step can use must still add up to R.
TEST_P(EncodingTest, SpareRounds) {
  expectSat(named("ring:4", CollectiveKind::AllGather, 1, 3, 50));
}

// So many rounds that capacities are not split into cases.
TEST_P(EncodingTest, ManyRoundsInOneStep) {
  Topology pair("pair", 2);
  ASSERT_TRUE(pair.addLink(0, 1, 1));
  auto collective = Collective::make(CollectiveKind::Broadcast, 2, 750);
  ASSERT_TRUE(collective);
  expectSat(instanceOf(pair, *collective, 1, 750));
  expectUnsat(instanceOf(pair, *collective, 1, 749));
}

/// The line 0 - 1 - ... - 4, both directions.
Topology lineOf5() {
  Topology line("line", 5);
  for (unsigned rank = 0; rank + 1 < 5; ++rank) {
    EXPECT_TRUE(line.addLink(rank, rank + 1, 1));
    EXPECT_TRUE(line.addLink(rank + 1, rank, 1));
  }
  return line;
}

// One chunk at both ends of a line reaches the middle from either, in 2 steps
// where one source needs 4.
TEST_P(EncodingTest, TwoSourcesOfOneChunk) {
  RankChunkSet pre(5, 1), post(5, 1);
  pre.insert(0, 0);
  pre.insert(4, 0);
  for (unsigned rank = 0; rank < 5; ++rank)
    post.insert(rank, 0);
  auto collective = Collective::makeCustom("two_sources", 1, false, pre, post);
  ASSERT_TRUE(collective);
  Instance instance = instanceOf(lineOf5(), *collective, 2, 2);
  SynthesisResult result = solve(instance);
  expectSchedule(instance, result);
  EXPECT_EQ(std::get<Satisfied>(result.outcome).schedule.numSends(), 3u);
}

// A chunk with no destination must neither hinder nor travel.
TEST_P(EncodingTest, ChunkNobodyWants) {
  RankChunkSet pre(5, 2), post(5, 2);
  pre.insert(0, 0);
  pre.insert(0, 1);
  post.insert(2, 1);
  auto collective = Collective::makeCustom("one_of_two", 1, false, pre, post);
  ASSERT_TRUE(collective);
  Instance instance = instanceOf(lineOf5(), *collective, 3, 3);
  SynthesisResult result = solve(instance);
  expectSchedule(instance, result);
  EXPECT_EQ(std::get<Satisfied>(result.outcome).schedule.numSends(), 2u);
}

// Whichever send is left out, the schedule no longer works.
TEST_P(EncodingTest, NoUselessSends) {
  Instance instance = named(dgx1, CollectiveKind::Gather, 2, 2, 3);
  SynthesisResult result = solve(instance);
  expectSchedule(instance, result);
  Schedule schedule = std::get<Satisfied>(result.outcome).schedule;
  for (Step &step : schedule.steps)
    for (size_t i = 0; i < step.sends.size(); ++i) {
      Send removed = step.sends[i];
      step.sends.erase(step.sends.begin() + i);
      EXPECT_TRUE(
          checkSchedule(instance.topology, instance.collective, schedule))
          << "chunk " << removed.chunk << " over " << removed.src << " -> "
          << removed.dst;
      step.sends.insert(step.sends.begin() + i, removed);
    }
}

TEST_P(EncodingTest, SameSeedSameSchedule) {
  Instance instance = named(dgx1, CollectiveKind::AllGather, 2, 2, 3);
  SolverOptions options;
  options.encoding = GetParam();
  options.seed = 7;
  SynthesisResult first = synthesize(instance, options, "z3");
  SynthesisResult second = synthesize(instance, options, "z3");
  expectSchedule(instance, first);
  expectSchedule(instance, second);
  EXPECT_EQ(std::get<Satisfied>(first.outcome).schedule,
            std::get<Satisfied>(second.outcome).schedule);
}

/// An instance that is too much for the paper's encoding below, or too slow.
struct DirectRow {
  std::string_view topology;
  CollectiveKind kind;
  unsigned chunks, steps, rounds;
};

TEST_F(Z3Test, RowsOfThePaperDirect) {
  for (const DirectRow &row : {
           DirectRow{dgx1, CollectiveKind::AllGather, 6, 3, 7},
           DirectRow{dgx1, CollectiveKind::AllGather, 6, 7, 7},
           DirectRow{dgx1, CollectiveKind::Broadcast, 18, 5, 5},
           DirectRow{dgx1, CollectiveKind::Gather, 6, 3, 7},
           DirectRow{dgx1, CollectiveKind::Scatter, 48, 3, 7},
           DirectRow{dgx1, CollectiveKind::AllToAll, 8, 2, 3},
           DirectRow{dgx1, CollectiveKind::AllToAll, 24, 2, 8},
           DirectRow{amd, CollectiveKind::AllToAll, 8, 4, 8},
       }) {
    SCOPED_TRACE(std::string(row.topology) + " " +
                 std::string(collectiveName(row.kind)) + " " +
                 std::to_string(row.chunks));
    Instance instance =
        named(row.topology, row.kind, row.chunks, row.steps, row.rounds);
    SolverOptions options;
    options.timeoutSeconds = 30;
    expectSchedule(instance, synthesize(instance, options, "z3"));
  }
}

//===----------------------------------------------------------------------===//
// The encodings against each other
//===----------------------------------------------------------------------===//

/// A strongly connected topology of 4 ranks: a ring, some other links, some
/// without a limit of their own, and a limit on several of them.
Topology randomTopology(std::mt19937 &random) {
  Topology topology("random", 4);
  for (unsigned src = 0; src < 4; ++src)
    for (unsigned dst = 0; dst < 4; ++dst) {
      if (src == dst || (dst != (src + 1) % 4 && random() % 2))
        continue;
      if (random() % 8 == 0)
        EXPECT_TRUE(topology.addLink(src, dst));
      else
        EXPECT_TRUE(topology.addLink(src, dst, 1 + random() % 2));
    }
  std::vector<unsigned> shared;
  for (unsigned link = 0; link < topology.links().size(); ++link)
    if (random() % 2)
      shared.push_back(link);
  if (!shared.empty()) {
    EXPECT_TRUE(topology.addLimit(shared, 1 + random() % 3));
  }
  return topology;
}

/// 4 ranks, some chunks at one or two ranks each.
Collective randomCollective(std::mt19937 &random) {
  unsigned numChunks = 3 + random() % 6;
  RankChunkSet pre(4, numChunks), post(4, numChunks);
  for (unsigned chunk = 0; chunk < numChunks; ++chunk) {
    pre.insert(random() % 4, chunk);
    if (random() % 3 == 0)
      pre.insert(random() % 4, chunk);
    for (unsigned rank = 0; rank < 4; ++rank)
      if (random() % 2)
        post.insert(rank, chunk);
  }
  auto collective = Collective::makeCustom("random", 1, false, pre, post);
  EXPECT_TRUE(collective) << collective.error();
  return *collective;
}

TEST_F(Z3Test, EncodingsAgree) {
  std::mt19937 random(20210227);
  unsigned satisfiable = 0, refuted = 0;
  for (unsigned trial = 0; trial < 120; ++trial) {
    SCOPED_TRACE(trial);
    Topology topology = randomTopology(random);
    unsigned steps = 2 + random() % 2;
    Instance instance = instanceOf(topology, randomCollective(random), steps,
                                   steps + random() % 3);
    SolverOptions direct, paper;
    paper.encoding = Encoding::Paper;
    SynthesisResult ours = synthesize(instance, direct, "z3");
    SynthesisResult theirs = synthesize(instance, paper, "z3");
    EXPECT_EQ(statusName(ours.outcome), statusName(theirs.outcome));
    satisfiable += statusName(ours.outcome) == "satisfiable";
    refuted += ours.engine == "z3/direct" &&
               statusName(ours.outcome) == "unsatisfiable";
  }
  // Otherwise the comparison would say little.
  EXPECT_GE(satisfiable, 20u);
  EXPECT_GE(refuted, 20u);
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// Far out of reach of the paper's encoding, for minutes.
Instance hopeless() { return named(dgx1, CollectiveKind::AllToAll, 24, 8, 8); }

SolverOptions paperOptions() {
  SolverOptions options;
  options.encoding = Encoding::Paper;
  return options;
}

// A limit that a busy machine keeps and a search that does not stop exceeds, in
// s.
constexpr double kBusyMachine = 30;

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

TEST_F(Z3Test, Timeout) {
  SolverOptions options = paperOptions();
  options.timeoutSeconds = 1;
  auto start = std::chrono::steady_clock::now();
  SynthesisResult result = synthesize(hopeless(), options, "z3");
  EXPECT_EQ(statusName(result.outcome), "unknown");
  EXPECT_EQ(reasonOf(result.outcome), "timeout after 1 s");
  EXPECT_GE(result.seconds, 1);
  EXPECT_LT(secondsSince(start), kBusyMachine);
}

// Ends while the formula is being built.
TEST_F(Z3Test, TimeoutWhileEncoding) {
  Instance instance = named("torus:8x8", CollectiveKind::AllToAll, 64, 8, 64);
  SolverOptions options;
  options.timeoutSeconds = 0.2;
  auto start = std::chrono::steady_clock::now();
  SynthesisResult result = synthesize(instance, options, "z3");
  EXPECT_EQ(reasonOf(result.outcome), "timeout after 0.2 s");
  EXPECT_LT(secondsSince(start), kBusyMachine);
}

TEST_F(Z3Test, InterruptSetBefore) {
  std::atomic<bool> flag = true;
  SolverOptions options = paperOptions();
  options.interrupt = &flag;
  SynthesisResult result = synthesize(hopeless(), options, "z3");
  EXPECT_EQ(statusName(result.outcome), "unknown");
  EXPECT_EQ(reasonOf(result.outcome), "interrupted");
}

std::atomic<bool> signalled = false;
void onSignal(int) { signalled = true; }

// z3 must leave the caller's handler in place while it searches.
TEST_F(Z3Test, InterruptFromSignalHandler) {
  auto previous = std::signal(SIGINT, onSignal);
  SolverOptions options = paperOptions();
  options.interrupt = &signalled;
  auto start = std::chrono::steady_clock::now();
  std::thread user([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    std::raise(SIGINT);
  });
  SynthesisResult result = synthesize(hopeless(), options, "z3");
  user.join();
  std::signal(SIGINT, previous);
  EXPECT_EQ(statusName(result.outcome), "unknown");
  EXPECT_EQ(reasonOf(result.outcome), "interrupted");
  EXPECT_LT(secondsSince(start), kBusyMachine);
}

TEST_F(Z3Test, MemoryLimit) {
  for (Encoding encoding : {Encoding::Direct, Encoding::Paper}) {
    SolverOptions options;
    options.encoding = encoding;
    options.memoryMiB = 20;
    SynthesisResult result = synthesize(hopeless(), options, "z3");
    EXPECT_EQ(statusName(result.outcome), "unknown");
    EXPECT_EQ(reasonOf(result.outcome), "out of memory (limit 20 MiB)");
  }
  // The limit must not outlive the synthesis, nor its failure.
  Instance instance = named(dgx1, CollectiveKind::AllGather, 6, 7, 7);
  expectSchedule(instance, synthesize(instance, {}, "z3"));
}

TEST_F(Z3Test, TooLarge) {
  // 65536 chunks; counting stops early in the direct encoding.
  Instance instance =
      named("hypercube:8", CollectiveKind::AllToAll, 256, 12, 300);
  for (Encoding encoding : {Encoding::Direct, Encoding::Paper}) {
    SolverOptions options;
    options.encoding = encoding;
    SynthesisResult result = synthesize(instance, options, "z3");
    EXPECT_EQ(statusName(result.outcome), "unknown");
    EXPECT_EQ(reasonOf(result.outcome).rfind("instance too large for z3: ", 0),
              0u)
        << reasonOf(result.outcome);
  }
}

TEST_F(Z3Test, SeveralAtOnce) {
  Instance instance = named(dgx1, CollectiveKind::AllGather, 2, 2, 3);
  std::vector<SynthesisResult> results(3);
  std::vector<std::thread> threads;
  for (SynthesisResult &result : results)
    threads.emplace_back([&] {
      SolverOptions options;
      options.timeoutSeconds = 60;
      result = synthesize(instance, options, "z3");
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const SynthesisResult &result : results)
    expectSchedule(instance, result);
}

} // namespace
