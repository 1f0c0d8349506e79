//===- MilpBackendTest.cpp - Tests of the milp engine ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All-to-all, from the rows of the SCCL paper to tori, and the exactness of
// what floating point has suggested.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"

#include "Optimize/IntegerProgram.h"

#include <random>

using namespace sccl;
using namespace sccl::test;

//===----------------------------------------------------------------------===//
// Exact arithmetic
//===----------------------------------------------------------------------===//

/// Minimize x + y where 2x + y >= 3 and x, y are in [0, 2]: 3/2 at (3/2, 0).
static IntegerProgram example() {
  IntegerProgram program;
  for (int64_t weight : {2, 1}) {
    unsigned column = program.addColumn({0, 2, 1, true});
    program.entries.push_back({0, column, -weight});
  }
  program.addRow({-3, false});
  return program;
}

TEST(IntegerProgram, Relaxation) {
  Deadline deadline{SolverOptions()};
  IntegerProgram program = example();
  LPSolution solution = solveRelaxation(program, deadline);
  ASSERT_EQ(solution.status, LPStatus::Optimal);
  EXPECT_NEAR(solution.values[0] + solution.values[1], 1.5, 1e-9);
  EXPECT_TRUE(proveCostAbove(program, solution.multipliers, 1));
  EXPECT_FALSE(proveCostAbove(program, solution.multipliers, 2));
  EXPECT_FALSE(roundSolution(program, solution.values));
}

TEST(IntegerProgram, Infeasible) {
  Deadline deadline{SolverOptions()};
  IntegerProgram program = example();
  program.rows[0].bound = -7;
  EXPECT_EQ(solveRelaxation(program, deadline).status, LPStatus::Infeasible);
  EXPECT_FALSE(findIntegerSolution(program, 100, 0, deadline));
}

TEST(IntegerProgram, IntegerSolution) {
  Deadline deadline{SolverOptions()};
  auto solution = findIntegerSolution(example(), 100, 0, deadline);
  ASSERT_TRUE(solution);
  EXPECT_GE(2 * (*solution)[0] + (*solution)[1], 3);
}

TEST(IntegerProgram, RoundingChecksRowsAndBounds) {
  IntegerProgram program = example();
  EXPECT_EQ(roundSolution(program, {1 + 1e-7, 1 - 1e-7}),
            (std::vector<int64_t>{1, 1}));
  EXPECT_FALSE(roundSolution(program, {1, 0}));
  EXPECT_FALSE(roundSolution(program, {3, 0}));
  EXPECT_FALSE(roundSolution(program, {1.5, 0}));
}

// Whatever the multipliers are, they must not prove what is wrong.
TEST(IntegerProgram, NoMultipliersProveTooMuch) {
  std::mt19937 random(11);
  unsigned proved = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    IntegerProgram program;
    unsigned numColumns = 1 + random() % 3, numRows = 1 + random() % 3;
    for (unsigned i = 0; i < numColumns; ++i)
      program.addColumn({0, 3, int64_t(random() % 4), true});
    for (unsigned i = 0; i < numRows; ++i) {
      program.addRow({int64_t(random() % 9) - 4, random() % 2 == 0});
      for (unsigned j = 0; j < numColumns; ++j)
        program.entries.push_back({i, j, int64_t(random() % 7) - 3});
    }
    // The best of all integral points.
    std::optional<int64_t> best;
    for (unsigned code = 0; code < 1u << (2 * numColumns); ++code) {
      std::vector<double> point;
      int64_t cost = 0;
      for (unsigned j = 0; j < numColumns; ++j) {
        point.push_back(code >> (2 * j) & 3);
        cost += program.columns[j].cost * int64_t(point.back());
      }
      if (roundSolution(program, point))
        best = std::min(best.value_or(cost), cost);
    }
    std::vector<double> multipliers;
    for (unsigned i = 0; i < numRows; ++i)
      multipliers.push_back((int(random() % 401) - 200) / 100.0);
    for (int64_t cost = -2; cost < 8; ++cost)
      if (proveCostAbove(program, multipliers, cost)) {
        ++proved;
        EXPECT_TRUE(!best || *best > cost);
      }
  }
  EXPECT_GT(proved, 1000u);
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class MilpTest : public EngineTest {
protected:
  MilpTest() : EngineTest("milp") {}
  static Instance allToAll(std::string_view spec, unsigned chunks,
                           unsigned steps, unsigned rounds) {
    return instanceOn(builtin(spec), CollectiveKind::AllToAll, chunks, steps,
                      rounds);
  }
};
} // namespace

TEST_F(MilpTest, RowsOfThePaper) {
  expectSatisfied(allToAll("dgx1", 8, 3, 3));
  expectSatisfied(allToAll("dgx1", 8, 2, 3));
  expectSatisfied(allToAll("dgx1", 24, 8, 8));
  expectSatisfied(allToAll("dgx1", 24, 2, 8));
  expectSatisfied(allToAll("amd_z52", 8, 4, 8));
}

TEST_F(MilpTest, RefutesNextToTheRows) {
  expectRefuted(allToAll("dgx1", 16, 2, 5));
  expectRefuted(allToAll("dgx1", 32, 2, 10));
  expectRefuted(allToAll("dgx1", 32, 3, 10));
  expectRefuted(allToAll("amd_z52", 8, 4, 7));
  expectRefuted(allToAll("amd_z52", 16, 4, 15));
  expectRefuted(allToAll("amd_z52", 8, 3, 99));
  // Far fewer rounds than any step could need.
  expectRefuted(allToAll("ring:16", 64, 8, 8));
}

TEST_F(MilpTest, OptimalOnSymmetricTopologies) {
  expectSatisfied(allToAll("torus:4x4", 16, 4, 8));
  expectRefuted(allToAll("torus:4x4", 16, 4, 7));
  expectSatisfied(allToAll("hypercube:4", 16, 4, 8));
  expectSatisfied(allToAll("ring:16", 32, 8, 64));
  expectRefuted(allToAll("torus:8x8", 64, 8, 63));
}

TEST_F(MilpTest, SharedLimits) {
  expectSatisfied(allToAll("switch:8,2", 8, 1, 4));
  expectRefuted(allToAll("switch:8,2", 8, 1, 3));
  expectRefuted(allToAll("switch:8,2", 8, 3, 3));
}

TEST_F(MilpTest, WithoutSymmetry) {
  expectSatisfied(allToAll("line:6", 6, 5, 9));
  expectRefuted(allToAll("line:6", 6, 5, 8));
}

TEST_F(MilpTest, SpareStepsAndRounds) {
  expectSatisfied(allToAll("ring:4", 4, 5, 9));
  expectSatisfied(
      instanceOn(Topology("alone", 1), CollectiveKind::AllToAll, 2, 2, 3));
}

TEST_F(MilpTest, IsDeterministic) {
  expectDeterministic(allToAll("torus:4x4", 16, 4, 8));
}

TEST_F(MilpTest, Interrupt) {
  expectInterruptible(allToAll("torus:4x4", 16, 4, 8));
}

TEST_F(MilpTest, Refusals) {
  expectRefusal(instanceOn(builtin("dgx1"), CollectiveKind::AllGather, 1, 2, 2),
                "milp takes all_to_all only, got 'all_gather'");
}
