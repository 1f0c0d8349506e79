//===- SymmetryTest.cpp - Tests of the automorphism search ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The groups of known topologies, and a comparison with the definition by
// trying all renumberings of small random ones.
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "sccl/Model/Symmetry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

using namespace sccl;
using sccl::test::boxesOnCore;
using sccl::test::boxesOnRails;

static Topology builtin(std::string_view spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(topology) << topology.error();
  return *topology;
}

static size_t groupOrder(const Topology &topology,
                         std::optional<unsigned> fixedRank = std::nullopt) {
  return groupElements(automorphismGenerators(topology, fixedRank),
                       topology.numRanks(), 1 << 20)
      .size();
}

/// The definition: links go to links, limits to limits of equal bandwidth.
static bool isAutomorphism(const Topology &topology, const Permutation &p) {
  std::vector<unsigned> linkImage;
  for (const Link &link : topology.links()) {
    auto image = topology.findLink(p[link.src], p[link.dst]);
    if (!image)
      return false;
    linkImage.push_back(*image);
  }
  std::multiset<std::pair<std::vector<unsigned>, unsigned>> before, after;
  for (const BandwidthLimit &limit : topology.limits()) {
    before.insert({limit.links, limit.bandwidth});
    std::vector<unsigned> image;
    for (unsigned link : limit.links)
      image.push_back(linkImage[link]);
    std::sort(image.begin(), image.end());
    after.insert({image, limit.bandwidth});
  }
  return before == after;
}

TEST(Symmetry, OrdersOfKnownGroups) {
  EXPECT_EQ(groupOrder(builtin("dgx1")), 4u);
  EXPECT_EQ(groupOrder(builtin("amd_z52")), 16u);
  EXPECT_EQ(groupOrder(builtin("line:3")), 2u);
  EXPECT_EQ(groupOrder(builtin("mesh:5")), 120u);
  EXPECT_EQ(groupOrder(builtin("hypercube:3")), 48u);
  EXPECT_EQ(groupOrder(builtin("torus:4x4")), 384u);
  EXPECT_EQ(groupOrder(builtin("torus:3x5")), 60u);
  EXPECT_EQ(groupOrder(builtin("switch:4,2")), 24u);
}

TEST(Symmetry, FixedRank) {
  EXPECT_EQ(groupOrder(builtin("ring:8"), 3), 2u);
  EXPECT_EQ(groupOrder(builtin("dgx1"), 0), 1u);
  EXPECT_TRUE(automorphismGenerators(builtin("dgx1"), 0).empty());
  EXPECT_EQ(groupOrder(builtin("mesh:5"), 4), 24u);
  for (const Permutation &p : automorphismGenerators(builtin("ring:8"), 3))
    EXPECT_EQ(p[3], 3u);
}

TEST(Symmetry, OrbitsOfDgx1SeparateSingleFromDoubleCrossLinks) {
  std::vector<unsigned> expected = {0, 1, 1, 0, 1, 0, 0, 1};
  EXPECT_EQ(rankOrbits(automorphismGenerators(builtin("dgx1")), 8), expected);
}

TEST(Symmetry, OrbitsWithoutGenerators) {
  EXPECT_EQ(rankOrbits({}, 3), (std::vector<unsigned>{0, 1, 2}));
}

TEST(Symmetry, SharedLimitsBreakSymmetry) {
  Topology ring = builtin("ring:6");
  ASSERT_TRUE(ring.addLimit({*ring.findLink(0, 1), *ring.findLink(3, 4)}, 1));
  // Left are the identity and the half turn.
  EXPECT_EQ(groupOrder(ring), 2u);
  // A second limit of other bandwidth on the opposite links adds nothing.
  ASSERT_TRUE(ring.addLimit({*ring.findLink(1, 0), *ring.findLink(4, 3)}, 2));
  EXPECT_EQ(groupOrder(ring), 2u);
}

TEST(Symmetry, EqualSharedLimitsAllowReflection) {
  Topology ring = builtin("ring:6");
  ASSERT_TRUE(ring.addLimit({*ring.findLink(0, 1), *ring.findLink(3, 4)}, 1));
  ASSERT_TRUE(ring.addLimit({*ring.findLink(1, 0), *ring.findLink(4, 3)}, 1));
  EXPECT_EQ(groupOrder(ring), 4u);
}

TEST(Symmetry, ManyRanksThatAreAlike) {
  // Random products of exchanges of two ranks hardly ever move all alike, and
  // to look at each of 90,000 links for each generator takes seconds.
  Topology mesh = builtin("mesh:300");
  std::vector<Permutation> generators = automorphismGenerators(mesh);
  EXPECT_EQ(generators.size(), 299u);
  EXPECT_EQ(largeFreeSubgroup(generators, 300).size(), 300u);
}

TEST(Symmetry, GroupElementsStopsAtTheLimit) {
  std::vector<Permutation> generators =
      automorphismGenerators(builtin("mesh:5"));
  EXPECT_EQ(groupElements(generators, 5, 120).size(), 120u);
  EXPECT_TRUE(groupElements(generators, 5, 119).empty());
  EXPECT_EQ(groupElements(generators, 5, 120).front(),
            (Permutation{0, 1, 2, 3, 4}));
}

/// Random links, link limits and shared limits on 4 or 5 ranks. Whether and how
/// two ranks are linked depends half of the time on their difference only, as
/// else hardly any topology had a symmetry.
static Topology randomTopology(std::mt19937 &random) {
  unsigned numRanks = 4 + random() % 2;
  bool circulant = random() % 2;
  std::vector<unsigned> choice(numRanks * numRanks);
  for (unsigned &value : choice)
    value = random() % 6;
  Topology topology("random", numRanks);
  for (unsigned src = 0; src < numRanks; ++src)
    for (unsigned dst = 0; dst < numRanks; ++dst) {
      unsigned difference = (dst + numRanks - src) % numRanks;
      unsigned kind = choice[circulant ? difference : src * numRanks + dst];
      if (src == dst || kind < 2)
        continue;
      if (kind < 4)
        EXPECT_TRUE(topology.addLink(src, dst));
      else
        EXPECT_TRUE(topology.addLink(src, dst, kind - 3));
    }
  unsigned numLinks = topology.links().size();
  for (unsigned i = random() % 3; i > 0 && numLinks > 0; --i) {
    std::set<unsigned> links;
    for (unsigned j = 0; j < 1 + random() % 3; ++j)
      links.insert(random() % numLinks);
    EXPECT_TRUE(topology.addLimit({links.begin(), links.end()}, 1));
  }
  bool hasPorts = random() % 4 == 0;
  for (unsigned rank = 0; hasPorts && rank < numRanks; ++rank) {
    if (!topology.outLinks(rank).empty()) {
      EXPECT_TRUE(topology.addLimit(topology.outLinks(rank), 3));
    }
  }
  return topology;
}

/// Compares the group with the definition. Returns its order.
static size_t compareWithDefinition(const Topology &topology) {
  unsigned numRanks = topology.numRanks();
  std::vector<Permutation> elements = groupElements(
      automorphismGenerators(topology), numRanks, size_t(1) << 10);
  std::set<Permutation> actual(elements.begin(), elements.end());
  EXPECT_EQ(actual.size(), elements.size());
  std::set<Permutation> expected;
  Permutation p(numRanks);
  std::iota(p.begin(), p.end(), 0u);
  do {
    if (isAutomorphism(topology, p))
      expected.insert(p);
  } while (std::next_permutation(p.begin(), p.end()));
  EXPECT_EQ(actual, expected);
  return expected.size();
}

TEST(Symmetry, AgreesWithTheDefinitionOnRandomTopologies) {
  std::mt19937 random(7);
  size_t nontrivial = 0;
  for (int trial = 0; trial < 400; ++trial)
    nontrivial += compareWithDefinition(randomTopology(random)) > 1;
  EXPECT_GT(nontrivial, 20u);
}

/// Ranks 0 to 4 on a switch from whose ports some links may be missing, and a
/// rank that is linked to some of them.
static Topology randomSwitch(std::mt19937 &random) {
  constexpr unsigned ports = 5;
  Topology topology("switch", ports + 1);
  unsigned missing = random() % 4;
  std::vector<std::vector<unsigned>> out(ports), in(ports);
  for (unsigned src = 0; src < ports; ++src)
    for (unsigned dst = 0; dst < ports; ++dst) {
      bool isLost = missing > 0 && random() % 10 == 0;
      if (src == dst || isLost)
        continue;
      missing -= isLost;
      unsigned link = *topology.addLink(src, dst);
      out[src].push_back(link);
      in[dst].push_back(link);
    }
  for (unsigned rank = 0; rank < ports; ++rank) {
    EXPECT_TRUE(topology.addLimit(out[rank], 2));
    EXPECT_TRUE(topology.addLimit(in[rank], 2));
    if (random() % 2) {
      EXPECT_TRUE(topology.addLink(rank, ports, 1));
    }
    if (random() % 2) {
      EXPECT_TRUE(topology.addLink(ports, rank, 1));
    }
  }
  return topology;
}

TEST(Symmetry, AgreesWithTheDefinitionOnSwitches) {
  std::mt19937 random(11);
  size_t nontrivial = 0;
  for (int trial = 0; trial < 60; ++trial)
    nontrivial += compareWithDefinition(randomSwitch(random)) > 1;
  EXPECT_GT(nontrivial, 10u);
}

TEST(Symmetry, RailsOfManyBoxes) {
  // Edges for all pairs of 70 boxes would be 15,000.
  Topology rails = boxesOnRails(70, 3, 9);
  EXPECT_EQ(largeFreeSubgroup(automorphismGenerators(rails), 210).size(), 210u);
}

/// Checks what the contract of `freeSubgroups` says of each group.
static void checkFreeSubgroups(const Topology &topology,
                               const std::vector<std::vector<Permutation>> &all,
                               size_t limit) {
  ASSERT_FALSE(all.empty());
  EXPECT_LE(all.size(), limit);
  EXPECT_EQ(all.back().size(), 1u);
  std::set<std::set<Permutation>> distinct;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_LE(all[i].size(), all[i == 0 ? 0 : i - 1].size());
    std::set<Permutation> group(all[i].begin(), all[i].end());
    EXPECT_EQ(group.size(), all[i].size());
    EXPECT_TRUE(distinct.insert(group).second);
    for (const Permutation &element : group) {
      EXPECT_TRUE(isAutomorphism(topology, element));
      bool fixes = false, moves = false;
      for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
        (element[rank] == rank ? fixes : moves) = true;
      EXPECT_FALSE(fixes && moves);
    }
    // Closed: generated by itself, it stays the same.
    EXPECT_EQ(groupElements(all[i], topology.numRanks(), 1 << 12).size(),
              group.size());
  }
}

TEST(Symmetry, FreeSubgroupsOfDgx1) {
  Topology topology = builtin("dgx1");
  auto groups = freeSubgroups(topology, 16);
  checkFreeSubgroups(topology, groups, 16);
  std::vector<size_t> orders;
  for (const auto &group : groups)
    orders.push_back(group.size());
  EXPECT_EQ(orders, (std::vector<size_t>{4, 2, 2, 2, 1}));
}

TEST(Symmetry, FreeSubgroupsAreRegularWhereTheyCanBe) {
  for (std::string_view spec :
       {"ring:8", "torus:4x4", "torus:3x5", "hypercube:4", "mesh:6", "mesh:16",
        "switch:8,2", "ring:64", "torus:8x8"}) {
    Topology topology = builtin(spec);
    auto groups = freeSubgroups(topology, 12);
    checkFreeSubgroups(topology, groups, 12);
    EXPECT_EQ(groups.front().size(), topology.numRanks()) << spec;
  }
}

TEST(Symmetry, TheTrivialGroupIsKeptWhateverTheLimit) {
  EXPECT_EQ(freeSubgroups(builtin("ring:8"), 1).size(), 1u);
  EXPECT_EQ(freeSubgroups(builtin("ring:8"), 1).front().size(), 1u);
  EXPECT_EQ(freeSubgroups(builtin("line:3"), 5).size(), 1u);
}

TEST(Symmetry, RegularSubgroupsOfBoxes) {
  for (auto [boxes, gpus] :
       std::initializer_list<std::pair<unsigned, unsigned>>{
           {2, 8}, {3, 8}, {4, 8}, {5, 7}, {16, 8}, {6, 6}, {12, 4}}) {
    Topology topology = boxesOnRails(boxes, gpus, 9);
    unsigned ranks = topology.numRanks();
    std::vector<Permutation> group =
        largeFreeSubgroup(automorphismGenerators(topology), ranks);
    EXPECT_EQ(group.size(), ranks) << boxes << " boxes of " << gpus;
    checkFreeSubgroups(topology, {group, {group.front()}}, 2);
    EXPECT_EQ(freeSubgroups(topology, 4).front().size(), ranks);
  }
}

TEST(Symmetry, RegularSubgroupsOfTwinsOfTwins) {
  // Pairs, of which any two of a box may be exchanged, as may any two boxes.
  for (auto [boxes, pairs] :
       std::initializer_list<std::pair<unsigned, unsigned>>{
           {2, 4}, {5, 3}, {7, 4}}) {
    Topology topology = boxesOnCore(boxes, 2 * pairs, 7, /*perCard=*/2);
    unsigned ranks = topology.numRanks();
    std::vector<Permutation> group =
        largeFreeSubgroup(automorphismGenerators(topology), ranks);
    EXPECT_EQ(group.size(), ranks) << boxes << " boxes of " << pairs;
    checkFreeSubgroups(topology, {group, {group.front()}}, 2);
  }
}

TEST(Symmetry, PositionsOfTwinsOfTwins) {
  // Of a pair, and of the two pairs of a box; any two boxes are alike.
  Topology topology = boxesOnCore(3, 4, 7, /*perCard=*/2);
  EXPECT_EQ(twinPositions(automorphismGenerators(topology), 12),
            (std::vector<std::vector<unsigned>>{
                {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
                {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}}));
  // A single class says nothing, and on rails nobody has a twin.
  EXPECT_TRUE(
      twinPositions(automorphismGenerators(builtin("mesh:5")), 5).empty());
  Topology rails = boxesOnRails(3, 4, 9);
  EXPECT_TRUE(twinPositions(automorphismGenerators(rails), 12).empty());
}

TEST(Symmetry, TwinsOfRanksThatStay) {
  // Six leaves of one hub and three of another: no element moves the hubs.
  Topology stars("stars", 11);
  for (unsigned leaf = 2; leaf < 11; ++leaf) {
    ASSERT_TRUE(stars.addLink(leaf < 8 ? 0 : 1, leaf, 1));
    ASSERT_TRUE(stars.addLink(leaf, leaf < 8 ? 0 : 1, 1));
  }
  EXPECT_EQ(largeFreeSubgroup(automorphismGenerators(stars), 11).size(), 1u);
}

TEST(Symmetry, LargeFreeSubgroupWhereNoneIsRegular) {
  // Of a star no group moves the rank in the middle.
  Topology star("star", 5);
  for (unsigned rank = 1; rank < 5; ++rank) {
    ASSERT_TRUE(star.addLink(0, rank, 1));
    ASSERT_TRUE(star.addLink(rank, 0, 1));
  }
  EXPECT_EQ(largeFreeSubgroup(automorphismGenerators(star), 5).size(), 1u);
  EXPECT_EQ(largeFreeSubgroup({}, 3).size(), 1u);
  EXPECT_EQ(
      largeFreeSubgroup(automorphismGenerators(builtin("dgx1")), 8).size(), 4u);
}

TEST(Symmetry, SmallSubgroupJoinsRanksThatAFreeOneCannot) {
  // Of a star the ranks around the one in the middle turn.
  Topology star("star", 8);
  for (unsigned rank = 1; rank < 8; ++rank) {
    ASSERT_TRUE(star.addLink(0, rank, 1));
    ASSERT_TRUE(star.addLink(rank, 0, 1));
  }
  std::vector<Permutation> all = automorphismGenerators(star);
  std::vector<Permutation> group = smallSubgroup(all, 8, 16);
  EXPECT_EQ(group.size(), 7u);
  EXPECT_EQ(rankOrbits(group, 8),
            (std::vector<unsigned>{0, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(std::ranges::is_sorted(group.front()));
  for (const Permutation &element : group)
    for (const Link &link : star.links())
      EXPECT_TRUE(star.findLink(element[link.src], element[link.dst]));
  // Not more elements than allowed; nothing without symmetries.
  EXPECT_LE(smallSubgroup(all, 8, 5).size(), 5u);
  EXPECT_EQ(smallSubgroup({}, 3, 16).size(), 1u);
}

TEST(Symmetry, SmallSubgroupTurnsWhatIsJoinedInTwoWays) {
  // A grid of 9 x 11 ranks, joined within rows and within columns; without
  // its first row and column, which rank 0 keeps apart, 8 x 10 are alike.
  Topology grid("grid", 99);
  for (unsigned src = 0; src < 99; ++src)
    for (unsigned dst = 0; dst < 99; ++dst)
      if (src != dst && (src / 11 == dst / 11 || src % 11 == dst % 11)) {
        ASSERT_TRUE(grid.addLink(src, dst, src / 11 == dst / 11 ? 2 : 1));
      }
  std::vector<Permutation> group =
      smallSubgroup(automorphismGenerators(grid, 0), 99, 128);
  EXPECT_EQ(group.size(), 80u);
  std::vector<unsigned> firsts = rankOrbits(group, 99);
  EXPECT_EQ(std::set<unsigned>(firsts.begin(), firsts.end()),
            (std::set<unsigned>{0, 1, 11, 12}));
}
