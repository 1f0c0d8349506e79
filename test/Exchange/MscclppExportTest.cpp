//===- MscclppExportTest.cpp - Programs as plans of MSCCL++ ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"
#include "Data/PaperTables.h"
#include "ExchangeTesting.h"
#include "Lowered.h"

#include "sccl/Exchange/Mscclpp.h"
#include "sccl/Model/Baselines.h"
#include "sccl/Solver/Solver.h"

using namespace sccl;
using namespace sccl::exchange;
using exchange::testing::lowered;
using exchange::testing::sendsOf;

/// Writes, reads and checks `implementation`, and gets the same sends back, in
/// no more steps.
static void expectExport(const Implementation &implementation,
                         const MscclppExportOptions &options) {
  const auto &[collective, schedule] = implementation;
  Result<MscclppPlan> plan =
      toMscclpp(collective, lowered(implementation), options);
  ASSERT_TRUE(plan) << collective.name() << ": " << plan.error();
  Findings findings;
  std::string text = printMscclpp(*plan);
  auto read = parseMscclpp(text, findings);
  ASSERT_TRUE(read) << findings.first().front().message;
  MscclppCheckOptions check;
  check.root = collective.root();
  auto verdict = checkMscclpp(*read, check, findings);
  ASSERT_TRUE(verdict) << findings.first().front().message;
  EXPECT_EQ(verdict->kind, collective.kind());
  EXPECT_EQ(verdict->mostBytes, read->maxBytes);
  EXPECT_EQ(printMscclpp(*read), text);
  Result<FoundSchedule> found = fromMscclpp(*read, check);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->collective.kind(), collective.kind());
  EXPECT_EQ(found->collective.chunks(), collective.chunks());
  EXPECT_EQ(found->collective.root(), collective.root());
  EXPECT_LE(found->schedule.steps.size(), schedule.steps.size());
  EXPECT_EQ(sendsOf(found->schedule), sendsOf(schedule));
}

static MscclppExportOptions withLL() {
  MscclppExportOptions options;
  options.usesLL = true;
  return options;
}
static MscclppExportOptions inBoxesOf(unsigned ranks) {
  MscclppExportOptions options;
  options.ranksPerBox = ranks;
  return options;
}

TEST(MscclppExport, RowsOfThePaper) {
  auto rows = test::readPaperTables();
  ASSERT_TRUE(rows) << rows.error();
  for (const test::PaperRow &row : *rows) {
    Result<Instance> instance = row.instance();
    ASSERT_TRUE(instance) << instance.error();
    SynthesisResult result = synthesize(*instance, {}, "auto");
    auto *found = std::get_if<Satisfied>(&result.outcome);
    ASSERT_TRUE(found) << reasonOf(result.outcome);
    expectExport({instance->collective, found->schedule}, {});
    expectExport({instance->collective, found->schedule}, withLL());
  }
}

TEST(MscclppExport, RingsAndTrees) {
  Topology boxes = test::boxesOnRails(2, 4, 3);
  auto rings = findRings(boxes);
  ASSERT_TRUE(rings) << rings.error();
  using enum CollectiveKind;
  for (CollectiveKind kind :
       {AllGather, ReduceScatter, AllReduce, Broadcast, Reduce}) {
    auto made = makeRingBaseline(boxes, *rings, kind, 2, /*root=*/5);
    ASSERT_TRUE(made) << made.error();
    MscclppExportOptions inPlace = inBoxesOf(4);
    inPlace.inPlace = true;
    expectExport(*made, inBoxesOf(4));
    expectExport(*made, withLL());
    expectExport(*made, inPlace);
  }
  auto trees = findTrees(boxes, {{0, 1, 2, 3}, {4, 5, 6, 7}});
  ASSERT_TRUE(trees) << trees.error();
  auto made = makeTreeBaseline(boxes, *trees, 3);
  ASSERT_TRUE(made) << made.error();
  expectExport(*made, inBoxesOf(4));
}

TEST(MscclppExport, Names) {
  Topology boxes = test::boxesOnRails(2, 4, 3);
  auto rings = findRings(boxes);
  ASSERT_TRUE(rings) << rings.error();
  std::set<std::string> names;
  for (unsigned root : {0, 1}) {
    auto made =
        makeRingBaseline(boxes, *rings, CollectiveKind::Broadcast, 1, root);
    ASSERT_TRUE(made) << made.error();
    for (const MscclppExportOptions &options : {withLL(), inBoxesOf(4)}) {
      auto plan = toMscclpp(made->collective, lowered(*made), options);
      ASSERT_TRUE(plan) << plan.error();
      EXPECT_EQ(plan->name.size(), 4u + 1 + 16);
      names.insert(plan->name);
      auto again = toMscclpp(made->collective, lowered(*made), options);
      EXPECT_EQ(again->name, plan->name);
    }
  }
  EXPECT_EQ(names.size(), 4u);
}

TEST(MscclppExport, Refused) {
  Topology boxes = test::boxesOnRails(2, 4, 3);
  auto rings = findRings(boxes);
  ASSERT_TRUE(rings) << rings.error();
  auto made = makeRingBaseline(boxes, *rings, CollectiveKind::AllGather, 1, 0);
  MscclppExportOptions far = withLL();
  far.ranksPerBox = 4;
  EXPECT_EQ(toMscclpp(made->collective, lowered(*made), far).error(),
            "LL words cannot go between boxes, through ports");
  Program cut = lowered(*made);
  cut.transfers.pop_back();
  std::string error = toMscclpp(made->collective, cut, {}).error();
  EXPECT_NE(error.find("has never been written"), std::string::npos) << error;
}
