//===- RefinementTest.cpp - Tests of colour refinement --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Refinement.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace sccl;

static Topology builtin(std::string_view spec) {
  Result<Topology> topology = makeBuiltinTopology(spec);
  EXPECT_TRUE(topology) << topology.error();
  return *topology;
}

/// Checks that each member of a class sees as many of each class as any other.
static void checkEquitable(const Topology &topology, const Refinement &found) {
  using Seen = std::map<std::pair<unsigned, unsigned>, unsigned>;
  std::vector<Seen> ranks(topology.numRanks()), links(topology.links().size()),
      limits(topology.limits().size());
  for (unsigned link = 0; link < links.size(); ++link) {
    auto [src, dst] = topology.links()[link];
    unsigned cls = found.links.classOf[link];
    ++ranks[src][{0, cls}];
    ++ranks[dst][{1, cls}];
    ++links[link][{0, found.ranks.classOf[src]}];
    ++links[link][{1, found.ranks.classOf[dst]}];
  }
  for (unsigned limit = 0; limit < limits.size(); ++limit) {
    limits[limit][{0, topology.limits()[limit].bandwidth}] = 1;
    for (unsigned link : topology.limits()[limit].links) {
      ++limits[limit][{1, found.links.classOf[link]}];
      ++links[link][{2, found.limits.classOf[limit]}];
    }
  }
  auto check = [](const std::vector<Seen> &seen, const Classes &classes) {
    ASSERT_EQ(classes.classOf.size(), seen.size());
    std::vector<unsigned> sizes(classes.count());
    for (unsigned i = 0; i < seen.size(); ++i) {
      unsigned cls = classes.classOf[i];
      ++sizes[cls];
      EXPECT_LE(classes.firsts[cls], i);
      EXPECT_EQ(seen[i], seen[classes.firsts[cls]]);
    }
    EXPECT_EQ(sizes, classes.sizes);
  };
  check(ranks, found.ranks);
  check(links, found.links);
  check(limits, found.limits);
}

TEST(Refinement, IsEquitable) {
  std::mt19937 random(3);
  for (const char *spec : {"dgx1", "amd_z52", "torus:3x4", "line:5",
                           "switch:6,3", "hypercube:4", "star:5"}) {
    Result<Topology> topology = makeBuiltinTopology(spec);
    if (!topology)
      continue;
    Refinement whole =
        refine(*topology, std::vector<uint64_t>(topology->numRanks()));
    checkEquitable(*topology, whole);
    Refinement fixed =
        refine(*topology, whole, {unsigned(random() % topology->numRanks())});
    checkEquitable(*topology, fixed);
  }
}

TEST(Refinement, KnownClasses) {
  Topology torus = builtin("torus:4x4");
  Refinement whole = refine(torus, std::vector<uint64_t>(16));
  EXPECT_EQ(whole.ranks.count(), 1u);
  EXPECT_EQ(whole.links.count(), 1u);
  // From one rank, those at distance 2 are of two kinds.
  Refinement fixed = refine(torus, whole, {5});
  EXPECT_EQ(fixed.ranks.count(), 6u - 1);
  EXPECT_EQ(fixed.ranks.sizes[fixed.ranks.classOf[5]], 1u);
  // A line is its own mirror image.
  EXPECT_EQ(refine(builtin("line:5"), std::vector<uint64_t>(5)).ranks.count(),
            3u);
}

TEST(Refinement, KeepsKeysApart) {
  Topology ring = builtin("ring:6");
  std::vector<uint64_t> limitKeys(ring.limits().size());
  limitKeys[0] = 1;
  Refinement found = refine(ring, std::vector<uint64_t>(6), limitKeys);
  EXPECT_EQ(found.limits.sizes[found.limits.classOf[0]], 1u);
  EXPECT_EQ(found.ranks.count(), 6u);
  checkEquitable(ring, found);
}
