//===- SumBoundTest.cpp - Bounds where the order of additions is given ----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/SumBound.h"

#include <gmock/gmock.h>

using namespace sccl;

using Kind = CollectiveKind;
using ::testing::HasSubstr;

namespace {
/// The bound from prices that are all the same, whose certificate must survive
/// a round trip through its text.
Result<LowerBound> boundOf(const char *machine, Kind kind, const char *order,
                           std::optional<unsigned> steps,
                           const Rational &target) {
  Topology topology = *makeBuiltinTopology(machine);
  unsigned ranks = topology.numRanks();
  Collective collective = *Collective::make(
      kind, ranks, sendsOneSegmentPerRank(kind) ? ranks : 1, 0);
  std::vector<double> prices(topology.limits().size() * steps.value_or(1), 1.0);
  SearchLimits limits;
  limits.maxWork = 300'000;
  Result<LowerBound> bound =
      sumBound(topology, collective, *SumOrder::parse(order), steps, prices,
               target, limits);
  if (!bound)
    return bound;
  auto parsed = parseCertificate(printCertificate(bound->certificate));
  EXPECT_TRUE(parsed) << parsed.error();
  if (parsed) {
    EXPECT_EQ(*parsed, bound->certificate);
    EXPECT_EQ(checkCertificate(*parsed, topology, collective), std::nullopt);
  }
  EXPECT_LE(*bound->value, target);
  return bound;
}
} // namespace

/// Each rank gets one chunk of the others: no tree costs anything there.
TEST(SumBound, MeetsDirectSums) {
  auto bound =
      boundOf("mesh:4", Kind::ReduceScatter, "tree", 1, Rational(1, 4));
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->value, Rational(1, 4));
}

/// In any order 3/8 do, of any number of steps.
TEST(SumBound, IsAboveThatOfAnyOrder) {
  auto bound = boundOf("ring:4", Kind::ReduceScatter, "((0+2)+(1+3))", {},
                       Rational(1, 2));
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->value, Rational(1, 2));
}

/// Several ranks get the result of each sum. In any order 3/4 do.
TEST(SumBound, SharesPrices) {
  auto bound =
      boundOf("ring:4", Kind::AllReduce, "((0+2)+(1+3))", 3, Rational(1));
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->value, Rational(1));
}

TEST(SumBound, RefusesWhatIsNotAddedUp) {
  auto bound = boundOf("ring:4", Kind::AllGather, "tree", 3, Rational(1));
  ASSERT_FALSE(bound);
  EXPECT_THAT(bound.error(), HasSubstr("nothing to add up"));
  EXPECT_FALSE(boundOf("ring:4", Kind::AllReduce, "(0+1)", 3, Rational(1)));
}
