//===- PipelinedBoundTest.cpp - Bounds on the load ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/LowerBound.h"

#include <gtest/gtest.h>

using namespace sccl;

using Kind = CollectiveKind;

/// The bound on the load or on R/C, whose certificate must survive its text.
static std::optional<Rational> boundOf(const char *spec, Kind kind,
                                       unsigned steps, bool pipelined) {
  Topology topology = *makeBuiltinTopology(spec);
  unsigned ranks = topology.numRanks();
  Collective collective =
      *Collective::make(kind, ranks, sendsOneSegmentPerRank(kind) ? ranks : 1);
  LowerBoundOptions options;
  options.pipelined = pipelined;
  auto bound = lowerBound(topology, collective, steps, options);
  EXPECT_TRUE(bound) << bound.error();
  if (!bound)
    return std::nullopt;
  auto parsed = parseCertificate(printCertificate(bound->certificate));
  EXPECT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(*parsed, bound->certificate);
  EXPECT_EQ(checkCertificate(*parsed, topology, collective), std::nullopt);
  return bound->value;
}

TEST(LowerBound, LoadsOfPipelinedSchedules) {
  auto loadOf = [](const char *spec, Kind kind, unsigned steps) {
    return boundOf(spec, kind, steps, /*pipelined=*/true);
  };
  // Steps need not wait for each other: R/C takes a step more for 7/6.
  EXPECT_EQ(loadOf("dgx1", Kind::AllGather, 2), Rational(7, 6));
  EXPECT_EQ(loadOf("dgx1", Kind::ReduceScatter, 2), Rational(7, 48));
  EXPECT_EQ(loadOf("ring:8", Kind::AllGather, 4), Rational(7, 2));
  // Along the line every chunk takes every link, one after the other step by
  // step, all at once in a pipeline.
  EXPECT_EQ(boundOf("line:4", Kind::Broadcast, 3, false), Rational(3));
  EXPECT_EQ(loadOf("line:4", Kind::Broadcast, 3), Rational(1));
}

/// Ranks that look alike share prices there, too.
TEST(LowerBound, LoadsOfManyRanks) {
  EXPECT_EQ(boundOf("ring:64", Kind::AllGather, 32, true), Rational(63, 2));
  EXPECT_EQ(boundOf("torus:16x16", Kind::AllGather, 16, true),
            Rational(255, 4));
  EXPECT_EQ(boundOf("hypercube:8", Kind::ReduceScatter, 8, true),
            Rational(255, 2048));
}

TEST(LowerBound, LoadsOfAnyDepth) {
  LowerBoundOptions options;
  options.pipelined = true;
  Collective gather = *Collective::make(Kind::AllGather, 8, 1);
  auto bound = throughputBound(*makeBuiltinTopology("dgx1"), gather, options);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->value, Rational(7, 6));
  EXPECT_EQ(claimText(bound->certificate),
            "no schedule of all_gather on 8 ranks with any steps has load "
            "below 7/6");
  EXPECT_EQ(*parseCertificate(printCertificate(bound->certificate)),
            bound->certificate);
}
