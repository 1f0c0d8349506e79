//===- ManyBoxesTest.cpp - Bounds for hundreds of ranks in boxes ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is expected of an all_to_all comes from counting: what leaves a box,
// over what its network cards let through. That of an all_gather is what
// schedules packed of trees reach.
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"

#include "sccl/Bounds/LowerBound.h"

#include <gtest/gtest.h>

using namespace sccl;
using sccl::test::boxesOnCore;
using sccl::test::boxesOnRails;

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

TEST(ManyBoxes, AllToAllIsWhatTheNarrowestClassOfLimitsLetsThrough) {
  // Out of a box 8 * 8 * 47 of 384 parts of a chunk each, over 8 cards.
  EXPECT_EQ(boundOn(boxesOnRails(48, 8, 9, 1)), Rational(47, 48));
  // Cards as fast as four switches: 7 of 8 parts for others on rails go over
  // the switch once, and so do 7 for the box.
  EXPECT_EQ(boundOn(boxesOnRails(48, 8, 1, 4)), Rational(7, 8));
}

/// The program without paths says 51.2 there, 73.6 is true.
TEST(ManyBoxes, AllGatherHasABoundForEachNumberOfSteps) {
  Topology topology = boxesOnRails(64, 8, 9, 1);
  Collective gather = *Collective::make(CollectiveKind::AllGather, 512, 1);
  LowerBoundOptions options;
  options.target = Rational(1048320, 14239);
  auto bound = lowerBound(topology, gather, 4, options);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->value, options.target);
  EXPECT_FALSE(checkCertificate(bound->certificate, topology, gather));
  // Less on the way to one rank proves less.
  auto &proof = std::get<PriceProof>(bound->certificate.proof);
  auto &paths = proof.commodities.front().trees.front().paths;
  ASSERT_FALSE(paths.empty());
  for (int64_t &value : paths.front().values)
    value = 0;
  EXPECT_TRUE(checkCertificate(bound->certificate, topology, gather));
}

/// Two ranks of a box that share a card, and two others, are one class of links
/// as seen from afar, but not of the ways to one of them. What trees reach.
TEST(ManyBoxes, AllGatherOverSharedCardsIsBoundedExactly) {
  Topology topology = boxesOnCore(8, 8, 6, /*perCard=*/2, /*rails=*/true);
  Collective gather = *Collective::make(CollectiveKind::AllGather, 64, 1);
  LowerBoundOptions options;
  options.target = Rational(1221, 80);
  auto bound = lowerBound(topology, gather, 4, options);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->value->str(), "410704/26935");
}
