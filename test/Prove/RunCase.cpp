//===- RunCase.cpp - Checks, compiles and runs a case ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuietContext.h"

#include "Runtime/LoopTransport.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Measure/HostPlan.h"
#include "sccl/Pipelines/Pipelines.h"

using namespace sccl;
using namespace sccl::test;

namespace {
/// What a rank's thread makes its transport of.
struct Wire {
  LoopNetwork *network;
  const RankEnd *end;
};
thread_local Wire wire;

/// What one rank does; by messages if there is a network.
Result<Measurement> runRank(const HostPlan &plan, const MeasureRequest &request,
                            LoopNetwork *network, RankEnd end) {
  if (network) {
    wire = {network, &end};
    end.isOnSeveralHosts = true;
    end.makeTransport = [](scclTransport *transport) {
      *transport = wire.network->transport(*wire.end);
      return scclSuccess;
    };
  }
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = 60;
  config.scratchBytes = 4 << 20; // the default takes longer than the rest
  return measureOnRank(plan, request, config, end);
}

/// Runs `plan` on threads. Returns what went wrong, or nothing.
std::optional<std::string> run(const HostPlan &plan, const RandomCase &given) {
  MeasureRequest request{.count = given.elements};
  request.element = elementType(given.lowering.element);
  request.reduction = given.lowering.reduction;
  request.inPlace = given.inPlace && plan.program().inPlace;
  request.registered = given.reach == Reach::Copies;
  request.verified = given.launches;
  std::optional<LoopNetwork> network;
  if (given.reach == Reach::Messages)
    network.emplace(unsigned(given.elements) + 1);
  std::string fault;
  RanksAs kind = given.areProcesses ? RanksAs::Processes : RanksAs::Threads;
  int code = runRanks(plan.manifest.ranks, kind, [&](const RankEnd &end) {
    Result<Measurement> measured =
        runRank(plan, request, network ? &*network : nullptr, end);
    if (end.rank == 0 && !measured)
      fault = measured.error();
    else if (end.rank == 0 && measured->wrong != 0)
      fault = "wrong result in " + measured->firstWrong;
    return int(!measured || measured->wrong != 0);
  });
  // Processes keep what they have found.
  if (code != 0 && fault.empty())
    fault = "wrong result";
  return fault.empty() ? std::nullopt : std::optional(fault);
}
} // namespace

mlir::OwningOpRef<mlir::ModuleOp> test::moduleOf(mlir::MLIRContext &context,
                                                 const RandomCase &given) {
  return coll::exportModule(context, "schedule", given.topology,
                            given.implementation.collective,
                            given.implementation.schedule);
}

std::string test::moduleText(const RandomCase &given) {
  QuietContext quiet;
  std::string text;
  llvm::raw_string_ostream(text) << *moduleOf(quiet.context, given);
  return text;
}

std::optional<std::string> test::findFault(const RandomCase &given) {
  if (auto violation =
          checkSchedule(given.topology, given.implementation.collective,
                        given.implementation.schedule))
    return "refused by the checker of schedules: " + violation->message;
  QuietContext quiet;
  mlir::OwningOpRef<mlir::ModuleOp> module = moduleOf(quiet.context, given);
  std::optional<std::string> fault = runModule(*module, given);
  if (fault && !quiet.said.empty())
    return *fault + ": " + quiet.said;
  return fault;
}

bool test::breaksOrder(const RandomCase &given) {
  QuietContext quiet;
  mlir::OwningOpRef<mlir::ModuleOp> module = moduleOf(quiet.context, given);
  mlir::LogicalResult lowered =
      runPasses(*module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, given.lowering);
      });
  llvm::StringRef said = quiet.said;
  return failed(lowered) && (said.contains("(T1)") || said.contains("(T2)"));
}

void test::chooseOrder(RandomCase &given) {
  if (!given.implementation.collective.combining())
    return;
  std::vector<SumOrder> orders = {SumOrder::Any, SumOrder::Same};
  // Without a draw, so that cases stay what they are.
  if (given.implementation.schedule.numSends() % 2 == 0)
    orders.insert(orders.end(), {SumOrder::Left, SumOrder::Tree});
  do {
    given.lowering.sumOrder = orders.back();
    orders.pop_back();
  } while (!orders.empty() && breaksOrder(given));
}

static mlir::FailureOr<HostPlan> compile(mlir::ModuleOp module,
                                         const RandomCase &given) {
  // Functions that read tables are the same in many cases.
  static KnownCode known;
  return HostPlan::compile(
      module, given.lowering,
      /*target=*/given.reach == Reach::Messages ? messageTarget : "",
      /*messages=*/false, &known);
}

std::optional<std::string> test::runModule(mlir::ModuleOp module,
                                           const RandomCase &given) {
  mlir::FailureOr<HostPlan> plan = compile(module, given);
  return failed(plan) ? doesNotCompile : run(*plan, given);
}

std::optional<std::string> test::findOtherBits(RandomCase given, Random &random,
                                               unsigned times) {
  QuietContext quiet;
  mlir::OwningOpRef<mlir::ModuleOp> module = moduleOf(quiet.context, given);
  mlir::FailureOr<HostPlan> plan = compile(*module, given);
  if (failed(plan))
    return doesNotCompile + (": " + quiet.said);
  given.launches = launchesOfSums;
  unsigned chunks = given.implementation.collective.chunksPerSegment();
  for (unsigned i = 0; i < times; ++i) {
    const uint64_t sizes[] = {1, chunks + 1, 64, 1 + random() % 300,
                              1 + random() % 3000};
    given.elements = sizes[random() % std::size(sizes)];
    given.inPlace = random() % 2;
    given.areProcesses = given.reach != Reach::Messages && random() % 8 == 0;
    if (given.reach != Reach::Messages)
      given.reach =
          given.areProcesses || random() % 2 ? Reach::Copies : Reach::Memory;
    if (std::optional<std::string> fault = run(*plan, given))
      return *fault + "\n  " + describe(given);
  }
  return std::nullopt;
}
