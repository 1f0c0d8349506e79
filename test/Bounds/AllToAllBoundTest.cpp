//===- AllToAllBoundTest.cpp - Bounds on exchanges of hundreds of ranks ---===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is expected comes from counting: what leaves a box, over what its
// network cards let through.
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/LowerBound.h"

#include <gtest/gtest.h>

#include <array>

using namespace sccl;

/// Boxes of 8 ranks behind a switch, and a switch for the i-th rank of each.
static Topology boxesOnRails(unsigned boxes, unsigned inBox, unsigned network) {
  constexpr unsigned perBox = 8;
  unsigned ranks = boxes * perBox;
  Topology topology("rails", ranks);
  // Out of and into each rank, in its box and between boxes.
  std::vector<std::array<std::vector<unsigned>, 4>> ports(ranks);
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst) {
      bool isTogether = src / perBox == dst / perBox;
      if (src == dst || (!isTogether && src % perBox != dst % perBox))
        continue;
      unsigned link = *topology.addLink(src, dst);
      ports[src][isTogether ? 0 : 2].push_back(link);
      ports[dst][isTogether ? 1 : 3].push_back(link);
    }
  for (const auto &ofRank : ports)
    for (unsigned port = 0; port < ofRank.size(); ++port)
      EXPECT_TRUE(topology.addLimit(ofRank[port], port < 2 ? inBox : network));
  return topology;
}

static Rational boundOn(const Topology &topology) {
  unsigned ranks = topology.numRanks();
  Collective exchange =
      *Collective::make(CollectiveKind::AllToAll, ranks, ranks);
  auto bound = throughputBound(topology, exchange);
  EXPECT_TRUE(bound) << bound.error();
  if (!bound)
    return Rational(0);
  EXPECT_FALSE(checkCertificate(bound->certificate, topology, exchange));
  return *bound->value;
}

TEST(AllToAllBound, IsWhatTheNarrowestClassOfLimitsLetsThrough) {
  // Out of a box 8 * 8 * 47 of 384 parts of a chunk each, over 8 cards.
  EXPECT_EQ(boundOn(boxesOnRails(48, 9, 1)), Rational(47, 48));
  // Cards as fast as four switches: 7 of 8 parts for others on rails go over
  // the switch once, and so do 7 for the box.
  EXPECT_EQ(boundOn(boxesOnRails(48, 1, 4)), Rational(7, 8));
}
