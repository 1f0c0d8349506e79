//===- BlockwiseTest.cpp - All_reduces that boxes suggest -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Advice/Blockwise.h"

#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

using namespace sccl;

/// Three blocks of two ranks; the ranks of the second one are named the other
/// way round. Slow links between the same places, but for `lost`.
static Fabric threeBlocks(std::optional<Link> lost = std::nullopt) {
  const std::vector<std::vector<unsigned>> blocks = {{0, 1}, {3, 2}, {4, 5}};
  Fabric fabric{Topology("blocks", 6), {}, 1};
  auto add = [&](unsigned a, unsigned b, double latency) {
    if (lost && *lost == Link{a, b})
      return;
    EXPECT_TRUE(bool(fabric.topology.addLink(a, b, 1)));
    fabric.timing.latencies.push_back(latency);
  };
  for (const auto &block : blocks) {
    add(block[0], block[1], 1);
    add(block[1], block[0], 1);
  }
  for (const auto &a : blocks)
    for (const auto &b : blocks)
      for (unsigned place = 0; &a != &b && place < 2; ++place)
        add(a[place], b[place], 5);
  fabric.timing.rates.assign(fabric.topology.limits().size(), 1);
  return fabric;
}

static double latencyOf(const Fabric &fabric, const Send &send) {
  return fabric.timing.latencies[*fabric.topology.findLink(send.src, send.dst)];
}

TEST(Blockwise, OneSlowHopOrTheLeastLoad) {
  Fabric fabric = threeBlocks();
  std::vector<Implementation> found = advice::blockwiseAllReduces(fabric);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].schedule.steps.size(), 2u);
  EXPECT_EQ(found[0].schedule.numSends(), 3 * 2 + 3 * 4u);
  found.erase(found.begin());
  EXPECT_EQ(found[0].collective.chunks(), 2u);
  EXPECT_EQ(found[0].schedule.steps.size(), 3u);
  // Each rank sends its sum over both slow links.
  EXPECT_EQ(found[0].schedule.numSends(), 3 * 2 + 3 * 4 + 3 * 2u);
  EXPECT_EQ(found[1].collective.chunks(), 6u);
  EXPECT_EQ(found[1].schedule.steps.size(), 4u);
  EXPECT_EQ(found[1].schedule.numSends(), 6 * 2 * 5u);
}

TEST(Blockwise, GuestsWhereAPlaceIsBroken) {
  // Ranks 0, 3 and 4 take no part in what goes between blocks.
  Fabric broken = threeBlocks(Link{0, 3});
  std::vector<Implementation> found = advice::blockwiseAllReduces(broken);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].collective.chunks(), 1u);
  EXPECT_EQ(found[0].schedule.steps.size(), 3u);
  EXPECT_EQ(found[0].schedule.numSends(), 3 + 3 * 2 + 3u);
  EXPECT_EQ(found[1].collective.chunks(), 3u);
  EXPECT_EQ(found[1].schedule.steps.size(), 4u);
  for (const Implementation &whole : found)
    for (const Step &step : whole.schedule.steps)
      for (const Send &send : step.sends) {
        bool isSlow = latencyOf(broken, send) > 1;
        for (unsigned guest : {0u, 3u, 4u})
          EXPECT_FALSE(isSlow && (send.src == guest || send.dst == guest));
      }
}

TEST(Blockwise, NoneWithoutBlocks) {
  Fabric broken = threeBlocks(Link{2, 3});
  EXPECT_TRUE(advice::blockwiseAllReduces(broken).empty());
  Fabric alike = threeBlocks();
  alike.timing.latencies.assign(alike.topology.links().size(), 2);
  EXPECT_TRUE(advice::blockwiseAllReduces(alike).empty());
}

TEST(Blockwise, OneStepWhereAllAreJoined) {
  Result<Topology> mesh = makeBuiltinTopology("mesh:5");
  ASSERT_TRUE(bool(mesh));
  Fabric fabric{*mesh, Timing::uniform(*mesh, 1, 1), 1};
  std::vector<Implementation> found = advice::blockwiseAllReduces(fabric);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].schedule.steps.size(), 1u);
  EXPECT_EQ(found[0].schedule.numSends(), 20u);
}
