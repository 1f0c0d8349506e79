//===- PaperTablesTest.cpp - Every row of the paper's tables --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the authors of the paper found schedules for must be found here as well,
// and pass the checker. Schedules of the same cost differ; only (C, S, R) and
// correctness count.
//
//===----------------------------------------------------------------------===//

#include "Data/PaperTables.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Solver/Solver.h"

#include <gtest/gtest.h>

#include <set>

using namespace sccl;
using sccl::test::PaperRow;
using sccl::test::readPaperTables;

namespace {
std::vector<PaperRow> allRows() {
  Result<std::vector<PaperRow>> rows = readPaperTables();
  return rows ? *rows : std::vector<PaperRow>();
}

class PaperTables : public testing::TestWithParam<PaperRow> {
protected:
  void expectSynthesized(std::string_view engine) {
    Result<Instance> instance = GetParam().instance();
    ASSERT_TRUE(instance) << instance.error();
    SolverOptions options;
    options.timeoutSeconds = 120;
    SynthesisResult result = synthesize(*instance, options, engine);
    auto *satisfied = std::get_if<Satisfied>(&result.outcome);
    ASSERT_TRUE(satisfied) << result.engine << ": "
                           << statusName(result.outcome) << ", "
                           << reasonOf(result.outcome);
    const Schedule &schedule = satisfied->schedule;
    EXPECT_EQ(schedule.steps.size(), GetParam().steps);
    EXPECT_EQ(schedule.rounds(), GetParam().rounds);
    auto violation =
        checkSchedule(instance->topology, instance->collective, schedule);
    EXPECT_FALSE(violation) << violation->message;
  }
};
} // namespace

TEST_P(PaperTables, FoundByAuto) { expectSynthesized("auto"); }

TEST_P(PaperTables, FoundByZ3) {
  const auto &backends = solverBackends();
  if (std::none_of(backends.begin(), backends.end(),
                   [](const auto &engine) { return engine->name() == "z3"; }))
    GTEST_SKIP() << "the engine is not built";
  expectSynthesized("z3");
}

INSTANTIATE_TEST_SUITE_P(Rows, PaperTables, testing::ValuesIn(allRows()),
                         [](const testing::TestParamInfo<PaperRow> &info) {
                           return info.param.name();
                         });

TEST(PaperTablesFile, HoldsBothTables) {
  Result<std::vector<PaperRow>> rows = readPaperTables();
  ASSERT_TRUE(rows) << rows.error();
  size_t onDgx1 = 0, combining = 0;
  std::set<std::string> names;
  for (const PaperRow &row : *rows) {
    onDgx1 += row.topology == "dgx1";
    combining += isCombining(row.kind);
    names.insert(row.name());
  }
  EXPECT_EQ(rows->size(), 47u);
  EXPECT_EQ(onDgx1, 33u);
  EXPECT_EQ(combining, 11u);
  EXPECT_EQ(names.size(), rows->size());
}
