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

/// A builder that all `modules` were added to. Null if something is wrong with
/// one: which is said if there are no threads, and without them may be another.
static std::unique_ptr<PlanBuilder> build(const PlanRequest &request,
                                          std::deque<PlannedModule> &modules) {
  auto builder = std::make_unique<PlanBuilder>(request);
  for (PlannedModule &module : modules)
    if (failed(builder->add(module.get())))
      return nullptr;
  return failed(builder->awaitCode()) ? nullptr : std::move(builder);
}

std::unique_ptr<PlanBuilder>
driver::buildPlan(PlanRequest request, std::deque<PlannedModule> &modules,
                  llvm::ThreadPoolInterface &ofPasses) {
  constexpr unsigned mostAtOnce = 8; // kernels, each of which takes memory
  unsigned count = llvm::hardware_concurrency().compute_thread_count();
  if (!canStartThreads(2 * count))
    return build(request, modules);
  for (PlannedModule &module : modules) {
    module.useThreads(ofPasses);
    module.hold();
  }
  request.threads = std::min(count, mostAtOnce);
  std::unique_ptr<PlanBuilder> builder = build(request, modules);
  for (PlannedModule &module : modules)
    module.release(/*isLost=*/!builder);
  request.threads = 0;
  return builder ? std::move(builder) : build(request, modules);
}
