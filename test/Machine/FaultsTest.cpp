//===- FaultsTest.cpp - Machines that have lost something -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Faults.h"
#include "sccl/Machine/Presets.h"

#include <gtest/gtest.h>

using namespace sccl;

static Topology topologyOf(const Result<Machine> &machine) {
  EXPECT_TRUE(machine) << machine.error();
  Result<Derivation> derivation = deriveTopology(*machine);
  EXPECT_TRUE(derivation) << derivation.error();
  return derivation->topology;
}

/// How much enters `rank` at most, over the limits that are on links into it
/// and only on them.
static unsigned ingress(const Topology &topology, unsigned rank) {
  unsigned total = 0;
  for (const BandwidthLimit &limit : topology.limits()) {
    bool allEnter = true;
    for (unsigned link : limit.links)
      allEnter &= topology.links()[link].dst == rank;
    total += allEnter ? limit.bandwidth : 0;
  }
  return total;
}

TEST(Faults, ALinkOfTwoGpus) {
  Machine dgx1 = *makeMachinePreset("dgx1-v100");
  Topology topology = topologyOf(withoutParts(dgx1, "link:0-1"));
  EXPECT_EQ(topology.links().size(), 30u);
  EXPECT_FALSE(topology.findLink(0, 1));
  EXPECT_FALSE(topology.findLink(1, 0));
  // By name, and two at once.
  topology = topologyOf(withoutParts(dgx1, "link:gpu0-gpu1,link:2-3"));
  EXPECT_EQ(topology.links().size(), 28u);
}

TEST(Faults, AGpu) {
  Topology topology =
      topologyOf(withoutParts(*makeMachinePreset("mi300x"), "gpu:6"));
  EXPECT_EQ(topology.numRanks(), 7u);
  EXPECT_EQ(topology.links().size(), 42u);
}

TEST(Faults, ANic) {
  Machine boxes = *makeMachinePreset("h100:boxes=4");
  Result<Machine> lost = withoutParts(boxes, "nic:1:2");
  Topology topology = topologyOf(lost);
  // Rank 10 can be reached over NVLink only: 3 rail links less each way.
  EXPECT_EQ(topology.links().size(), 32u * 10 - 6);
  EXPECT_FALSE(topology.findLink(2, 10));
  EXPECT_EQ(lost->notes().back(), "without nic:1:2");
}

TEST(Faults, OneSwitchOfSeveral) {
  Machine a100 = *makeMachinePreset("a100");
  Topology topology = topologyOf(withoutParts(a100, "vertex:switch0"));
  EXPECT_EQ(topology.links().size(), 56u);
  EXPECT_EQ(deriveTopology(*withoutParts(a100, "vertex:switch0"))->quantum,
            Rational(250));
}

TEST(Faults, SlowerParts) {
  Machine dgx1 = *makeMachinePreset("dgx1-v100");
  Topology topology = topologyOf(withSlowerParts(dgx1, "link:0-1=0.5"));
  EXPECT_EQ(topology.capacity(*topology.findLink(0, 1)), 1u);
  EXPECT_EQ(topology.capacity(*topology.findLink(0, 3)), 2u);
  // A GPU with one of its cables to a switch down is slower, and no other.
  Machine h100 = *makeMachinePreset("h100");
  topology = topologyOf(withSlowerParts(h100, "link:gpu3-switch0=17/18"));
  EXPECT_EQ(ingress(topology, 3), 17u);
  EXPECT_EQ(ingress(topology, 4), 18u);
}

TEST(Faults, WhatIsNotThere) {
  Machine dgx1 = *makeMachinePreset("dgx1-v100");
  auto error = [&](const char *items) {
    return withoutParts(dgx1, items).error();
  };
  EXPECT_EQ(error("link:0-6"), "no edge joins 'gpu0' and 'gpu6'; the first is "
                               "joined to: gpu1, gpu3, gpu2, gpu5");
  EXPECT_NE(error("link:0-8").find("does not have both ends of link '0-8'"),
            std::string::npos);
  EXPECT_NE(error("link:0").find("both ends"), std::string::npos);
  EXPECT_EQ(error("gpu:8"),
            "machine 'dgx1-v100' has no GPU '8', its ranks are 0 to 7");
  EXPECT_NE(error("nic:0").find("box 0 has 0"), std::string::npos);
  EXPECT_NE(error("vertex:x").find("no vertex 'x'"), std::string::npos);
  EXPECT_NE(error("").find("expected link:A-B"), std::string::npos);
  EXPECT_NE(error("cable:1").find("got 'cable:1'"), std::string::npos);
  for (const char *items :
       {"link:0-1", "link:0-1=0", "link:0-1=1", "link:0-1=2", "link:0-1=x"})
    EXPECT_NE(withSlowerParts(dgx1, items).error().find("what is left"),
              std::string::npos)
        << items;
}
