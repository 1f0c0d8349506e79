//===- InNetworkTest.cpp - Schedules through switches ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is expected of boxes are closed forms: each rank has a port of the same
// rate both ways into one switch. What is expected of the checker comes from
// counting chunks per port by hand, and what no schedule of one step undercuts,
// from looking at all of them.
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/SwitchGraph.h"
#include "sccl/Model/SwitchLoads.h"
#include "sccl/Solver/Pipelined.h"
#include "sccl/Solver/Solver.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

using namespace sccl;
using Kind = CollectiveKind;
using enum SendTransport;

namespace {
/// Ranks with a port each into one switch.
Topology box(unsigned ranks, bool multicast, bool reduces,
             bool ownCopies = false) {
  Topology topology("box", ranks);
  std::vector<std::vector<unsigned>> outs(ranks), ins(ranks);
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src != dst) {
        unsigned link = *topology.addLink(src, dst);
        outs[src].push_back(link);
        ins[dst].push_back(link);
      }
  for (unsigned rank = 0; rank < ranks; ++rank) {
    EXPECT_TRUE(topology.addLimit(outs[rank], 1));
    EXPECT_TRUE(topology.addLimit(ins[rank], 1));
  }
  Switch joined{{}, multicast, reduces, ownCopies};
  for (unsigned rank = 0; rank < ranks; ++rank)
    joined.ranks.push_back(rank);
  if (multicast || reduces)
    EXPECT_TRUE(topology.addSwitch(joined));
  return topology;
}

struct Expected {
  unsigned steps;
  Rational load;
};

/// The load of the schedule that is found, which a certificate shows to be
/// the least.
void expectOptimal(const Topology &topology, Kind kind, Expected expected) {
  SCOPED_TRACE(std::string(collectiveName(kind)) +
               " S = " + std::to_string(expected.steps));
  DepthAnswer answer =
      PipelinedDepths(topology, kind, 0).at(expected.steps, {}, 64);
  ASSERT_TRUE(answer.schedule) << answer.schedule.error();
  const PipelinedSchedule &found = *answer.schedule;
  const auto &[collective, schedule] = found.implementation;
  EXPECT_FALSE(checkSchedule(topology, collective, schedule));
  EXPECT_EQ(found.cost().load, expected.load);
  EXPECT_LE(found.cost().steps, expected.steps);
  EXPECT_TRUE(found.optimal);
  ASSERT_TRUE(found.bound);
  EXPECT_FALSE(
      checkCertificate(found.bound->certificate, topology, collective));
}

/// All sends of one chunk to all ranks, in one step of a collective.
Schedule toAll(const Topology &topology, std::vector<SendTransport> byChunk,
               SendAction action) {
  Schedule schedule;
  Step &step = schedule.steps.emplace_back();
  for (const Link &link : topology.links())
    for (uint32_t chunk = 0; chunk < byChunk.size(); ++chunk)
      step.sends.push_back({chunk, link.src, link.dst, action,
                            SendPayload::Current, byChunk[chunk]});
  schedule.normalize();
  fitRounds(schedule, topology);
  schedule.period = leastPeriod(schedule, topology);
  return schedule;
}
} // namespace

TEST(InNetwork, ClosedForms) {
  for (unsigned ranks : {3u, 4u, 8u}) {
    Topology topology = box(ranks, true, true);
    int64_t n = ranks;
    expectOptimal(topology, Kind::AllReduce, {2, 1});
    expectOptimal(topology, Kind::AllGather, {1, n - 1});
    expectOptimal(topology, Kind::ReduceScatter, {1, Rational(n - 1, n)});
    expectOptimal(topology, Kind::Broadcast, {1, 1});
    expectOptimal(topology, Kind::Reduce, {1, 1});
  }
}

/// Boxes of `size` ranks behind switches with ports of `width`, in which each
/// rank has a card of 1 to those of its place in other boxes.
static Topology manyBoxes(unsigned boxes, unsigned size, uint64_t width) {
  unsigned ranks = boxes * size;
  Topology topology("boxes", ranks);
  std::vector<std::vector<unsigned>> ports(2 * ranks), cards(2 * ranks);
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst) {
      bool isInBox = src / size == dst / size;
      if (src == dst || (!isInBox && src % size != dst % size))
        continue;
      auto &sets = isInBox ? ports : cards;
      unsigned link = unsigned(topology.links().size());
      EXPECT_TRUE(topology.addLink(src, dst));
      sets[2 * src].push_back(link);
      sets[2 * dst + 1].push_back(link);
    }
  for (unsigned i = 0; i < 2 * ranks; ++i) {
    EXPECT_TRUE(topology.addLimit(ports[i], width));
    EXPECT_TRUE(topology.addLimit(cards[i], 1));
  }
  for (unsigned first = 0; first < ranks; first += size) {
    Switch joined;
    for (unsigned rank = first; rank < first + size; ++rank)
      joined.ranks.push_back(rank);
    joined.multicast = joined.reduces = true;
    EXPECT_TRUE(topology.addSwitch(joined));
  }
  return topology;
}

/// What a box sends or gets passes all of its cards, whatever the number of
/// boxes; each of the two halves of an all_reduce takes that for the parts of
/// the other boxes.
TEST(InNetwork, BoxesShareTheirCards) {
  for (int64_t boxes : {5, 24}) {
    constexpr int64_t size = 4;
    Topology topology = manyBoxes(unsigned(boxes), unsigned(size), 9);
    expectOptimal(topology, Kind::Broadcast, {4, Rational(1, size)});
    expectOptimal(topology, Kind::Reduce, {4, Rational(1, size)});
    expectOptimal(topology, Kind::AllReduce,
                  {4, Rational(2 * (boxes - 1), boxes * size)});
  }
  Topology two = manyBoxes(2, 4, 9);
  expectOptimal(two, Kind::AllReduce, {2, 1});
  expectOptimal(two, Kind::AllReduce, {3, Rational(1, 4)});
  expectOptimal(two, Kind::Broadcast, {3, Rational(1, 4)});
}

/// Those of fewer steps, which no bound proves.
TEST(InNetwork, FewStepsAmongBoxes) {
  Topology topology = manyBoxes(24, 4, 9);
  for (Kind kind : {Kind::AllReduce, Kind::Broadcast, Kind::Reduce}) {
    PipelinedDepths depths(topology, kind, 0);
    for (unsigned steps : {2u, 3u}) {
      DepthAnswer answer = depths.at(steps, {}, 64);
      ASSERT_TRUE(answer.schedule) << answer.schedule.error();
      EXPECT_EQ(answer.schedule->cost().steps, steps);
      EXPECT_EQ(answer.schedule->cost().load, Rational(23, steps == 2 ? 1 : 4));
    }
    EXPECT_FALSE(depths.at(1, {}, 64).schedule);
  }
}

TEST(InNetwork, OwnCopiesPassThePort) {
  expectOptimal(box(8, true, true, true), Kind::AllReduce, {2, Rational(9, 8)});
  Topology topology = box(4, true, true, true);
  Result<Collective> broadcast = Collective::make(Kind::Broadcast, 4, 2, 0);
  ASSERT_TRUE(broadcast);
  // One chunk comes back to rank 0, which gets the other from rank 3.
  Schedule schedule;
  schedule.steps.push_back({2, {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}, {1, 0, 3}}});
  schedule.steps.push_back({1, {{1, 3, 1}, {1, 3, 2}}});
  for (unsigned i = 0; i < 3; ++i)
    schedule.steps[0].sends[i].transport = Multicast;
  for (Send &send : schedule.steps[1].sends)
    send.transport = Multicast;
  EXPECT_FALSE(checkSchedule(topology, *broadcast, schedule));
  EXPECT_EQ(leastPeriod(schedule, topology), 3u); // into rank 3
  schedule.period = 2;
  EXPECT_TRUE(checkSchedule(topology, *broadcast, schedule));
  EXPECT_EQ(leastPeriod(schedule, box(4, true, true)), 2u);
}

TEST(InNetwork, OneStepTakesHalfOfTheRanks) {
  for (int64_t ranks : {3, 4, 6})
    expectOptimal(box(unsigned(ranks), true, true), Kind::AllReduce,
                  {1, Rational(ranks, 2)});
}

/// Of two vectors of N chunks, an all_gather of one and a reduce_scatter of the
/// other in one step: what one leaves idle of a port the other needs.
TEST(InNetwork, GatherAndScatterAtOnce) {
  for (unsigned ranks : {3u, 4u, 8u}) {
    RankChunkSet pre(ranks, 2 * ranks), post = pre;
    Schedule schedule;
    Step &step = schedule.steps.emplace_back();
    for (unsigned rank = 0; rank < ranks; ++rank)
      for (unsigned other = 0; other < ranks; ++other) {
        post.insert(other, rank);
        pre.insert(other, ranks + rank);
        if (other == rank) {
          pre.insert(rank, rank);
          post.insert(rank, ranks + rank);
          continue;
        }
        step.sends.push_back({rank, rank, other, SendAction::Copy,
                              SendPayload::Current, Multicast});
        step.sends.push_back({ranks + rank, other, rank, SendAction::Reduce,
                              SendPayload::Current, LoadReduce});
      }
    Result<Collective> both = Collective::makeCustom(
        "both", 1, /*combining=*/true, std::move(pre), std::move(post));
    ASSERT_TRUE(both) << both.error();
    Topology topology = box(ranks, true, true);
    schedule.normalize();
    fitRounds(schedule, topology);
    EXPECT_EQ(schedule.steps[0].rounds, ranks);
    EXPECT_FALSE(checkSchedule(topology, *both, schedule));
    auto expectBound = [&](const Topology &on, int64_t least) {
      Result<LowerBound> bound = throughputBound(on, *both);
      ASSERT_TRUE(bound) << bound.error();
      EXPECT_EQ(*bound->value, Rational(least));
      EXPECT_FALSE(checkCertificate(bound->certificate, on, *both));
    };
    expectBound(topology, ranks);
    expectBound(box(ranks, false, false), 2 * (ranks - 1));
  }
}

/// Without one of both, one direction of the ports carries all.
TEST(InNetwork, EachCapabilityForItself) {
  expectOptimal(box(4, true, false), Kind::Broadcast, {1, 1});
  expectOptimal(box(4, false, true), Kind::Reduce, {1, 1});
  Topology copies = box(4, true, false);
  Result<Collective> reduce = Collective::make(Kind::Reduce, 4, 1, 0);
  ASSERT_TRUE(reduce);
  Result<LowerBound> bound = lowerBound(copies, *reduce, 1);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(*bound->value, Rational(3));
}

/// Whatever each of the sends between three ranks goes by.
TEST(InNetwork, NoOtherChoiceOfTransportsIsCheaper) {
  Topology topology = box(3, true, true);
  Result<Collective> collective = Collective::make(Kind::AllReduce, 3, 2, 0);
  ASSERT_TRUE(collective);
  Schedule schedule = toAll(topology, {Any, Any}, SendAction::Reduce);
  std::vector<Send> &sends = schedule.steps[0].sends;
  ASSERT_EQ(sends.size(), 12u);
  unsigned least = ~0u;
  for (unsigned choice = 0; choice < 531441; ++choice) {
    unsigned rest = choice;
    for (Send &send : sends) {
      constexpr SendTransport ways[] = {Any, Multicast, LoadReduce};
      send.transport = ways[rest % 3];
      rest /= 3;
    }
    least = std::min(least, leastPeriod(schedule, topology));
  }
  EXPECT_EQ(least, 3u); // for two chunks: a load of 3/2
}

/// Three or four ranks with links at random, and one switch that multicasts
/// between three of them, each with one port out or in, or with none.
static Topology randomBox(std::mt19937 &random) {
  unsigned ranks = 3 + random() % 2;
  Topology topology("random", ranks);
  std::vector<std::vector<unsigned>> outs(ranks), ins(ranks);
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src != dst && (std::max(src, dst) < 3 || random() % 3 == 0)) {
        unsigned link = *topology.addLink(src, dst);
        EXPECT_TRUE(topology.addLimit({link}, 1 + random() % 2));
        outs[src].push_back(link);
        ins[dst].push_back(link);
      }
  for (const auto &ports : {outs, ins})
    for (const std::vector<unsigned> &port : ports)
      if (port.size() > 1 && random() % 4)
        EXPECT_TRUE(topology.addLimit(port, 1 + random() % 2));
  EXPECT_TRUE(topology.addSwitch({{0, 1, 2}, true, random() % 2 == 0}));
  return topology;
}

/// The least rounds of all schedules of one chunk to a source and two steps, or
/// of two chunks and one step; nothing if there is none.
static std::optional<unsigned> leastRoundsOf(const Instance &instance) {
  const std::vector<Link> &links = instance.topology.links();
  size_t perStep = links.size() * instance.collective.numChunks();
  std::optional<unsigned> least;
  for (uint64_t chosen = 0; chosen < 1ull << perStep * instance.steps;
       ++chosen) {
    Schedule schedule;
    schedule.steps.resize(instance.steps);
    for (size_t bit = 0; bit < perStep * instance.steps; ++bit)
      if (chosen >> bit & 1) {
        const Link &link = links[bit % links.size()];
        schedule.steps[bit / perStep].sends.push_back(
            {uint32_t(bit % perStep / links.size()), link.src, link.dst});
      }
    multicast(schedule, instance.topology);
    fitRounds(schedule, instance.topology);
    unsigned rounds = 0;
    for (const Step &step : schedule.steps)
      rounds += step.rounds;
    if (rounds < least.value_or(~0u) &&
        !checkSchedule(instance.topology, instance.collective, schedule))
      least = rounds;
  }
  return least;
}

/// Engines against all schedules there are.
TEST(InNetwork, EnginesAgreeWithAllSchedules) {
  std::mt19937 random(3);
  unsigned numFewer = 0;
  for (unsigned i = 0; i < 60; ++i) {
    Topology topology = randomBox(random);
    bool isTwoSteps = random() % 2 && topology.links().size() < 7;
    Kind kind = random() % 2 ? Kind::Broadcast : Kind::Scatter;
    Result<Collective> collective =
        Collective::make(kind, topology.numRanks(),
                         kind == Kind::Scatter ? topology.numRanks()
                         : isTwoSteps          ? 1
                                               : 2,
                         0);
    ASSERT_TRUE(collective);
    Instance instance{topology, *collective, isTwoSteps ? 2u : 1u, 0};
    if (collective->numChunks() * topology.links().size() * instance.steps > 14)
      continue;
    std::optional<unsigned> least = leastRoundsOf(instance);
    for (instance.rounds = instance.steps; instance.rounds < 6;
         ++instance.rounds)
      for (std::string_view engine : {"z3", "sat"}) {
        SCOPED_TRACE(std::to_string(i) + " " + std::string(engine) +
                     " R = " + std::to_string(instance.rounds));
        SynthesisResult result = synthesize(instance, {}, engine);
        const auto *found = std::get_if<Satisfied>(&result.outcome);
        ASSERT_EQ(found != nullptr, least && *least <= instance.rounds);
        ASSERT_TRUE(found ||
                    std::holds_alternative<Unsatisfiable>(result.outcome));
        if (!found)
          continue;
        EXPECT_FALSE(checkSchedule(topology, *collective, found->schedule));
        Schedule apart = found->schedule;
        for (Step &step : apart.steps)
          for (Send &send : step.sends)
            send.transport = Any;
        numFewer += checkSchedule(topology, *collective, apart).has_value();
      }
  }
  EXPECT_GT(numFewer, 10u);
}

/// What reduces is what copies, turned round; an all_reduce is both.
TEST(InNetwork, EnginesTurnRound) {
  Topology topology = box(4, true, true);
  auto answer = [&](Kind kind, unsigned chunks, unsigned steps, unsigned rounds,
                    std::string_view engine = "auto") {
    Result<Collective> collective = Collective::make(kind, 4, chunks, 0);
    SynthesisResult result =
        synthesize({topology, *collective, steps, rounds}, {}, engine);
    if (const auto *found = std::get_if<Satisfied>(&result.outcome)) {
      EXPECT_FALSE(checkSchedule(topology, *collective, found->schedule));
      return 1;
    }
    return std::holds_alternative<Unsatisfiable>(result.outcome) ? 0 : -1;
  };
  EXPECT_EQ(answer(Kind::Reduce, 2, 1, 2), 1);
  EXPECT_EQ(answer(Kind::Reduce, 2, 1, 1), 0);
  EXPECT_EQ(answer(Kind::ReduceScatter, 4, 1, 3, "z3"), 1);
  EXPECT_EQ(answer(Kind::ReduceScatter, 4, 1, 2, "z3"), 0);
  EXPECT_EQ(answer(Kind::AllReduce, 4, 2, 6), 1);
  EXPECT_EQ(answer(Kind::AllReduce, 1, 1, 3), 1);
  EXPECT_EQ(answer(Kind::AllReduce, 1, 1, 1), 0); // by its bound
  EXPECT_EQ(answer(Kind::Broadcast, 1, 1, 1, "trees"), -1);
  topology = box(4, true, true, /*ownCopies=*/true);
  EXPECT_EQ(answer(Kind::Broadcast, 1, 1, 1), -1);
}

TEST(InNetwork, CheckerCountsWhatSwitchesDoOnce) {
  Topology topology = box(4, true, true);
  Result<Collective> allReduce = Collective::make(Kind::AllReduce, 4, 1, 0);
  ASSERT_TRUE(allReduce);
  for (SendTransport by : {Multicast, LoadReduce, Any}) {
    Schedule schedule = toAll(topology, {by}, SendAction::Reduce);
    EXPECT_EQ(schedule.period, 3u); // the other direction of the port
    EXPECT_FALSE(checkSchedule(topology, *allReduce, schedule));
  }
  Result<Collective> broadcast = Collective::make(Kind::Broadcast, 4, 1, 0);
  ASSERT_TRUE(broadcast);
  Schedule once;
  once.steps.push_back({1, {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}}});
  once.period = 1;
  EXPECT_TRUE(checkSchedule(topology, *broadcast, once));
  for (Send &send : once.steps[0].sends)
    send.transport = Multicast;
  EXPECT_FALSE(checkSchedule(topology, *broadcast, once));
  // One of three by itself is a second chunk out of the port.
  once.steps[0].sends[1].transport = Any;
  auto violation = checkSchedule(topology, *broadcast, once);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->rule, Violation::Rule::Bandwidth);
}

TEST(InNetwork, WhatNoSwitchDoesIsRefused) {
  Result<Collective> broadcast = Collective::make(Kind::Broadcast, 3, 1, 0);
  ASSERT_TRUE(broadcast);
  Schedule schedule;
  schedule.steps.push_back({2, {{0, 0, 1}, {0, 0, 2}}});
  for (SendTransport by : {Multicast, LoadReduce})
    for (Topology topology : {box(3, false, true), box(3, false, false)}) {
      for (Send &send : schedule.steps[0].sends)
        send.transport = by;
      auto violation = checkSchedule(topology, *broadcast, schedule);
      ASSERT_TRUE(violation);
      EXPECT_EQ(violation->rule, Violation::Rule::AbsentLink);
      EXPECT_NE(violation->message.find("by way of a switch"),
                std::string::npos);
    }
}

/// A certificate for one topology is none for the same with other switches.
TEST(InNetwork, CertificatesAreOfTheirSwitches) {
  Result<Collective> collective = Collective::make(Kind::AllReduce, 4, 1, 0);
  ASSERT_TRUE(collective);
  std::vector<Topology> boxes = {box(4, true, true), box(4, true, false),
                                 box(4, false, true), box(4, false, false)};
  for (size_t i = 0; i < boxes.size(); ++i) {
    Result<LowerBound> bound = throughputBound(boxes[i], *collective);
    ASSERT_TRUE(bound) << bound.error();
    Result<Certificate> read =
        parseCertificate(printCertificate(bound->certificate));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, bound->certificate);
    for (size_t j = 0; j < boxes.size(); ++j) {
      EXPECT_EQ(checkCertificate(*read, boxes[j], *collective).has_value(),
                i != j);
      Certificate renamed = *read;
      renamed.topologyPrint = fingerprint(boxes[j]);
      if (i == 3 && j != 3)
        EXPECT_TRUE(checkCertificate(renamed, boxes[j], *collective));
    }
  }
}

/// Random schedules need as many rounds on the graph as on the topology: what
/// bounds rest on.
TEST(InNetwork, SchedulesFitOnTheGraph) {
  std::mt19937 random(7);
  Topology topology = box(4, true, true);
  Result<SwitchGraph> graph = switchGraphOf(topology);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->graph.numRanks(), 12u);
  EXPECT_EQ(graph->graph.links().size(), 2u * (4 * 3 + 4));
  for (unsigned run = 0; run < 500; ++run) {
    Schedule schedule, onGraph;
    Step &step = schedule.steps.emplace_back();
    onGraph.steps.resize(2);
    std::set<std::pair<unsigned, unsigned>> copies, sums;
    for (const Link &link : topology.links()) {
      if (random() % 3 == 0)
        continue;
      auto by = std::array{Any, Multicast, LoadReduce}[random() % 3];
      uint32_t chunk = random() % 2;
      step.sends.push_back({chunk, link.src, link.dst, SendAction::Reduce,
                            SendPayload::Current, by});
      unsigned copy = 4 + link.src, sum = 8 + link.dst;
      unsigned via = by == Multicast ? copy : sum;
      if (by != Multicast || copies.insert({chunk, link.src}).second)
        onGraph.steps[0].sends.push_back({chunk, link.src, via});
      if (by != LoadReduce || sums.insert({chunk, link.dst}).second)
        onGraph.steps[1].sends.push_back({chunk, via, link.dst});
    }
    EXPECT_EQ(leastPeriod(schedule, topology),
              leastPeriod(onGraph, graph->graph));
  }
}
