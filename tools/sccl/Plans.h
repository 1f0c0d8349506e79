//===- Plans.h - Subcommands that make and use plans ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANS_H
#define SCCL_TOOLS_SCCL_PLANS_H

#include "Driver.h"

#include "sccl/Plan/Plan.h"
#include "sccl/Target/PlanBuilder.h"

#include <memory>

namespace sccl::driver {

struct PlanCompileRequest {
  std::vector<std::string> paths;
  std::string output;
  PlanRequest plan;
};
int compilePlanFile(const PlanCompileRequest &request);

/// A plan and the file it is in.
struct LoadedPlan {
  std::unique_ptr<llvm::MemoryBuffer> file;
  plan::PlanView view;
};
/// Reads a plan. Prints an error and returns nothing if it cannot.
std::optional<LoadedPlan> loadPlan(llvm::StringRef path);

/// The choices of a table, one line each.
std::string describeTable(const plan::Manifest &manifest,
                          const plan::SizeTable &table);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANS_H
