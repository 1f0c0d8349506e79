//===- RunPlan.cpp - Starting ranks that run a plan -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForeignFile.h"
#include "LoweringFlags.h"
#include "MeasuredTrace.h"
#include "Output.h"
#include "Plans.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Measure/HostPlan.h"
#include "sccl/Pipelines/Ways.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace sccl;
using namespace sccl::driver;

std::optional<RanksAs> driver::chooseRanksAs(llvm::StringRef ranksAs,
                                             llvm::StringRef launcher) {
  if (!launcher.empty()) {
    if (ranksAs == "threads") {
      fail("--ranks-as=threads and --launcher exclude each other: ranks of "
           "mpirun are processes");
      return std::nullopt;
    }
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

bool driver::checkLaunchLimit(double seconds) {
  constexpr double most = 1e8; // what libsccl takes
  if (seconds > 0 && seconds <= most)
    return true;
  fail("--timeout must be more than 0 and at most 1e8 seconds");
  return false;
}

bool driver::reduces(const plan::Manifest &manifest,
                     const std::string &option) {
  bool fits = manifest.combining || option.empty();
  if (!fits)
    fail(option + " is for collectives that reduce, and " +
         manifest.collective + " does not");
  return fits;
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

int driver::failOnRank(const RankEnd &end, llvm::StringRef error) {
  if (end.isCut())
    return fail("rank " + llvm::Twine(end.rank) + ": " + error);
  return end.rank == 0 ? fail(error) : int(BadInput);
}

/// The options that were given, or else those of the way that the one schedule
/// in `module` names for this size, which is said.
static LoweringOptions lowerFor(const RunRequest &request,
                                mlir::ModuleOp module) {
  const LoweringOptions &given = request.lowering;
  auto schedules = module.getOps<coll::ScheduleOp>();
  coll::Way asked = wayOf(given);
  asked.smBudget = 0; // ways of the schedule can have it
  bool asksForWay = given.transport != TransportChoice::Given || given.steps ||
                    !given.links.empty() || asked != coll::Way();
  if (asksForWay || !llvm::hasSingleElement(schedules))
    return given;
  std::vector<coll::Way> ways = coll::importWays(*schedules.begin());
  if (ways.empty())
    return given;
  coll::Way way = wayFor(ways, double(request.bytes));
  printNotes(request.path, {"lowered as " + describe(way) + ", its way for " +
                            formatBytes(request.bytes)});
  return optionsOf(way, given);
}

/// Reads the plan of a file, or makes one of the schedule or program in it, for
/// ranks of `kind`.
/// Prints an error and returns nothing if there is none.
static std::optional<HostPlan> planFor(const RunRequest &request,
                                       RanksAs kind) {
  if (isPlanFile(request.path)) {
    std::optional<LoadedPlan> loaded = loadPlanToRun(request.path);
    if (!loaded)
      return std::nullopt;
    return HostPlan{loaded->file->getBuffer().str(),
                    std::move(loaded->view.manifest)};
  }
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      session.parseSchedules(request.path);
  if (!module || !areForContents(request.given, *module, request.path))
    return std::nullopt;
  mlir::FailureOr<HostPlan> plan = HostPlan::compile(
      *module, lowerFor(request, *module), /*target=*/"", isMPI(kind));
  if (failed(plan))
    return std::nullopt;
  if (!request.inPlace || plan->program().inPlace)
    return std::move(*plan);
  fail("this schedule does not work in place; coll-check-program with in-place "
       "tells why");
  return std::nullopt;
}

/// Prints what a run gave, or why it failed. Returns the exit code.
static int reportRun(const RunRequest &request, const plan::Manifest &manifest,
                     const Measurement &run, llvm::StringRef failure) {
  double gigabytes = run.seconds > 0 ? request.bytes / run.seconds * 1e-9 : 0;
  bool isGood = failure.empty() && run.wrong == 0;
  if (request.json) {
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"collective", manifest.collective},
                        {"ranks", manifest.ranks},
                        {"bytes", request.bytes},
                        {"dtype", optionText(request.lowering.element)},
                        {"iterations", request.iterations},
                        {"elements", run.elements},
                        {"wrong", run.wrong},
                        {"seconds", run.seconds},
                        {"gigabytes_per_second", gigabytes},
                        {"status", isGood ? "ok" : "failed"},
                        {"reason", failure.empty() ? run.firstWrong : failure}})
                 << '\n';
    return isGood ? Done : BadInput;
  }
  out() << llvm::formatv(
      "{0}, {1} ranks, {2} per send buffer, {3}, {4} launches: #wrong {5} of "
      "{6} elements",
      manifest.collective, manifest.ranks, formatBytes(request.bytes),
      request.lowering.element, request.iterations, run.wrong, run.elements);
  if (failure.empty())
    out() << llvm::formatv(", best {0:f1} us, {1:f2} GB/s", run.seconds * 1e6,
                           gigabytes);
  out() << '\n';
  if (!run.firstWrong.empty())
    fail("wrong result in " + run.firstWrong);
  if (!failure.empty())
    fail(failure);
  return isGood ? Done : BadInput;
}

/// What one rank does. Rank 0 prints.
static int runRank(const RunRequest &request, const MeasureRequest &measure,
                   const HostPlan &plan, const RankEnd &end) {
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = request.timeoutSeconds;
  Measurement run;
  std::string failure;
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(plan.bytes, plan.manifest, end, config);
  if (!rank) {
    failure = rank.error();
  } else {
    std::optional<Error> untraced =
        measure.traced ? checkTraced(**rank, measure) : std::nullopt;
    Result<Measurement> measured =
        untraced ? Result<Measurement>(*untraced)
                 : measureTraced(**rank, measure, end.rank, request.trace,
                                 request.path);
    Result<bool> left = (*rank)->leave();
    if (measured)
      run = *measured;
    failure = measured ? left.error() : measured.error();
  }
  if (end.rank == 0)
    return reportRun(request, plan.manifest, run, failure);
  if (!failure.empty())
    return failOnRank(end, failure);
  return failure.empty() && run.wrong == 0 ? Done : BadInput;
}

int driver::runPlan(const RunRequest &request, RanksAs kind) {
  const ElementType &element = elementType(request.lowering.element);
  std::optional<HostPlan> plan = planFor(request, kind);
  if (!plan || !reduces(plan->manifest, findOfReductions(request.given)))
    return BadInput;
  uint64_t segments = plan->manifest.sendSegments;
  if (request.bytes % (segments * element.bytes) != 0)
    return fail("--bytes=" + llvm::Twine(request.bytes) +
                " is not a whole number of " + element.name + " in " +
                llvm::Twine(segments) + " segments");
  constexpr unsigned timedLaunches = 5;
  MeasureRequest measure;
  measure.element = element;
  measure.reduction = request.lowering.reduction;
  measure.count = request.bytes / segments / element.bytes;
  measure.inPlace = request.inPlace;
  // Processes access buffers of each other as threads do anyway. A plan is for
  // memory of any kind.
  measure.registered = kind != RanksAs::Threads && !isPlanFile(request.path);
  measure.verified = request.iterations;
  measure.verifySeconds = request.timeoutSeconds;
  measure.batches = std::min(request.iterations, timedLaunches);
  measure.traced = !request.trace.empty();
  if (measure.traced) {
    measure.batches = 1;
    measure.launches = request.iterations;
  }
  if (std::optional<Error> error = checkMemory(plan->manifest, measure))
    return fail(error->message);
  return startRanks(plan->manifest.ranks, kind, request.timeoutSeconds,
                    [&](const RankEnd &end) {
                      return runRank(request, measure, *plan, end);
                    });
}
