//===- KernelsTest.cpp - Kernels rank by rank and all at once -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans get their kernels from makeKernels, everybody else from two passes.
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Kernels.h"
#include "sccl/Conversion/RankTables.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"
#include "sccl/Model/Instance.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Solver/Solver.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace sccl;
using Kind = CollectiveKind;

namespace {
struct Case {
  const char *name, *topology;
  Kind kind;
  unsigned chunks, steps, rounds;
  LoweringOptions options;
  bool hasTables;
};

class RankByRank : public testing::TestWithParam<std::tuple<Case, bool>> {};

/// The text of the kernels, without tables.
std::string kernelText(collk::ProgramOp program) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto kernel : program.getBody().getOps<collk::KernelOp>())
    stream << kernel << '\n';
  return text;
}

collk::ProgramOp programIn(mlir::ModuleOp module) {
  return *module.getOps<collk::ProgramOp>().begin();
}
} // namespace

namespace {
/// Removes what others name, as a wrong pass might.
struct LosesTopology
    : mlir::PassWrapper<LosesTopology, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LosesTopology)
  void runOnOperation() override {
    (*getOperation().getOps<coll::TopologyOp>().begin())->erase();
  }
};
} // namespace

// In release builds, too.
TEST(Passes, areVerified) {
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Result<Topology> topology = makeBuiltinTopology("ring:4");
  ASSERT_TRUE(topology);
  Result<Collective> collective = Collective::make(Kind::AllGather, 4, 1);
  auto module = coll::exportModule(context, "p", *topology, *collective, {});
  std::string text;
  mlir::ScopedDiagnosticHandler handler(&context, [&](auto &diagnostic) {
    text += diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(failed(runPasses(*module, [](auto &manager) {
    manager.addPass(std::make_unique<LosesTopology>());
  })));
  EXPECT_NE(text.find("ring_4"), std::string::npos) << text;
}

TEST_P(RankByRank, agreeWithPasses) {
  const auto &[what, host] = GetParam();
  registerPipelinePasses();
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Result<Topology> topology = makeBuiltinTopology(what.topology);
  ASSERT_TRUE(topology);
  Result<Collective> collective =
      Collective::make(what.kind, topology->numRanks(), what.chunks);
  Result<Instance> instance =
      Instance::make(*topology, *collective, what.steps, what.rounds);
  ASSERT_TRUE(instance) << instance.error();
  SynthesisResult result = synthesize(*instance, SolverOptions());
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  ASSERT_TRUE(satisfied);
  auto module = coll::exportModule(context, "p", *topology, *collective,
                                   satisfied->schedule);
  ASSERT_TRUE(succeeded(runPasses(
      *module, [&](auto &manager) { addLowering(manager, what.options); })));
  mlir::FailureOr<sccl::Kernels> kernels = makeKernels(
      *module->getOps<coll::ProgramOp>().begin(), what.options.codeShape, host,
      /*traced=*/false);
  ASSERT_TRUE(succeeded(kernels));
  ASSERT_TRUE(succeeded(runPasses(*module, [&](auto &manager) {
    addKernelConversion(manager, what.options, host);
  })));
  EXPECT_EQ(kernels->tables, rankTables(programIn(*module)));
  EXPECT_EQ(!kernels->tables.empty(), what.hasTables);
  EXPECT_EQ(kernelText(programIn(*kernels->module)),
            kernelText(programIn(*module)));
}

static std::vector<Case> cases() {
  LoweringOptions plain, steps, ll, table, unrolled;
  steps.transport = TransportChoice::DMA;
  steps.steps = true;
  ll.ll = ll.doubleBuffer = ll.throughScratch = true;
  table.codeShape = CodeShapeChoice::Table;
  unrolled.codeShape = CodeShapeChoice::Unrolled;
  return {
      {"few", "ring:4", Kind::AllGather, 1, 2, 3, plain, false},
      {"few_as_table", "ring:4", Kind::AllReduce, 4, 6, 6, table, true},
      {"many", "torus:3x4", Kind::AllGather, 1, 4, 4, plain, true},
      {"many_unrolled", "torus:3x4", Kind::AllGather, 1, 4, 4, unrolled, false},
      {"many_steps", "mesh:12", Kind::AllGather, 1, 1, 1, steps, true},
      {"many_ll", "mesh:12", Kind::AllGather, 1, 1, 1, ll, true},
  };
}

INSTANTIATE_TEST_SUITE_P(All, RankByRank,
                         testing::Combine(testing::ValuesIn(cases()),
                                          testing::Bool()),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "_host"
                                                           : "_blocks");
                         });
