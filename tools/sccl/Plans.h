//===- Plans.h - Subcommands that make and use plans ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANS_H
#define SCCL_TOOLS_SCCL_PLANS_H

#include "Driver.h"

#include "sccl/Measure/PlanRank.h"
#include "sccl/Plan/Plan.h"
#include "sccl/Plan/PlanBuilder.h"

#include <memory>
#include <set>

namespace sccl::driver {

struct PlanCompileRequest {
  /// Names and texts; where the text is empty, the name is that of a file.
  std::vector<std::pair<std::string, std::string>> modules;
  std::string output;
  PlanRequest plan;
  GivenOptions given = {};
};
int compilePlanFile(const PlanCompileRequest &request);
/// What plans say of who made them.
std::string planGenerator();
/// True if plans can have code for all of `names`. Prints an error if not.
bool areTargets(llvm::ArrayRef<std::string> names);

/// A plan and the file it is in.
struct LoadedPlan {
  std::unique_ptr<llvm::MemoryBuffer> file;
  plan::PlanView view;
};
/// True if `path` is named as plans are, "*.sccl".
bool isPlanFile(llvm::StringRef path);
/// Reads a plan. Prints an error and returns nothing if it cannot.
std::optional<LoadedPlan> loadPlan(llvm::StringRef path);
/// The same for a plan that will be executed, which nobody else may write.
std::optional<LoadedPlan> loadPlanToRun(llvm::StringRef path);

/// The blobs with the modules that programs were lowered from.
std::set<unsigned> sourceBlobs(const plan::Manifest &manifest);
/// The module in `blob` of the plan at `path`. Prints an error and returns
/// nothing if it cannot be unpacked.
std::optional<std::string> sourceText(llvm::StringRef path,
                                      const LoadedPlan &plan, unsigned blob);

/// Whose the choices of a table are: "by the model", and of a second one ",
/// without switches", or "measured on host, ranks as threads".
std::string sourceOf(const plan::Manifest &manifest,
                     const plan::SizeTable &table);
/// The choices of a table, one line each.
std::string describeTable(const plan::Manifest &manifest,
                          const plan::SizeTable &table);

/// False, after an error, if an `option` was given that is about reductions,
/// for a collective that does not reduce.
bool reduces(const plan::Manifest &manifest, const std::string &option);

/// Segments in the buffer whose bytes are the size of a call, as nccl-tests
/// count it: the larger of send and receive buffer.
uint64_t segmentsOfSize(const plan::Manifest &manifest);
/// Launches in a row that make a batch long enough to time.
unsigned launchesForSize(uint64_t bytes);
/// The sizes from `from` to `upTo`, each `factor` times the one before. Prints
/// an error and returns nothing if the options make no sense.
std::optional<std::vector<uint64_t>>
sizesBetween(llvm::StringRef from, llvm::StringRef upTo, unsigned factor);

/// Removes the sizes that are less than `least` bytes, one element per segment.
/// Prints an error and returns false if none is left.
bool dropEmpty(std::vector<uint64_t> &sizes, uint64_t least);

/// `sccl run`: executes a plan, or a schedule or program as a plan in memory.
int runPlan(const RunRequest &request, RanksAs kind);

/// Prints an error and returns false if launches cannot have this time limit.
bool checkLaunchLimit(double seconds);
/// Runs `body` once per rank, for a plan of `numRanks` ranks whose launches end
/// after `timeoutSeconds`; starts mpirun if that has not happened.
int startRanks(unsigned numRanks, RanksAs kind, double timeoutSeconds,
               llvm::function_ref<int(const RankEnd &)> body);
/// Prints what has failed on all ranks, or what `end` alone knows of. Returns
/// what the rank returns then.
int failOnRank(const RankEnd &end, llvm::StringRef error);
/// The kind that `--ranks-as` and `--launcher` ask for. Prints an error and
/// returns nothing if there is none.
std::optional<RanksAs> chooseRanksAs(llvm::StringRef ranksAs,
                                     llvm::StringRef launcher);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANS_H
