//===- PresetsTest.cpp - Machines that have a name ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Presets.h"
#include "sccl/Model/TopologyIdentity.h"

#include <gtest/gtest.h>

#include <set>

using namespace sccl;

static Topology derived(const std::string &spec,
                        const DerivationOptions &options = {}) {
  Result<Machine> machine = makeMachinePreset(spec);
  EXPECT_TRUE(machine) << machine.error();
  Result<Derivation> derivation = deriveTopology(*machine, options);
  EXPECT_TRUE(derivation) << derivation.error();
  return derivation->topology;
}

static bool fails(const std::string &spec, const std::string &part) {
  Result<Machine> machine = makeMachinePreset(spec);
  return !machine && machine.error().find(part) != std::string::npos;
}

TEST(Presets, AreTheTopologiesOfThePaper) {
  EXPECT_EQ(identityOf(derived("dgx1-v100")),
            identityOf(*makeBuiltinTopology("dgx1")));
  EXPECT_EQ(identityOf(derived("z52-mi50-ring")),
            identityOf(*makeBuiltinTopology("amd_z52")));
}

TEST(Presets, AreSwitchesAndTori) {
  EXPECT_EQ(identityOf(derived("h100")),
            identityOf(*makeBuiltinTopology("switch:8,1")));
  DerivationOptions options;
  options.quantum = Rational(50);
  EXPECT_EQ(identityOf(derived("h100", options)),
            identityOf(*makeBuiltinTopology("switch:8,9")));
  EXPECT_EQ(identityOf(derived("gb200-nvl72", options)),
            identityOf(*makeBuiltinTopology("switch:72,18")));
  EXPECT_EQ(identityOf(derived("mi300x")),
            identityOf(*makeBuiltinTopology("mesh:8")));
  EXPECT_EQ(identityOf(derived("tpu-v5p:4x2x3")),
            identityOf(*makeBuiltinTopology("torus:4x2x3")));
}

/// Boxes on a switch with 9 chunks a round in and out of each rank, and a card
/// with 1 for each rank, which reaches its like in the other boxes, or all.
static Topology switchedBoxes(unsigned boxes, bool hasRails) {
  Topology topology("boxes", boxes * 8);
  std::vector<std::vector<unsigned>> ports(4 * boxes * 8);
  for (unsigned src = 0; src < boxes * 8; ++src)
    for (unsigned dst = 0; dst < boxes * 8; ++dst) {
      bool sameBox = src / 8 == dst / 8;
      if (src == dst || (!sameBox && hasRails && src % 8 != dst % 8))
        continue;
      unsigned link = *topology.addLink(src, dst);
      ports[4 * src + (sameBox ? 0 : 2)].push_back(link);
      ports[4 * dst + (sameBox ? 1 : 3)].push_back(link);
    }
  // With two boxes and rails, what leaves one card enters one other.
  std::set<std::vector<unsigned>> known;
  for (unsigned port = 0; port < ports.size(); ++port)
    if (known.insert(ports[port]).second) {
      EXPECT_TRUE(topology.addLimit(ports[port], port % 4 < 2 ? 9 : 1));
    }
  return topology;
}

TEST(Presets, AreBoxesWithRails) {
  for (unsigned boxes : {2, 4, 16}) {
    std::string spec = "h100:boxes=" + std::to_string(boxes);
    EXPECT_EQ(identityOf(derived(spec)),
              identityOf(switchedBoxes(boxes, true)));
    EXPECT_EQ(identityOf(derived(spec + ",rails")),
              identityOf(switchedBoxes(boxes, true)));
    EXPECT_EQ(identityOf(derived(spec + ",core")),
              identityOf(switchedBoxes(boxes, false)));
  }
}

TEST(Presets, TakeAnotherNic) {
  // 800 Gb/s are 100 GB/s: 9 to 2.
  Topology topology = derived("h100:boxes=2,nic-gbps=800");
  std::set<unsigned> bandwidths;
  for (const BandwidthLimit &limit : topology.limits())
    bandwidths.insert(limit.bandwidth);
  EXPECT_EQ(bandwidths, (std::set<unsigned>{2, 9}));
}

TEST(Presets, IslandsMeetOverTheHost) {
  Topology topology = derived("z52-mi50");
  EXPECT_TRUE(topology.findLink(0, 1));  // xGMI
  EXPECT_TRUE(topology.findLink(0, 5));  // between the islands
  EXPECT_FALSE(topology.findLink(0, 2)); // joined by xGMI through 1 or 6
  EXPECT_FALSE(topology.isPointToPoint());
}

TEST(Presets, EachIsListedAndCanBeBuilt) {
  for (const MachinePreset &preset : machinePresets()) {
    SCOPED_TRACE(preset.spec);
    EXPECT_FALSE(preset.description.empty());
    EXPECT_FALSE(preset.source.empty());
    std::string spec(preset.spec);
    if (size_t colon = spec.find(':'); colon != spec.npos)
      spec = spec.substr(0, colon) + ":2x3x4";
    EXPECT_GE(derived(spec).numRanks(), 4u);
    Result<Machine> machine = makeMachinePreset(spec);
    EXPECT_EQ(machine->numBoxes(), 1u);
    for (const Edge &edge : machine->edges())
      EXPECT_FALSE(edge.bandwidth.source.empty());
  }
}

TEST(Presets, BadSpecs) {
  EXPECT_TRUE(fails("h1000", "unknown machine 'h1000'; known: dgx1-v100"));
  EXPECT_TRUE(fails("h100:", "no parameter ''"));
  EXPECT_TRUE(fails("h100:boxes=0", "no number between 1 and 4096"));
  EXPECT_TRUE(fails("h100:boxes=99999999999999", "no number"));
  EXPECT_TRUE(fails("h100:boxes=-1", "no number"));
  EXPECT_TRUE(fails("h100:half", "no parameter 'half'; there are: boxes=N"));
  EXPECT_TRUE(fails("h100:4x4", "no parameter '4x4'"));
  EXPECT_TRUE(fails("h100:boxes=2,nic-gbps=0", "gigabits per second"));
  EXPECT_TRUE(fails("h100:boxes=2,boxes=3", "gives boxes twice"));
  EXPECT_TRUE(fails("h100:boxes=2,core,rails", "gives rails or core twice"));
  EXPECT_TRUE(fails("tpu-v5p", "lacks its extents"));
  EXPECT_TRUE(fails("tpu-v5p:4", "1 dimensions"));
  EXPECT_TRUE(fails("tpu-v5p:4x4x4x4", "4 dimensions"));
  EXPECT_TRUE(fails("tpu-v5p:4096x4096", "more than 65536 GPUs"));
  EXPECT_TRUE(fails("tpu-v5p:4xx4", "'' is no number"));
  EXPECT_TRUE(fails("tpu-v5p:4x4,boxes=2", "give nic-gbps"));
  EXPECT_TRUE(fails("z52-mi50:boxes=2", "one box only"));
}

TEST(Presets, NamedTopologies) {
  EXPECT_EQ(makeNamedTopology("ring:5")->numRanks(), 5u);
  EXPECT_EQ(makeNamedTopology("h100:boxes=2")->name(), "h100:boxes=2");
  EXPECT_NE(makeNamedTopology("nothing").error().find("sccl machine"),
            std::string::npos);
  EXPECT_EQ(makeNamedTopology("ring:x").error(),
            makeBuiltinTopology("ring:x").error());
}
