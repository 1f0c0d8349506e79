//===- PlannedModules.cpp - Schedules that become a plan ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannedModules.h"

#include "sccl/Model/Threads.h"

#include "llvm/Support/Threading.h"

#include <algorithm>
#include <utility>

using namespace sccl;
using namespace sccl::driver;

/// Null if something is wrong with one: which is said if there are no threads,
/// and without them may be another; or if one cannot be read, which is said.
std::unique_ptr<PlanBuilder>
PlannedModules::addAll(const PlanRequest &request) {
  auto builder = std::make_unique<PlanBuilder>(request);
  for (unsigned number = 0; number < count; ++number) {
    if (number == modules.size()) {
      PlannedModule &added = modules.emplace_back();
      isUnread = !read(number, added);
      if (isUnread)
        return nullptr;
      if (request.threads > 0) {
        added.useThreads(ofPasses);
        added.hold();
      }
    }
    if (failed(builder->add(modules[number].get())))
      return nullptr;
  }
  return failed(builder->awaitCode()) ? nullptr : std::move(builder);
}

std::unique_ptr<PlanBuilder> PlannedModules::build(PlanRequest request) {
  constexpr unsigned mostAtOnce = 8; // kernels, each of which takes memory
  unsigned cores = llvm::hardware_concurrency().compute_thread_count();
  // Each pool's, and two that check.
  if (canStartThreads(2 * cores + 2))
    request.threads = std::min(cores, mostAtOnce);
  std::unique_ptr<PlanBuilder> builder = addAll(request);
  for (PlannedModule &module : modules)
    module.release(/*isLost=*/!builder && !isUnread);
  if (builder || isUnread || request.threads == 0)
    return builder;
  request.threads = 0;
  return addAll(request);
}
