//===- SumReport.cpp - What is said of errors of sums ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumReport.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"

#include <map>

using namespace sccl;
using namespace sccl::driver;

bool driver::hasErrors(const Collective &collective,
                       const LoweringOptions &options) {
  return collective.combining() && elementType(options.element).isFloat() &&
         (options.reduction == Reduction::Sum ||
          options.reduction == Reduction::Avg);
}

/// Of the program in one piece; nothing if it is not lowered.
static std::optional<coll::SumError>
errorOf(mlir::MLIRContext &context, const Topology &topology,
        const Implementation &implementation, const LoweringOptions &options) {
  const auto &[collective, schedule] = implementation;
  mlir::OwningOpRef<mlir::ModuleOp> module = coll::exportModule(
      context, collective.name() + "_schedule", topology, collective, schedule);
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addUncheckedLowering(manager, options);
      })))
    return std::nullopt;
  coll::ProgramOp program = *module->getOps<coll::ProgramOp>().begin();
  return coll::SumErrors(program, collective, elementType(options.element),
                         options.reduction)
      .worst();
}

std::vector<std::optional<coll::SumError>>
driver::errorsOf(mlir::MLIRContext &context, const Topology &topology,
                 const Advice &advice, llvm::ArrayRef<LoweringWay> ways) {
  constexpr size_t mostSends = 100'000;
  std::map<std::pair<size_t, std::string>, std::optional<coll::SumError>> known;
  std::vector<std::optional<coll::SumError>> errors;
  for (const SizeAdvice &size : advice.sizes) {
    auto [it, isNew] = known.try_emplace({size.candidate, size.way});
    const Implementation &implementation =
        advice.candidates[size.candidate].implementation;
    auto way = llvm::find_if(
        ways, [&](const LoweringWay &way) { return way.name == size.way; });
    if (isNew && way != ways.end() &&
        hasErrors(implementation.collective, way->options) &&
        implementation.schedule.numSends() <= mostSends)
      it->second = errorOf(context, topology, implementation, way->options);
    errors.push_back(it->second);
  }
  return errors;
}

void driver::addError(const coll::SumError &error, llvm::json::Object &object) {
  object["sum_error_bound"] = error.relative;
  object["sum_roundings"] = error.roundings;
  object["sum_roundings_in_f32"] = error.wideRoundings;
  if (error.absolute > 0)
    object["sum_error_floor"] = error.absolute;
}
