//===- PlanSet.h - The set of files that sccl plan writes -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANSET_H
#define SCCL_TOOLS_SCCL_PLANSET_H

#include "PlanFabric.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Exchange/AlgorithmSet.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace sccl::driver {

/// Why `executor` cannot have a set for `family` on `named`; nothing if it can.
/// MSCCL++ and MSCCL choose files without a look at the root of a call, and
/// know no groups.
std::optional<std::string> findObstacle(exchange::SetExecutor executor,
                                        const NamedFabric &named,
                                        const CollectiveFamily &family);

/// A set, and its files, the loader and set.json by their paths.
struct MadeSet {
  exchange::AlgorithmSet set;
  std::map<std::string, std::string> texts;
};

/// The set of the programs that `advice` has, for the sizes from its first to
/// its last; programs add up elements as `options` say. Where the executor does
/// not take a program, the one of the least estimate that it takes is in its
/// place: another one of `advice`, or in fewer pieces; and a note says why, and
/// how long both take. Sizes that it takes no program for have a reason. Fails
/// if a schedule cannot be lowered.
Result<MadeSet> makeSet(mlir::MLIRContext &context,
                        exchange::SetExecutor executor,
                        const NamedFabric &named, const Advice &advice,
                        const LoweringOptions &options);

/// Writes the files of `made` into the folder `path`, set.json last. Prints an
/// error and returns false if it cannot, or if the folder has other files that
/// the executor would load.
bool writeSet(const MadeSet &made, llvm::StringRef path);

/// A line for each file and each range of sizes without one, with notes; or an
/// object.
void printSet(const exchange::AlgorithmSet &set, bool json);

/// `sccl check` of the folder `path`, which has a set.json. Prints what it is,
/// or all that is wrong with it, and returns the exit code.
int checkSetIn(llvm::StringRef path, bool json);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANSET_H
