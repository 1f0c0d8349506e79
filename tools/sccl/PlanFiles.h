//===- PlanFiles.h - The schedules that sccl plan writes --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANFILES_H
#define SCCL_TOOLS_SCCL_PLANFILES_H

#include "LoweringFlags.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Model/RankGroups.h"

namespace sccl::driver {

/// True with -o.
bool writesOutput();
/// True if the plan that -o names is for messages only.
bool isForMessages();

/// False, after an error, if -o and what is said of it make no sense.
bool isOutputRight();
/// Makes the folder that -o names, or sees whether the file can be written.
/// Prints an error and returns false if not.
bool prepareOutput();

/// Writes the schedules that are best for some size, and spare ones with
/// --spares, into the folder that -o names; or with --target a plan of them,
/// lowered with `options` for the types and reductions that `flags` list.
/// Prints an error and returns false if it cannot.
bool writeOutput(const Fabric &fabric, const RankGroups &boxes,
                 const Advice &advice, const LoweringFlags &flags,
                 const LoweringOptions &options);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANFILES_H
