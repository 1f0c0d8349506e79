//===- RefutationTest.cpp - What lies just below the paper's rows ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bound that is too weak goes unnoticed as long as one only looks for
// schedules. So the instances next to known schedules, one chunk more or one
// round less, must be refuted with a certificate that survives its text form.
//
//===----------------------------------------------------------------------===//

#include "Data/PaperTables.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Solver/Solver.h"

#include <gtest/gtest.h>

using namespace sccl;
using sccl::test::PaperRow;
using sccl::test::readPaperTables;

using Kind = CollectiveKind;

/// The bound for the number of steps of `instance`, after its certificate has
/// been printed, read back and checked.
static Rational certifiedBound(const Instance &instance) {
  Result<LowerBound> bound =
      lowerBound(instance.topology, instance.collective, instance.steps);
  EXPECT_TRUE(bound) << bound.error();
  if (!bound || !bound->value)
    return 0;
  Result<Certificate> parsed =
      parseCertificate(printCertificate(bound->certificate));
  EXPECT_TRUE(parsed) << parsed.error();
  if (!parsed)
    return 0;
  EXPECT_EQ(checkCertificate(*parsed, instance.topology, instance.collective),
            std::nullopt);
  EXPECT_EQ(parsed->steps, instance.steps);
  EXPECT_TRUE(parsed->bound);
  return parsed->bound.value_or(0);
}

namespace {
/// An instance without a schedule.
struct Refuted {
  PaperRow row;
  bool isEasy; ///< an engine refutes it by search in well under a second
};
} // namespace

static const Refuted justBelow[] = {
    {{"dgx1", Kind::AllGather, 2, 2, 2}, true},
    {{"dgx1", Kind::AllGather, 3, 2, 4}, true},
    {{"dgx1", Kind::AllGather, 5, 2, 7}, true},
    {{"dgx1", Kind::AllGather, 3, 3, 3}, false},
    {{"dgx1", Kind::AllGather, 4, 4, 4}, false},
    {{"dgx1", Kind::AllGather, 7, 3, 8}, false},
    {{"dgx1", Kind::AllGather, 7, 7, 8}, false},
    {{"dgx1", Kind::Broadcast, 7, 3, 3}, true},
    {{"dgx1", Kind::Broadcast, 13, 4, 4}, false},
    {{"dgx1", Kind::Broadcast, 16, 4, 5}, false},
    {{"dgx1", Kind::Broadcast, 19, 5, 5}, false},
    {{"dgx1", Kind::Gather, 2, 2, 2}, true},
    {{"dgx1", Kind::Gather, 7, 3, 8}, true},
    {{"dgx1", Kind::Gather, 7, 7, 8}, true},
    {{"dgx1", Kind::AllToAll, 16, 2, 5}, true},
    {{"dgx1", Kind::AllToAll, 32, 2, 10}, true},
    {{"dgx1", Kind::AllToAll, 32, 3, 10}, true},
    {{"amd_z52", Kind::AllGather, 3, 4, 10}, false},
    {{"amd_z52", Kind::Broadcast, 9, 7, 7}, false},
    {{"amd_z52", Kind::Broadcast, 11, 8, 8}, false},
    {{"amd_z52", Kind::Gather, 3, 4, 10}, true},
    {{"amd_z52", Kind::AllToAll, 8, 4, 7}, true},
    {{"amd_z52", Kind::AllToAll, 16, 4, 15}, true},
};

TEST(Refutation, CertifiedJustBelowTheRows) {
  for (const auto &[row, isEasy] : justBelow) {
    Result<Instance> instance = row.instance();
    ASSERT_TRUE(instance) << row.name() << ": " << instance.error();
    EXPECT_GT(certifiedBound(*instance), row.bandwidth()) << row.name();
  }
}

TEST(Refutation, EnginesAgree) {
  for (const auto &[row, isEasy] : justBelow) {
    if (!isEasy)
      continue;
    Result<Instance> instance = row.instance();
    ASSERT_TRUE(instance) << row.name() << ": " << instance.error();
    SolverOptions options;
    options.timeoutSeconds = 60;
    EXPECT_EQ(statusName(synthesize(*instance, options).outcome),
              "unsatisfiable")
        << row.name();
  }
}

TEST(Refutation, OneRoundLessThanARow) {
  Result<std::vector<PaperRow>> rows = readPaperTables();
  ASSERT_TRUE(rows) << rows.error();
  for (const PaperRow &row : *rows) {
    // The paper's class of all_reduce schedules is not the best there is.
    if (row.kind == Kind::AllReduce)
      continue;
    Result<Instance> instance = row.instance();
    ASSERT_TRUE(instance) << row.name() << ": " << instance.error();
    Rational bound = certifiedBound(*instance);
    EXPECT_LE(bound, row.bandwidth()) << row.name();
    Rational oneLess(row.rounds - 1, row.chunks);
    // The paper's own (6, 3, 3) is cheaper than its (6, 3, 5).
    if (row.name() == "dgx1_broadcast_6_3_5")
      EXPECT_EQ(bound, Rational(3, 6));
    else
      EXPECT_GT(bound, oneLess) << row.name();
  }
}

TEST(Refutation, RootsOfTheOtherOrbitReachMore) {
  // Refuted from root 0 above, but not from root 1.
  Topology dgx1 = *makeBuiltinTopology("dgx1");
  for (auto [chunks, steps] : {std::pair(13u, 4u), {19u, 5u}}) {
    Result<Collective> broadcast =
        Collective::make(Kind::Broadcast, 8, chunks, /*root=*/1);
    ASSERT_TRUE(broadcast) << broadcast.error();
    Result<Instance> instance = Instance::make(dgx1, *broadcast, steps, steps);
    ASSERT_TRUE(instance) << instance.error();
    EXPECT_EQ(certifiedBound(*instance), Rational(steps, chunks));
  }
}
