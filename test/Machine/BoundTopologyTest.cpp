//===- BoundTopologyTest.cpp - What a machine lets pass at most -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/BoundTopology.h"
#include "sccl/Bounds/LowerBound.h"
#include "sccl/Machine/Presets.h"
#include "sccl/Model/TopologyIdentity.h"

#include <gtest/gtest.h>

using namespace sccl;

namespace {
/// A machine of one box that grows by names.
struct Builder {
  Machine machine{"test"};

  unsigned add(VertexKind kind, std::string name) {
    return *machine.addVertex({kind, std::move(name), 0u});
  }
  void link(unsigned a, unsigned b, Rational bandwidth,
            std::string kind = "NVLink4") {
    EXPECT_TRUE(machine.addEdgePair(
        {a, b, {bandwidth, "test"}, std::nullopt, std::move(kind)}));
  }
  BoundTopology bound(const DerivationOptions &options = {}) {
    Result<Derivation> derivation = deriveTopology(machine, options);
    EXPECT_TRUE(derivation) << derivation.error();
    Result<BoundTopology> bound = boundTopology(*derivation);
    EXPECT_TRUE(bound) << bound.error();
    return *bound;
  }
};
} // namespace

/// GB/s that all links from some ranks to some ranks have together, as far as
/// one limit says so.
static std::optional<Rational> limitOn(const BoundTopology &bound,
                                       std::vector<Link> links) {
  std::vector<unsigned> numbers;
  for (auto [src, dst] : links)
    if (auto link = bound.topology.findLink(src, dst))
      numbers.push_back(*link);
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < bound.rates.size(); ++i)
    if (bound.topology.limits()[i].links == numbers)
      return bound.rates[i];
  return std::nullopt;
}

TEST(BoundTopology, IsTheDerivedOneWhereThatIsExact) {
  for (const char *name : {"h100", "mi300x", "dgx1-v100", "h100:boxes=4",
                           "a100:boxes=2,rails", "gb200-nvl72"}) {
    Result<Machine> machine = makeMachinePreset(name);
    ASSERT_TRUE(machine) << machine.error();
    Result<Derivation> derivation = deriveTopology(*machine);
    ASSERT_TRUE(derivation) << derivation.error();
    Result<BoundTopology> bound = boundTopology(*derivation);
    ASSERT_TRUE(bound) << bound.error();
    EXPECT_EQ(bound->quantum, derivation->quantum) << name;
    EXPECT_TRUE(identityOf(bound->topology) == identityOf(derivation->topology))
        << name;
    EXPECT_FALSE(bound->leavesOutHost) << name;
  }
}

TEST(BoundTopology, HasTheRatesOfTheMachine) {
  Builder builder;
  unsigned a = builder.add(VertexKind::Gpu, "a");
  unsigned b = builder.add(VertexKind::Gpu, "b");
  unsigned c = builder.add(VertexKind::Gpu, "c");
  builder.link(a, b, Rational(27501, 1000));
  builder.link(b, c, 50);
  BoundTopology bound = builder.bound({{}, Rational(1, 5)});
  EXPECT_EQ(limitOn(bound, {{0, 1}}), Rational(27501, 1000));
  EXPECT_EQ(limitOn(bound, {{2, 1}}), Rational(50));
  // 27501 and 50000 fit into a topology.
  EXPECT_EQ(bound.quantum, Rational(1, 1000));
}

TEST(BoundTopology, RoundsUpWhatDoesNotFit) {
  Builder builder;
  unsigned a = builder.add(VertexKind::Gpu, "a");
  unsigned b = builder.add(VertexKind::Gpu, "b");
  unsigned c = builder.add(VertexKind::Gpu, "c");
  builder.link(a, b, Rational(27500001, 1000000));
  builder.link(b, c, 50);
  BoundTopology bound = builder.bound();
  for (size_t i = 0; i < bound.rates.size(); ++i) {
    double units = bound.topology.limits()[i].bandwidth;
    double rate = units * bound.quantum.toDouble();
    EXPECT_GE(rate, bound.rates[i].toDouble());
    EXPECT_LE(rate, bound.rates[i].toDouble() * (1 + 1e-5));
  }
}

TEST(BoundTopology, DoesNotSplitTrafficEvenly) {
  // a and b are on both switches, c and d on one each.
  Builder builder;
  std::vector<unsigned> gpus;
  for (const char *name : {"a", "b", "c", "d"})
    gpus.push_back(builder.add(VertexKind::Gpu, name));
  unsigned s = builder.add(VertexKind::Switch, "s");
  unsigned t = builder.add(VertexKind::Switch, "t");
  for (unsigned i : {0, 1, 2})
    builder.link(gpus[i], s, 50);
  for (unsigned i : {0, 1, 3})
    builder.link(gpus[i], t, 30);
  BoundTopology bound = builder.bound();
  // Nothing but the ports of a limits what goes to b.
  EXPECT_EQ(limitOn(bound, {{0, 1}, {0, 2}, {0, 3}}), Rational(80));
  EXPECT_EQ(limitOn(bound, {{0, 2}}), Rational(50));
  EXPECT_EQ(limitOn(bound, {{0, 3}}), Rational(30));
  EXPECT_EQ(limitOn(bound, {{0, 1}}), std::nullopt);
}

TEST(BoundTopology, TakesWaysThatRoutesDoNot) {
  // The cable is the route; the switch, which c needs, joins a and b as well.
  Builder builder;
  unsigned a = builder.add(VertexKind::Gpu, "a");
  unsigned b = builder.add(VertexKind::Gpu, "b");
  unsigned c = builder.add(VertexKind::Gpu, "c");
  unsigned s = builder.add(VertexKind::Switch, "s");
  builder.link(a, b, 50);
  for (unsigned gpu : {a, b, c})
    builder.link(gpu, s, 25);
  BoundTopology bound = builder.bound();
  EXPECT_EQ(limitOn(bound, {{0, 1}, {0, 2}}), Rational(75));
  EXPECT_EQ(limitOn(bound, {{0, 2}}), Rational(25));
}

TEST(BoundTopology, SaysThatPcieIsLeftOut) {
  Builder builder;
  unsigned a = builder.add(VertexKind::Gpu, "a");
  unsigned b = builder.add(VertexKind::Gpu, "b");
  unsigned host = builder.add(VertexKind::Bridge, "host");
  unsigned pcie = builder.add(VertexKind::Switch, "pcie");
  builder.link(a, b, 50);
  builder.link(a, host, 16, "PCIe3");
  EXPECT_FALSE(builder.bound().leavesOutHost);
  builder.link(host, pcie, 16, "PCIe3");
  builder.link(b, pcie, 16, "PCIe3");
  BoundTopology bound = builder.bound();
  EXPECT_TRUE(bound.leavesOutHost);
  EXPECT_EQ(limitOn(bound, {{0, 1}}), Rational(50));
}
