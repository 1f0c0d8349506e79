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
  /// Only with several partial sums: no proof that there is no schedule.
  void expectGain(const Instance &instance) {
    EXPECT_EQ(askRunningSums(instance), SatSolver::Answer::Unsatisfiable);
    EXPECT_EQ(describe(solve(instance)), onlyWithSums);
  }
  static constexpr const char *onlyWithSums =
      "unknown: there is no schedule with one running sum for each rank and "
      "chunk; with several partial sums: there is one, but a schedule cannot "
      "name them";
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
    bool isFound = statusName(outcome) == "satisfiable" ||
                   describe(outcome) == onlyWithSums;
    EXPECT_EQ(isFound, exists) << describe(outcome);
    if (!exists) {
      EXPECT_EQ(statusName(outcome), "unsatisfiable") << describe(outcome);
    }
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

TEST(GatheredSums, OfPairs) {
  Topology topology = builtin("dgx1");
  for (RankGroups groups : {RankGroups{{0, 7}}, RankGroups{{0, 7}, {1, 2}}})
    expectSumOf(*Instance::make(
        topology,
        *Collective::makeGrouped(CollectiveKind::AllGather, 8, groups, 2), 4,
        4));
}

TEST(GatheredSums, PairsWaysWithoutCommonRelays) {
  // Two relays; both inputs of either number would take the same one.
  Topology topology("square", 4);
  for (auto [a, b] : {Link{0, 1}, Link{1, 3}, Link{0, 2}, Link{2, 3}}) {
    ASSERT_TRUE(topology.addLink(a, b, 1));
    ASSERT_TRUE(topology.addLink(b, a, 1));
  }
  Collective gather =
      *Collective::makeGrouped(CollectiveKind::AllGather, 4, {{0, 3}}, 2);
  Schedule schedule{{{1, {{0, 0, 1}, {1, 0, 2}, {2, 3, 1}, {3, 3, 2}}},
                     {1, {{0, 1, 3}, {1, 2, 3}, {2, 1, 0}, {3, 2, 0}}}}};
  ASSERT_FALSE(checkSchedule(topology, gather, schedule));
  Result<Implementation> sum = sumOnArrival({gather, schedule});
  ASSERT_TRUE(sum) << sum.error();
  EXPECT_FALSE(checkSchedule(topology, sum->collective, sum->schedule));

  // With a single one, no pair is left.
  for (Step &step : schedule.steps) {
    step.rounds = 2;
    for (Send &send : step.sends) {
      send.src = send.src == 2 ? 1 : send.src;
      send.dst = send.dst == 2 ? 1 : send.dst;
    }
  }
  ASSERT_FALSE(checkSchedule(topology, gather, schedule));
  EXPECT_EQ(sumOnArrival({gather, schedule}).error(),
            "too many of the ways between ranks 0 and 3 share relays");
}

TEST(GatheredSums, TakePairsThatGetThere) {
  Collective broadcast = *Collective::make(CollectiveKind::Broadcast, 3, 1);
  EXPECT_EQ(sumOnArrival({broadcast, {}}).error(),
            "only an all_gather brings all inputs, got 'broadcast'");
  Collective three = *Collective::make(CollectiveKind::AllGather, 3, 1);
  EXPECT_EQ(sumOnArrival({three, {}}).error(),
            "arrivals are added up in pairs of ranks only, a group has 3");
  Collective two = *Collective::make(CollectiveKind::AllGather, 2, 1);
  EXPECT_EQ(sumOnArrival({two, {}}).error(), "chunk 0 does not get to rank 1");
}
