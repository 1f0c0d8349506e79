//===- PlanFiles.cpp - The schedules that sccl plan writes ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFiles.h"

#include "Driver.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <map>

using namespace sccl;
using namespace sccl::driver;

namespace {
/// A candidate that is best for some sizes.
struct Chosen {
  const Candidate *candidate = nullptr;
  std::vector<int64_t> bestAt; ///< see coll.schedule
};
} // namespace

/// "all_reduce_c32_s4_r14.mlir", or with a period "..._p7.mlir".
static std::string fileNameOf(const Implementation &implementation) {
  const auto &[collective, schedule] = implementation;
  bool isPipelined = schedule.isPipelined();
  return llvm::formatv("{0}_c{1}_s{2}_{3}{4}.mlir", collective.name(),
                       collective.chunks(), schedule.steps.size(),
                       isPipelined ? "p" : "r",
                       isPipelined ? schedule.period : schedule.rounds());
}

bool driver::writeSchedules(llvm::StringRef directory, const Topology &topology,
                            const Advice &advice) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory)) {
    fail("cannot create " + directory + ": " + error.message());
    return false;
  }
  std::map<std::string, Chosen> files; // one for all pieces of a schedule
  for (const SizeAdvice &size : advice.sizes) {
    const Candidate &candidate = advice.candidates[size.candidate];
    Chosen &chosen = files[fileNameOf(candidate.implementation)];
    if (!chosen.candidate)
      chosen.candidate = &candidate;
    chosen.bestAt.push_back(size.bytes);
    chosen.bestAt.push_back(std::llround(size.microseconds * 1e3));
  }
  for (const auto &[name, chosen] : files) {
    const Candidate *candidate = chosen.candidate;
    const auto &[collective, schedule] = candidate->implementation;
    Result<Instance> instance =
        Instance::make(topology, collective, unsigned(schedule.steps.size()),
                       schedule.rounds());
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    std::string certificate =
        candidate->bound ? printCertificate(candidate->bound->certificate) : "";
    if (!writeFile(path, scheduleText(*instance, schedule, certificate,
                                      chosen.bestAt)))
      return false;
  }
  return true;
}
