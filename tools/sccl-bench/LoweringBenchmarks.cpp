//===- LoweringBenchmarks.cpp - From schedules to code and its runs -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long compilation takes for each target, and how near the CPU's execution
// comes to the time in which its memory could be copied. The two are measured
// by turns, because a machine that others use is not the same a second later.
// Then what libsccl takes beside that: to load a plan, and for a launch.
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"

#include "sccl/Codegen/Target.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Measure/HostPlan.h"
#include "sccl/Measure/Ranks.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Plan/PlanBuilder.h"
#include "sccl/sccl.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <chrono>
#include <cstring>
#include <span>
#include <thread>

using namespace sccl;
using namespace sccl::bench;

namespace {
/// A schedule that is measured.
struct Row {
  CollectiveKind kind;
  unsigned chunks, steps, rounds;
  std::string topology = "dgx1";
  std::string name() const {
    return std::string(collectiveName(kind)) + "/" + std::to_string(chunks) +
           "_" + std::to_string(steps) + "_" + std::to_string(rounds);
  }
};
} // namespace

static mlir::MLIRContext &context() {
  static mlir::MLIRContext *const instance = [] {
    registerPipelinePasses();
    mlir::DialectRegistry registry;
    registerPipelineDialects(registry);
    auto *created =
        new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *instance;
}

/// The text of a file with a schedule for `row`.
static std::string synthesizeText(const Row &row) {
  Instance instance = bench::makeInstance(row.topology, row.kind, row.chunks,
                                          row.steps, row.rounds);
  SynthesisResult result = synthesize(instance, SolverOptions());
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  if (!satisfied)
    die("no schedule for " + row.name());
  auto module = coll::exportModule(context(), "schedule", instance.topology,
                                   instance.collective, satisfied->schedule);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

static mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context());
  if (!module)
    die("cannot read back a schedule");
  return module;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static void addCompilation(const Row &row, const std::string &chip,
                           OutputKind kind, CodeShapeChoice shape) {
  addPrepared("compile/" + row.name() + "/" + chip + "/" + optionText(shape),
              [=] {
                auto text = std::make_shared<std::string>(synthesizeText(row));
                Chip target = unwrap(findChip(chip));
                return Body([=]() -> std::string {
                  LoweringOptions options;
                  options.codeShape = shape;
                  auto bytes = compileFor(*parse(*text), target, kind, options);
                  return succeeded(bytes) ? "" : "does not compile";
                });
              });
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Copies memory with all cores, of as many bytes as fit in no cache.
class MemoryCopy {
public:
  MemoryCopy() : threads(std::max(1u, std::thread::hardware_concurrency())) {
    for (std::vector<char> *part : {&source, &target})
      part->assign(threads * bytesPerThread, 1);
  }

  /// Seconds per byte that is read and written.
  double secondsPerByte() {
    auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; ++i)
      workers.emplace_back([this, i] {
        std::memcpy(target.data() + i * bytesPerThread,
                    source.data() + i * bytesPerThread, bytesPerThread);
      });
    for (std::thread &worker : workers)
      worker.join();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    return time.count() / (2.0 * threads * bytesPerThread);
  }

private:
  static constexpr size_t bytesPerThread = size_t(256) << 20;
  unsigned threads;
  std::vector<char> source, target;
};

/// The best of a few launches; dies if a result is wrong.
static double timeLaunch(const HostPlan &plan, uint64_t bytes) {
  MeasureRequest request;
  request.count = bytes / plan.manifest.sendSegments / request.element.bytes;
  request.registered = false;
  request.verified = request.batches = 3;
  Measurement result = unwrap(measureOnThreads(plan, request, 300));
  if (result.wrong != 0)
    die("wrong result: " + result.firstWrong);
  return result.seconds;
}

static void measureExecution(benchmark::State &state, const Row &row,
                             uint64_t bytes) {
  mlir::FailureOr<HostPlan> plan =
      HostPlan::compile(*parse(synthesizeText(row)), LoweringOptions());
  if (failed(plan))
    die("does not compile: " + row.name());
  double chunkBytes = double(bytes) / plan->manifest.schedules[0].chunks;
  double traffic = plan->program().chunksMoved * chunkBytes;
  MemoryCopy copy;
  double bestLaunch = 0, bestCopy = 0;
  auto keepBest = [](double &best, double time) {
    if (best == 0 || time < best)
      best = time;
  };
  for (auto _ : state) {
    double seconds = timeLaunch(*plan, bytes);
    keepBest(bestLaunch, seconds);
    keepBest(bestCopy, copy.secondsPerByte());
    state.SetIterationTime(seconds);
  }
  state.counters["best_ms"] = bestLaunch * 1e3;
  state.counters["bound_ms"] = bestCopy * traffic * 1e3;
  state.counters["of_bound"] = bestCopy * traffic / bestLaunch;
}

//===----------------------------------------------------------------------===//
// libsccl
//===----------------------------------------------------------------------===//

/// The bytes of a plan with code for `targets` and `elements`.
static std::string compilePlan(const Row &row, std::vector<std::string> targets,
                               std::vector<Element> elements) {
  PlanRequest request;
  request.targets = std::move(targets);
  request.elements = std::move(elements);
  request.reductions = {Reduction::Sum};
  request.generator = "sccl-bench";
  PlanBuilder builder(request);
  if (failed(builder.add(*parse(synthesizeText(row)))))
    die("does not compile: " + row.name());
  return unwrap(plan::serialize(builder.finish()));
}

/// The plan in libsccl; its message if it does not take it.
static scclPlan loadPlan(const std::string &bytes) {
  scclPlan plan = nullptr;
  if (scclPlanLoadMemory(bytes.data(), bytes.size(), &plan) != scclSuccess)
    die(scclGetLastErrorMessage());
  return plan;
}

static void addLoading(const std::string &name,
                       const std::vector<std::string> &targets) {
  addPrepared("load/" + name, [=] {
    Row row{CollectiveKind::AllReduce, 16, 4, 6};
    auto bytes = std::make_shared<std::string>(
        compilePlan(row, targets, {Element::F32, Element::F16}));
    std::fprintf(stderr, "load/%s: a plan of %zu bytes\n", name.c_str(),
                 bytes->size());
    return Body([=]() -> std::string {
      scclPlanDestroy(loadPlan(*bytes));
      return "";
    });
  });
}

/// Seconds per launch of one element on this rank, the best batch of many; 0 if
/// one fails.
static double timeSmallLaunches(const RankEnd &end, scclPlan plan) {
  scclComm comm = nullptr;
  double best = 0;
  bool isRight = scclCommInit(end.rank, end.numRanks, end.allGather,
                              end.context, nullptr, &comm) == scclSuccess &&
                 scclCommLoad(comm, plan) == scclSuccess;
  for (unsigned batch = 0; batch < 300 && isRight; ++batch) {
    constexpr unsigned launches = 1000;
    float send = float(end.rank + 1), recv = 0;
    auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < launches && isRight; ++i)
      isRight = scclLaunch(comm, plan, &send, &recv, 1, scclFloat32, scclSum,
                           nullptr) == scclSuccess;
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    isRight &= recv == 3;
    if (best == 0 || time.count() / launches < best)
      best = time.count() / launches;
  }
  // Nobody goes while others launch.
  std::vector<int> all;
  end.gather(0, all);
  scclCommDestroy(comm);
  return isRight ? best : 0;
}

static void measureLaunch(benchmark::State &state) {
  Row row{CollectiveKind::AllReduce, 1, 1, 1, "mesh:2"};
  scclPlan plan = loadPlan(compilePlan(row, {"host"}, {Element::F32}));
  for (auto _ : state) {
    double slowest[2] = {};
    runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
      slowest[end.rank] = timeSmallLaunches(end, plan);
      return 0;
    });
    if (slowest[0] == 0 || slowest[1] == 0)
      die("a launch failed");
    state.SetIterationTime(std::max(slowest[0], slowest[1]));
  }
  scclPlanDestroy(plan);
}

/// A plan for three targets with code for so many types and reductions.
static void addTypes(const Row &row, const std::string &name,
                     std::span<const ElementType> types,
                     std::span<const Reduction> reductions) {
  addPrepared("compile/" + row.name() + "/" + row.topology + "/" + name, [=] {
    auto text = std::make_shared<std::string>(synthesizeText(row));
    return Body([=]() -> std::string {
      PlanRequest request;
      request.targets = {"sm_90", "gfx942", "host"};
      for (const ElementType &type : types)
        request.elements.push_back(type.id);
      request.reductions.assign(reductions.begin(), reductions.end());
      request.variants = {"push"};
      PlanBuilder builder(request);
      return succeeded(builder.add(*parse(*text))) ? "" : "does not compile";
    });
  });
}

static void registerTypes() {
  constexpr unsigned tenTypes = 10; // NCCL's, the first ones of the table
  for (const Row &row : {Row{CollectiveKind::AllReduce, 48, 6, 14},
                         Row{CollectiveKind::AllReduce, 16, 2, 2, "mesh:16"}}) {
    addTypes(row, "one_type", elementTypes().subspan(2, 1),
             reductions().first(1));
    addTypes(row, "ten_types", elementTypes().first(tenTypes), reductions());
  }
}

static void registerLibrary() {
  addLoading("host", {"host"});
  addLoading("five_targets", {"host", "x86-64", "sm_80", "sm_90", "gfx942"});
  benchmark::RegisterBenchmark("launch/one_element", measureLaunch)
      ->UseManualTime()
      ->Iterations(3)
      ->Unit(benchmark::kMicrosecond);
}

void bench::registerLowering() {
  registerLibrary();
  registerTypes();
  const Row rows[] = {{CollectiveKind::AllGather, 6, 3, 7},
                      {CollectiveKind::AllReduce, 48, 6, 14},
                      {CollectiveKind::AllToAll, 24, 2, 8},
                      {CollectiveKind::Broadcast, 18, 5, 5}};
  for (const Row &row : rows)
    for (CodeShapeChoice shape :
         {CodeShapeChoice::Unrolled, CodeShapeChoice::Table}) {
      addCompilation(row, "sm_90", OutputKind::PTX, shape);
      addCompilation(row, "gfx942", OutputKind::HSACO, shape);
    }
  // The row with the most sends.
  Row largest{CollectiveKind::AllReduce, 48, 14, 14};
  for (CodeShapeChoice shape :
       {CodeShapeChoice::Unrolled, CodeShapeChoice::Table}) {
    addCompilation(largest, "sm_90", OutputKind::PTX, shape);
    addCompilation(largest, "gfx942", OutputKind::HSACO, shape);
  }
  for (const Row &row : llvm::ArrayRef(rows).take_front(3))
    benchmark::RegisterBenchmark(("execute/" + row.name() + "/64MiB").c_str(),
                                 [row](benchmark::State &state) {
                                   measureExecution(state, row,
                                                    uint64_t(64) << 20);
                                 })
        ->UseManualTime()
        ->Iterations(8)
        ->Unit(benchmark::kMillisecond);
}
