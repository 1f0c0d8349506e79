//===- PipelinedTest.cpp - Schedules of the least load --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is expected of small graphs comes from looking at all their cuts, and of
// machines from the same formula by hand: the links into one GPU, or into one
// box, over what must pass them.
//
//===----------------------------------------------------------------------===//

#include "sccl/Solver/Pipelined.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/CapacityGraph.h"
#include "sccl/Solver/SpanningTrees.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

using namespace sccl;

using Kind = CollectiveKind;
using Arc = CapacityGraph::Arc;

namespace {
void addPair(CapacityGraph &graph, unsigned a, unsigned b, int64_t capacity) {
  graph.arcs.push_back({a, b, capacity});
  graph.arcs.push_back({b, a, capacity});
}

/// Boxes of GPUs behind a switch each, and a network with a port per GPU.
CapacityGraph switchedBoxes(unsigned boxes, unsigned gpus, int64_t inBox,
                            int64_t network) {
  unsigned ranks = boxes * gpus;
  CapacityGraph graph{ranks, ranks + boxes + 1, {}, {}};
  for (unsigned rank = 0; rank < ranks; ++rank) {
    addPair(graph, rank, ranks + rank / gpus, inBox);
    addPair(graph, rank, ranks + boxes, network);
  }
  return graph;
}

/// The same as a topology, with or without links between GPUs of different
/// numbers in their boxes.
Topology boxTopology(unsigned boxes, unsigned gpus, unsigned inBox,
                     unsigned network, bool rails) {
  unsigned ranks = boxes * gpus;
  Topology topology("boxes", ranks);
  std::vector<std::vector<unsigned>> ports(4 * ranks);
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst) {
      bool together = src / gpus == dst / gpus;
      if (src == dst || (!together && rails && src % gpus != dst % gpus))
        continue;
      unsigned link = *topology.addLink(src, dst);
      ports[4 * src + 2 * !together].push_back(link);
      ports[4 * dst + 2 * !together + 1].push_back(link);
    }
  for (unsigned port = 0; port < ports.size(); ++port)
    if (!ports[port].empty()) {
      EXPECT_TRUE(
          topology.addLimit(ports[port], port % 4 < 2 ? inBox : network));
    }
  return topology;
}

std::vector<unsigned> allRanks(const CapacityGraph &graph) {
  std::vector<unsigned> ranks(graph.numRanks);
  std::iota(ranks.begin(), ranks.end(), 0u);
  return ranks;
}

/// By looking at all sets; graphs with few vertices only.
Rational worstCut(const CapacityGraph &graph,
                  const std::vector<unsigned> &roots) {
  Rational worst(0);
  unsigned everyRank = (1u << graph.numRanks) - 1;
  for (unsigned set = 1; set < 1u << graph.numVertices; ++set) {
    if ((set & everyRank) == everyRank)
      continue;
    int64_t inside = 0, leaving = 0;
    for (unsigned root : roots)
      inside += set >> root & 1;
    for (const Arc &arc : graph.arcs)
      if ((set >> arc.from & 1) && !(set >> arc.to & 1))
        leaving += arc.capacity;
    if (inside > 0)
      worst = std::max(worst, Rational(inside, leaving));
  }
  return worst;
}

/// That the trees are trees, and what they put on each pair of vertices at
/// least fits into the graph when switches are taken as one.
void expectTrees(const CapacityGraph &graph, const SpanningTreePacking &packing,
                 size_t numRoots) {
  std::vector<int64_t> copies(graph.numRanks);
  for (const PackedTree &tree : packing.trees) {
    std::vector<bool> isReached(graph.numRanks);
    isReached[tree.root] = true;
    for (const Link &link : tree.links) {
      EXPECT_TRUE(isReached[link.src]);
      EXPECT_FALSE(isReached[link.dst]);
      isReached[link.dst] = true;
    }
    EXPECT_EQ(tree.links.size() + 1, graph.numRanks);
    copies[tree.root] += tree.copies;
  }
  size_t roots = 0;
  for (int64_t count : copies) {
    roots += count > 0;
    EXPECT_TRUE(count == 0 || count == packing.chunks);
  }
  EXPECT_EQ(roots, numRoots);
}

/// A random strongly connected digraph without switches.
Topology randomTopology(unsigned seed, unsigned ranks, unsigned unit) {
  std::mt19937 random(seed);
  Topology topology("random", ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    EXPECT_TRUE(
        topology.addLink(rank, (rank + 1) % ranks, unit * (1 + random() % 3)));
  for (unsigned i = 0; i < ranks; ++i) {
    unsigned src = random() % ranks, dst = random() % ranks;
    if (src != dst && !topology.findLink(src, dst)) {
      EXPECT_TRUE(topology.addLink(src, dst, unit * (1 + random() % 3)));
    }
  }
  return topology;
}

Rational loadOf(const Topology &topology, Kind kind, unsigned root = 0) {
  Result<PipelinedSchedule> result = synthesizePipelined(topology, kind, root);
  EXPECT_TRUE(result) << result.error();
  if (!result)
    return Rational(0);
  const auto &[collective, schedule] = result->implementation;
  EXPECT_EQ(collective.kind(), kind);
  EXPECT_FALSE(checkSchedule(topology, collective, schedule));
  EXPECT_TRUE(result->optimal);
  return result->cost().load;
}
} // namespace

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST(CapacityGraph, PortsOfASwitchBecomeOneVertex) {
  Result<CapacityGraph> graph =
      capacityGraphOf(boxTopology(3, 4, 5, 1, /*rails=*/false));
  ASSERT_TRUE(graph) << graph.error();
  // A switch in each box and one between them, which serves no pair in a box.
  EXPECT_EQ(graph->numVertices, 12u + 3 + 1);
  EXPECT_EQ(graph->arcs.size(), 2 * 2 * 12u);
  EXPECT_EQ(graph->missingTurns.size(), 3 * 4 * 3u);
}

TEST(CapacityGraph, SomeLimitsAreNoGraph) {
  Topology topology("diagonal", 4);
  unsigned first = *topology.addLink(0, 1), second = *topology.addLink(2, 3);
  ASSERT_TRUE(topology.addLimit({first, second}, 1));
  EXPECT_EQ(capacityGraphOf(topology).error(),
            "limit 0 is on links of several sources and several destinations");
  Topology free("free", 2);
  ASSERT_TRUE(free.addLink(0, 1));
  EXPECT_EQ(capacityGraphOf(free).error(), "link 0 -> 1 has no limit");
}

//===----------------------------------------------------------------------===//
// Packings
//===----------------------------------------------------------------------===//

TEST(SpanningTrees, FillTheNarrowestCutOfRandomGraphs) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Topology topology = randomTopology(seed, 2 + seed % 6, 1 + seed % 3);
    CapacityGraph graph = *capacityGraphOf(topology);
    std::vector<unsigned> roots = allRanks(graph);
    if (seed % 3 == 0)
      roots = {seed % topology.numRanks()};
    Deadline deadline{SearchLimits{}};
    Result<SpanningTreePacking> packing =
        packSpanningTrees(graph, roots, deadline);
    ASSERT_TRUE(packing) << packing.error() << ", seed " << seed;
    EXPECT_EQ(packing->load(), worstCut(graph, roots)) << "seed " << seed;
    EXPECT_EQ(packing->load(), *cutBoundOnLoad(graph, roots, deadline));
    expectTrees(graph, *packing, roots.size());
  }
}

TEST(SpanningTrees, FillTheNarrowestCutBesideBalancedSwitches) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    unsigned ranks = 3 + seed % 4, switches = 1 + seed % 3;
    CapacityGraph graph{ranks, ranks + switches, {}, {}};
    // Both directions of an edge are alike, so switches are balanced.
    for (unsigned vertex = 0; vertex < graph.numVertices; ++vertex)
      addPair(graph, vertex, (vertex + 1) % graph.numVertices,
              1 + random() % 3);
    for (unsigned hub = ranks; hub < graph.numVertices; ++hub)
      for (unsigned i = 0; i < 2; ++i)
        addPair(graph, hub, random() % ranks, 1 + random() % 4);
    Deadline deadline{SearchLimits{}};
    std::vector<unsigned> roots = allRanks(graph);
    Result<SpanningTreePacking> packing =
        packSpanningTrees(graph, roots, deadline);
    ASSERT_TRUE(packing) << packing.error() << ", seed " << seed;
    EXPECT_EQ(packing->load(), worstCut(graph, roots)) << "seed " << seed;
    expectTrees(graph, *packing, roots.size());
  }
}

TEST(SpanningTrees, KnowWhatMachinesCanDo) {
  auto load = [](const CapacityGraph &graph) {
    Deadline deadline{SearchLimits{}};
    Result<SpanningTreePacking> packing =
        packSpanningTrees(graph, allRanks(graph), deadline);
    EXPECT_TRUE(packing) << packing.error();
    return packing ? packing->load() : Rational(0);
  };
  // Into a GPU; into a box, where that is narrower.
  EXPECT_EQ(load(switchedBoxes(2, 8, 300, 25)), Rational(15, 325));
  EXPECT_EQ(load(switchedBoxes(4, 8, 300, 25)), Rational(24, 200));
  EXPECT_EQ(load(switchedBoxes(4, 8, 450, 50)), Rational(31, 500));
  EXPECT_EQ(load(switchedBoxes(8, 8, 450, 50)), Rational(56, 400));
}

TEST(SpanningTrees, SayWhatIsMissing) {
  Deadline deadline{SearchLimits{}};
  CapacityGraph graph{3, 3, {{0, 1, 1}, {1, 0, 1}, {2, 0, 1}}, {}};
  EXPECT_EQ(packSpanningTrees(graph, {0, 1, 2}, deadline).error(),
            "rank 2 cannot be reached from every root");
  SearchLimits limits;
  limits.maxWork = 10;
  Deadline short_(limits);
  EXPECT_FALSE(packSpanningTrees(switchedBoxes(2, 8, 9, 1), {0, 1}, short_));
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

TEST(Pipelined, MeetsTheBoundOnEveryCollective) {
  Topology dgx1 = *makeBuiltinTopology("dgx1");
  EXPECT_EQ(loadOf(dgx1, Kind::AllGather), Rational(7, 6));
  EXPECT_EQ(loadOf(dgx1, Kind::ReduceScatter), Rational(7, 48));
  EXPECT_EQ(loadOf(dgx1, Kind::AllReduce), Rational(7, 24));
  EXPECT_EQ(loadOf(dgx1, Kind::Broadcast, 3), Rational(1, 6));
  EXPECT_EQ(loadOf(dgx1, Kind::Reduce, 5), Rational(1, 6));
}

TEST(Pipelined, MeetsTheBoundOnBoxesBehindSwitches) {
  EXPECT_EQ(loadOf(boxTopology(2, 8, 9, 1, true), Kind::AllGather),
            Rational(3, 2));
  EXPECT_EQ(loadOf(boxTopology(4, 4, 5, 1, false), Kind::ReduceScatter),
            Rational(12 * 4, 4 * 64));
  EXPECT_EQ(loadOf(boxTopology(2, 3, 4, 1, true), Kind::AllReduce),
            Rational(1, 3));
}

TEST(Pipelined, GoesBothWaysOverLinksThatDiffer) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Topology topology = randomTopology(seed, 3 + seed % 4, 1);
    EXPECT_EQ(loadOf(topology, Kind::ReduceScatter).toDouble() *
                  topology.numRanks(),
              loadOf(topology.reversed(), Kind::AllGather).toDouble());
    loadOf(topology, Kind::Reduce, seed % 3);
    Result<PipelinedSchedule> both =
        synthesizePipelined(topology, Kind::AllReduce, 0);
    ASSERT_TRUE(both) << both.error();
    EXPECT_LE(*both->bound->value, both->cost().load);
  }
}

/// Limits on any sets of links make no graph; the bound is that of a linear
/// program of its own.
TEST(Pipelined, MeetsTheBoundUnderLimitsOfAnyKind) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Topology topology = randomTopology(seed, 3 + seed % 4, 1);
    std::mt19937 random(seed);
    for (unsigned i = 0; i < topology.numRanks(); ++i) {
      std::vector<unsigned> set;
      for (unsigned link = 0; link < topology.links().size(); ++link)
        if (random() % 3 == 0)
          set.push_back(link);
      if (!set.empty()) {
        ASSERT_TRUE(topology.addLimit(set, 1 + random() % 4));
      }
    }
    SCOPED_TRACE(seed);
    loadOf(topology, Kind::AllGather);
    loadOf(topology, Kind::Broadcast, seed % 3);
  }
}

/// The network cards take more than GPUs send, so that their switch is not
/// balanced.
TEST(Pipelined, TakesWhatPortsThatDifferLetThrough) {
  Topology topology("uneven", 6);
  for (unsigned src = 0; src < 6; ++src) {
    std::vector<unsigned> links;
    for (unsigned dst = 0; dst < 6; ++dst)
      if (dst != src)
        links.push_back(*topology.addLink(src, dst));
    ASSERT_TRUE(topology.addLimit(links, 2 + src % 3));
  }
  EXPECT_EQ(loadOf(topology, Kind::AllGather), Rational(30, 18));
}

/// A unit makes no difference but in chunks.
TEST(Pipelined, ScalesWithTheUnit) {
  Topology small("small", 3), large("large", 3);
  for (auto [src, dst] : {Link{0, 1}, Link{1, 2}, Link{2, 0}, Link{1, 0}}) {
    ASSERT_TRUE(small.addLink(src, dst, 1 + src));
    ASSERT_TRUE(large.addLink(src, dst, 35 * (1 + src)));
  }
  Rational load = loadOf(small, Kind::AllGather);
  EXPECT_EQ(loadOf(large, Kind::AllGather),
            Rational(load.numerator(), 35 * load.denominator()));
}

//===----------------------------------------------------------------------===//
// Depths
//===----------------------------------------------------------------------===//

namespace {
/// The load for `steps` steps, which must be optimal.
Rational loadAt(const Topology &topology, Kind kind, unsigned steps,
                unsigned root = 0) {
  DepthAnswer answer = PipelinedDepths(topology, kind, root).at(steps);
  EXPECT_TRUE(answer.schedule) << answer.schedule.error();
  if (!answer.schedule)
    return Rational(0);
  const auto &[collective, schedule] = answer.schedule->implementation;
  EXPECT_EQ(collective.kind(), kind);
  EXPECT_LE(schedule.steps.size(), steps);
  EXPECT_FALSE(checkSchedule(topology, collective, schedule));
  EXPECT_TRUE(answer.schedule->optimal);
  EXPECT_FALSE(checkCertificate(answer.schedule->bound->certificate, topology,
                                collective));
  return answer.schedule->cost().load;
}
} // namespace

TEST(PipelinedDepths, MeetTheBoundOfTheirDepth) {
  Topology dgx1 = *makeBuiltinTopology("dgx1");
  EXPECT_EQ(loadAt(dgx1, Kind::AllGather, 2), Rational(7, 6));
  EXPECT_EQ(loadAt(dgx1, Kind::ReduceScatter, 2), Rational(7, 48));
  EXPECT_EQ(loadAt(dgx1, Kind::AllReduce, 4), Rational(7, 24));
  EXPECT_EQ(loadAt(dgx1, Kind::Broadcast, 2), Rational(1));
  EXPECT_EQ(loadAt(dgx1, Kind::Reduce, 3, 5), Rational(1, 4));
  Topology ring = *makeBuiltinTopology("ring:8");
  EXPECT_EQ(loadAt(ring, Kind::AllGather, 4), Rational(7, 2));
}

TEST(PipelinedDepths, MeetTheBoundOnBoxes) {
  for (auto [boxes, load] :
       {std::pair(2u, Rational(3, 2)), std::pair(4u, Rational(31, 10)),
        std::pair(8u, Rational(7))}) {
    Topology topology = boxTopology(boxes, 8, 9, 1, true);
    EXPECT_EQ(loadAt(topology, Kind::AllGather, 2), load);
  }
  EXPECT_EQ(loadAt(boxTopology(4, 8, 9, 1, true), Kind::AllReduce, 4),
            Rational(31, 160));
}

/// No symmetry moves the root, but those of the other ranks do as well.
TEST(PipelinedDepths, MeetTheBoundOfBroadcastsOnBoxes) {
  Topology boxes = boxTopology(4, 8, 9, 1, true);
  EXPECT_EQ(loadAt(boxes, Kind::Broadcast, 3), Rational(3, 10));
  EXPECT_EQ(loadAt(boxes, Kind::Broadcast, 4, 9), Rational(1, 8));
  EXPECT_EQ(loadAt(boxes, Kind::Reduce, 4), Rational(1, 8));
}

/// Nothing is symmetric there, so that each rank has trees of its own.
TEST(PipelinedDepths, NeedNoSymmetry) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    Topology topology = randomTopology(seed, 4 + seed % 4, 1 + seed % 3);
    PipelinedDepths depths(topology, Kind::AllGather, 0);
    std::optional<Rational> last;
    for (unsigned steps = 1; steps < 8; ++steps) {
      DepthAnswer answer = depths.at(steps);
      EXPECT_EQ(bool(answer.schedule), !answer.impossible);
      if (!answer.schedule)
        continue;
      Rational load = answer.schedule->cost().load;
      EXPECT_LE(*answer.schedule->bound->value, load);
      EXPECT_TRUE(answer.schedule->optimal)
          << "seed " << seed << ", " << steps << " steps: " << load.str()
          << ", bound " << answer.schedule->bound->value->str();
      EXPECT_TRUE(!last || load <= *last);
      last = load;
    }
    EXPECT_EQ(last, loadOf(topology, Kind::AllGather));
  }
}

TEST(PipelinedDepths, GroupsGoThroughRelays) {
  // Ports of 3 to each other, and links of 2 to rank 3, which passes on.
  Topology topology("relay", 4);
  std::vector<unsigned> outs[3], ins[3];
  for (unsigned src = 0; src < 3; ++src)
    for (unsigned dst = 0; dst < 3; ++dst)
      if (src != dst) {
        unsigned link = *topology.addLink(src, dst);
        outs[src].push_back(link);
        ins[dst].push_back(link);
      }
  for (unsigned rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(topology.addLimit(outs[rank], 3));
    ASSERT_TRUE(topology.addLimit(ins[rank], 3));
    ASSERT_TRUE(topology.addLink(rank, 3, 2));
    ASSERT_TRUE(topology.addLink(3, rank, 2));
  }
  CollectiveFamily family{Kind::AllGather, 0, {{0, 1, 2}}};
  PipelinedDepths depths(topology, family);
  // Two chunks come in, by 3 alone or by both.
  for (auto [steps, load] : {std::pair(1u, Rational(2, 3)), {2, {2, 5}}}) {
    DepthAnswer answer = depths.at(steps);
    ASSERT_TRUE(answer.schedule) << answer.schedule.error();
    EXPECT_EQ(answer.schedule->cost().load, load);
    EXPECT_EQ(answer.schedule->cost().steps, steps);
    EXPECT_TRUE(answer.schedule->optimal);
    const auto &[collective, schedule] = answer.schedule->implementation;
    EXPECT_FALSE(checkSchedule(topology, collective, schedule));
  }
  family.kind = Kind::AllReduce;
  EXPECT_FALSE(hasPipelinedSchedules(family, 4));
  EXPECT_EQ(PipelinedDepths(topology, family).at(2).schedule.error(),
            "there are no pipelined schedules of all_reduce_groups yet");
}

TEST(PipelinedDepths, SayWhatTheyLack) {
  Topology dgx1 = *makeBuiltinTopology("dgx1");
  PipelinedDepths depths(dgx1, Kind::AllGather, 0);
  DepthAnswer one = depths.at(1);
  EXPECT_EQ(one.schedule.error(), "there is no schedule of 1 step");
  ASSERT_TRUE(one.impossible);
  EXPECT_FALSE(one.impossible->value);
  EXPECT_EQ(depths.at(0).schedule.error().substr(0, 23),
            "steps must be between 1");
  EXPECT_EQ(PipelinedDepths(dgx1, Kind::AllToAll, 0).at(2).schedule.error(),
            "there are no pipelined schedules of all_to_all yet");
}

TEST(Pipelined, RefusesWhatItDoesNotKnow) {
  Topology dgx1 = *makeBuiltinTopology("dgx1");
  EXPECT_EQ(synthesizePipelined(dgx1, Kind::AllToAll, 0).error(),
            "there are no pipelined schedules of all_to_all yet");
  EXPECT_EQ(synthesizePipelined(dgx1, Kind::Broadcast, 8).error(),
            "the root 8 is out of range for 8 ranks");
  EXPECT_EQ(synthesizePipelined(Topology("one", 1), Kind::AllGather, 0).error(),
            "a single rank has nothing to send");
}
