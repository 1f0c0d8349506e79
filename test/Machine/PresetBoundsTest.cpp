//===- PresetBoundsTest.cpp - What presets can reach ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The best all_gather of each machine is known from the cut formula, for many
// also from other people's programs: total output in bytes over seconds, in
// GB/s. The certified bound of the topology derived from the preset must say
// the same, which it does only if every link, route, limit and unit is right.
// More boxes than are here say the same and take longer.
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Machine/Presets.h"
#include "sccl/Machine/Units.h"

#include <gtest/gtest.h>

using namespace sccl;

namespace {
struct KnownOptimum {
  const char *spec;
  double gigabytesPerSecond; ///< rounded to 4 decimals or fewer
};
} // namespace

static const KnownOptimum knownOptima[] = {
    // One box.
    {"dgx1-v100", 171.4286},
    {"dgx1-v100:msccl-tools", 171.4286},
    {"dgx1-v100:nvidia-smi", 171.4286},
    {"z52-mi50-ring", 61.7143}, // 16/7 of 27
    {"mi100", 184},
    {"mi250", 342.8571},
    {"mi250:half", 200},
    {"mi300x", 512},
    {"dgx2", 160},
    {"a100", 342.8571},
    {"h100", 514.2857},
    {"h200", 514.2857},
    {"b200", 1028.5714},
    {"gb200-nvl72", 912.676},
    {"tpu-v5p:4x4x4", 609.5238},
    {"trn2", 546.1333},
    {"trn2-ultra", 650.1587},
    {"torus50:4x4", 213.3333},
    // Several boxes.
    {"a100:boxes=2,core", 346.6667},
    {"a100:boxes=4", 266.6667},
    {"h100:boxes=2", 533.3333},
    {"h100:boxes=2,core", 533.3333},
    {"h100:boxes=4", 516.1290},
    {"h100:boxes=4,core", 516.1290},
    {"h100:boxes=8", 457.1429},
    {"b200:boxes=2", 800},
    {"b200:boxes=4", 533.3333},
    {"mi250:boxes=2", 354.1333},
    {"mi250:half,boxes=2", 208},
    {"mi300x:boxes=2,core", 531.2},
    {"ndv2:boxes=2", 25},
    {"ndv2:boxes=4", 16.6667},
    {"dgx2:te-ccl,boxes=2", 129.0323},
};

TEST(PresetBounds, AllGather) {
  for (const KnownOptimum &known : knownOptima) {
    SCOPED_TRACE(known.spec);
    Result<Machine> machine = makeMachinePreset(known.spec);
    ASSERT_TRUE(machine) << machine.error();
    Result<Derivation> derivation = deriveTopology(*machine);
    ASSERT_TRUE(derivation) << derivation.error();
    EXPECT_EQ(derivation->error, Rational(0));
    unsigned ranks = derivation->topology.numRanks();
    auto collective = Collective::make(CollectiveKind::AllGather, ranks, 1);
    ASSERT_TRUE(collective) << collective.error();
    Result<LowerBound> bound =
        throughputBound(derivation->topology, *collective);
    ASSERT_TRUE(bound && bound->value) << bound.error();
    // Each rank's chunks: R rounds for C chunks, of which each is sent at the
    // rate of the quantum.
    double rate =
        ranks * derivation->quantum.toDouble() / bound->value->toDouble();
    EXPECT_NEAR(rate, known.gigabytesPerSecond, 1e-4)
        << bound->value->str() << " with a quantum of "
        << decimalText(derivation->quantum) << " GB/s";
  }
}
