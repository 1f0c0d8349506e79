//===- PartialSumsTest.cpp - Several partial sums on a rank ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules in which a rank holds several partial sums of a chunk at once,
// where none with one running sum exists; and refutations that hold for both.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"
#include "ExhaustiveSums.h"

#include "Optimize/Sat.h"
#include "Solver/Sat/PartialSumEncoding.h"
#include "sccl/Model/GatheredSums.h"

#include <random>

using namespace sccl;
using namespace sccl::test;

static Instance allReduce(std::string_view spec, unsigned chunks,
                          unsigned steps, unsigned rounds) {
  return instanceOn(builtin(spec), CollectiveKind::AllReduce, chunks, steps,
                    rounds);
}

/// Whether a schedule with one running sum for each rank and chunk exists.
static SatSolver::Answer askRunningSums(const Instance &instance) {
  Deadline deadline{SearchLimits()};
  SatSolver solver(deadline, /*seed=*/0);
  Permutation identity(instance.topology.numRanks());
  for (unsigned rank = 0; rank < identity.size(); ++rank)
    identity[rank] = rank;
  ContributionEncoding encoding(instance, {identity}, solver);
  encoding.encode([] { return false; });
  return solver.search(10'000'000);
}

namespace {
class PartialSums : public EngineTest {
protected:
  PartialSums() : EngineTest("direct") {}
  void expectFound(const Instance &instance) {
    Outcome outcome = solve(instance);
    auto *satisfied = std::get_if<Satisfied>(&outcome);
    ASSERT_TRUE(satisfied) << describe(outcome);
    EXPECT_EQ(satisfied->schedule.rounds(), instance.rounds);
    auto violation = checkSchedule(instance.topology, instance.collective,
                                   satisfied->schedule);
    EXPECT_FALSE(violation) << violation->message;
  }
  /// Only with several partial sums.
  void expectGain(const Instance &instance) {
    EXPECT_EQ(askRunningSums(instance), SatSolver::Answer::Unsatisfiable);
    expectFound(instance);
  }
};
} // namespace

TEST_F(PartialSums, OddCycles) {
  expectGain(allReduce("ring:5", 1, 2, 2));
  expectGain(allReduce("ring:7", 1, 3, 3));
}

TEST_F(PartialSums, RefutedWithThemToo) {
  // Two chunks of 8 sends each would fit into the links.
  expectRefuted(allReduce("ring:5", 2, 2, 2));
  expectRefuted(allReduce("ring:4", 3, 2, 3));
  expectRefuted(allReduce("dgx1", 3, 2, 2));
}

/// A group whose only way leads over one link, which carries the sum.
TEST_F(PartialSums, TwoRanksMayBeatTheirAllGather) {
  Topology topology("bridge", 4);
  for (auto [src, dst] :
       {Link{0, 2}, Link{1, 2}, Link{2, 3}, Link{3, 0}, Link{3, 1}})
    ASSERT_TRUE(topology.addLink(src, dst, 1));
  auto inGroup = [&](CollectiveKind kind) {
    return *Instance::make(
        topology, *Collective::makeGrouped(kind, 4, {{0, 1}}, 1), 3, 3);
  };
  expectFound(inGroup(CollectiveKind::AllReduce));
  SynthesisResult gather = synthesize(inGroup(CollectiveKind::AllGather));
  EXPECT_EQ(statusName(gather.outcome), "unsatisfiable");
}

/// A relay that two inputs of a chunk pass adds up neither.
TEST_F(PartialSums, RelaysPassOnBoth) {
  Topology topology("line", 3);
  for (auto [src, dst] : {Link{0, 1}, Link{1, 0}, Link{1, 2}, Link{2, 1}})
    ASSERT_TRUE(topology.addLink(src, dst, 1));
  Collective sum =
      *Collective::makeGrouped(CollectiveKind::AllReduce, 3, {{0, 2}}, 1);
  expectFound(*Instance::make(topology, sum, 2, 2));
}

TEST_F(PartialSums, MatterOnlyForSeveralDestinations) {
  auto matter = [](CollectiveKind kind, std::string_view spec, unsigned steps) {
    Topology topology = builtin(spec);
    return PartialSumEncoding::mayMatter(
        instanceOn(topology, kind, topology.numRanks(), steps, steps));
  };
  EXPECT_TRUE(matter(CollectiveKind::AllReduce, "ring:3", 2));
  EXPECT_FALSE(matter(CollectiveKind::AllReduce, "ring:3", 1));
  EXPECT_FALSE(matter(CollectiveKind::AllReduce, "mesh:2", 2));
  EXPECT_FALSE(matter(CollectiveKind::ReduceScatter, "ring:3", 2));
  EXPECT_FALSE(matter(CollectiveKind::Reduce, "ring:3", 2));
}

/// The answer of the whole engine is that for all schedules.
TEST_F(PartialSums, AgreeWithAllSchedulesThereAre) {
  std::mt19937 random(5);
  unsigned numSatisfied = 0, numRefuted = 0;
  for (unsigned round = 0; round < 200; ++round) {
    // More takes too long to enumerate.
    unsigned numRanks = 3 + random() % 2, spare = 2;
    Topology topology("small", numRanks);
    for (unsigned src = 0; src < numRanks; ++src)
      for (unsigned dst = 0; dst < numRanks; ++dst) {
        bool isRing = dst == (src + 1) % numRanks;
        bool isMore = src != dst && !isRing && spare > 0 && random() % 3 == 0;
        spare -= isMore;
        if (isRing || isMore) {
          ASSERT_TRUE(topology.addLink(src, dst, 1));
        }
      }
    unsigned steps = 2 + random() % 2;
    Instance instance = *Instance::make(
        topology, *Collective::make(CollectiveKind::AllReduce, numRanks, 1),
        steps, numRanks == 3 ? 3 : steps);
    bool exists = existsWithSums(instance);
    Outcome outcome = solve(instance);
    EXPECT_EQ(statusName(outcome), exists ? "satisfiable" : "unsatisfiable")
        << describe(outcome);
    ++(exists ? numSatisfied : numRefuted);
  }
  EXPECT_GT(numSatisfied, 20u);
  EXPECT_GT(numRefuted, 20u);
}

//===----------------------------------------------------------------------===//
// All_gathers that add on arrival
//===----------------------------------------------------------------------===//

static void expectSumOf(const Instance &gather) {
  SynthesisResult found = synthesize(gather);
  auto *satisfied = std::get_if<Satisfied>(&found.outcome);
  ASSERT_TRUE(satisfied) << describe(found.outcome);
  Result<Implementation> sum =
      sumOnArrival({gather.collective, satisfied->schedule});
  ASSERT_TRUE(sum) << sum.error();
  EXPECT_EQ(sum->collective.groupKind(), CollectiveKind::AllReduce);
  EXPECT_EQ(sum->collective.chunks(), gather.collective.chunks());
  EXPECT_EQ(sum->schedule.rounds(), gather.rounds);
  auto violation =
      checkSchedule(gather.topology, sum->collective, sum->schedule);
  EXPECT_FALSE(violation) << violation->message;
}

TEST(GatheredSums, AddOnArrival) {
  auto gather = [](std::string_view spec, unsigned chunks, unsigned steps,
                   unsigned rounds) {
    return instanceOn(builtin(spec), CollectiveKind::AllGather, chunks, steps,
                      rounds);
  };
  expectSumOf(gather("ring:5", 1, 2, 2));
  expectSumOf(gather("dgx1", 6, 3, 7));
}

TEST(GatheredSums, InGroups) {
  Topology topology = builtin("dgx1");
  Collective pair = *Collective::makeGrouped(CollectiveKind::AllGather, 8,
                                             {{0, 7}, {1, 2, 3}}, 2);
  expectSumOf(*Instance::make(topology, pair, 4, 6));
}
