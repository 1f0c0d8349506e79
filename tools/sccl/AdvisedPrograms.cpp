//===- AdvisedPrograms.cpp - Programs, and what they were advised for -----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdvisedPrograms.h"

#include "Plans.h"
#include "Subjects.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Plan/SizeTables.h"

#include "llvm/Support/Path.h"

#include <map>

using namespace sccl;
using namespace sccl::driver;

/// Owns what `session` has parsed. Returns null if that is nothing.
static mlir::ModuleOp add(AdvisedPrograms &to, std::unique_ptr<Session> session,
                          mlir::OwningOpRef<mlir::ModuleOp> module) {
  to.sessions.push_back(std::move(session));
  to.modules.push_back(std::move(module));
  return to.modules.back() ? *to.modules.back() : mlir::ModuleOp();
}

/// What `source` names in `module`; nothing if it is not there.
static std::optional<SourceProgram> find(mlir::ModuleOp module,
                                         const plan::ProgramSource &source) {
  auto schedule = module.lookupSymbol<coll::ScheduleOp>(source.schedule);
  if (!schedule)
    return std::nullopt;
  std::vector<coll::Way> ways = coll::importWays(schedule);
  if (source.way >= ways.size())
    return std::nullopt;
  return SourceProgram{"", schedule, ways[source.way]};
}

/// True if GPUs exchange messages in program number `number`.
static bool isOfMessages(const plan::Manifest &manifest, unsigned number) {
  return llvm::any_of(manifest.kernels, [&](const plan::KernelInfo &kernel) {
    return kernel.program == number &&
           llvm::StringRef(kernel.target).starts_with(messageChipPrefix);
  });
}

/// What the programs of a plan were made for: all that they reduce.
static LoweringOptions loweringOf(const plan::Manifest &manifest) {
  ReductionSet set;
  for (const plan::KernelInfo &kernel : manifest.kernels) {
    if (Result<ElementType> type = findElementType(kernel.element))
      set.elements.push_back(type->id);
    if (Result<Reduction> reduction = findReduction(kernel.reduction))
      set.reductions.push_back(*reduction);
  }
  LoweringOptions options;
  restrictTo(set, options);
  return options;
}

std::optional<AdvisedPrograms> driver::loadPlanPrograms(llvm::StringRef path) {
  std::optional<LoadedPlan> plan = loadPlan(path);
  if (!plan)
    return std::nullopt;
  const plan::Manifest &manifest = plan->view.manifest;
  AdvisedPrograms result;
  auto model = llvm::find_if(manifest.tables, [](const plan::SizeTable &table) {
    return table.source == "model";
  });
  if (model == manifest.tables.end()) {
    fail(path + " says nothing of sizes");
    return std::nullopt;
  }
  result.table = *model;
  result.lowering = loweringOf(manifest);
  std::map<unsigned, mlir::ModuleOp> modules;
  for (auto [number, program] : llvm::enumerate(manifest.programs)) {
    result.programs.emplace_back();
    if (!program.source)
      continue;
    auto [it, isNew] = modules.try_emplace(program.source->blob);
    if (isNew) {
      std::optional<std::string> text =
          sourceText(path, *plan, program.source->blob);
      if (!text)
        return std::nullopt;
      auto session = std::make_unique<Session>();
      auto module = session->parseText(*text, path);
      it->second = add(result, std::move(session), std::move(module));
      if (!it->second)
        return std::nullopt;
    }
    result.programs.back() = find(it->second, *program.source);
    if (!result.programs.back()) {
      fail(path + ": the plan is broken: program " + llvm::Twine(number) +
           " is made of a schedule and way that it does not hold");
      return std::nullopt;
    }
    result.programs.back()->name = "program " + std::to_string(number);
    result.programs.back()->isOfMessages = isOfMessages(manifest, number);
  }
  return result;
}

std::optional<AdvisedPrograms> driver::loadAdvised(llvm::StringRef path,
                                                   const Placement *placement) {
  std::optional<std::vector<std::string>> files = schedulesIn(path);
  if (!files)
    return std::nullopt;
  AdvisedPrograms result;
  std::vector<AdvisedProgram> advised;
  for (const std::string &file : *files) {
    auto session = std::make_unique<Session>();
    auto parsed = session->parseSchedules(file, placement);
    mlir::ModuleOp module = add(result, std::move(session), std::move(parsed));
    if (!module)
      return std::nullopt;
    for (auto schedule : module.getOps<coll::ScheduleOp>())
      for (const coll::Way &way : coll::importWays(schedule)) {
        advised.push_back({unsigned(result.programs.size()), way.bestAt});
        result.programs.push_back(
            SourceProgram{(llvm::sys::path::filename(file) + ":@" +
                           schedule.getSymName() + ", " + describe(way))
                              .str(),
                          schedule, way});
      }
  }
  if (areAdvised(advised))
    result.table = tableOfAdvice(advised);
  else
    result.programs.clear();
  return result;
}
