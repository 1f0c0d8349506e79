//===- SumReport.cpp - What is said of errors of sums ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumReport.h"

#include "AdvisedPrograms.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/Ways.h"

#include "mlir/Pass/PassManager.h"

#include <map>
#include <set>

using namespace sccl;
using namespace sccl::driver;

bool driver::hasErrors(const Collective &collective,
                       const LoweringOptions &options) {
  return collective.combining() && elementType(options.element).isFloat() &&
         (options.reduction == Reduction::Sum ||
          options.reduction == Reduction::Avg);
}

/// Programs of more sends take seconds.
static constexpr size_t mostSends = 100'000;

/// Of the program that was lowered in `module`.
static coll::SumError worstIn(mlir::ModuleOp module,
                              const Collective &collective,
                              const LoweringOptions &options) {
  coll::ProgramOp program = *module.getOps<coll::ProgramOp>().begin();
  return coll::SumErrors(program, collective, elementType(options.element),
                         options.reduction)
      .worst();
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
  return worstIn(*module, collective, options);
}

std::vector<std::optional<coll::SumError>>
driver::errorsOf(mlir::MLIRContext &context, const Topology &topology,
                 const Advice &advice, llvm::ArrayRef<LoweringWay> ways) {
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

/// How a switch rounds is not known.
static bool goesThroughSwitch(const std::optional<SourceProgram> &program) {
  return program && program->way.protocol == coll::Protocol::InNetwork;
}

/// The largest error of `programs` for what `options` say; nothing if none has
/// one.
static std::optional<coll::SumError>
worstOf(llvm::ArrayRef<std::optional<SourceProgram>> programs,
        const LoweringOptions &options) {
  std::optional<coll::SumError> worst;
  for (const std::optional<SourceProgram> &program : programs) {
    if (!program || goesThroughSwitch(program))
      continue;
    mlir::FailureOr<coll::Problem> problem =
        coll::importProblem(program->schedule);
    if (failed(problem) || !hasErrors(problem->collective, options) ||
        coll::importSchedule(program->schedule).numSends() > mostSends)
      continue;
    coll::Way whole = program->way;
    whole.pieces = 1;
    mlir::OwningOpRef<mlir::ModuleOp> module =
        lowerAs(program->schedule, whole, options);
    if (!module)
      continue;
    coll::SumError error = worstIn(*module, problem->collective, options);
    if (!worst || error.relative > worst->relative)
      worst = error;
  }
  return worst;
}

std::optional<std::vector<std::string>>
driver::errorsOfPlan(llvm::StringRef path, const plan::Manifest &manifest) {
  std::vector<std::string> lines;
  bool hasTable =
      llvm::any_of(manifest.tables, [](const plan::SizeTable &table) {
        return table.source == "model";
      });
  if (!manifest.combining || !hasTable)
    return lines;
  std::optional<AdvisedPrograms> advised = loadPlanPrograms(path);
  if (!advised)
    return std::nullopt;
  std::set<std::pair<std::string, std::string>> known;
  for (const plan::KernelInfo &kernel : manifest.kernels) {
    Result<ElementType> type = findElementType(kernel.element);
    Result<Reduction> reduction = findReduction(kernel.reduction);
    if (!type || !reduction ||
        !known.emplace(kernel.element, kernel.reduction).second)
      continue;
    LoweringOptions options;
    options.element = type->id;
    options.reduction = *reduction;
    if (std::optional<coll::SumError> worst =
            worstOf(advised->programs, options))
      lines.push_back(kernel.element + " " + kernel.reduction + ": " +
                      (llvm::any_of(advised->programs, goesThroughSwitch)
                           ? whereNoSwitchAdds
                           : "") +
                      "every element is " + worst->toString(*type, *reduction));
  }
  return lines;
}

void driver::addError(const coll::SumError &error, llvm::json::Object &object) {
  object["sum_error_bound"] = error.relative;
  object["sum_roundings"] = error.roundings;
  object["sum_roundings_in_f32"] = error.wideRoundings;
  if (error.absolute > 0)
    object["sum_error_floor"] = error.absolute;
}
