//===- TreesTest.cpp - Tests of packing trees -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is packed passes the checkers; where it is said to be optimal, a
// certificate that another checker accepts says the same number.
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "EngineTesting.h"

#include "Optimize/ExactVertex.h"
#include "Solver/Trees/TreePacking.h"
#include "sccl/Bounds/LowerBound.h"
#include "sccl/Check/TreeChecker.h"
#include "sccl/Solver/Trees.h"

using namespace sccl;
using namespace sccl::test;

using Kind = CollectiveKind;

namespace {
/// Boxes of ranks behind switches, on rails. The links of `withoutRail` are
/// missing, as if its network card had failed.
struct Boxes {
  unsigned boxes, gpus, inBox;
  std::optional<unsigned> withoutRail = std::nullopt;

  Topology build() const {
    return test::boxesOnRails(boxes, gpus, inBox, 1, withoutRail);
  }
};
} // namespace

/// The certified bound.
static std::optional<Rational>
boundOf(const Topology &topology, Kind kind, unsigned steps,
        std::optional<Rational> known = std::nullopt) {
  unsigned chunks = sendsOneSegmentPerRank(kind) ? topology.numRanks() : 1;
  Collective collective = *Collective::make(kind, topology.numRanks(), chunks);
  LowerBoundOptions options;
  options.target = known;
  Result<LowerBound> bound = lowerBound(topology, collective, steps, options);
  EXPECT_TRUE(bound) << bound.error();
  auto failure = checkCertificate(bound->certificate, topology, collective);
  EXPECT_FALSE(failure) << *failure;
  return bound->value;
}

TEST(Trees, MeetTheBoundOfBoxesOnRails) {
  for (const Boxes &boxes : {Boxes{2, 8, 9}, Boxes{4, 8, 9}, Boxes{3, 4, 2},
                             Boxes{5, 3, 4}, Boxes{8, 2, 1}}) {
    Topology topology = boxes.build();
    TreeSynthesis trees(topology, Kind::AllGather);
    for (unsigned steps = 2; steps <= 5; ++steps) {
      std::optional<TreeSchedule> schedule = trees.exact(steps, {});
      ASSERT_TRUE(schedule);
      auto failure = checkTreeSchedule(topology, *schedule);
      EXPECT_FALSE(failure) << *failure;
      EXPECT_LE(schedule->rounds.size(), steps);
      EXPECT_EQ(schedule->bandwidth(), boundOf(topology, Kind::AllGather, steps,
                                               schedule->bandwidth()))
          << boxes.boxes << " x " << boxes.gpus << ", S = " << steps;
    }
  }
}

TEST(Trees, MeetTheBoundOfBoxesOnACore) {
  // All ranks of the other boxes look alike; still, one of each is the first to
  // get a chunk, and passes it on.
  for (auto [boxes, perCard, most] :
       std::initializer_list<std::array<unsigned, 3>>{
           {5, 1, 4}, {12, 1, 3}, {4, 2, 2}, {10, 4, 2}}) {
    Topology topology = test::boxesOnCore(boxes, 8, 12, perCard);
    TreeSynthesis trees(topology, Kind::AllGather);
    for (unsigned steps = 2; steps <= most; ++steps) {
      std::optional<TreeSchedule> schedule = trees.exact(steps, {});
      ASSERT_TRUE(schedule);
      auto failure = checkTreeSchedule(topology, *schedule);
      EXPECT_FALSE(failure) << *failure;
      EXPECT_EQ(schedule->bandwidth(), boundOf(topology, Kind::AllGather, steps,
                                               schedule->bandwidth()))
          << boxes << " boxes, " << perCard << " ranks a card, S = " << steps;
    }
  }
}

TEST(Trees, BoundsOfReduceScatterAreThoseOfItsInverse) {
  Topology topology = Boxes{4, 8, 9}.build();
  for (unsigned steps : {2u, 3u, 4u}) {
    constexpr int64_t unreachable = 1000;
    std::optional<Rational> gather =
        boundOf(topology, Kind::AllGather, steps, unreachable);
    ASSERT_TRUE(gather);
    EXPECT_EQ(boundOf(topology, Kind::ReduceScatter, steps, unreachable),
              Rational(gather->numerator(), gather->denominator() * 32));
  }
}

TEST(Trees, AllReduceTurnsRoundAtEachStep) {
  Topology topology = Boxes{2, 8, 9}.build();
  TreeSynthesis trees(topology, Kind::AllReduce);
  EXPECT_FALSE(trees.exact(2, {}));
  for (auto [steps, cost] :
       {std::pair(3u, Rational(23, 86)), std::pair(4u, Rational(16, 79)),
        std::pair(5u, Rational(3, 16))}) {
    std::optional<TreeSchedule> schedule = trees.exact(steps, {});
    ASSERT_TRUE(schedule);
    auto failure = checkTreeSchedule(topology, *schedule);
    EXPECT_FALSE(failure) << *failure;
    EXPECT_EQ(schedule->bandwidth(), cost);
  }
}

TEST(Trees, PartsOfASumMeetOnSeveralRanks) {
  // There are none in three steps with a single root.
  for (const Boxes &boxes : {Boxes{2, 6, 7}, Boxes{3, 8, 9}, Boxes{4, 8, 9}}) {
    Topology topology = boxes.build();
    TreeSynthesis trees(topology, Kind::AllReduce);
    std::optional<TreeSchedule> schedule = trees.exact(3, {});
    ASSERT_TRUE(schedule);
    auto failure = checkTreeSchedule(topology, *schedule);
    EXPECT_FALSE(failure) << *failure;
    std::optional<Rational> bound = boundOf(topology, Kind::AllReduce, 3);
    ASSERT_TRUE(bound);
    EXPECT_EQ(schedule->bandwidth(), *bound);
  }
}

TEST(Trees, RoundsWhatHasTooManyChunks) {
  Topology topology = Boxes{4, 8, 9}.build();
  TreeSynthesis trees(topology, Kind::AllReduce);
  TreeSynthesis::Wanted wanted{7, 96, 4096, uint64_t(1) << 22};
  TreeSynthesis::Packed packed = trees.pack(wanted, {.maxWork = 5'000'000});
  ASSERT_TRUE(packed.whole && packed.exact && packed.ofMany);
  constexpr uint64_t sendsOfChunk = 62;
  EXPECT_GT(packed.exact->chunks, Schedule::maxSends / sendsOfChunk);
  EXPECT_LE(packed.ofMany->chunks, Schedule::maxSends / sendsOfChunk);
  auto failure = checkTreeSchedule(topology, *packed.ofMany);
  EXPECT_FALSE(failure) << *failure;
  double exact = packed.exact->bandwidth().toDouble();
  EXPECT_LT(packed.ofMany->bandwidth().toDouble(), exact * 1.0001);
  EXPECT_GT(packed.whole->bandwidth().toDouble(), exact * 1.001);
}

TEST(Trees, WholeChunks) {
  Topology topology = Boxes{2, 4, 3}.build();
  for (Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce,
                    Kind::Broadcast, Kind::Reduce}) {
    TreeSynthesis trees(topology, kind);
    unsigned steps = kind == Kind::AllReduce ? 5 : 3;
    std::optional<Implementation> found =
        trees.best({steps, 16, 16, 1u << 20, std::nullopt}, {});
    ASSERT_TRUE(found) << collectiveName(kind);
    EXPECT_EQ(found->collective.kind(), kind);
    auto violation =
        checkSchedule(topology, found->collective, found->schedule);
    EXPECT_FALSE(violation) << violation->message;
    Rational cost = costOf(found->schedule, found->collective).bandwidth;
    std::optional<Rational> bound = boundOf(topology, kind, steps);
    ASSERT_TRUE(bound);
    EXPECT_GE(cost, *bound);
    EXPECT_LE(cost.toDouble(), bound->toDouble() * 1.35)
        << collectiveName(kind);
    // Asked for something cheaper than the best, it finds nothing.
    EXPECT_FALSE(trees.best({steps, 16, 4096, 1u << 20, *bound}, {}));
  }
}

TEST(Trees, BroadcastsToMoreRanksThanAreLookedAtOneByOne) {
  Topology topology = Boxes{24, 8, 9}.build();
  TreeSynthesis trees(topology, Kind::Broadcast);
  SearchLimits limits;
  limits.maxWork = 1'000'000;
  std::optional<Implementation> found =
      trees.best({4, 96, 4096, 1u << 22, std::nullopt}, limits);
  ASSERT_TRUE(found);
  auto violation = checkSchedule(topology, found->collective, found->schedule);
  EXPECT_FALSE(violation) << violation->message;
  std::optional<Rational> bound = boundOf(topology, Kind::Broadcast, 4);
  ASSERT_TRUE(bound);
  // Told apart one by one, they come to 1.70 times the bound.
  EXPECT_LE(costOf(found->schedule, found->collective).bandwidth.toDouble(),
            bound->toDouble() * 1.55);
}

TEST(Trees, BeginWithThoseOfFewerSteps) {
  Topology topology = Boxes{17, 8, 9}.build();
  SearchLimits limits;
  limits.maxWork = 100'000;
  TreeSynthesis trees(topology, Kind::Broadcast),
      inOrder(topology, Kind::Broadcast);
  TreeSynthesis::Packed packed = trees.pack({7, 96, 4096, 1u << 22}, limits);
  // Many chunks say what hundreds of trees come to.
  ASSERT_TRUE(packed.whole && packed.ofMany);
  auto cost = [](const TreeSchedule &found) {
    return double(found.totalRounds()) / double(found.chunks);
  };
  EXPECT_LT(cost(*packed.ofMany), cost(*packed.whole));
  EXPECT_FALSE(checkTreeSchedule(topology, *packed.ofMany, /*root=*/0));
  std::optional<Rational> bound = boundOf(topology, Kind::Broadcast, 7);
  ASSERT_TRUE(bound);
  // In so little work, from nothing they come to 1.54 times the bound.
  EXPECT_LE(cost(*packed.ofMany), bound->toDouble() * 1.02);
  // Whatever was asked before.
  (void)inOrder.pack({3, 96, 4096, 1u << 22}, limits);
  packed.whole = inOrder.pack({7, 96, 4096, 1u << 22}, limits).ofMany;
  ASSERT_TRUE(packed.whole);
  EXPECT_EQ(cost(*packed.whole), cost(*packed.ofMany));
}

TEST(Trees, FewWholeChunksComeClose) {
  // A chunk that treats all other boxes alike loads cables by twos, threes or
  // sevens at once.
  for (const Boxes &boxes : {Boxes{3, 4, 5}, Boxes{4, 8, 9}, Boxes{8, 8, 9}}) {
    Topology topology = boxes.build();
    TreeSynthesis trees(topology, Kind::AllGather);
    for (unsigned steps = 2; steps <= 6; ++steps) {
      std::optional<Implementation> found =
          trees.best({steps, 16, 16, 1u << 22, std::nullopt}, {});
      ASSERT_TRUE(found);
      auto violation =
          checkSchedule(topology, found->collective, found->schedule);
      EXPECT_FALSE(violation) << violation->message;
      EXPECT_LE(found->collective.chunks(), 16u);
      Rational cost = costOf(found->schedule, found->collective).bandwidth;
      Rational least = trees.exact(steps, {})->bandwidth();
      EXPECT_LE(cost.toDouble(), least.toDouble() * 1.05)
          << boxes.boxes << " x " << boxes.gpus << ", S = " << steps;
    }
  }
}

TEST(Trees, AnswerInstances) {
  const SolverBackend *engine = findEngine("trees");
  ASSERT_TRUE(engine);
  Topology topology = Boxes{2, 8, 9}.build();
  Instance possible = instanceOn(topology, Kind::AllGather, 79, 2, 128);
  SynthesisResult result = synthesize(possible, {}, "trees");
  EXPECT_TRUE(std::holds_alternative<Satisfied>(result.outcome))
      << describe(result.outcome);
  Instance tooTight = instanceOn(topology, Kind::AllGather, 79, 2, 127);
  EXPECT_TRUE(
      std::holds_alternative<Unknown>(engine->solve(tooTight, {}).outcome));
  SolverOptions little;
  little.maxWork = 1;
  SynthesisResult stopped = engine->solve(possible, little);
  auto *unknown = std::get_if<Unknown>(&stopped.outcome);
  ASSERT_TRUE(unknown) << describe(stopped.outcome);
  EXPECT_TRUE(unknown->needsMoreWork);
  EXPECT_FALSE(
      engine->whyNot(instanceOn(topology, Kind::AllToAll, 16, 2, 90)).empty());
}

TEST(Trees, WithoutSymmetry) {
  // One network card has failed: no renumbering moves its rank.
  Topology topology = Boxes{3, 3, 2, 4}.build();
  TreeSynthesis trees(topology, Kind::AllGather);
  std::optional<Implementation> found =
      trees.best({4, 8, 8, 1u << 20, std::nullopt}, {});
  ASSERT_TRUE(found);
  auto violation = checkSchedule(topology, found->collective, found->schedule);
  EXPECT_FALSE(violation) << violation->message;
  EXPECT_EQ(trees.best({4, 8, 8, 1u << 20, std::nullopt}, {})->schedule,
            found->schedule);
}

/// Three boxes of ranks in rings with chords, all of which have network cards.
static Topology irregularBoxes() {
  constexpr unsigned gpus = 12, ranks = 3 * gpus;
  Topology topology("irregular", ranks);
  std::vector<std::vector<unsigned>> cards(2 * ranks);
  for (unsigned a = 0; a < ranks; ++a)
    for (unsigned b = 0; b < ranks; ++b) {
      unsigned apart = (b + gpus - a % gpus) % gpus;
      if (a / gpus != b / gpus) {
        unsigned link = *topology.addLink(a, b);
        cards[2 * a].push_back(link);
        cards[2 * b + 1].push_back(link);
      } else if (apart == 1 || apart == 5 || apart == gpus - 1) {
        unsigned link = *topology.addLink(a, b);
        EXPECT_TRUE(topology.addLimit({link}, 1 + std::min(a, b) % gpus % 3));
      }
    }
  for (const std::vector<unsigned> &card : cards)
    EXPECT_TRUE(topology.addLimit(card, 3));
  return topology;
}

/// In as much work, programs that begin anew, at prices that swing, come to
/// 359/60.
TEST(Trees, LittleSymmetryInLittleWork) {
  Topology topology = irregularBoxes();
  trees::PackingProblem problem{topology, Kind::AllGather, /*root=*/0, 4};
  trees::chooseGroup(problem);
  Deadline none{SearchLimits()};
  trees::TreePacking packing(problem, none);
  SearchLimits limits;
  limits.maxWork = 300'000;
  ASSERT_TRUE(packing.generate(std::nullopt, Deadline(limits)));
  auto schedule = packing.round(60, none);
  ASSERT_TRUE(schedule);
  auto failure = checkTreeSchedule(topology, *schedule, /*root=*/0);
  EXPECT_FALSE(failure) << *failure;
  EXPECT_LE(schedule->bandwidth().toDouble(), 5.95);
}

TEST(Trees, FewChunksWhereACableIsLost) {
  // The group keeps a rank, so that alike trees for all would take 63 chunks.
  Topology topology = Boxes{4, 8, 9, 10}.build();
  TreeSynthesis trees(topology, Kind::AllGather);
  for (auto [chunks, most] : {std::pair(1u, 5.0), {2u, 4.0}, {4u, 3.75}}) {
    TreeSynthesis::Wanted wanted{4, chunks, chunks, 1u << 20};
    wanted.pipelined = true;
    std::optional<Implementation> found = trees.best(wanted, {});
    ASSERT_TRUE(found);
    auto violation =
        checkSchedule(topology, found->collective, found->schedule);
    EXPECT_FALSE(violation) << violation->message;
    EXPECT_LE(found->collective.chunks(), chunks);
    EXPECT_LE(double(found->schedule.period), most * chunks);
    EXPECT_EQ(trees.best(wanted, {})->schedule, found->schedule);
  }
}

TEST(Routes, AllToAllOfManyRanks) {
  const SolverBackend *engine = findEngine("routes");
  ASSERT_TRUE(engine);
  Topology topology = Boxes{9, 8, 9}.build();
  // What a network card must send to other boxes.
  for (unsigned steps : {2u, 3u}) {
    Instance instance = instanceOn(topology, Kind::AllToAll, 72, steps, 64);
    SynthesisResult result = synthesize(instance, {}, "routes");
    EXPECT_TRUE(std::holds_alternative<Satisfied>(result.outcome))
        << describe(result.outcome);
  }
  Instance twice = instanceOn(topology, Kind::AllToAll, 144, 3, 130);
  EXPECT_TRUE(std::holds_alternative<Satisfied>(
      synthesize(twice, {}, "routes").outcome));
  Instance tooTight = instanceOn(topology, Kind::AllToAll, 72, 3, 63);
  EXPECT_TRUE(
      std::holds_alternative<Unknown>(engine->solve(tooTight, {}).outcome));
  Instance small =
      instanceOn(Boxes{2, 8, 9}.build(), Kind::AllToAll, 16, 3, 16);
  EXPECT_FALSE(engine->whyNot(small).empty());
}

TEST(ExactVertex, ValuesAndMultipliers) {
  LinearProgram program;
  unsigned x = program.addColumn(1), y = program.addColumn(1),
           z = program.addColumn(5);
  program.addRow(LinearProgram::Sense::AtLeast, 1, {{x, 3}, {y, 1}, {z, 1}});
  program.addRow(LinearProgram::Sense::AtLeast, 1, {{x, 1}, {y, 4}});
  program.addRow(LinearProgram::Sense::AtMost, 9, {{x, 1}});
  Deadline deadline{SearchLimits{}};
  LPSolution solution = program.solve(deadline);
  ASSERT_EQ(solution.status, LPStatus::Optimal);
  auto values = exactValues(program, solution, deadline);
  ASSERT_TRUE(values);
  EXPECT_EQ(values->denominator, 11);
  EXPECT_EQ(values->numerators, (std::vector<int64_t>{3, 2, 0}));
  auto multipliers = exactMultipliers(program, solution, deadline);
  ASSERT_TRUE(multipliers);
  EXPECT_EQ(multipliers->denominator, 11);
  EXPECT_EQ(multipliers->numerators, (std::vector<int64_t>{3, 2, 0}));
  // A vertex that is none: y and z in place of x and y.
  solution.isBasicColumn = {false, true, true};
  EXPECT_FALSE(exactMultipliers(program, solution, deadline));
}

TEST(LinearProgram, GoesOnWhereFewerColumnsEnded) {
  // Covers of a cycle by arcs, some of which come later.
  constexpr unsigned rows = 60;
  LinearProgram few, all;
  auto fill = [&](LinearProgram &program, unsigned longest) {
    std::vector<std::vector<LinearProgram::Term>> terms(rows);
    for (unsigned length = 1; length <= longest; ++length)
      for (unsigned first = 0; first < rows; ++first) {
        unsigned column = program.addColumn(1 + 0.1 * (first * length % 7));
        for (unsigned i = 0; i < length; ++i)
          terms[(first + i) % rows].emplace_back(column, 1);
      }
    for (const auto &row : terms)
      program.addRow(LinearProgram::Sense::AtLeast, 1, row);
  };
  fill(few, 6);
  fill(all, 7);
  Deadline first(SearchLimits{}), anew(SearchLimits{}), on(SearchLimits{});
  LPSolution before = few.solve(first);
  ASSERT_EQ(before.status, LPStatus::Optimal);
  LPSolution wanted = all.solve(anew);
  LPSolution found = all.solveFrom(before, on);
  ASSERT_EQ(found.status, LPStatus::Optimal);
  EXPECT_NEAR(found.optimum, wanted.optimum, 1e-9);
  EXPECT_LT(found.optimum, before.optimum - 1e-6);
  // From the optimum on, there is nothing to do.
  Deadline again(SearchLimits{});
  EXPECT_NEAR(all.solveFrom(found, again).optimum, wanted.optimum, 1e-9);
  EXPECT_LT(again.work(), anew.work());
}
