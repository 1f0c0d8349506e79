//===- HostPlan.cpp - A program as a plan for this machine ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/HostPlan.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/Model/HostTarget.h"
#include "sccl/Plan/PlanBuilder.h"

#include "mlir/IR/BuiltinOps.h"

#include <unistd.h>

using namespace mlir;
using namespace sccl;

FailureOr<HostPlan> HostPlan::compile(ModuleOp module,
                                      const LoweringOptions &options,
                                      llvm::StringRef target, bool messages,
                                      KnownCode *known) {
  PlanRequest request;
  request.known = known;
  request.targets = {target.empty() ? hostTarget() : target.str()};
  if (messages)
    request.targets.push_back(messageTarget);
  request.elements = {options.element};
  request.reductions = {options.reduction};
  request.shapes = {options.codeShape};
  request.lowering = options;
  if (long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE); bytes > 0)
    request.lowering.cacheBytes = bytes;
  PlanBuilder builder(std::move(request));
  if (failed(builder.addAsGiven(module)))
    return failure();
  plan::Plan plan = builder.finish();
  unsigned program = plan.manifest.programs.size() - 1;
  plan.manifest.tables = {
      {"model", "", "", {{0, program, plan::Path::Direct, 0}}}};
  Result<std::string> bytes = plan::serialize(plan);
  if (!bytes)
    return module.emitError(bytes.error());
  return HostPlan{std::move(*bytes), std::move(plan.manifest)};
}

Result<Measurement> sccl::measureOnRank(const HostPlan &plan,
                                        const MeasureRequest &request,
                                        const scclConfig &config,
                                        const RankEnd &end) {
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(plan.bytes, plan.manifest, end, config);
  if (!rank)
    return Error{rank.error()};
  Result<Measurement> measured = (*rank)->measure(request);
  if (Result<bool> left = (*rank)->leave(); measured && !left)
    return Error{left.error()};
  return measured;
}

Result<Measurement> sccl::measureOnThreads(const HostPlan &plan,
                                           const MeasureRequest &request,
                                           double timeoutSeconds) {
  if (std::optional<Error> error = checkMemory(plan.manifest, request))
    return *error;
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = timeoutSeconds;
  std::optional<Result<Measurement>> result;
  runRanks(plan.manifest.ranks, RanksAs::Threads, [&](const RankEnd &end) {
    Result<Measurement> measured = measureOnRank(plan, request, config, end);
    if (end.rank == 0)
      result.emplace(std::move(measured));
    return 0;
  });
  return std::move(*result);
}
