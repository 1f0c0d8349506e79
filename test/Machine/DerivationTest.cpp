//===- DerivationTest.cpp - From a machine to a topology ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Derivation.h"
#include "sccl/Model/TopologyIdentity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace sccl;

namespace {
/// A machine that grows by names.
struct Builder {
  Machine machine{"test"};

  unsigned add(VertexKind kind, std::string name, unsigned box = 0) {
    auto added = machine.addVertex({kind, std::move(name), box});
    EXPECT_TRUE(added) << added.error();
    return *added;
  }
  std::vector<unsigned> gpus(unsigned count) {
    std::vector<unsigned> result;
    for (unsigned i = 0; i < count; ++i)
      result.push_back(add(VertexKind::Gpu, "gpu" + std::to_string(i)));
    return result;
  }
  void link(unsigned a, unsigned b, Rational bandwidth,
            std::string kind = "NVLink4") {
    auto added = machine.addEdgePair(
        {a, b, {bandwidth, "test"}, std::nullopt, std::move(kind)});
    EXPECT_TRUE(added) << added.error();
  }
  /// Four GPUs on six switches, without the cable of GPU `lost` to the last.
  void planesOfSwitches(std::optional<unsigned> lost = std::nullopt) {
    std::vector<unsigned> all = gpus(4);
    for (unsigned plane = 0; plane < 6; ++plane) {
      unsigned chip = add(VertexKind::Switch, "switch" + std::to_string(plane));
      for (unsigned gpu : all)
        if (plane != 5 || gpu != lost)
          link(gpu, chip, 50);
    }
  }
  Derivation derive(const DerivationOptions &options = {}) {
    auto derivation = deriveTopology(machine, options);
    EXPECT_TRUE(derivation) << derivation.error();
    return *derivation;
  }
  std::string error(const DerivationOptions &options = {}) {
    return deriveTopology(machine, options).error();
  }
};
} // namespace

/// The bandwidths of all limits, ascending.
static std::vector<unsigned> bandwidths(const Topology &topology) {
  std::vector<unsigned> result;
  for (const BandwidthLimit &limit : topology.limits())
    result.push_back(limit.bandwidth);
  std::sort(result.begin(), result.end());
  return result;
}

TEST(Derivation, PlanesOfSwitchesAreOneSwitch) {
  Builder builder;
  builder.planesOfSwitches();
  Derivation derivation = builder.derive();
  EXPECT_EQ(identityOf(derivation.topology),
            identityOf(*makeBuiltinTopology("switch:4,1")));
  EXPECT_EQ(derivation.quantum, Rational(300));
  ASSERT_EQ(derivation.notes.size(), 1u);
  EXPECT_EQ(derivation.notes[0],
            "6 switches from 'switch0' on join the same GPUs and act as one");
  for (const auto &route : derivation.routes)
    EXPECT_EQ(route.size(), 2u);
}

TEST(Derivation, LosingOneCableOfAPlane) {
  Builder builder;
  builder.planesOfSwitches(/*lost=*/3);
  Derivation derivation = builder.derive();
  EXPECT_EQ(derivation.quantum, Rational(50));
  EXPECT_EQ(bandwidths(derivation.topology),
            (std::vector<unsigned>{5, 5, 6, 6, 6, 6, 6, 6}));
  ASSERT_EQ(derivation.notes.size(), 1u);
  EXPECT_NE(derivation.notes[0].find("not all GPUs"), std::string::npos);
  EXPECT_EQ(derivation.deviations, derivation.notes);
}

TEST(Derivation, SwitchesThatNobodyElseReachesAreNoPlanes) {
  Builder builder;
  std::vector<unsigned> gpus = builder.gpus(3);
  unsigned wide = builder.add(VertexKind::Switch, "wide");
  unsigned lonely = builder.add(VertexKind::Switch, "lonely");
  for (unsigned gpu : gpus)
    builder.link(gpu, wide, 25);
  builder.link(gpus[2], lonely, 25);
  Derivation derivation = builder.derive();
  EXPECT_EQ(identityOf(derivation.topology),
            identityOf(*makeBuiltinTopology("switch:3,1")));
  EXPECT_EQ(derivation.quantum, Rational(25));
  EXPECT_TRUE(derivation.notes.empty());
}

TEST(Derivation, PcieBesideNVLinkIsLeftOut) {
  Builder builder;
  auto gpus = builder.gpus(4);
  unsigned host = builder.add(VertexKind::Bridge, "cpu");
  for (unsigned i = 0; i < 3; ++i)
    builder.link(gpus[i], gpus[i + 1], 25);
  for (unsigned gpu : gpus)
    builder.link(gpu, host, 16, "PCIe3");
  Derivation derivation = builder.derive();
  EXPECT_EQ(identityOf(derivation.topology),
            identityOf(*makeBuiltinTopology("line:4")));
}

TEST(Derivation, PcieJoinsWhatNVLinkDoesNot) {
  Builder builder;
  auto gpus = builder.gpus(4);
  unsigned host = builder.add(VertexKind::Bridge, "cpu");
  builder.link(gpus[0], gpus[1], 32);
  builder.link(gpus[2], gpus[3], 32);
  for (unsigned gpu : gpus)
    builder.link(gpu, host, 16, "PCIe3");
  Topology topology = builder.derive().topology;
  // 4 links of NVLink; between the pairs each GPU's PCIe slot is shared.
  EXPECT_EQ(topology.links().size(), 12u);
  EXPECT_EQ(bandwidths(topology),
            (std::vector<unsigned>{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(topology.capacity(*topology.findLink(0, 1)), 2u);
  EXPECT_EQ(topology.capacity(*topology.findLink(0, 3)), 1u);
}

/// Two boxes of two GPUs behind a PCIe switch with two NICs, one core.
static Builder boxesWithSharedNics() {
  Builder builder;
  unsigned core = builder.add(VertexKind::Switch, "core");
  for (unsigned box = 0; box < 2; ++box) {
    std::string in = std::to_string(box) + ".";
    unsigned pcie = builder.add(VertexKind::Switch, "pcie" + in, box);
    unsigned previous = 0;
    for (unsigned i = 0; i < 2; ++i) {
      std::string name = in + std::to_string(i);
      unsigned gpu = builder.add(VertexKind::Gpu, "gpu" + name, box);
      unsigned nic = builder.add(VertexKind::Nic, "nic" + name, box);
      builder.link(gpu, pcie, 64, "PCIe5");
      builder.link(nic, pcie, 64, "PCIe5");
      builder.link(nic, core, 25, "IB");
      if (i == 1)
        builder.link(previous, gpu, 100);
      previous = gpu;
    }
  }
  return builder;
}

TEST(Derivation, NicsThatAreEquallyNearShareTheTraffic) {
  Derivation derivation = boxesWithSharedNics().derive();
  const Topology &topology = derivation.topology;
  // 2 NVLinks each way, and all pairs across.
  EXPECT_EQ(topology.links().size(), 4u + 8u);
  // Half of what leaves a box takes each of its NICs: 50 GB/s for all of it.
  // A slot of a GPU, 64 GB/s, does not limit more, but is not known not to.
  EXPECT_EQ(derivation.quantum, Rational(2));
  EXPECT_EQ(bandwidths(topology),
            (std::vector<unsigned>{25, 25, 32, 32, 32, 32, 32, 32, 32, 32, 50,
                                   50, 50, 50}));
}

/// Two GPUs on both of two switches, and one on each of them. Both parts of a
/// link between the first two share an edge with a link to another GPU.
TEST(Derivation, OthersTakeNothingFromMembers) {
  Builder builder;
  std::vector<unsigned> gpus = builder.gpus(4);
  for (unsigned side : {0, 1}) {
    unsigned chip = builder.add(VertexKind::Switch, "s" + std::to_string(side));
    for (unsigned gpu : {0u, 1u, 2u + side})
      builder.link(gpus[gpu], chip, 50);
  }
  Derivation all = builder.derive();
  EXPECT_EQ(all.topology.links().size(), 10u);
  EXPECT_EQ(all.rates, std::vector<Rational>(all.rates.size(), 50));
  DerivationOptions options;
  options.groups = {{0, 1}};
  Derivation pair = builder.derive(options);
  EXPECT_EQ(pair.topology.links(), (std::vector<Link>{{0, 1}, {1, 0}}));
  EXPECT_EQ(pair.rates, (std::vector<Rational>{100, 100}));
  EXPECT_EQ(pair.isUsed, all.isUsed);
  EXPECT_EQ(pair.deviations.size(), 1u);
  options.groups = {{0, 1, 2}}; // nothing but links of the last one
  EXPECT_EQ(builder.derive(options).topology.links().size(), 6u);
}

TEST(Derivation, ScaleDoesNotMatter) {
  for (Rational scale : {Rational(1), Rational(50), Rational(1, 7)}) {
    Builder builder;
    auto gpus = builder.gpus(3);
    builder.link(gpus[0], gpus[1],
                 Rational(9 * scale.numerator(), scale.denominator()));
    builder.link(gpus[1], gpus[2], scale);
    Derivation derivation = builder.derive();
    EXPECT_EQ(derivation.quantum, scale);
    EXPECT_EQ(bandwidths(derivation.topology),
              (std::vector<unsigned>{1, 1, 9, 9}));
  }
}

static Builder twoRates(Rational a, Rational b) {
  Builder builder;
  auto gpus = builder.gpus(3);
  builder.link(gpus[0], gpus[1], a);
  builder.link(gpus[1], gpus[2], b);
  return builder;
}

TEST(Derivation, ToleranceMakesNumbersSmaller) {
  EXPECT_EQ(bandwidths(twoRates(396, 48).derive().topology),
            (std::vector<unsigned>{4, 4, 33, 33}));
  DerivationOptions options;
  options.tolerance = Rational(1, 20);
  Derivation derivation = twoRates(396, 48).derive(options);
  EXPECT_EQ(bandwidths(derivation.topology),
            (std::vector<unsigned>{1, 1, 8, 8}));
  // 396 / 8 = 49.5 instead of 48.
  EXPECT_EQ(derivation.error, Rational(3, 96));
  ASSERT_EQ(derivation.notes.size(), 1u);
  EXPECT_NE(derivation.notes[0].find("3.125"), std::string::npos);
}

TEST(Derivation, NumbersThatHaveNoSmallMeasureAreApproximated) {
  // 18 links at 26.562 GB/s, and 50: exact only with 239058 : 25000.
  Derivation derivation = twoRates(Rational(478116, 1000), 50).derive();
  EXPECT_GT(derivation.error, Rational(0));
  EXPECT_LE(derivation.error, Rational(1, 100));
  EXPECT_EQ(bandwidths(derivation.topology),
            (std::vector<unsigned>{2, 2, 19, 19}));
}

TEST(Derivation, GivenQuantum) {
  DerivationOptions options;
  options.quantum = Rational(25);
  EXPECT_EQ(bandwidths(twoRates(450, 50).derive(options).topology),
            (std::vector<unsigned>{2, 2, 18, 18}));
  options.quantum = Rational(20);
  EXPECT_EQ(twoRates(450, 50).error(options),
            "machine 'test': 450 GB/s is no multiple of 20 GB/s: 23 units are "
            "off by 20/9 %; allow that with --tolerance, or give no quantum");
  options.quantum = Rational(1, 1000000);
  EXPECT_NE(twoRates(450, 50).error(options).find("outside [1, 1048576]"),
            std::string::npos);
  options.quantum = Rational(0);
  EXPECT_NE(twoRates(450, 50).error(options).find("not positive"),
            std::string::npos);
}

TEST(Derivation, HopelessNumbers) {
  EXPECT_EQ(twoRates(1000000, Rational(1, 1000)).error(),
            "machine 'test': bandwidths from 0.001 to 1000000 GB/s are no "
            "multiples, within 1 %, of one quantum with at most 1024 units; "
            "give a larger --tolerance, or a --quantum in GB/s");
}

TEST(Derivation, OneGpuNeedsNoLinks) {
  Builder one;
  one.gpus(1);
  Result<Derivation> derivation = deriveTopology(one.machine);
  ASSERT_TRUE(derivation) << derivation.error();
  EXPECT_EQ(derivation->topology.numRanks(), 1u);
  EXPECT_TRUE(derivation->topology.links().empty());
  EXPECT_EQ(derivation->error, Rational(0));
}

TEST(Derivation, RefusesWhatCannotWork) {
  Builder none;
  EXPECT_NE(none.error().find("has 0 GPUs"), std::string::npos);
  Builder apart;
  auto gpus = apart.gpus(3);
  apart.link(gpus[0], gpus[2], 25);
  EXPECT_EQ(apart.error(),
            "machine 'test': no route leads from 'gpu0' to 'gpu1'");
  // A way there and none back.
  Builder oneWay;
  gpus = oneWay.gpus(2);
  EXPECT_TRUE(oneWay.machine.addEdge(
      {gpus[0], gpus[1], {25, "test"}, std::nullopt, "NVLink4"}));
  EXPECT_EQ(oneWay.error(),
            "machine 'test': no route leads from 'gpu1' to 'gpu0'");
}

/// True if `load` of each link, in chunks per round, is within all limits.
static bool fits(const Topology &topology, const std::vector<unsigned> &load) {
  return std::ranges::all_of(topology.limits(),
                             [&](const BandwidthLimit &limit) {
                               unsigned sum = 0;
                               for (unsigned link : limit.links)
                                 sum += load[link];
                               return sum <= limit.bandwidth;
                             });
}

TEST(Derivation, LinksHaveSecondWaysBesideNVLink) {
  // NVLink to one switch, and PCIe between 0 and 1 and between 2 and 3.
  Builder builder;
  auto gpus = builder.gpus(4);
  unsigned fabric = builder.add(VertexKind::Switch, "fabric");
  unsigned pcie[] = {builder.add(VertexKind::Switch, "pcie0"),
                     builder.add(VertexKind::Switch, "pcie1")};
  for (unsigned rank = 0; rank < 4; ++rank) {
    builder.link(gpus[rank], fabric, 3);
    builder.link(gpus[rank], pcie[rank / 2], 2, "PCIe4");
  }
  Topology alone = builder.derive({.quantum = 1}).topology;
  Topology both = builder.derive({.quantum = 1, .everyWire = true}).topology;
  ASSERT_EQ(alone.links(), both.links());
  // What fits is what is left for NVLink once PCIe has carried all it can.
  std::mt19937 random(1);
  unsigned numFitting = 0;
  for (unsigned round = 0; round < 20000; ++round) {
    std::vector<unsigned> load, left;
    for (const Link &link : both.links()) {
      load.push_back(random() % 6 / 2);
      bool hasPcie = link.src / 2 == link.dst / 2;
      left.push_back(load.back() - (hasPcie ? std::min(load.back(), 2u) : 0));
    }
    numFitting += fits(both, load);
    EXPECT_EQ(fits(both, load), fits(alone, left));
  }
  EXPECT_GT(numFitting, 100u);
  // A third GPU there: what it takes, the pair cannot have.
  builder.link(gpus[2], pcie[0], 2, "PCIe4");
  Derivation shared = builder.derive({.quantum = 1, .everyWire = true});
  ASSERT_EQ(shared.notes.size(), 1u);
  EXPECT_EQ(shared.notes[0], "6 links have a way over PCIe that others share, "
                             "which is left out");
}

TEST(Derivation, MemoriesAreRanksThatStore) {
  Builder builder;
  auto gpus = builder.gpus(2);
  unsigned memory = builder.add(VertexKind::Memory, "memory");
  builder.link(gpus[0], gpus[1], 10);
  builder.link(gpus[0], memory, 4, "PCIe4");
  EXPECT_EQ(builder.derive().topology.numRanks(), 2u);
  Derivation derivation = builder.derive({.everyWire = true});
  EXPECT_EQ(derivation.memories, std::vector<unsigned>{2});
  EXPECT_TRUE(derivation.topology.findLink(0, 2));
  EXPECT_TRUE(derivation.topology.findLink(2, 0));
  EXPECT_FALSE(derivation.topology.findLink(1, 2)); // through a GPU only
  // One that is written and never read.
  unsigned deaf = builder.add(VertexKind::Memory, "deaf");
  EXPECT_TRUE(builder.machine.addEdge(
      {gpus[1], deaf, {4, "test"}, std::nullopt, "PCIe4"}));
  EXPECT_EQ(builder.error({.everyWire = true}),
            "machine 'test': no route leads to memory 'deaf' and from it");
}

TEST(Derivation, SwitchesThatMulticastArePassed) {
  Builder builder;
  auto gpus = builder.gpus(3);
  for (unsigned gpu : {1, 2})
    builder.link(gpus[0], gpus[gpu], 10);
  Result<unsigned> idle = builder.machine.addVertex(
      {VertexKind::Switch, "idle", 0, "", "", /*multicast=*/true});
  ASSERT_TRUE(idle);
  builder.link(gpus[0], *idle, 10);
  EXPECT_EQ(builder.error({.inNetwork = true}),
            "machine 'test': switch 'idle' multicasts, and no route passes it");
  EXPECT_EQ(builder.error(), "");
}

TEST(Derivation, ManyEqualRoutesTakeNoTime) {
  // 12 layers of 40 switches, each joined to all of the next: 40^12 routes.
  Builder builder;
  auto gpus = builder.gpus(2);
  std::vector<unsigned> before = {gpus[0]};
  for (unsigned layer = 0; layer < 12; ++layer) {
    std::vector<unsigned> here;
    for (unsigned i = 0; i < 40; ++i) {
      here.push_back(
          builder.add(VertexKind::Switch,
                      "s" + std::to_string(layer) + "." + std::to_string(i)));
      for (unsigned other : before)
        builder.link(other, here.back(), 10);
    }
    before = here;
  }
  for (unsigned other : before)
    builder.link(other, gpus[1], 10);
  // 40 cables of 10 GB/s leave each GPU.
  EXPECT_EQ(builder.derive().quantum, Rational(400));
}
