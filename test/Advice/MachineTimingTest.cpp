//===- MachineTimingTest.cpp - How fast a machine is ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/MachineTiming.h"

#include <gtest/gtest.h>

using namespace sccl;

/// Two GPUs on a switch, one edge with a latency of its own.
static Machine twoGpus() {
  Machine machine("two");
  unsigned a = *machine.addVertex({VertexKind::Gpu, "a", 0});
  unsigned b = *machine.addVertex({VertexKind::Gpu, "b", 0});
  unsigned s = *machine.addVertex({VertexKind::Switch, "s", 0});
  for (auto [src, dst] : {std::pair(a, s), {s, a}, {b, s}, {s, b}}) {
    Edge edge{.src = src,
              .dst = dst,
              .bandwidth = {Rational(450), "test"},
              .latency = {},
              .kind = "NVLink4",
              .lanes = 18};
    if (src == a)
      edge.latency.emplace(Rational(1, 4), "measured");
    EXPECT_TRUE(bool(machine.addEdge(edge)));
  }
  return machine;
}

TEST(MachineTiming, SumsOverRoutesAndSaysWhatIsAssumed) {
  Result<Derivation> derivation = deriveTopology(twoGpus());
  ASSERT_TRUE(bool(derivation)) << derivation.error();
  const Topology &topology = derivation->topology;
  double assumed = assumedLatencies().find("NVLink")->second;
  MachineFabric timing = *fabricOf(*derivation);
  EXPECT_DOUBLE_EQ(timing.fabric.timing.latencies[*topology.findLink(0, 1)],
                   0.25 + assumed);
  EXPECT_DOUBLE_EQ(timing.fabric.timing.latencies[*topology.findLink(1, 0)],
                   2 * assumed);
  ASSERT_EQ(timing.assumptions.size(), 4u);
  EXPECT_NE(timing.assumptions[1].find("of NVLink is left to data"),
            std::string::npos);
  EXPECT_NE(timing.assumptions[2].find("a thread block loads"),
            std::string::npos);
  EXPECT_GT(timing.fabric.timing.loadRate, timing.fabric.timing.sendRate);
  EXPECT_GT(timing.fabric.timing.sendRate, timing.fabric.timing.wordRate);
  EXPECT_NE(timing.assumptions[0].find("each NVLink edge (assumed)"),
            std::string::npos);
  for (double rate : timing.fabric.timing.rates) { // bytes per microsecond
    EXPECT_LT(rate, 450e3);
    EXPECT_GT(rate, 300e3);
  }
}

TEST(MachineTiming, TheUsersNumbersComeFirst) {
  Result<Derivation> derivation = deriveTopology(twoGpus());
  ASSERT_TRUE(bool(derivation)) << derivation.error();
  MachineFabric timing = *fabricOf(*derivation, {{"NVLink", 3}});
  EXPECT_EQ(timing.assumptions.size(), 3u); // of data, blocks and copies
  EXPECT_DOUBLE_EQ(
      timing.fabric.timing.latencies[*derivation->topology.findLink(1, 0)], 6);
  EXPECT_EQ(fabricOf(*derivation, {{"", 1}})->assumptions.size(), 3u);
}

TEST(MachineTiming, OnlyLinksTakeTimeIfCopiesTakeNone) {
  Result<Derivation> derivation = deriveTopology(twoGpus());
  ASSERT_TRUE(bool(derivation)) << derivation.error();
  MachineFabric all = *fabricOf(*derivation, {}, 500);
  EXPECT_EQ(all.fabric.timing.copyRate, 500e3);
  MachineFabric links = *fabricOf(*derivation, {}, 0);
  EXPECT_EQ(links.fabric.timing.latencies, all.fabric.timing.latencies);
  for (double rate : links.fabric.timing.rates)
    EXPECT_DOUBLE_EQ(rate, 450e3);
  const Timing &timing = links.fabric.timing;
  EXPECT_EQ(timing.copyRate + timing.loadRate + timing.sendRate +
                timing.wordRate + timing.leastTime() + timing.flagTime() +
                timing.launchTime,
            0);
  EXPECT_EQ(links.assumptions.back(),
            "only links and their latencies take time");
}
