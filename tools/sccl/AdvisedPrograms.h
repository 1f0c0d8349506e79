//===- AdvisedPrograms.h - Programs, and what they were advised for -*- C++
//-*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_ADVISEDPROGRAMS_H
#define SCCL_TOOLS_SCCL_ADVISEDPROGRAMS_H

#include "Driver.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Options/LoweringOptions.h"
#include "sccl/Plan/Plan.h"

namespace sccl::driver {

/// A schedule in a way to lower it.
struct SourceProgram {
  std::string name; ///< as "program 3" of a plan, or "FILE:@SCHEDULE, push"
  coll::ScheduleOp schedule;
  coll::Way way;
  bool isOfMessages = false; ///< between GPUs
};

/// The programs of a plan, a folder or a file, and for which sizes they are.
struct AdvisedPrograms {
  std::vector<std::unique_ptr<Session>> sessions; ///< that own the modules
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  /// By the numbers in `table`. Nothing in place of a program whose schedule
  /// the plan does not hold.
  std::vector<std::optional<SourceProgram>> programs;
  plan::SizeTable table;
  /// What all programs were lowered for: all that a plan reduces. Files do not
  /// say it.
  LoweringOptions lowering;
};

/// Those of a plan. Prints an error and returns nothing if it cannot be read,
/// or does not hold its schedules.
std::optional<AdvisedPrograms> loadPlanPrograms(llvm::StringRef path);

/// Those of the schedules in `path`, a file or a folder of such; no programs if
/// no schedule names a way that is the best for some size. For `placement` see
/// Session::parseSchedules. Prints an error and returns nothing if a file
/// cannot be read.
std::optional<AdvisedPrograms> loadAdvised(llvm::StringRef path,
                                           const Placement *placement);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_ADVISEDPROGRAMS_H
