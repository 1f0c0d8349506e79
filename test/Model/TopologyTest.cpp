//===- TopologyTest.cpp - Tests of ranks, links and limits ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The figures of dgx1 are worked out from its two rings by hand, not read from
// the code under test.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace sccl;

static Topology builtin(std::string_view spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  if (!topology) {
    ADD_FAILURE() << spec << ": " << topology.error();
    return Topology("failed", 1);
  }
  return *topology;
}

static std::string builtinError(std::string_view spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_FALSE(topology) << spec;
  return topology.error();
}

static bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != text.npos;
}

static std::vector<std::pair<unsigned, unsigned>> pairs(const Topology &t) {
  std::vector<std::pair<unsigned, unsigned>> result;
  for (const Link &link : t.links())
    result.push_back({link.src, link.dst});
  return result;
}

static unsigned capacityOf(const Topology &t, unsigned src, unsigned dst) {
  std::optional<unsigned> link = t.findLink(src, dst);
  return link ? t.capacity(*link) : 0;
}

static unsigned diameter(const Topology &t) {
  unsigned most = 0;
  for (unsigned rank = 0; rank < t.numRanks(); ++rank)
    for (unsigned distance : t.distancesFrom(rank))
      most = std::max(most, distance);
  return most;
}

/// What must hold of every built-in topology with a limit per link: sorted
/// links, each in both directions, bandwidth the same both ways.
static void expectSymmetric(const Topology &t) {
  auto links = pairs(t);
  EXPECT_TRUE(std::is_sorted(links.begin(), links.end())) << t.name();
  EXPECT_TRUE(t.isPointToPoint()) << t.name();
  EXPECT_EQ(t.limits().size(), links.size()) << t.name();
  for (auto [src, dst] : links) {
    EXPECT_GE(capacityOf(t, src, dst), 1u);
    EXPECT_EQ(capacityOf(t, src, dst), capacityOf(t, dst, src))
        << t.name() << ": " << src << " -> " << dst;
  }
}

//===----------------------------------------------------------------------===//
// Links and limits
//===----------------------------------------------------------------------===//

TEST(Topology, LinksInOrderOfInsertion) {
  Topology t("t", 3);
  EXPECT_EQ(*t.addLink(2, 0, 3), 0u);
  EXPECT_EQ(*t.addLink(0, 1, 1), 1u);
  EXPECT_EQ(*t.addLink(2, 1), 2u);
  EXPECT_EQ(t.links()[0], (Link{2, 0}));
  EXPECT_EQ(t.outLinks(2), (std::vector<unsigned>{0, 2}));
  EXPECT_EQ(t.outLinks(1), std::vector<unsigned>());
  EXPECT_EQ(t.inLinks(1), (std::vector<unsigned>{1, 2}));
  EXPECT_EQ(t.findLink(0, 1), 1u);
  EXPECT_EQ(t.findLink(1, 0), std::nullopt);
  EXPECT_EQ(t.findLink(7, 9), std::nullopt);
  EXPECT_EQ(t.limits().size(), 2u);
  EXPECT_EQ(t.capacity(0), 3u);
  EXPECT_EQ(t.capacity(2), Topology::maxBandwidth);
}

TEST(Topology, AddLinkFailures) {
  Topology t("t", 2);
  EXPECT_EQ(t.addLink(0, 2).error(),
            "rank 2 of link 0 -> 2 is out of range for 2 ranks");
  EXPECT_EQ(t.addLink(5, 0).error(),
            "rank 5 of link 5 -> 0 is out of range for 2 ranks");
  EXPECT_EQ(t.addLink(1, 1).error(), "link 1 -> 1 joins a rank to itself");
  ASSERT_TRUE(t.addLink(0, 1));
  EXPECT_EQ(t.addLink(0, 1).error(), "link 0 -> 1 is there already");
  EXPECT_EQ(t.links().size(), 1u);
}

TEST(Topology, BadBandwidthLeavesNoLink) {
  Topology t("t", 2);
  EXPECT_EQ(t.addLink(0, 1, 0).error(),
            "bandwidth must be between 1 and 1048576, got 0");
  EXPECT_EQ(t.addLink(0, 1, Topology::maxBandwidth + 1).error(),
            "bandwidth must be between 1 and 1048576, got 1048577");
  EXPECT_TRUE(t.links().empty());
  EXPECT_TRUE(t.limits().empty());
  EXPECT_EQ(t.findLink(0, 1), std::nullopt);
  EXPECT_TRUE(t.addLink(0, 1, Topology::maxBandwidth));
}

TEST(Topology, SharedLimits) {
  Topology t("t", 3);
  ASSERT_TRUE(t.addLink(0, 1, 5));
  ASSERT_TRUE(t.addLink(0, 2, 2));
  EXPECT_TRUE(t.isPointToPoint());
  EXPECT_EQ(*t.addLimit({1, 0}, 3), 2u);
  EXPECT_FALSE(t.isPointToPoint());
  EXPECT_EQ(t.limits()[2].links, (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(t.limits()[2].bandwidth, 3u);
  EXPECT_EQ(t.capacity(0), 3u);
  EXPECT_EQ(t.capacity(1), 2u);
}

TEST(Topology, AddLimitFailures) {
  Topology t("t", 3);
  ASSERT_TRUE(t.addLink(0, 1, 5));
  EXPECT_EQ(t.addLimit({}, 1).error(), "a limit needs at least 1 link");
  EXPECT_EQ(t.addLimit({0, 4}, 1).error(),
            "link number 4 of a limit is out of range for 1 links");
  EXPECT_EQ(t.addLimit({0, 0}, 1).error(),
            "link 0 -> 1 occurs twice in a limit");
  EXPECT_EQ(t.addLimit({0}, 0).error(),
            "bandwidth must be between 1 and 1048576, got 0");
  EXPECT_EQ(t.limits().size(), 1u);
  EXPECT_EQ(t.capacity(0), 5u);
}

TEST(Topology, TooManyLinks) {
  // 2049 * 2048 pairs are 2048 more than the limit of 2^22.
  Topology t("t", 2049);
  unsigned added = 0;
  std::string error;
  for (unsigned src = 0; src < 2049 && error.empty(); ++src)
    for (unsigned dst = 0; dst < 2049 && error.empty(); ++dst)
      if (src != dst) {
        Result<unsigned> link = t.addLink(src, dst);
        link ? void(++added) : void(error = link.error());
      }
  EXPECT_EQ(added, Topology::maxLinks);
  EXPECT_TRUE(contains(error, "4194304")) << error;
}

TEST(Topology, Distances) {
  Topology t("t", 4);
  ASSERT_TRUE(t.addLink(0, 1));
  ASSERT_TRUE(t.addLink(1, 2));
  ASSERT_TRUE(t.addLink(2, 0));
  EXPECT_EQ(t.distancesFrom(1),
            (std::vector<unsigned>{2, 0, 1, Topology::unreachable}));
  EXPECT_EQ(t.distancesFrom(3),
            (std::vector<unsigned>{Topology::unreachable, Topology::unreachable,
                                   Topology::unreachable, 0}));
}

TEST(Topology, DistancesFromTheNearestOfSeveral) {
  Topology t = *makeBuiltinTopology("ring:7");
  EXPECT_EQ(t.distancesFrom({0, 3}),
            (std::vector<unsigned>{0, 1, 1, 0, 1, 2, 1}));
  // Named once or often, and all ranks at once.
  EXPECT_EQ(t.distancesFrom({3, 0, 3, 3, 0, 0, 3, 0}), t.distancesFrom({0, 3}));
  EXPECT_EQ(t.distancesFrom({0, 1, 2, 3, 4, 5, 6}), std::vector<unsigned>(7));
  EXPECT_EQ(t.distancesFrom(std::vector<unsigned>{}),
            std::vector<unsigned>(7, Topology::unreachable));
}

TEST(Topology, DistancesToTheNearestOfSeveral) {
  Topology t("t", 5);
  ASSERT_TRUE(t.addLink(0, 1));
  ASSERT_TRUE(t.addLink(1, 2));
  ASSERT_TRUE(t.addLink(2, 3));
  EXPECT_EQ(t.distancesTo({2, 3}),
            (std::vector<unsigned>{2, 1, 0, 0, Topology::unreachable}));
  EXPECT_EQ(t.distancesTo({0}), t.reversed().distancesFrom(0));
}

TEST(Topology, FindsEachOfManyLinks) {
  // The table of links grows several times on the way.
  constexpr unsigned ranks = 40;
  Topology t("t", ranks);
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = src % 3; dst < ranks; dst += 3) {
      EXPECT_EQ(t.findLink(src, dst), std::nullopt);
      if (src == dst)
        continue;
      Result<unsigned> link = t.addLink(src, dst);
      ASSERT_TRUE(link);
      EXPECT_EQ(t.findLink(src, dst), *link);
    }
  for (unsigned link = 0; link < t.links().size(); ++link)
    EXPECT_EQ(t.findLink(t.links()[link].src, t.links()[link].dst), link);
  EXPECT_FALSE(t.addLink(t.links()[7].src, t.links()[7].dst));
}

TEST(Topology, Reversed) {
  Topology t("t", 3);
  ASSERT_TRUE(t.addLink(0, 1, 4));
  ASSERT_TRUE(t.addLink(0, 2, 7));
  ASSERT_TRUE(t.addLimit({0, 1}, 5));
  Topology r = t.reversed();
  EXPECT_EQ(r.name(), "t");
  EXPECT_EQ(r.links()[0], (Link{1, 0}));
  EXPECT_EQ(r.links()[1], (Link{2, 0}));
  EXPECT_EQ(r.findLink(1, 0), 0u);
  EXPECT_EQ(r.findLink(0, 1), std::nullopt);
  EXPECT_EQ(r.inLinks(0), (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(r.outLinks(0), std::vector<unsigned>());
  EXPECT_EQ(r.outLinks(2), std::vector<unsigned>{1});
  EXPECT_EQ(r.capacity(0), 4u);
  EXPECT_EQ(r.capacity(1), 5u);
  ASSERT_EQ(r.limits().size(), 3u);
  EXPECT_EQ(r.limits()[2].links, (std::vector<unsigned>{0, 1}));
  // Links added later must not clash with those turned round.
  EXPECT_TRUE(r.addLink(0, 1));
  EXPECT_FALSE(r.addLink(1, 0));
  EXPECT_EQ(r.reversed().links()[1], (Link{0, 2}));
}

//===----------------------------------------------------------------------===//
// Built-in topologies
//===----------------------------------------------------------------------===//

TEST(BuiltinTopology, Dgx1) {
  Topology t = builtin("dgx1");
  EXPECT_EQ(t.name(), "dgx1");
  EXPECT_EQ(t.numRanks(), 8u);
  EXPECT_EQ(t.links().size(), 32u);
  expectSymmetric(t);
  for (unsigned rank = 0; rank < 8; ++rank) {
    unsigned outgoing = 0, incoming = 0;
    for (unsigned link : t.outLinks(rank))
      outgoing += t.capacity(link);
    for (unsigned link : t.inLinks(rank))
      incoming += t.capacity(link);
    EXPECT_EQ(outgoing, 6u) << rank;
    EXPECT_EQ(incoming, 6u) << rank;
  }
  EXPECT_EQ(capacityOf(t, 0, 1), 2u);
  EXPECT_EQ(capacityOf(t, 0, 2), 1u);
  EXPECT_EQ(capacityOf(t, 0, 3), 2u);
  EXPECT_EQ(capacityOf(t, 0, 5), 1u);
  EXPECT_EQ(capacityOf(t, 4, 5), 2u);
  EXPECT_EQ(capacityOf(t, 4, 6), 1u);
  EXPECT_EQ(capacityOf(t, 2, 7), 2u);
  EXPECT_EQ(capacityOf(t, 7, 5), 1u);
  for (unsigned absent : {4u, 6u, 7u})
    EXPECT_EQ(t.findLink(0, absent), std::nullopt) << absent;
  EXPECT_EQ(diameter(t), 2u);
}

TEST(BuiltinTopology, AmdZ52) {
  Topology t = builtin("amd_z52");
  EXPECT_EQ(t.numRanks(), 8u);
  EXPECT_EQ(t.links().size(), 16u);
  expectSymmetric(t);
  for (unsigned rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(capacityOf(t, rank, (rank + 1) % 8), 1u);
    EXPECT_EQ(t.outLinks(rank).size(), 2u);
  }
  EXPECT_EQ(diameter(t), 4u);
}

TEST(BuiltinTopology, Ring) {
  Topology t = builtin("ring:5");
  EXPECT_EQ(t.name(), "ring:5");
  expectSymmetric(t);
  EXPECT_EQ(pairs(t), (std::vector<std::pair<unsigned, unsigned>>{{0, 1},
                                                                  {0, 4},
                                                                  {1, 0},
                                                                  {1, 2},
                                                                  {2, 1},
                                                                  {2, 3},
                                                                  {3, 2},
                                                                  {3, 4},
                                                                  {4, 0},
                                                                  {4, 3}}));
  EXPECT_EQ(diameter(t), 2u);
  EXPECT_EQ(pairs(builtin("ring:2")),
            (std::vector<std::pair<unsigned, unsigned>>{{0, 1}, {1, 0}}));
}

TEST(BuiltinTopology, Line) {
  Topology t = builtin("line:3");
  expectSymmetric(t);
  EXPECT_EQ(pairs(t), (std::vector<std::pair<unsigned, unsigned>>{
                          {0, 1}, {1, 0}, {1, 2}, {2, 1}}));
  EXPECT_EQ(diameter(builtin("line:9")), 8u);
}

TEST(BuiltinTopology, Mesh) {
  Topology t = builtin("mesh:6");
  expectSymmetric(t);
  EXPECT_EQ(t.links().size(), 30u);
  EXPECT_EQ(diameter(t), 1u);
}

TEST(BuiltinTopology, Torus) {
  Topology t = builtin("torus:3x4");
  expectSymmetric(t);
  EXPECT_EQ(t.numRanks(), 12u);
  EXPECT_EQ(t.links().size(), 48u);
  // Rank 5 is row 1, column 1.
  std::set<unsigned> neighbours;
  for (unsigned link : t.outLinks(5))
    neighbours.insert(t.links()[link].dst);
  EXPECT_EQ(neighbours, (std::set<unsigned>{1, 4, 6, 9}));
  // The corners wrap around.
  EXPECT_TRUE(t.findLink(0, 3));
  EXPECT_TRUE(t.findLink(0, 8));
  EXPECT_EQ(diameter(t), 3u);
}

TEST(BuiltinTopology, TorusSmallDimensions) {
  // One link each way along a dimension of 2, none along a dimension of 1.
  EXPECT_EQ(builtin("torus:2x2").links().size(), 8u);
  EXPECT_EQ(pairs(builtin("torus:1x4")), pairs(builtin("ring:4")));
  EXPECT_EQ(pairs(builtin("torus:4x1")), pairs(builtin("ring:4")));
  EXPECT_EQ(pairs(builtin("torus:2x2x2")), pairs(builtin("hypercube:3")));
  EXPECT_TRUE(builtin("torus:1x1").links().empty());
  Topology t = builtin("torus:2x3x4");
  expectSymmetric(t);
  EXPECT_EQ(t.numRanks(), 24u);
  EXPECT_EQ(t.links().size(), 24u * (1 + 2 + 2));
}

TEST(BuiltinTopology, Hypercube) {
  Topology t = builtin("hypercube:4");
  expectSymmetric(t);
  EXPECT_EQ(t.numRanks(), 16u);
  EXPECT_EQ(t.links().size(), 64u);
  EXPECT_EQ(diameter(t), 4u);
  EXPECT_TRUE(t.findLink(5, 13));
  EXPECT_FALSE(t.findLink(5, 6));
  EXPECT_EQ(builtin("hypercube:1").numRanks(), 2u);
}

TEST(BuiltinTopology, Switch) {
  Topology t = builtin("switch:4,3");
  EXPECT_EQ(t.numRanks(), 4u);
  EXPECT_EQ(t.links().size(), 12u);
  EXPECT_FALSE(t.isPointToPoint());
  // No limit per link: one per rank and direction.
  ASSERT_EQ(t.limits().size(), 8u);
  std::set<std::vector<unsigned>> limited;
  for (const BandwidthLimit &limit : t.limits()) {
    EXPECT_EQ(limit.bandwidth, 3u);
    limited.insert(limit.links);
  }
  for (unsigned rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(t.outLinks(rank).size(), 3u);
    EXPECT_TRUE(limited.count(t.outLinks(rank))) << rank;
    EXPECT_TRUE(limited.count(t.inLinks(rank))) << rank;
  }
  EXPECT_EQ(capacityOf(t, 1, 2), 3u);
}

TEST(BuiltinTopology, ListedSpecsAreKnown) {
  std::vector<std::string> specs;
  for (const BuiltinTopology &entry : builtinTopologies()) {
    specs.emplace_back(entry.spec);
    EXPECT_FALSE(entry.description.empty()) << entry.spec;
  }
  EXPECT_EQ(specs, (std::vector<std::string>{
                       "dgx1", "amd_z52", "ring:N", "line:N", "mesh:N",
                       "torus:AxB[xC...]", "hypercube:D", "switch:N,B"}));
}

TEST(BuiltinTopology, UnknownNameListsKnownOnes) {
  std::string known = "; known: dgx1, amd_z52, ring:N, line:N, mesh:N, "
                      "torus:AxB[xC...], hypercube:D, switch:N,B";
  for (std::string spec : {"foo", "", "DGX1", "dgx", "dgx11", " ring:4", ":4"})
    EXPECT_EQ(builtinError(spec), "unknown topology '" + spec + "'" + known);
}

TEST(BuiltinTopology, MissingOrNeedlessParameter) {
  EXPECT_EQ(builtinError("ring"),
            "topology 'ring' lacks its parameter, expected 'ring:N'");
  EXPECT_EQ(builtinError("dgx1:8"),
            "topology 'dgx1:8' takes no parameter, expected 'dgx1'");
  EXPECT_EQ(builtinError("dgx1:"),
            "topology 'dgx1:' takes no parameter, expected 'dgx1'");
}

TEST(BuiltinTopology, MalformedNumbers) {
  for (const char *spec :
       {"ring:", "ring:x", "ring:4 ", "ring: 4", "ring:+4", "ring:-4",
        "ring:4.0", "ring:4:4", "ring:0x4", "line:3,", "mesh:4x4", "torus:4x",
        "torus:x4", "torus:4xx4", "torus:4,4", "hypercube:3a", "switch:4,",
        "switch:,4", "switch:4x4,1"}) {
    std::string error = builtinError(spec);
    EXPECT_TRUE(contains(error, std::string("'") + spec + "'")) << error;
  }
  EXPECT_EQ(builtinError("ring:4x"),
            "expected a number in topology 'ring:4x', got '4x'");
  EXPECT_TRUE(contains(builtinError("torus:4"), "at least 2 dimensions"));
  EXPECT_TRUE(contains(builtinError("switch:4"), "needs 2 parameters"));
  EXPECT_TRUE(contains(builtinError("switch:4,1,1"), "needs 2 parameters"));
}

TEST(BuiltinTopology, NumbersOutOfRange) {
  EXPECT_EQ(builtinError("ring:0"), "number 0 in topology 'ring:0' is out of "
                                    "range, the limits are 1 and 65536");
  struct Case {
    const char *spec, *number, *limit;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"ring:0", "0", "1"},
           {"ring:65537", "65537", "65536"},
           {"ring:4294967298", "4294967298", "65536"},
           {"ring:18446744073709551618", "18446744073709551618", "65536"},
           {"line:0", "0", "1"},
           {"line:99999999999999999999999", "99999999999999999999999", "65536"},
           {"mesh:0", "0", "1"},
           {"mesh:2049", "4196352", "4194304"},
           {"mesh:65536", "4294901760", "4194304"},
           {"mesh:65537", "65537", "65536"},
           {"torus:0x4", "0", "1"},
           {"torus:256x257", "65792", "65536"},
           {"torus:65536x65536x65536", "4294967296", "65536"},
           {"hypercube:17", "17", "16"},
           {"switch:0,1", "0", "1"},
           {"switch:4,0", "0", "1"},
           {"switch:4,1048577", "1048577", "1048576"},
           {"switch:3000,1", "8997000", "4194304"}}) {
    std::string error = builtinError(c.spec);
    EXPECT_TRUE(contains(error, c.number)) << error;
    EXPECT_TRUE(contains(error, c.limit)) << error;
  }
}

TEST(BuiltinTopology, OneRankHasNoLinks) {
  for (const char *spec : {"ring:1", "line:1", "mesh:1", "torus:1x1",
                           "hypercube:0", "switch:1,4"}) {
    Topology topology = builtin(spec);
    EXPECT_EQ(topology.numRanks(), 1u) << spec;
    EXPECT_TRUE(topology.links().empty()) << spec;
    EXPECT_TRUE(topology.limits().empty()) << spec;
  }
}

TEST(BuiltinTopology, LargestSizes) {
  EXPECT_EQ(builtin("ring:65536").links().size(), 131072u);
  EXPECT_EQ(builtin("hypercube:16").numRanks(), Topology::maxRanks);
  EXPECT_EQ(builtin("torus:256x256").numRanks(), Topology::maxRanks);
}
