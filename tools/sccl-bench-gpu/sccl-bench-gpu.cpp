//===- sccl-bench-gpu.cpp - One GPU, measured -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What test/Integration/gpu.sh runs on the machine with the GPU:
//
//   sccl-bench-gpu rows [--device=hip] [--gpus=N] [--most=BYTES] [--seconds=S]
//   [--launch-seconds=S] PLAN...
//   sccl-bench-gpu metrics [--launch-seconds=S] FOLDER
//   sccl-bench-gpu times --bytes=N,... PLAN...
//
//===----------------------------------------------------------------------===//

#include "Metrics.h"
#include "PlanLaunch.h"

#include "sccl/Measure/PlanRank.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

using namespace sccl;
using namespace sccl::gpubench;

namespace {
struct RowsRequest {
  std::string device = "cuda"; ///< or "hip"
  unsigned gpus = 1;           ///< rank r gets r modulo this
  double seconds = 200;      ///< plans that are not begun by then are left out
  double launchSeconds = 20; ///< a launch without progress is given up
  uint64_t mostBytes = 64 << 20; ///< the largest size
  std::vector<std::string> plans;
};
} // namespace

/// The sizes whose times are printed.
static constexpr uint64_t smallSize = 4 << 10, largeSize = 64 << 20;

namespace {
/// What a plan gave.
struct Row {
  std::string error;
  uint64_t elements = 0, wrong = 0;
  std::string firstWrong;
  double small = 0, large = 0; ///< seconds, out of place
};
} // namespace

/// Sizes of the larger buffer of a rank: nothing, then 4 bytes and more.
static std::vector<uint64_t> rowSizes(uint64_t most) {
  std::vector<uint64_t> sizes = {0};
  for (uint64_t size = 4; size <= most; size *= 4)
    sizes.push_back(size);
  return sizes;
}

static uint64_t mostSegments(const plan::Manifest &manifest) {
  uint64_t most = 1;
  for (const plan::RankLayout &layout : manifest.layout)
    most =
        std::max<uint64_t>({most, layout.inputSegments, layout.outputSegments});
  return most;
}

/// All sizes on one rank; rank 0 keeps the result.
static std::string measureRank(const PlanFile &plan, const RankEnd &end,
                               const scclConfig &config, uint64_t most,
                               Row &row) {
  const plan::Manifest &manifest = plan.view.manifest;
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(plan.bytes, manifest, end, config);
  if (!rank)
    return rank.error();
  MeasureRequest request;
  request.batches = 2;
  for (uint64_t size : rowSizes(most)) {
    request.count = size / mostSegments(manifest) / request.element.bytes;
    request.launches = std::clamp<uint64_t>((1 << 18) / (size + 1), 1, 50);
    for (bool inPlace : {false, true}) {
      request.inPlace = inPlace;
      Result<Measurement> measured = (*rank)->measure(request);
      if (!measured)
        return measured.error();
      if (end.rank != 0)
        continue;
      row.elements += measured->elements;
      row.wrong += measured->wrong;
      if (row.firstWrong.empty())
        row.firstWrong = measured->firstWrong;
      if (!inPlace && size == smallSize)
        row.small = measured->seconds;
      if (!inPlace && size == largeSize)
        row.large = measured->seconds;
    }
  }
  return "";
}

static Row runPlan(const PlanFile &plan, const RowsRequest &request) {
  Row row;
  std::mutex mutex;
  runRanks(plan.view.manifest.ranks, RanksAs::Threads, [&](const RankEnd &end) {
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    config.device = request.device == "hip" ? scclDeviceHIP : scclDeviceCUDA;
    config.deviceIndex = int(end.rank % request.gpus);
    config.timeoutSeconds = request.launchSeconds;
    std::string error = measureRank(plan, end, config, request.mostBytes, row);
    std::lock_guard lock(mutex);
    if (row.error.empty())
      row.error = error;
    return 0;
  });
  return row;
}

/// Microseconds, or "-" for a size that was not among them.
static std::string timeText(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", seconds * 1e6);
  return seconds > 0 ? text : "-";
}

/// "dgx1 all_gather 6 3 7", and then what came of it.
static bool printRow(const plan::Manifest &manifest, const Row &row) {
  const plan::ScheduleInfo &schedule = manifest.schedules.front();
  std::printf("%-8s %-14s %6u %5u %6u  ", manifest.topology.c_str(),
              manifest.collective.c_str(), schedule.chunks, schedule.steps,
              schedule.rounds);
  if (!row.error.empty() || row.elements == 0)
    std::printf("FAILED: %s\n",
                row.error.empty() ? "nothing was compared" : row.error.c_str());
  else
    std::printf("%-9llu %12llu %10s %10s %s\n", (unsigned long long)row.wrong,
                (unsigned long long)row.elements, timeText(row.small).c_str(),
                timeText(row.large).c_str(), row.firstWrong.c_str());
  std::fflush(stdout);
  return row.error.empty() && row.elements != 0 && row.wrong == 0;
}

/// Executes every plan with ranks as threads for 0 to `mostBytes`, in place and
/// not, and compares all outputs with the definition. Prints a line for each.
/// Returns 0 if all that ran was right, and something ran.
static int runRows(const RowsRequest &request) {
  using Clock = std::chrono::steady_clock;
  auto since = Clock::now();
  std::printf("%-8s %-14s %6s %5s %6s  %-9s %12s %10s %10s\n", "topology",
              "collective", "chunks", "steps", "rounds", "#wrong", "compared",
              "us@4KiB", "us@64MiB");
  unsigned right = 0, failed = 0, late = 0;
  for (const std::string &path : request.plans) {
    std::chrono::duration<double> elapsed = Clock::now() - since;
    if (elapsed.count() > request.seconds) {
      ++late;
      continue;
    }
    try {
      PlanFile plan(path);
      bool isRight = printRow(plan.view.manifest, runPlan(plan, request));
      ++(isRight ? right : failed);
    } catch (const Failure &failure) {
      std::printf("FAILED: %s\n", failure.message.c_str());
      ++failed;
    }
  }
  std::printf("%u rows right, %u failed, %u not run for lack of time\n", right,
              failed, late);
  return failed == 0 && right != 0 ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::string gpubench::number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

static void line(const char *id, const std::string &what,
                 const std::string &value, const std::string &bar,
                 const char *verdict) {
  std::printf("%-3s %-52s %-40s %-8s %s\n", id, what.c_str(), value.c_str(),
              bar.c_str(), verdict);
  std::fflush(stdout);
}

void Report::head(const std::string &device) {
  std::printf("metrics on one %s: one L2 and one memory, never the speed of "
              "several GPUs\n",
              device.c_str());
  line("id", "metric", "value", "bar", "");
}

void Report::add(const char *id, const std::string &what,
                 const std::string &value, const std::string &bar, bool isMet) {
  ++(isMet ? met : missed);
  line(id, what, value, bar, isMet ? "met" : "missed");
}

void Report::note(const char *id, const std::string &what,
                  const std::string &value) {
  line(id, what, value, "", "");
}

void Report::missing(const char *id, const std::string &what,
                     const std::string &reason) {
  ++absent;
  line(id, what, "not measured: " + reason, "", "");
}

void Report::foot() {
  std::printf("%u bars met, %u missed, %u figures not measured\n", met, missed,
              absent);
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

Kernel Bench::hand(const std::string &symbol, unsigned blocks,
                   unsigned blockSize) const {
  if (!handWritten)
    throw Failure{whyNotHandWritten};
  return cuda.find(handWritten, symbol, blocks, blockSize);
}

double Bench::needCopyRate() const {
  if (!copyRate)
    throw Failure{"G1 found no rate of copies"};
  return *copyRate;
}

static void measureAll(Bench &bench) {
  struct Metric {
    const char *id, *name;
    void (*measure)(Bench &);
  };
  static constexpr Metric metrics[] = {
      {"G1", "copies", measureCopy},
      {"G2", "reductions", measureReduce},
      {"G3", "flags", measureFlags},
      {"G4", "whole collective", measureCollective},
      {"G5", "small messages", measureSmall},
      {"G6", "ready flags", measureReady},
      {"G7", "generated over hand-written", measureByHand}};
  for (const Metric &metric : metrics)
    try {
      metric.measure(bench);
    } catch (const Failure &failure) {
      bench.report.missing(metric.id, metric.name, failure.message);
    }
}

static int runMetrics(const std::string &folder, double launchSeconds) {
  Report report;
  try {
    Cuda cuda(launchSeconds);
    report.head(cuda.deviceName() + " (" + cuda.target() + ")");
    Bench bench(cuda, report, folder);
    try {
      bench.handWritten = cuda.load(readFile(bench.file("hand-written.ptx")));
    } catch (const Failure &failure) {
      bench.whyNotHandWritten = failure.message;
    }
    measureAll(bench);
  } catch (const Failure &failure) {
    report.missing("G1-7", "all metrics", failure.message);
  }
  report.foot();
  return 0;
}

//===----------------------------------------------------------------------===//
// Times of programs
//===----------------------------------------------------------------------===//

/// Prints what each program of a plan takes for segments of `bytes`.
static void timePrograms(Cuda &cuda, const PlanFile &plan, uint64_t bytes) {
  const plan::Manifest &manifest = plan.view.manifest;
  for (unsigned i = 0; i < manifest.programs.size(); ++i) {
    const plan::ProgramEntry &info = manifest.programs[i];
    std::printf("%-10s %-14s %-8s %4u %12llu ", manifest.topology.c_str(),
                manifest.collective.c_str(), info.variant.c_str(), info.blocks,
                (unsigned long long)bytes);
    try {
      PlanLaunch launch(cuda, plan, i, manifest.combining ? "f32" : "", bytes);
      double time = cuda.seconds([&] { launch.enqueue(); }, 4, 5);
      std::printf("%10.1f %8.0f\n", time * 1e6,
                  launch.trafficBytes() / time * 1e-9);
    } catch (const Failure &failure) {
      std::printf("%s\n", failure.message.c_str());
    }
    std::fflush(stdout);
  }
}

/// Sizes separated by commas; none if that is not what it is.
static std::vector<uint64_t> sizesOf(llvm::StringRef text) {
  std::vector<uint64_t> sizes;
  for (llvm::StringRef word : llvm::split(text, ','))
    if (word.getAsInteger(10, sizes.emplace_back()))
      return {};
  return sizes;
}

static int runTimes(const std::vector<uint64_t> &sizes, int count,
                    char **plans) {
  try {
    Cuda cuda(/*limitSeconds=*/5);
    std::printf("%s\n%-10s %-14s %-8s %4s %12s %10s %8s\n",
                cuda.deviceName().c_str(), "topology", "collective", "variant",
                "#", "B/segment", "us", "GB/s");
    for (int i = 0; i < count; ++i) {
      PlanFile plan(plans[i]);
      for (uint64_t bytes : sizes)
        timePrograms(cuda, plan, bytes);
    }
  } catch (const Failure &failure) {
    std::fprintf(stderr, "sccl-bench-gpu: error: %s\n",
                 failure.message.c_str());
    return 1;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static int fail(const std::string &message) {
  std::fprintf(stderr, "sccl-bench-gpu: error: %s\n", message.c_str());
  return 1;
}

/// The value of `--NAME=VALUE`; null if `argument` is not that.
static const char *valueOf(const char *argument, const char *name) {
  size_t length = std::strlen(name);
  bool matches = std::strncmp(argument, name, length) == 0;
  return matches && argument[length] == '=' ? argument + length + 1 : nullptr;
}

static int rowsMain(int argc, char **argv) {
  RowsRequest request;
  for (int i = 2; i < argc; ++i) {
    if (const char *value = valueOf(argv[i], "--device"))
      request.device = value;
    else if (const char *value = valueOf(argv[i], "--gpus"))
      request.gpus = std::strtoul(value, nullptr, 10);
    else if (const char *value = valueOf(argv[i], "--most"))
      request.mostBytes = std::strtoull(value, nullptr, 10);
    else if (const char *value = valueOf(argv[i], "--seconds"))
      request.seconds = std::strtod(value, nullptr);
    else if (const char *value = valueOf(argv[i], "--launch-seconds"))
      request.launchSeconds = std::strtod(value, nullptr);
    else if (argv[i][0] == '-')
      return fail(std::string("unknown option ") + argv[i]);
    else
      request.plans.push_back(argv[i]);
  }
  if (request.device != "cuda" && request.device != "hip")
    return fail("--device is '" + request.device + "', expected cuda or hip");
  if (request.gpus == 0 || request.plans.empty())
    return fail("rows needs at least one GPU and one plan");
  return runRows(request);
}

int main(int argc, char **argv) {
  std::string command = argc > 1 ? argv[1] : "";
  if (command == "rows")
    return rowsMain(argc, argv);
  const char *limit =
      argc == 4 ? valueOf(argv[2], "--launch-seconds") : nullptr;
  if (command == "metrics" && (limit || argc == 3))
    return runMetrics(argv[argc - 1], limit ? std::strtod(limit, nullptr) : 5);
  if (command == "times" && argc > 3)
    if (const char *bytes = valueOf(argv[2], "--bytes"))
      if (std::vector<uint64_t> sizes = sizesOf(bytes); !sizes.empty())
        return runTimes(sizes, argc - 3, argv + 3);
  return fail("expected rows [--device=hip] [--gpus=N] [--most=BYTES] "
              "[--seconds=S] [--launch-seconds=S] PLAN..., metrics "
              "[--launch-seconds=S] FOLDER, or times --bytes=N,... PLAN...");
}
