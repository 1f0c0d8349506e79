//===- ProfileTest.cpp - Measured numbers in a machine --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Profile.h"
#include "sccl/Machine/Presets.h"

#include <gtest/gtest.h>

using namespace sccl;

static Derivation derive(const Machine &machine) {
  Result<Derivation> derivation = deriveTopology(machine);
  EXPECT_TRUE(derivation) << derivation.error();
  return *derivation;
}

static Derivation derive(std::string_view preset) {
  Result<Machine> machine = makeMachinePreset(preset);
  EXPECT_TRUE(machine) << machine.error();
  return derive(*machine);
}

TEST(Profile, ClassesOfLinks) {
  Derivation rails = derive("h100:boxes=2,rails");
  std::vector<LinkClass> classes = classifyLinks(rails);
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].count, 2u * 8 * 7);
  EXPECT_EQ(classes[1].count, 2u * 8);
  // Links of one and of two NVLinks.
  EXPECT_EQ(classifyLinks(derive("dgx1-v100")).size(), 2u);
  EXPECT_EQ(classifyLinks(derive(*makeHostMachine(4))).size(), 1u);
}

/// Bandwidth and latency of the link src -> dst, from the machine itself.
static std::pair<double, double> numbersOf(const Derivation &derivation,
                                           unsigned src, unsigned dst) {
  unsigned link = *derivation.topology.findLink(src, dst);
  double latency = 0;
  for (unsigned edge : derivation.routes[link])
    if (const auto &part = derivation.routed.edges()[edge].latency)
      latency += part->value.toDouble();
  return {derivation.topology.capacity(link) * derivation.quantum.toDouble(),
          latency};
}

TEST(Profile, WhatWasMeasuredIsWhatTheMachineThenSays) {
  for (std::string_view preset :
       {"h100:boxes=2,rails", "dgx1-v100", "mi300x", "tpu-v5p:2x2x2"}) {
    Derivation before = derive(preset);
    std::vector<LinkMeasurement> measurements;
    for (const LinkClass &links : classifyLinks(before)) {
      double number = 1 + measurements.size();
      double said =
          before.topology.capacity(links.link) * before.quantum.toDouble();
      measurements.push_back({links.link, 2 + 3 * number, 0.8 * said});
    }
    auto machine = withMeasurements(before, measurements, "measured by hand");
    ASSERT_TRUE(machine) << machine.error();
    Derivation after = derive(*machine);
    for (const LinkMeasurement &measured : measurements) {
      Link link = before.topology.links()[measured.link];
      auto [bandwidth, latency] = numbersOf(after, link.src, link.dst);
      EXPECT_NEAR(bandwidth, measured.bandwidth, 0.02 * measured.bandwidth)
          << preset;
      EXPECT_NEAR(latency, measured.latency, 0.01) << preset;
    }
    EXPECT_EQ(after.topology.links().size(), before.topology.links().size());
  }
}

TEST(Profile, SlowCablesKeepTheirDigits) {
  Derivation before = derive("dgx1-v100");
  std::vector<LinkMeasurement> measurements;
  for (const LinkClass &links : classifyLinks(before))
    measurements.push_back(
        {links.link, 150, 0.005926 * (1 + measurements.size())});
  auto machine = withMeasurements(before, measurements, "measured by hand");
  ASSERT_TRUE(machine) << machine.error();
  for (const Edge &edge : machine->edges())
    if (double bandwidth = edge.bandwidth.value.toDouble(); bandwidth < 1) {
      EXPECT_TRUE(bandwidth == 0.005926 || bandwidth == 0.01185) << bandwidth;
    }
}

TEST(Profile, TheBestOfSeveralLinksCounts) {
  Derivation host = derive(*makeHostMachine(3));
  auto machine = withMeasurements(host, {{0, 1, 5}, {1, 1, 8}}, "twice");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(machine->edges()[0].bandwidth.value, Rational(8));
  EXPECT_EQ(machine->edges()[0].bandwidth.source, "twice");
  EXPECT_EQ(machine->edges()[0].latency->value, Rational(1, 2));
}

TEST(Profile, Refused) {
  Derivation host = derive(*makeHostMachine(2));
  auto error = [&](LinkMeasurement measured) {
    return withMeasurements(host, {measured}, "").error();
  };
  EXPECT_EQ(error({2, 1, 1}), "link 2 was measured, which is none of 2");
  EXPECT_EQ(error({0, -1, 1}), "link 0 was measured with 1.000000 GB/s and "
                               "-1.000000 us, which makes no sense");
  EXPECT_FALSE(withMeasurements(host, {{0, 1, 0}}, ""));
  EXPECT_FALSE(withMeasurements(host, {{0, 0.0 / 0.0, 1}}, ""));
  EXPECT_EQ(makeHostMachine(1).error(),
            "a host of 1 ranks, expected between 2 and 65536");
}
