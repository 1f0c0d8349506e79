//===- FrontierTest.cpp - Frontiers, their proofs and their limits --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frontiers are compared with those of the study of both machines, which were
// found by other programs. Whatever is found is checked again here, from the
// printed form where there is one.
//
//===----------------------------------------------------------------------===//

#include "sccl/Search/Frontier.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Symmetry.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

using namespace sccl;

using Kind = CollectiveKind;

namespace {
/// The costs of a frontier: R/C for each S, ascending.
using Costs = std::vector<std::pair<unsigned, Rational>>;

Topology builtin(std::string_view spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(topology) << topology.error();
  return *topology;
}

Frontier search(const Topology &topology, CollectiveFamily family,
                const FrontierOptions &options = {}) {
  Result<Frontier> frontier = searchFrontier(topology, family, options);
  EXPECT_TRUE(frontier) << frontier.error();
  return frontier ? *frontier : Frontier();
}

Costs costsOf(const Frontier &frontier) {
  Costs costs;
  for (const FrontierPoint &point : frontier.points)
    costs.emplace_back(point.steps, point.bandwidth());
  return costs;
}

/// Expects the schedule of `point` to be correct and to cost what it says.
void expectCorrect(const Topology &topology, CollectiveFamily family,
                   const FrontierPoint &point) {
  Result<Collective> collective = Collective::make(
      family.kind, topology.numRanks(), point.chunks, family.root);
  ASSERT_TRUE(collective) << collective.error();
  auto violation = checkSchedule(topology, *collective, point.schedule.get());
  EXPECT_FALSE(violation) << violation->message;
  EXPECT_EQ(costOf(point.schedule.get(), *collective),
            (Cost{point.steps, point.bandwidth()}));
  EXPECT_EQ(point.schedule.get().rounds(), point.rounds);
}

/// Expects the certificate of `point` to prove that it is optimal.
void expectOptimal(const Topology &topology, CollectiveFamily family,
                   const FrontierPoint &point) {
  EXPECT_TRUE(point.optimal);
  ASSERT_TRUE(point.bound);
  Result<Certificate> certificate =
      parseCertificate(printCertificate(point.bound->certificate));
  ASSERT_TRUE(certificate) << certificate.error();
  Result<Collective> collective = Collective::make(
      family.kind, topology.numRanks(), point.chunks, family.root);
  ASSERT_TRUE(collective) << collective.error();
  EXPECT_EQ(checkCertificate(*certificate, topology, *collective),
            std::nullopt);
  EXPECT_EQ(certificate->bound, point.bandwidth());
  EXPECT_TRUE(!certificate->steps || certificate->steps == point.steps);
}

/// Expects the frontier of `family` to be `costs`, all of it proved.
void expectFrontier(const Topology &topology, CollectiveFamily family,
                    const Costs &costs, bool isComplete) {
  SCOPED_TRACE(topology.name() + " " +
               std::string(collectiveName(family.kind)) + " root " +
               std::to_string(family.root));
  Frontier frontier = search(topology, family);
  EXPECT_EQ(costsOf(frontier), costs);
  EXPECT_EQ(frontier.complete, isComplete) << frontier.why;
  for (const FrontierPoint &point : frontier.points) {
    expectCorrect(topology, family, point);
    expectOptimal(topology, family, point);
  }
}

/// The same topology with rank r named permutation[r].
Topology relabelled(const Topology &topology, const Permutation &permutation) {
  Topology result("relabelled", topology.numRanks());
  // In another order too: the last link first.
  for (size_t i = topology.links().size(); i-- > 0;) {
    Link link = topology.links()[i];
    Result<unsigned> added =
        result.addLink(permutation[link.src], permutation[link.dst]);
    EXPECT_TRUE(added) << added.error();
  }
  for (const BandwidthLimit &limit : topology.limits()) {
    std::vector<unsigned> links;
    for (unsigned link : limit.links)
      links.push_back(topology.links().size() - 1 - link);
    EXPECT_TRUE(result.addLimit(std::move(links), limit.bandwidth));
  }
  return result;
}
} // namespace

//===----------------------------------------------------------------------===//
// The frontiers of the study
//===----------------------------------------------------------------------===//

TEST(Frontier, Dgx1WithoutRoot) {
  Topology dgx1 = builtin("dgx1");
  expectFrontier(dgx1, {Kind::AllGather}, {{2, {3, 2}}, {3, {7, 6}}}, true);
  expectFrontier(dgx1, {Kind::AllToAll}, {{2, {1, 3}}}, true);
}

TEST(Frontier, AllReduceOfBothMachines) {
  expectFrontier(builtin("dgx1"), {Kind::AllReduce},
                 {{2, 1}, {3, {1, 2}}, {4, {1, 3}}, {5, {7, 24}}}, true);
  // That S = 6 is no better than S = 5, only a search shows, and S = 3 here.
  expectFrontier(builtin("hypercube:3"), {Kind::AllReduce},
                 {{3, 1}, {4, {2, 3}}, {5, {7, 12}}}, true);
  expectFrontier(builtin("amd_z52"), {Kind::AllReduce},
                 {{4, 2}, {5, {5, 4}}, {7, {7, 8}}}, true);
}

TEST(Frontier, ThoroughSearchOfTheOpenStep) {
  FrontierOptions options;
  options.thorough = true;
  options.probeWork = 200'000;
  options.stepWork = 200'000;
  Frontier frontier = search(builtin("ring:7"), {Kind::AllReduce}, options);
  EXPECT_EQ(costsOf(frontier),
            (Costs{{3, 3}, {4, {11, 7}}, {5, {5, 4}}, {6, {6, 7}}}));
  EXPECT_FALSE(frontier.complete);
  EXPECT_NE(frontier.why.find("at S = 5 there may be"), std::string::npos)
      << frontier.why;
}

TEST(Frontier, PointsThatAreEasyButNotProvedOptimal) {
  struct Case {
    const char *topology;
    Costs costs;
    bool isComplete;
  };
  // What searches have shown of S = 3, and of S = 4, is asked for at last.
  Costs ofSeven = {{3, 3}, {4, {11, 7}}, {5, {5, 4}}, {6, {6, 7}}};
  for (const Case &c :
       {Case{"ring:5", {{2, 2}, {3, {11, 10}}, {4, {4, 5}}}, true},
        Case{"ring:7", ofSeven, false}}) {
    Topology topology = builtin(c.topology);
    Frontier frontier = search(topology, {Kind::AllReduce});
    EXPECT_EQ(costsOf(frontier), c.costs) << c.topology;
    for (const FrontierPoint &point : frontier.points)
      expectCorrect(topology, {Kind::AllReduce}, point);
    EXPECT_EQ(frontier.complete, c.isComplete) << c.topology;
  }
}

TEST(Frontier, ManyRounds) {
  // More rounds per chunk than there are chunks to try.
  FrontierOptions options;
  options.maxSteps = 9;
  Frontier frontier =
      search(builtin("hypercube:9"), {Kind::AllGather}, options);
  EXPECT_EQ(costsOf(frontier), (Costs{{9, {511, 9}}}));
  EXPECT_TRUE(frontier.complete);
}

TEST(Frontier, Dgx1GatherAndScatterOfEveryRoot) {
  Topology dgx1 = builtin("dgx1");
  std::vector<unsigned> orbits = rankOrbits(automorphismGenerators(dgx1), 8);
  EXPECT_EQ(orbits, (std::vector<unsigned>{0, 1, 1, 0, 1, 0, 0, 1}));
  for (unsigned root = 0; root < 8; ++root) {
    bool isFirst = orbits[root] == 0;
    expectFrontier(
        dgx1, {Kind::Gather, root},
        isFirst ? Costs{{2, {3, 2}}, {3, {7, 6}}} : Costs{{2, {7, 6}}}, true);
    expectFrontier(dgx1, {Kind::Scatter, root},
                   isFirst ? Costs{{2, {3, 16}}, {3, {7, 48}}}
                           : Costs{{2, {7, 48}}},
                   true);
  }
}

TEST(Frontier, Dgx1BroadcastOfTheFirstOrbit) {
  Costs costs = {{2, 1}};
  for (unsigned s = 3; s <= 8; ++s)
    costs.emplace_back(s, Rational(s, 6 * (s - 2)));
  expectFrontier(builtin("dgx1"), {Kind::Broadcast, 0}, costs, false);
}

TEST(Frontier, Dgx1BroadcastOfTheSecondOrbit) {
  Costs costs = {{2, 1}, {3, {9, 22}}};
  // 6 chunks per step once all trees are full, and one more than from root 0.
  for (unsigned s = 4; s <= 8; ++s)
    costs.emplace_back(s, Rational(s, 6 * (s - 2) + 1));
  expectFrontier(builtin("dgx1"), {Kind::Broadcast, 1}, costs, false);
}

TEST(Frontier, AmdZ52) {
  Topology ring = builtin("amd_z52");
  expectFrontier(ring, {Kind::AllGather}, {{4, {7, 2}}}, true);
  expectFrontier(ring, {Kind::AllToAll}, {{4, 1}}, true);
  for (unsigned root : {0u, 5u}) {
    expectFrontier(ring, {Kind::Gather, root}, {{4, {7, 2}}}, true);
    expectFrontier(ring, {Kind::Scatter, root}, {{4, {7, 16}}}, true);
    Costs costs;
    for (unsigned s = 4; s <= 8; ++s)
      costs.emplace_back(s, Rational(s, 2 * (s - 3)));
    expectFrontier(ring, {Kind::Broadcast, root}, costs, false);
  }
}

TEST(Frontier, ReductionsCostWhatTheirInversesDo) {
  Topology dgx1 = builtin("dgx1"), ring = builtin("amd_z52");
  expectFrontier(dgx1, {Kind::ReduceScatter}, {{2, {3, 16}}, {3, {7, 48}}},
                 true);
  expectFrontier(ring, {Kind::ReduceScatter}, {{4, {7, 16}}}, true);
  for (unsigned root : {0u, 1u})
    EXPECT_EQ(costsOf(search(dgx1, {Kind::Reduce, root})),
              costsOf(search(dgx1, {Kind::Broadcast, root})));
  expectFrontier(ring, {Kind::Reduce, 3},
                 {{4, 2}, {5, {5, 4}}, {6, 1}, {7, {7, 8}}, {8, {4, 5}}},
                 false);
}

//===----------------------------------------------------------------------===//
// Other names, other runs
//===----------------------------------------------------------------------===//

TEST(Frontier, NamesOfRanksDoNotMatter) {
  for (const Permutation &permutation : {Permutation{5, 2, 7, 0, 3, 6, 1, 4},
                                         Permutation{7, 6, 5, 4, 3, 2, 1, 0},
                                         Permutation{1, 2, 3, 4, 5, 6, 7, 0}})
    for (const char *spec : {"dgx1", "amd_z52"}) {
      Topology topology = builtin(spec);
      Topology other = relabelled(topology, permutation);
      for (Kind kind : allCollectiveKinds())
        for (unsigned root : {0u, 1u}) {
          if (root > 0 && !isRooted(kind))
            continue;
          FrontierOptions options;
          options.maxSteps = kind == Kind::AllReduce ? 4 : 5;
          Frontier original = search(topology, {kind, root}, options);
          Frontier renamed = search(other, {kind, permutation[root]}, options);
          EXPECT_FALSE(original.points.empty());
          EXPECT_EQ(costsOf(original), costsOf(renamed))
              << spec << " " << collectiveName(kind) << " root " << root;
          EXPECT_EQ(original.complete, renamed.complete);
        }
    }
}

static void expectSamePoints(const Frontier &a, const Frontier &b) {
  ASSERT_EQ(a.points.size(), b.points.size());
  for (size_t i = 0; i < a.points.size(); ++i) {
    EXPECT_EQ(a.points[i].chunks, b.points[i].chunks);
    EXPECT_EQ(a.points[i].schedule.get(), b.points[i].schedule.get());
    ASSERT_TRUE(a.points[i].bound && b.points[i].bound);
    EXPECT_EQ(printCertificate(a.points[i].bound->certificate),
              printCertificate(b.points[i].bound->certificate));
  }
  EXPECT_EQ(a.complete, b.complete);
  EXPECT_EQ(a.why, b.why);
}

TEST(Frontier, SameTwiceAndWithMoreJobs) {
  Topology dgx1 = builtin("dgx1");
  for (Kind kind : allCollectiveKinds()) {
    FrontierOptions options;
    options.maxSteps = 5;
    Frontier first = search(dgx1, {kind}, options);
    expectSamePoints(first, search(dgx1, {kind}, options));
    options.jobs = 3;
    expectSamePoints(first, search(dgx1, {kind}, options));
  }
}

//===----------------------------------------------------------------------===//
// The paper's procedure
//===----------------------------------------------------------------------===//

TEST(Frontier, PaperProcedureWithoutExtraRounds) {
  // One chunk more in each step: all rows of the paper with R = S.
  FrontierOptions options;
  options.k = 0;
  Frontier frontier = search(builtin("dgx1"), {Kind::AllGather}, options);
  ASSERT_EQ(frontier.points.size(), 6u);
  for (unsigned i = 0; i < 6; ++i) {
    EXPECT_EQ(frontier.points[i].chunks, i + 1);
    EXPECT_EQ(frontier.points[i].steps, i + 2);
    EXPECT_EQ(frontier.points[i].rounds, i + 2);
  }
  // Nothing is said about schedules with more rounds.
  EXPECT_FALSE(frontier.complete);
}

TEST(Frontier, PaperProcedureWithExtraRounds) {
  Topology dgx1 = builtin("dgx1");
  FrontierOptions options;
  options.k = 1;
  Frontier frontier = search(dgx1, {Kind::AllGather}, options);
  // C is the largest that R <= S + 1 and the bandwidth bound of 7/6 allow.
  EXPECT_EQ(
      costsOf(frontier),
      (Costs{{2, {3, 2}}, {3, {4, 3}}, {4, {5, 4}}, {5, {6, 5}}, {6, {7, 6}}}));
  ASSERT_FALSE(frontier.points.empty());
  EXPECT_EQ(frontier.points[0].chunks, 2u);
  EXPECT_EQ(frontier.points[0].rounds, 3u);
  options.k = 4;
  frontier = search(dgx1, {Kind::AllGather}, options);
  EXPECT_EQ(costsOf(frontier), (Costs{{2, {3, 2}}, {3, {7, 6}}}));
  EXPECT_EQ(frontier.points.back().chunks, 6u);
  EXPECT_FALSE(frontier.complete);
}

TEST(Frontier, PaperProcedureForBroadcast) {
  FrontierOptions options;
  options.k = 0;
  options.maxSteps = 5;
  Frontier frontier = search(builtin("dgx1"), {Kind::Broadcast}, options);
  EXPECT_EQ(costsOf(frontier),
            (Costs{{2, 1}, {3, {1, 2}}, {4, {1, 3}}, {5, {5, 18}}}));
}

//===----------------------------------------------------------------------===//
// What is not proved
//===----------------------------------------------------------------------===//

TEST(Frontier, TooFewChunksLeaveItOpen) {
  FrontierOptions options;
  options.maxChunks = 1;
  Frontier frontier = search(builtin("dgx1"), {Kind::AllGather}, options);
  EXPECT_EQ(costsOf(frontier), (Costs{{2, 2}}));
  EXPECT_FALSE(frontier.points[0].optimal);
  EXPECT_FALSE(frontier.complete);
  EXPECT_NE(frontier.why.find("at S = 2, 3, 4, 5, 6, 7, 8 there may be"),
            std::string::npos)
      << frontier.why;
}

TEST(Frontier, OneStepTooFew) {
  FrontierOptions options;
  options.maxSteps = 1;
  Frontier frontier = search(builtin("dgx1"), {Kind::AllGather}, options);
  EXPECT_TRUE(frontier.points.empty());
  EXPECT_FALSE(frontier.complete);
  EXPECT_EQ(frontier.why, "no more than 1 step was looked at; the bandwidth "
                          "bound is R/C = 7/6");
}

TEST(Frontier, InterruptedBeforeItBegins) {
  std::atomic<bool> flag = true;
  FrontierOptions options;
  options.solver.interrupt = &flag;
  Frontier frontier = search(builtin("dgx1"), {Kind::Broadcast}, options);
  EXPECT_TRUE(frontier.points.empty());
  EXPECT_FALSE(frontier.complete);
  EXPECT_EQ(frontier.why, "time is over, or the search was interrupted");
}

TEST(Frontier, InterruptKeepsWhatIsProved) {
  std::atomic<bool> flag = false;
  FrontierOptions options;
  options.solver.interrupt = &flag;
  Topology dgx1 = builtin("dgx1");
  CollectiveFamily family{Kind::Broadcast};
  unsigned seen = 0;
  Result<Frontier> frontier =
      searchFrontier(dgx1, family, options, [&](const FrontierPoint &) {
        if (++seen == 2)
          flag = true;
      });
  ASSERT_TRUE(frontier) << frontier.error();
  EXPECT_EQ(costsOf(*frontier), (Costs{{2, 1}, {3, {1, 2}}}));
  EXPECT_FALSE(frontier->complete);
  EXPECT_TRUE(frontier->stopped);
  // The bounds of the steps that were not searched any more are kept, too.
  ASSERT_GT(frontier->bounds.size(), 4u);
  ASSERT_TRUE(frontier->bounds[1] && frontier->bounds[4]);
  EXPECT_EQ(frontier->bounds[1]->value, std::nullopt);
  EXPECT_EQ(frontier->bounds[4]->value, Rational(1, 3));
  for (const FrontierPoint &point : frontier->points) {
    expectCorrect(dgx1, family, point);
    expectOptimal(dgx1, family, point);
  }
}

TEST(Frontier, WatcherSeesEachBoundAndCandidate) {
  std::vector<unsigned> bounds;
  std::vector<std::array<unsigned, 3>> tried;
  FrontierOptions options;
  options.watch = [&](const FrontierActivity &activity) {
    if (activity.chunks == 0)
      bounds.push_back(activity.steps);
    else
      tried.push_back({activity.chunks, activity.steps, activity.rounds});
  };
  Frontier frontier = search(builtin("dgx1"), {Kind::AllGather}, options);
  EXPECT_TRUE(frontier.complete);
  EXPECT_FALSE(frontier.stopped);
  EXPECT_EQ(bounds, (std::vector<unsigned>{1, 2, 3}));
  EXPECT_EQ(tried,
            (std::vector<std::array<unsigned, 3>>{{2, 2, 3}, {6, 3, 7}}));
}

TEST(Frontier, TooFewStepsStopNothing) {
  FrontierOptions options;
  options.maxSteps = 3;
  Frontier frontier = search(builtin("dgx1"), {Kind::Broadcast}, options);
  EXPECT_FALSE(frontier.complete);
  EXPECT_FALSE(frontier.stopped);
}

TEST(Frontier, TimeoutIsKept) {
  // Takes minutes without a limit.
  FrontierOptions options;
  options.maxSteps = 12;
  options.timeoutSeconds = 0.3;
  Topology torus = builtin("torus:4x4");
  auto begin = std::chrono::steady_clock::now();
  Frontier frontier = search(torus, {Kind::Broadcast}, options);
  std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(used.count(), 10);
  EXPECT_FALSE(frontier.complete);
  EXPECT_TRUE(frontier.stopped);
  EXPECT_EQ(frontier.why, "time is over, or the search was interrupted");
  for (const FrontierPoint &point : frontier.points)
    expectCorrect(torus, {Kind::Broadcast}, point);
}

TEST(Frontier, TimeoutIsKeptByBounds) {
  // Its narrowest cut takes a minute.
  FrontierOptions options;
  options.timeoutSeconds = 1;
  auto begin = std::chrono::steady_clock::now();
  Frontier frontier = search(builtin("ring:65536"), {Kind::Broadcast}, options);
  std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(used.count(), 20);
  EXPECT_EQ(frontier.why, "time is over, or the search was interrupted");
}

TEST(Frontier, PaperProcedureNamesWhatIsOpen) {
  FrontierOptions options;
  options.k = 0;
  options.maxSteps = 6;
  options.probeWork = 200'000;
  Frontier frontier = search(builtin("amd_z52"), {Kind::AllReduce}, options);
  EXPECT_EQ(costsOf(frontier), (Costs{{4, 2}, {5, {5, 4}}}));
  EXPECT_NE(frontier.why.find("at S = 6 there may be"), std::string::npos)
      << frontier.why;
}

//===----------------------------------------------------------------------===//
// Bad input
//===----------------------------------------------------------------------===//

TEST(Frontier, Disconnected) {
  Topology pairs("pairs", 4);
  for (auto [src, dst] : {std::pair(0u, 1u), {1u, 0u}, {2u, 3u}, {3u, 2u}})
    ASSERT_TRUE(pairs.addLink(src, dst, 1));
  Result<Frontier> frontier = searchFrontier(pairs, {Kind::AllGather}, {});
  ASSERT_FALSE(frontier);
  EXPECT_NE(frontier.error().find("rank"), std::string::npos)
      << frontier.error();
}

TEST(Frontier, RootThatReachesNobody) {
  Topology oneWay("one_way", 3);
  ASSERT_TRUE(oneWay.addLink(0, 1, 1));
  ASSERT_TRUE(oneWay.addLink(1, 2, 1));
  EXPECT_FALSE(searchFrontier(oneWay, {Kind::Broadcast, 2}, {}));
  EXPECT_FALSE(searchFrontier(oneWay, {Kind::Gather, 0}, {}));
  expectFrontier(oneWay, {Kind::Gather, 2}, {{2, 2}}, true);
}

TEST(Frontier, RootOutOfRange) {
  EXPECT_FALSE(searchFrontier(builtin("dgx1"), {Kind::Broadcast, 8}, {}));
}

TEST(Frontier, UnknownEngineIsNamed) {
  FrontierOptions options;
  options.engine = "oracle";
  Frontier frontier = search(builtin("dgx1"), {Kind::Gather}, options);
  EXPECT_TRUE(frontier.points.empty());
  EXPECT_FALSE(frontier.complete);
  EXPECT_NE(frontier.why.find("unknown engine 'oracle'"), std::string::npos)
      << frontier.why;
}
