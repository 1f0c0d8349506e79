//===- HostPlan.cpp - From programs to machine code -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/HostExecutor.h"

#include "sccl/Conversion/RankTables.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/TargetSelect.h"

#include <unistd.h>

using namespace mlir;
using namespace sccl;

HostPlan::HostPlan(Collective collective)
    : theCollective(std::move(collective)) {}
HostPlan::HostPlan(HostPlan &&) = default;
HostPlan::~HostPlan() = default;

/// Lowers as far as programs, and returns the only one.
static FailureOr<coll::ProgramOp>
lowerToProgram(ModuleOp module, const LoweringOptions &options) {
  if (failed(runPasses(module, [&](OpPassManager &manager) {
        addLowering(manager, options);
      })))
    return failure();
  auto programs = module.getOps<coll::ProgramOp>();
  if (programs.empty() || std::next(programs.begin()) != programs.end())
    return module.emitError()
           << "holds " << std::distance(programs.begin(), programs.end())
           << " schedules and programs, expected one";
  return *programs.begin();
}

static FailureOr<std::unique_ptr<ExecutionEngine>> makeEngine(ModuleOp module) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(2, 0, nullptr);
  options.transformer = optimize;
  llvm::Expected<std::unique_ptr<ExecutionEngine>> engine =
      ExecutionEngine::create(module, options);
  if (!engine)
    return module.emitError() << "cannot compile for this machine: "
                              << llvm::toString(engine.takeError());
  return std::move(*engine);
}

FailureOr<HostPlan> HostPlan::compile(ModuleOp module,
                                      const LoweringOptions &options) {
  FailureOr<coll::ProgramOp> program = lowerToProgram(module, options);
  if (failed(program))
    return failure();
  FailureOr<coll::Problem> problem = coll::importProblem(*program);
  if (failed(problem))
    return failure();
  HostPlan plan(std::move(problem->collective));
  plan.programInfo = describeProgram(*program, plan.theCollective);
  plan.inPlace = coll::allowsInPlace(*program, plan.theCollective);
  LoweringOptions here = options;
  if (long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE); bytes > 0)
    here.cacheBytes = bytes;
  if (failed(runPasses(module, [&](OpPassManager &manager) {
        addKernelConversion(manager, here, /*host=*/true);
      })))
    return failure();
  plan.tables = rankTables(*module.getOps<collk::ProgramOp>().begin());
  if (failed(runPasses(module, [&](OpPassManager &manager) {
        addKernelToHost(manager, here);
      })))
    return failure();
  FailureOr<std::unique_ptr<ExecutionEngine>> engine = makeEngine(module);
  if (failed(engine))
    return failure();
  const ProgramInfo &info = plan.programInfo;
  for (unsigned step = 0; step < std::max(info.steps, 1u); ++step)
    for (unsigned rank = 0; rank < info.numRanks; ++rank) {
      llvm::Expected<void *> symbol =
          (*engine)->lookup(plan.tables.empty() ? info.functionName(rank, step)
                                                : info.tableFunctionName(step));
      if (!symbol)
        return module.emitError() << llvm::toString(symbol.takeError());
      plan.functions.push_back(reinterpret_cast<RankFunction>(*symbol));
    }
  plan.engine = std::move(*engine);
  return plan;
}
