//===- PlanFiles.h - The schedules that sccl plan writes --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANFILES_H
#define SCCL_TOOLS_SCCL_PLANFILES_H

#include "LoweringFlags.h"
#include "PlanFabric.h"

#include "sccl/Advice/Advice.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace sccl::driver {

/// True with -o.
bool writesOutput();
/// True if the plan that -o names is for messages only.
bool isForMessages();
/// True if these are of GPUs, whose code is among what it has.
bool isForMessagesOfGPUs();

/// False, after an error, if -o and what is said of it make no sense.
bool isOutputRight();
/// False, after an error, if --executor cannot have a set for `family` on
/// `named`, or what is written for others or for messages cannot have partial
/// sums in `wire`.
bool fitsOutput(const NamedFabric &named, const CollectiveFamily &family,
                Wire wire);
/// Makes the folder that -o names, or sees whether the file can be written.
/// Prints an error and returns false if not.
bool prepareOutput();

/// Writes the schedules that are best for some size, and spare ones with
/// --spares, into the folder that -o names; with --target a plan of them,
/// lowered with `options` for the types and reductions that `flags` list; or
/// with --executor a set, which is printed, as JSON if asked to. Prints an
/// error and returns false if it cannot.
bool writeOutput(mlir::MLIRContext &context, const NamedFabric &named,
                 const Advice &advice, const LoweringFlags &flags,
                 const LoweringOptions &options, bool json);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANFILES_H
