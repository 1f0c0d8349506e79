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

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace sccl;
using namespace sccl::driver;

static llvm::cl::opt<bool>
    withSpares("spares",
               llvm::cl::desc("With -o: also schedules that sccl tune may find "
                              "to be faster, as they send fewer messages, load "
                              "links less or take fewer steps"),
               llvm::cl::sub(planCommand()));

bool driver::writesSpares() { return withSpares; }

namespace {
/// A schedule to be written.
struct Chosen {
  const Candidate *candidate = nullptr;
  std::vector<int64_t> bestAt; ///< see coll.schedule
};

/// All pieces of a schedule are one file.
class ScheduleFiles {
public:
  /// The entry for `candidate`, which may be new.
  Chosen &add(const Candidate &candidate);
  const std::map<std::string, Chosen> &all() const { return files; }

private:
  std::map<std::string, Chosen> files; ///< by name
};
} // namespace

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

static ScheduleFiles filesOf(const Advice &advice) {
  ScheduleFiles files;
  for (const SizeAdvice &size : advice.sizes) {
    Chosen &chosen = files.add(advice.candidates[size.candidate]);
    chosen.bestAt.push_back(size.bytes);
    chosen.bestAt.push_back(wholeNanoseconds(size.microseconds * 1e3));
  }
  if (withSpares)
    for (size_t number : spareCandidates(advice))
      files.add(advice.candidates[number]);
  return files;
}

bool driver::writeSchedules(llvm::StringRef directory, const Topology &topology,
                            const RankGroups &boxes, const Advice &advice) {
  if (!makeFolder(directory))
    return false;
  ScheduleFiles files = filesOf(advice);
  for (const auto &[name, chosen] : files.all()) {
    const Candidate *candidate = chosen.candidate;
    const auto &[collective, schedule] = candidate->implementation;
    Result<Instance> instance =
        Instance::make(topology, collective, unsigned(schedule.steps.size()),
                       schedule.rounds());
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    std::string certificate =
        candidate->bound ? printCertificate(candidate->bound->certificate) : "";
    if (!writeFile(path, scheduleText(*instance, boxes, schedule, certificate,
                                      llvm::ArrayRef(chosen.bestAt))))
      return false;
  }
  return true;
}
