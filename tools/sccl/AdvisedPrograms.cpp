//===- AdvisedPrograms.cpp - Programs, and what they were advised for -----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdvisedPrograms.h"

#include "Plans.h"
#include "Subjects.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Plan/SizeTables.h"
#include "sccl/Plan/Sources.h"

#include "llvm/Support/Path.h"

#include <map>

using namespace sccl;
using namespace sccl::driver;

/// Drops the last time, which tells how the line goes on, and all that the cost
/// model has estimated, which knows no bounds.
static void keepAdvised(std::vector<plan::SizedTime> &times) {
  if (llvm::none_of(times,
                    [](const plan::SizedTime &time) { return time.bound > 0; }))
    times.clear();
  else
    times.pop_back();
}

std::vector<uint64_t> AdvisedPrograms::sizes() const {
  std::vector<uint64_t> result;
  for (const plan::SizedTime &time : table.times)
    result.push_back(time.bytes);
  return result;
}

unsigned AdvisedPrograms::programFor(uint64_t bytes) const {
  auto next = llvm::find_if(table.choices, [&](const plan::SizeChoice &choice) {
    return choice.firstByte > bytes;
  });
  return std::prev(next)->program;
}

const plan::SizedTime *AdvisedPrograms::adviceFor(uint64_t bytes) const {
  for (const plan::SizedTime &time : table.times)
    if (time.bytes == bytes)
      return &time;
  return nullptr;
}

/// Parses a module. Prints an error and returns null if it is none.
static mlir::ModuleOp addModule(AdvisedPrograms &to, llvm::StringRef text,
                                llvm::StringRef name) {
  to.sessions.push_back(std::make_unique<Session>());
  to.modules.push_back(text.empty()
                           ? to.sessions.back()->parse(name)
                           : to.sessions.back()->parseText(text, name));
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
  return SourceProgram{"", module, source.schedule, ways[source.way]};
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
  keepAdvised(result.table.times);
  std::map<unsigned, mlir::ModuleOp> modules;
  for (auto [number, program] : llvm::enumerate(manifest.programs)) {
    result.programs.emplace_back();
    if (!program.source)
      continue;
    auto [it, isNew] = modules.try_emplace(program.source->blob);
    if (isNew) {
      Result<std::string> text =
          plan::unpackSource(plan->view.blobs[program.source->blob]);
      if (!text) {
        fail(path + ": " + text.error());
        return std::nullopt;
      }
      it->second = addModule(result, *text, path);
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
  }
  return result;
}

std::optional<AdvisedPrograms> driver::loadAdvised(llvm::StringRef path) {
  std::optional<std::vector<std::string>> files = schedulesIn(path);
  if (!files)
    return std::nullopt;
  AdvisedPrograms result;
  std::vector<AdvisedProgram> advised;
  for (const std::string &file : *files) {
    mlir::ModuleOp module = addModule(result, "", file);
    if (!module)
      return std::nullopt;
    for (auto schedule : module.getOps<coll::ScheduleOp>())
      for (const coll::Way &way : coll::importWays(schedule)) {
        AdvisedProgram &program = advised.emplace_back();
        program.program = result.programs.size();
        for (const coll::AdvisedSize &size : way.bestAt)
          program.bestAt.push_back({size.bytes, size.nanoseconds, size.bound});
        result.programs.push_back(
            SourceProgram{(llvm::sys::path::filename(file) + ":@" +
                           schedule.getSymName() + ", " + describe(way))
                              .str(),
                          module, schedule.getSymName().str(), way});
      }
  }
  if (areAdvised(advised)) {
    result.table = tableOfAdvice(advised);
    result.table.times.pop_back();
  } else {
    result.programs.clear();
  }
  return result;
}
