//===- RunPlan.cpp - sccl run, with libsccl -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plans.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace sccl;
using namespace sccl::driver;

std::optional<RanksAs> driver::chooseRanksAs(llvm::StringRef ranksAs,
                                             llvm::StringRef launcher) {
  if (!launcher.empty()) {
    std::optional<RanksAs> kind = parseRanksAs(launcher);
    if (kind && isMPI(*kind))
      return kind;
    fail("--launcher is '" + launcher + "', expected mpi, openmpi or mpich");
    return std::nullopt;
  }
  std::optional<RanksAs> kind = parseRanksAs(ranksAs);
  if (kind && !isMPI(*kind))
    return kind;
  fail("--ranks-as is '" + ranksAs + "', expected threads or processes");
  return std::nullopt;
}

int driver::startRanks(unsigned numRanks, RanksAs kind, double timeoutSeconds,
                       llvm::function_ref<int(const RankEnd &)> body) {
  if (isMPI(kind) && !startedBy())
    return becomeMpirun(numRanks, kind, rememberedArguments());
  // A launch ends after its time limit, and waits for its peers no longer than
  // that again. What ranks do beside launches is quick.
  constexpr double spareSeconds = 5;
  return runRanks(numRanks, kind, body, 2 * timeoutSeconds + spareSeconds);
}

/// The bytes of a plan for this machine: of a file that is one, or made from
/// the schedules in it.
static std::optional<std::string> planBytes(const RunRequest &request) {
  if (llvm::StringRef(request.path).ends_with(".sccl")) {
    std::optional<LoadedPlan> loaded = loadPlan(request.path);
    if (!loaded)
      return std::nullopt;
    return loaded->file->getBuffer().str();
  }
  PlanRequest plan;
  plan.targets = {"host"};
  plan.elements = {request.lowering.element};
  plan.reductions = {request.lowering.reduction};
  plan.shapes = {request.lowering.codeShape};
  plan.lowering = request.lowering;
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(request.path);
  PlanBuilder builder(plan);
  if (!module || failed(builder.add(*module)))
    return std::nullopt;
  Result<std::string> bytes = plan::serialize(builder.finish());
  if (!bytes) {
    fail(bytes.error());
    return std::nullopt;
  }
  return *bytes;
}

/// What one rank does. Rank 0 prints.
static int runRank(const RunRequest &request, llvm::StringRef bytes,
                   const plan::Manifest &manifest, const RankEnd &end) {
  constexpr unsigned timedLaunches = 5;
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = request.timeoutSeconds;
  RunReport run;
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(bytes, manifest, end, config);
  if (!rank) {
    run.failure = rank.error();
  } else {
    MeasureRequest measure;
    measure.element = elementType(request.lowering.element);
    measure.reduction = request.lowering.reduction;
    measure.count =
        request.bytes / manifest.sendSegments / measure.element.bytes;
    measure.inPlace = request.inPlace;
    measure.registered = false;
    measure.verified = request.iterations;
    measure.batches = std::min(request.iterations, timedLaunches);
    Result<Measurement> measured = (*rank)->measure(measure);
    if (!measured)
      run.failure = measured.error();
    else
      run = {measured->elements, measured->wrong, measured->firstWrong,
             measured->seconds, ""};
  }
  if (end.rank != 0)
    return run.ok() ? Done : BadInput;
  return reportRun(request, manifest.collective, manifest.ranks, run);
}

int driver::runPlan(const RunRequest &request, RanksAs kind) {
  const ElementType &element = elementType(request.lowering.element);
  std::optional<std::string> bytes = planBytes(request);
  if (!bytes)
    return BadInput;
  Result<plan::PlanView> view = plan::parseWhole(*bytes);
  if (!view)
    return fail(view.error());
  const plan::Manifest &manifest = view->manifest;
  if (request.bytes % (uint64_t(manifest.sendSegments) * element.bytes) != 0)
    return fail("--bytes=" + llvm::Twine(request.bytes) +
                " is not a whole number of " + element.name + " in " +
                llvm::Twine(manifest.sendSegments) + " segments");
  return startRanks(manifest.ranks, kind, request.timeoutSeconds,
                    [&](const RankEnd &end) {
                      return runRank(request, *bytes, manifest, end);
                    });
}
