//===- PlanReport.cpp - The page of a plan --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanReport.h"

#include "Plans.h"

#include "sccl/Plan/SizeTables.h"
#include "sccl/Report/Explanation.h"
#include "sccl/Report/TablesPage.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::report;

static PageTable schedulesOf(const plan::Manifest &manifest) {
  PageTable table{"Schedules", {"name", "C", "S", "R", "R/C"}, {}};
  for (const plan::ScheduleInfo &schedule : manifest.schedules)
    table.rows.push_back({schedule.name, std::to_string(schedule.chunks),
                          std::to_string(schedule.steps),
                          std::to_string(schedule.rounds), schedule.cost});
  return table;
}

/// The chips that there is code for, of a program.
static std::string targetsOf(const plan::Manifest &manifest, unsigned program) {
  std::set<std::string> targets;
  for (const plan::KernelInfo &kernel : manifest.kernels)
    if (kernel.program == program)
      targets.insert(kernel.target);
  return llvm::join(targets, ", ");
}

static PageTable programsOf(const plan::Manifest &manifest) {
  PageTable table{"Programs",
                  {"number", "schedule", "variant", "code", "blocks", "for"},
                  {}};
  for (auto [number, program] : llvm::enumerate(manifest.programs))
    table.rows.push_back(
        {std::to_string(number), manifest.schedules[program.schedule].name,
         program.variant, program.codeShape, std::to_string(program.blocks),
         targetsOf(manifest, number)});
  return table;
}

static PageTable choicesOf(const plan::Manifest &manifest,
                           const plan::SizeTable &sizes) {
  PageTable table{"Choices by size of a send buffer, " +
                      sourceOf(manifest, sizes),
                  {"from", "schedule", "program", "variant", "buffers"},
                  {}};
  for (const plan::SizeChoice &choice : sizes.choices) {
    const plan::ProgramEntry &program = manifest.programs[choice.program];
    table.rows.push_back({formatBytes(choice.firstByte),
                          manifest.schedules[program.schedule].name,
                          std::to_string(choice.program), program.variant,
                          plan::pathName(choice.path).str()});
  }
  return table;
}

/// What was advised for each size, by what the program that serves it takes.
static PageTable adviceOf(const plan::SizeTable &sizes) {
  PageTable table{"Advised", {"size", "us", "bound us", "gap", "program"}, {}};
  for (const SizedTime &time : advisedTimes(sizes)) {
    double gap = double(time.nanoseconds) / double(time.bound) - 1;
    table.rows.push_back(
        {formatBytes(time.bytes),
         llvm::formatv("{0:f1}", time.nanoseconds * 1e-3),
         llvm::formatv("{0:f1}", time.bound * 1e-3),
         time.bound ? llvm::formatv("{0:P0}", std::max(gap, 0.0)).str() : "",
         std::to_string(choiceFor(sizes, double(time.bytes))->program)});
  }
  return table;
}

/// What no program takes less than, as far as that is known.
static TimeCurve boundOf(const plan::SizeTable &sizes) {
  TimeCurve curve{"bound", /*isLine=*/true, {}};
  for (const SizedTime &time : advisedTimes(sizes))
    if (time.bytes > 0 && time.bound > 0)
      curve.points.emplace_back(double(time.bytes), time.bound * 1e-3);
  return curve;
}

static TimeCurve curveOf(const plan::Manifest &manifest,
                         const plan::SizeTable &sizes) {
  TimeCurve curve{
      sourceOf(manifest, sizes), /*isLine=*/sizes.target.empty(), {}};
  for (const SizedTime &time : sizes.times)
    if (time.bytes > 0)
      curve.points.emplace_back(double(time.bytes), time.nanoseconds * 1e-3);
  return curve;
}

static TablesPage pageOf(llvm::StringRef path, const plan::Manifest &manifest) {
  TablesPage page;
  page.title = manifest.collective + " on " + manifest.topology + ", " +
               std::to_string(manifest.ranks) + " ranks";
  page.summary =
      (llvm::sys::path::filename(path) + ", made by " + manifest.generator +
       ". For the machine, the steps and the bounds, ask sccl explain or sccl "
       "plot about the plan, or name the schedules that it was compiled of.")
          .str();
  for (const plan::ScheduleInfo &schedule : manifest.schedules)
    page.marks.push_back(
        {"schedules", schedule.name + ", R/C = " + schedule.cost,
         double(schedule.steps), double(schedule.rounds) / schedule.chunks});
  page.tables = {schedulesOf(manifest), programsOf(manifest)};
  for (const plan::SizeTable &sizes : manifest.tables) {
    page.tables.push_back(choicesOf(manifest, sizes));
    page.curves.push_back(curveOf(manifest, sizes));
    if (PageTable table = adviceOf(sizes); !table.rows.empty())
      page.tables.push_back(std::move(table));
    if (TimeCurve bound = boundOf(sizes); !bound.points.empty())
      page.curves.push_back(std::move(bound));
  }
  return page;
}

int driver::reportPlan(llvm::StringRef path, llvm::StringRef output) {
  std::optional<LoadedPlan> plan = loadPlan(path);
  if (!plan)
    return BadInput;
  return writeFile(output, tablesPageText(pageOf(path, plan->view.manifest)))
             ? Done
             : BadInput;
}
