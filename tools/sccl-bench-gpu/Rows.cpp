//===- Rows.cpp - Rows of tables on GPUs ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "PlanLaunch.h"

#include "sccl/Measure/PlanRank.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>

using namespace sccl;
using namespace sccl::gpubench;

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

int gpubench::runRows(const RowsRequest &request) {
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
