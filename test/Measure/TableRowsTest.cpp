//===- TableRowsTest.cpp - All rows of the paper's tables, executed -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every row, and the inverse of every row that has one, runs on the CPU with a
// thread per rank. Every element of every launch is compared. The sizes are
// those at which chunks get short or empty, and in place as well.
//
//===----------------------------------------------------------------------===//

#include "Data/PaperTables.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Measure/HostPlan.h"
#include "sccl/Model/Composition.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Solver/Solver.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace sccl;

namespace {
class TableRows : public testing::TestWithParam<test::PaperRow> {
protected:
  static void SetUpTestSuite() { registerPipelinePasses(); }

  /// Synthesizes the row of this test.
  void SetUp() override {
    Result<Instance> instance = GetParam().instance();
    ASSERT_TRUE(instance) << instance.error();
    SynthesisResult result = synthesize(*instance, SolverOptions());
    auto *satisfied = std::get_if<Satisfied>(&result.outcome);
    ASSERT_TRUE(satisfied);
    topology = instance->topology;
    implementation.emplace(
        Implementation{instance->collective, satisfied->schedule});
  }

  static HostPlan compile(const Topology &topology,
                          const Implementation &implementation) {
    mlir::DialectRegistry registry;
    registerPipelineDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    auto module =
        coll::exportModule(context, "row", topology, implementation.collective,
                           implementation.schedule);
    mlir::FailureOr<HostPlan> plan =
        HostPlan::compile(*module, LoweringOptions());
    EXPECT_TRUE(succeeded(plan));
    return std::move(*plan);
  }

  static void run(const HostPlan &plan, uint64_t elements, unsigned launches,
                  bool inPlace) {
    SCOPED_TRACE(std::to_string(elements) + " elements" +
                 (inPlace ? " in place" : ""));
    MeasureRequest request{.count = elements};
    request.inPlace = inPlace;
    request.registered = false;
    request.verified = launches;
    Result<Measurement> report = measureOnThreads(plan, request, 300);
    ASSERT_TRUE(report) << report.error();
    EXPECT_EQ(report->wrong, 0u) << report->firstWrong;
    // Somebody has an output, so something was compared.
    EXPECT_EQ(report->elements != 0, elements != 0);
  }

  /// Runs all sizes of a segment, whose chunks number C' here.
  static void runAll(const Topology &topology,
                     const Implementation &implementation) {
    HostPlan plan = compile(topology, implementation);
    const Collective &collective = implementation.collective;
    uint64_t chunks = collective.chunksPerSegment();
    bool layout = collective.hasInPlaceLayout();
    EXPECT_EQ(plan.program().inPlace, layout);
    for (bool inPlace : {false, true}) {
      if (inPlace && !layout)
        continue;
      for (uint64_t elements :
           {uint64_t(0), uint64_t(1), chunks - 1, chunks, uint64_t(16385)})
        run(plan, elements, 3, inPlace);
      // Nothing is reset from one launch to the next, and flags and scratch
      // have come back to where they were after two. Neither depends on where
      // buffers are, so one of both layouts has many launches.
      run(plan, chunks + 1, inPlace == layout ? 200 : 20, inPlace);
      run(plan, (1 << 20) / (collective.chunks() / chunks), 1, inPlace);
    }
  }

  std::optional<Topology> topology;
  std::optional<Implementation> implementation;
};
} // namespace

TEST_P(TableRows, runs) { runAll(*topology, *implementation); }

TEST_P(TableRows, inverseRuns) {
  Result<Implementation> inverse = invert(*implementation);
  if (GetParam().kind == CollectiveKind::AllReduce) {
    EXPECT_FALSE(inverse); // several destinations of what is combined
    return;
  }
  ASSERT_TRUE(inverse) << inverse.error();
  runAll(topology->reversed(), *inverse);
}

INSTANTIATE_TEST_SUITE_P(Paper, TableRows,
                         testing::ValuesIn(*test::readPaperTables()),
                         [](const auto &info) { return info.param.name(); });
