//===- RefusalTest.cpp - What is refuted, and who is asked ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SolverTesting.h"

using namespace sccl;
using namespace sccl::test;

namespace {

TEST_F(Z3Test, DistanceRefutes) {
  SynthesisResult result =
      synthesize(named(amd, CollectiveKind::AllGather, 1, 3, 4));
  EXPECT_EQ(statusName(result.outcome), "unsatisfiable");
  EXPECT_EQ(result.engine, "distance");
  EXPECT_EQ(reasonOf(result.outcome),
            "chunk 0 needs 4 steps to reach rank 4, S is 3");
}

// The engine alone, without the test by distance before it, must agree.
TEST_F(Z3Test, EngineRefutesDistance) {
  Instance instance = named(amd, CollectiveKind::AllGather, 1, 3, 4);
  for (Encoding encoding : {Encoding::Direct, Encoding::Paper}) {
    SolverOptions options;
    options.encoding = encoding;
    for (const auto &backend : solverBackends()) {
      if (backend->name() != "z3")
        continue;
      SynthesisResult result = backend->solve(instance, options);
      EXPECT_EQ(statusName(result.outcome), "unsatisfiable");
    }
  }
}

TEST_F(Z3Test, UnknownEngine) {
  SynthesisResult result =
      synthesize(named(dgx1, CollectiveKind::AllGather, 1, 2, 2), {}, "yices");
  EXPECT_EQ(statusName(result.outcome), "failed");
  std::string message(reasonOf(result.outcome));
  EXPECT_EQ(
      message.rfind("unknown engine 'yices', the known ones are: auto", 0), 0u)
      << message;
  EXPECT_NE(message.find("z3"), std::string::npos);
}

TEST_F(Z3Test, EnginesLeftOut) {
  Instance instance = named(dgx1, CollectiveKind::AllGather, 2, 2, 3);
  SolverOptions options;
  options.useBounds = false;
  std::string first = synthesize(instance, options).engine;
  options.without = {first};
  SynthesisResult other = synthesize(instance, options);
  EXPECT_EQ(statusName(other.outcome), "satisfiable");
  EXPECT_NE(other.engine, first);
  // Who names an engine means it.
  EXPECT_EQ(synthesize(instance, options, first).engine, first);
  for (const auto &backend : solverBackends())
    options.without.push_back(backend->name());
  EXPECT_EQ(statusName(synthesize(instance, options).outcome), "unknown");
}

TEST_F(Z3Test, CombiningByParts) {
  Instance instance = named(dgx1, CollectiveKind::AllReduce, 8, 4, 4);
  SynthesisResult result = synthesize(instance, {}, "z3");
  EXPECT_EQ(statusName(result.outcome), "satisfiable")
      << reasonOf(result.outcome);
  EXPECT_EQ(result.engine, "compose/z3/direct");
}

TEST_F(Z3Test, CombiningAtOnce) {
  // No composition has so few steps.
  SynthesisResult result =
      synthesize(named(dgx1, CollectiveKind::AllReduce, 2, 2, 2), {}, "z3");
  EXPECT_EQ(statusName(result.outcome), "satisfiable")
      << reasonOf(result.outcome);
  EXPECT_EQ(result.engine, "z3/direct");
  Instance refuted = named(dgx1, CollectiveKind::AllReduce, 3, 2, 2);
  result = synthesize(refuted, {}, "z3");
  EXPECT_EQ(statusName(result.outcome), "unsatisfiable")
      << reasonOf(result.outcome);
  SolverOptions paper;
  paper.encoding = Encoding::Paper;
  result = synthesize(refuted, paper, "z3");
  EXPECT_EQ(statusName(result.outcome), "unknown");
  EXPECT_NE(reasonOf(result.outcome)
                .find("the encoding of the paper has no "
                      "reductions"),
            std::string::npos)
      << reasonOf(result.outcome);
}

TEST_F(Z3Test, MalformedInstance) {
  Instance instance = named(dgx1, CollectiveKind::AllGather, 1, 2, 2);
  instance.rounds = 1;
  SynthesisResult result = synthesize(instance);
  EXPECT_EQ(statusName(result.outcome), "failed");
  EXPECT_EQ(reasonOf(result.outcome),
            "the instance has 1 rounds, at least one for each of its 2 steps "
            "is needed");
}

TEST(Solver, BoundsRefuteWhatTakesLong) {
  // No engine decides this within minutes.
  Instance instance = named("torus:8x8", CollectiveKind::AllToAll, 64, 9, 63);
  SynthesisResult result = synthesize(instance);
  const auto *refuted = std::get_if<Unsatisfiable>(&result.outcome);
  ASSERT_TRUE(refuted) << statusName(result.outcome);
  EXPECT_EQ(result.engine, "bound");
  EXPECT_EQ(refuted->reason,
            "refuted by a bound: R/C is 63/64 and must be at least 1");
  SolverOptions options;
  options.maxWork = 100'000;
  options.useBounds = false;
  result = synthesize(instance, options);
  EXPECT_EQ(statusName(result.outcome), "unknown");
}

TEST(Solver, StatusNames) {
  EXPECT_EQ(statusName(Satisfied{}), "satisfiable");
  EXPECT_EQ(statusName(Unsatisfiable{}), "unsatisfiable");
  EXPECT_EQ(statusName(Unknown{}), "unknown");
  EXPECT_EQ(statusName(Failed{}), "failed");
}

} // namespace
