//===- MachineTest.cpp - Machines and their numbers -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Machine.h"
#include "sccl/Machine/Presets.h"
#include "sccl/Machine/Units.h"

#include <gtest/gtest.h>

using namespace sccl;

TEST(Units, Decimals) {
  EXPECT_EQ(*parseDecimal("450"), Rational(450));
  EXPECT_EQ(*parseDecimal("26.562"), Rational(13281, 500));
  EXPECT_EQ(*parseDecimal(".5"), Rational(1, 2));
  EXPECT_EQ(*parseDecimal("5."), Rational(5));
  EXPECT_EQ(*parseDecimal("400/8"), Rational(50));
  for (const char *text : {"", ".", "-1", "1e3", "1,5", "1.2.3", "12 GB/s",
                           "1/0", "/2", "1/", "1234567890", "0.1234567890"})
    EXPECT_FALSE(parseDecimal(text)) << text;
  EXPECT_EQ(decimalText(Rational(13281, 500)), "26.562");
  EXPECT_EQ(decimalText(Rational(1, 8)), "0.125");
  EXPECT_EQ(decimalText(Rational(1, 3)), "1/3");
  EXPECT_EQ(decimalText(450), "450");
}

TEST(Units, Arithmetic) {
  EXPECT_EQ(sum(Rational(1, 6), Rational(1, 3)), Rational(1, 2));
  EXPECT_EQ(product(Rational(2, 3), Rational(3, 4)), Rational(1, 2));
  EXPECT_EQ(quotient(Rational(1, 2), Rational(1, 4)), Rational(2));
  EXPECT_EQ(quotient(1, 0), std::nullopt);
  EXPECT_EQ(commonMeasure(450, 50), Rational(50));
  EXPECT_EQ(commonMeasure(Rational(25, 2), 50), Rational(25, 2));
  EXPECT_EQ(commonMeasure(396, 48), Rational(12));
  EXPECT_EQ(commonMeasure(0, 7), Rational(7));
  Rational large(INT64_MAX), small(1, INT64_MAX);
  EXPECT_EQ(sum(large, large), std::nullopt);
  EXPECT_EQ(product(large, large), std::nullopt);
  EXPECT_EQ(sum(large, small), std::nullopt);
}

static Machine pair() {
  Machine machine("pair");
  EXPECT_TRUE(machine.addVertex({VertexKind::Gpu, "a", 0, "0000:01:00.0"}));
  EXPECT_TRUE(machine.addVertex({VertexKind::Gpu, "b", 0, "0000:02:00.0"}));
  return machine;
}

static Edge edge(unsigned src, unsigned dst, Rational bandwidth) {
  return {src, dst, {bandwidth, "test"}, std::nullopt, "NVLink4"};
}

TEST(Machine, RefusesBadVertices) {
  Machine machine = pair();
  auto error = [&](Vertex vertex) { return machine.addVertex(vertex).error(); };
  EXPECT_EQ(error({VertexKind::Gpu, "", 0}), "a GPU has no name");
  EXPECT_EQ(error({VertexKind::Nic, "a", 0}), "the name 'a' is there twice");
  EXPECT_EQ(error({VertexKind::Gpu, "c", 0, "0000:02:00.0"}),
            "bus id 0000:02:00.0 belongs to 'b' and to 'c'");
  EXPECT_EQ(error({VertexKind::Gpu, "c", std::nullopt}),
            "GPU 'c' is in no box, which only a switch may be");
  EXPECT_EQ(error({VertexKind::Gpu, "c", 0, "", "", true}),
            "GPU 'c' is said to multicast or reduce, which only a switch does");
  EXPECT_EQ(error({VertexKind::Gpu, "c", 1u << 20}),
            "GPU 'c' is in box 1048576, the limit is 16383");
  // A bus id is unique in its box.
  EXPECT_TRUE(machine.addVertex({VertexKind::Gpu, "c", 1, "0000:02:00.0"}));
  EXPECT_EQ(machine.numBoxes(), 2u);
}

TEST(Machine, RefusesMoreGpusThanTopologiesHave) {
  Machine machine("large");
  for (unsigned i = 0; i < 65536; ++i)
    ASSERT_TRUE(machine.addVertex({VertexKind::Gpu, std::to_string(i), 0}));
  EXPECT_EQ(machine.addVertex({VertexKind::Gpu, "last", 0}).error(),
            "'last' is one more than 65536, the most GPUs allowed");
  EXPECT_TRUE(machine.addVertex({VertexKind::Nic, "nic", 0}));
}

TEST(Machine, RefusesBadEdges) {
  Machine machine = pair();
  auto error = [&](Edge edge) { return machine.addEdge(edge).error(); };
  EXPECT_EQ(error(edge(0, 2, 1)),
            "vertex number 2 of an edge is out of range for 2 vertices");
  EXPECT_EQ(error(edge(0, 0, 1)),
            "the edge from 'a' to 'a' joins a vertex to itself");
  EXPECT_EQ(error(edge(0, 1, 0)),
            "the edge from 'a' to 'b' has 0 GB/s, expected more than 0 and at "
            "most 1000000000");
  EXPECT_TRUE(machine.addEdgePair(edge(0, 1, 25)));
  EXPECT_EQ(error(edge(1, 0, 25)),
            "the edge from 'b' to 'a' is there already; say cables in parallel "
            "as lanes");
}

TEST(Machine, Describes) {
  std::string text = describe(*makeMachinePreset("h100:boxes=2"));
  for (const char *part :
       {"machine h100:boxes=2: 16 GPUs in 2 boxes, 16 NICs, 10 switches\n",
        "2 boxes, each: 8 GPUs (sm_90), 8 NICs, 1 switch (multicasts, reduces)",
        "between boxes: 8 switches", "NVLink4 x18", "450 GB/s",
        "(NVLink 4: 25 GB/s a link and direction)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  text = describe(*makeMachinePreset("dgx1-v100"));
  EXPECT_NE(text.find("GB/s from GPU (row) to GPU"), std::string::npos) << text;
}
