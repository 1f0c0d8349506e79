//===- PlanFiles.cpp - The schedules that sccl plan writes ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFiles.h"

#include "Driver.h"
#include "MachineFlags.h"
#include "Output.h"
#include "PlanSet.h"
#include "Plans.h"
#include "Progress.h"

#include "sccl/Pipelines/Ways.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <map>

using namespace sccl;
using namespace sccl::driver;

static llvm::cl::opt<bool> withSpares(
    "spares",
    llvm::cl::desc("With -o: also programs that sccl bench --tune may find "
                   "to be faster: other ways without pieces, and "
                   "schedules that send fewer messages, load links "
                   "less or take fewer steps"),
    llvm::cl::sub(planCommand()));

static llvm::cl::opt<std::string> output(
    "o",
    llvm::cl::desc("Write the schedules, with their certificates, into a "
                   "folder, or with --target a plan for libsccl"),
    llvm::cl::value_desc("DIR|FILE.sccl"), llvm::cl::sub(planCommand()));
static llvm::cl::list<std::string>
    targets("target",
            llvm::cl::desc("What the plan of -o runs on: sm_90, gfx942, "
                           "..., host, mpi, or mpi/sm_90; as often as "
                           "wanted"),
            llvm::cl::sub(planCommand()));

static llvm::cl::opt<exchange::SetExecutor> executor(
    "executor",
    llvm::cl::desc("Write into the folder of -o a set of files for another "
                   "executor, for all sizes, and what makes it load them"),
    llvm::cl::values(
        clEnumValN(exchange::SetExecutor::Mscclpp, "mscclpp", "MSCCL++ 0.9"),
        clEnumValN(exchange::SetExecutor::Nccl, "nccl", "msccl-executor-nccl"),
        clEnumValN(exchange::SetExecutor::Rccl, "rccl", "RCCL up to 7.2")),
    llvm::cl::sub(planCommand()));

static bool isForSet() { return executor.getNumOccurrences() > 0; }

bool driver::writesOutput() { return !output.empty(); }

bool driver::isForMessages() {
  return !targets.empty() && llvm::all_of(targets, isMessageTarget);
}

bool driver::isForMessagesOfGPUs() {
  return isForMessages() && llvm::any_of(targets, [](llvm::StringRef target) {
           return !isCPUTarget(target);
         });
}

namespace {
/// A schedule to be written.
struct Chosen {
  const Candidate *candidate = nullptr;
  std::vector<coll::Way> ways;

  /// The way of `candidate`, which may be new.
  coll::Way &add(const Candidate &candidate, llvm::StringRef name);
};

/// All pieces of a schedule are one file.
class ScheduleFiles {
public:
  /// The entry for `candidate`, which may be new.
  Chosen &add(const Candidate &candidate);
  /// Adds the ways that need no pieces, which are fewer messages.
  void addSpareWays();
  const std::map<std::string, Chosen> &all() const { return files; }

private:
  std::map<std::string, Chosen> files; ///< by name
};
} // namespace

coll::Way &Chosen::add(const Candidate &candidate, llvm::StringRef name) {
  // What was not simulated is estimated for any way.
  coll::Way way = findWay(name).value_or(coll::Way());
  way.pieces = candidate.pieces;
  if (candidate.hasOrder())
    way.order = candidate.order;
  auto it = llvm::find_if(
      ways, [&](const coll::Way &other) { return other.key() == way.key(); });
  return it == ways.end() ? ways.emplace_back(std::move(way)) : *it;
}

/// "all_reduce_c32_s4_r14", or with a period "..._p7".
static std::string stemOf(const Implementation &implementation) {
  const auto &[collective, schedule] = implementation;
  bool isPipelined = schedule.isPipelined();
  return llvm::formatv("{0}_c{1}_s{2}_{3}{4}", fileStem(collective.name()),
                       collective.chunks(), schedule.steps.size(),
                       isPipelined ? "p" : "r",
                       isPipelined ? schedule.period : schedule.rounds());
}

Chosen &ScheduleFiles::add(const Candidate &candidate) {
  std::string stem = stemOf(candidate.implementation), name = stem;
  for (unsigned number = 2;; ++number) {
    Chosen &chosen = files[name + ".mlir"];
    if (!chosen.candidate)
      chosen.candidate = &candidate;
    if (chosen.candidate->implementation.schedule ==
        candidate.implementation.schedule)
      return chosen;
    name = stem + "_" + std::to_string(number);
  }
}

void ScheduleFiles::addSpareWays() {
  for (auto &[name, chosen] : files)
    for (const std::string &way : PlanRequest().variantNames()) {
      Candidate whole = *chosen.candidate;
      whole.pieces = 1;
      chosen.add(whole, way);
    }
}

/// What is best for a size, and where that needs a switch, what is best without
/// one: for chips, types and devices that cannot do it.
static ScheduleFiles filesOf(const Advice &advice) {
  ScheduleFiles files;
  auto add = [&](const SizeAdvice &size) {
    const Candidate &candidate = advice.candidates[size.candidate];
    files.add(candidate)
        .add(candidate, size.way)
        .bestAt.push_back({size.bytes,
                           wholeNanoseconds(size.microseconds * 1e3),
                           uint64_t(size.bound * 1e3)});
  };
  llvm::for_each(advice.sizes, add);
  for (const SizeAdvice &size : advice.withoutSwitches)
    if (llvm::any_of(advice.sizes, [&](const SizeAdvice &best) {
          return best.bytes == size.bytes && best.isInNetwork();
        }))
      add(size);
  if (withSpares) {
    for (size_t number : spareCandidates(advice))
      files.add(advice.candidates[number]);
    files.addSpareWays();
  }
  return files;
}

namespace {
/// A file with a schedule, its certificate, its ways and the clock of the
/// machine.
struct ScheduleFile {
  std::string name, text;
};
} // namespace

static std::vector<ScheduleFile> textsOf(const Fabric &fabric,
                                         const RankGroups &boxes,
                                         const Advice &advice,
                                         const LoweringOptions &options) {
  std::vector<ScheduleFile> result;
  ScheduleFiles files = filesOf(advice);
  for (const auto &[name, chosen] : files.all()) {
    const Candidate *candidate = chosen.candidate;
    const auto &[collective, schedule] = candidate->implementation;
    Result<Instance> instance =
        Instance::make(fabric.topology, collective,
                       unsigned(schedule.steps.size()), schedule.rounds());
    std::string certificate =
        candidate->bound ? printCertificate(candidate->bound->certificate) : "";
    std::vector<coll::Way> ways = chosen.ways;
    for (coll::Way &way : ways) {
      std::ranges::sort(way.bestAt, {}, &SizedTime::bytes);
      way.smBudget = options.smBudget;
      way.sumOrder = options.sumOrder;
      way.oneRounding = options.oneRounding;
      way.sumsInF32 = options.wire == Wire::F32;
    }
    result.push_back(
        {name, scheduleText(*instance, boxes, schedule, certificate, ways,
                            &fabric.timing, llvm::sys::path::stem(name))});
  }
  return result;
}

static bool writeFolder(const std::vector<ScheduleFile> &files) {
  for (const ScheduleFile &file : files) {
    llvm::SmallString<128> path(output);
    llvm::sys::path::append(path, file.name);
    if (!writeFile(path, file.text))
      return false;
  }
  return true;
}

/// Makes the set that --executor asks for, and prints it.
static bool writeSetFor(mlir::MLIRContext &context, const NamedFabric &named,
                        const Advice &advice, const LoweringOptions &options,
                        bool json) {
  Result<MadeSet> made = Error{};
  {
    Progress progress("making files for " +
                      std::string(exchange::setExecutorName(executor)));
    made = makeSet(context, executor, named, advice, options);
  }
  if (!made) {
    fail(made.error());
    return false;
  }
  if (!writeSet(*made, output))
    return false;
  printSet(made->set, json);
  return true;
}

bool driver::writeOutput(mlir::MLIRContext &context, const NamedFabric &named,
                         const Advice &advice, const LoweringFlags &flags,
                         const LoweringOptions &options, bool json) {
  if (output.empty())
    return true;
  if (isForSet())
    return writeSetFor(context, named, advice, options, json);
  std::vector<ScheduleFile> files =
      textsOf(named.fabric, named.boxes, advice, options);
  if (targets.empty())
    return writeFolder(files);
  PlanCompileRequest request;
  for (ScheduleFile &file : files)
    request.modules.emplace_back(std::move(file.name), std::move(file.text));
  request.output = output;
  for (const std::string &name : targets)
    request.plan.targets.push_back(findHostTarget(name).value_or(name));
  request.plan.elements = flags.values(&LoweringOptions::element);
  request.plan.reductions = flags.values(&LoweringOptions::reduction);
  request.plan.lowering = options;
  request.plan.generator = planGenerator();
  return compilePlanFile(request) == Done;
}

/// What is wrong with -o and the options about it, or nothing.
static std::optional<std::string> findMistake() {
  if (output.empty() && withSpares)
    return "--spares needs -o: it says what is written there";
  if (isForSet() && output.empty())
    return "--executor needs -o with a folder for the files";
  if (isForSet() && (withSpares || !targets.empty()))
    return std::string("--executor is for files of others, and ") +
           (withSpares ? "--spares" : "--target") + " for libsccl";
  if (targets.empty() && isPlanFile(output))
    return "'" + output + "' is named as a plan, which needs --target";
  if (!targets.empty() && !isPlanFile(output))
    return "--target needs -o with a file that ends in .sccl";
  return std::nullopt;
}

bool driver::isOutputRight() {
  if (std::optional<std::string> mistake = findMistake()) {
    fail(*mistake);
    return false;
  }
  return areTargets(std::vector<std::string>(targets.begin(), targets.end()));
}

bool driver::fitsOutput(const NamedFabric &named,
                        const CollectiveFamily &family, Wire wire) {
  if (wire == Wire::F32 && (isForSet() || isForMessages())) {
    fail(std::string("--wire=f32 is for ranks that share memory, and ") +
         (isForSet() ? "other executors have" : "messages have") +
         " elements of one type; --one-rounding is for both");
    return false;
  }
  bool isInNetwork = !named.fabric.topology.switches().empty();
  if (isInNetwork && (isForSet() || isForMessages())) {
    fail(named.fabric.topology.name() +
         " has switches that copy or reduce, which neither other executors nor "
         "messages use");
    return false;
  }
  std::optional<std::string> obstacle;
  if (isForSet())
    obstacle = findObstacle(executor, named, family);
  if (obstacle)
    fail("--executor=" + std::string(exchange::setExecutorName(executor)) +
         ": " + *obstacle);
  return !obstacle;
}

bool driver::prepareOutput() {
  if (output.empty())
    return true;
  return targets.empty() ? makeFolder(output) : checkWritable(output);
}
