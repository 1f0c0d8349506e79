//===- CollectiveMetrics.cpp - Whole collectives on one GPU ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Metrics.h"

#include "PlanLaunch.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::gpubench;

static std::string nameOf(const PlanFile &plan, unsigned program) {
  const plan::ProgramEntry &info = plan.view.manifest.programs[program];
  return info.variant + ", " + std::to_string(info.blocks) + " blocks";
}

/// The element type of plans that combine.
static std::string elementOf(const PlanFile &plan) {
  return plan.view.manifest.combining ? "f32" : "";
}

static std::string kibibytes(uint64_t bytes) {
  return std::to_string(bytes >> 10) + " KiB";
}

//===----------------------------------------------------------------------===//
// G4
//===----------------------------------------------------------------------===//

void gpubench::measureCollective(Bench &bench) {
  PlanFile plan(bench.file("all_reduce.sccl"));
  for (uint64_t bytes : {uint64_t(64) << 20, uint64_t(256) << 20}) {
    double best = 0;
    std::string which, failed = "there is no memory for it";
    for (unsigned i = 0; i < plan.view.manifest.programs.size(); ++i) {
      if (PlanLaunch::bytesFor(plan, i, bytes) > bench.cuda.freeBytes())
        continue;
      try {
        PlanLaunch launch(bench.cuda, plan, i, "f32", bytes);
        double time = bench.cuda.seconds([&] { launch.enqueue(); }, 2, 10);
        double share = launch.trafficBytes() / bench.needCopyRate() / time;
        if (share > best) {
          best = share;
          which = nameOf(plan, i) + ", " + number(time * 1e3, 3) + " ms";
        }
      } catch (const Failure &failure) {
        failed = failure.message;
      }
    }
    std::string what = "all_reduce of " + std::to_string(bytes >> 20) +
                       " MiB per rank: traffic bound over time";
    if (best == 0)
      bench.report.missing("G4", what, failed);
    else
      bench.report.add("G4", what, number(best, 3) + " (" + which + ")",
                       ">= 0.85", best >= 0.85);
  }
}

//===----------------------------------------------------------------------===//
// G5
//===----------------------------------------------------------------------===//

/// A time in units of `ways` times from flag to flag, of which there may be
/// `most`.
static void addWays(Bench &bench, const char *id, const std::string &what,
                    double seconds, unsigned ways, double most) {
  std::string text = number(seconds * 1e6) + " us";
  if (!bench.oneWay)
    return bench.report.missing(id, what, "no time from flag to flag; " + text);
  double ratio = seconds / (ways * *bench.oneWay);
  bench.report.add(id, what, number(ratio) + " (" + text + ")",
                   "<= " + number(most, 1), ratio <= most);
}

/// Launches in a graph.
static constexpr unsigned replayed = 20;

/// Seconds of a launch without what an empty one takes.
static double replay(Bench &bench, const PlanFile &plan, unsigned program,
                     uint64_t segmentBytes) {
  PlanLaunch launch(bench.cuda, plan, program, elementOf(plan), segmentBytes);
  double idle =
      bench.cuda.replaySeconds([&] { launch.enqueueIdle(); }, replayed);
  double time = bench.cuda.replaySeconds([&] { launch.enqueue(); }, replayed);
  return time - idle;
}

/// The fastest program of a plan, and which it is.
static std::pair<double, std::string>
fastest(Bench &bench, const PlanFile &plan, uint64_t segmentBytes) {
  std::pair<double, std::string> best;
  Failure last{"the plan has no programs"};
  for (unsigned i = 0; i < plan.view.manifest.programs.size(); ++i)
    try {
      double time = replay(bench, plan, i, segmentBytes);
      if (best.second.empty() || time < best.first)
        best = {time, nameOf(plan, i)};
    } catch (const Failure &failure) {
      last = failure; // others may fit on the GPU
    }
  if (best.second.empty())
    throw last;
  return best;
}

void gpubench::measureSmall(Bench &bench) {
  PlanFile flags(bench.file("all_reduce.sccl"));
  PlanFile ll(bench.file("ll.sccl"));
  unsigned steps = flags.view.manifest.schedules[0].steps;
  for (uint64_t bytes : {1 << 10, 4 << 10, 16 << 10, 64 << 10}) {
    auto [time, which] = fastest(bench, flags, bytes);
    auto [llTime, name] = fastest(bench, ll, bytes);
    addWays(bench, "G5",
            "all_reduce of " + kibibytes(bytes) + " over steps times one way",
            std::min(time, llTime), steps, 1.5);
    std::string what = kibibytes(bytes) + ": flags over LL words";
    std::string value = number(time / llTime) + " (" + which + ")";
    if (bytes <= 16 << 10)
      bench.report.add("G5", what, value, ">= 1.5", time / llTime >= 1.5);
    else
      bench.report.note("G5", what, value);
  }
}

//===----------------------------------------------------------------------===//
// G6
//===----------------------------------------------------------------------===//

void gpubench::measureReady(Bench &bench) {
  // The same transfers through scratch, with all ready flags and, in two halves
  // of scratch by turns, without those that this makes unnecessary.
  PlanFile with(bench.file("ready.sccl")), without(bench.file("no-ready.sccl"));
  constexpr uint64_t bytes = 1 << 10;
  double difference =
      replay(bench, with, 0, bytes) - replay(bench, without, 0, bytes);
  addWays(bench, "G6", "ready flags: additional time over one way", difference,
          1, 1);
}

//===----------------------------------------------------------------------===//
// G7
//===----------------------------------------------------------------------===//

void gpubench::measureByHand(Bench &bench) {
  PlanFile plan(bench.file("all_gather.sccl"));
  uint64_t ranks = plan.view.manifest.ranks;
  for (uint64_t bytes : {uint64_t(16) << 10, uint64_t(64) << 20}) {
    PlanLaunch launch(bench.cuda, plan, 0, "", bytes);
    uint64_t blocks = launch.blocks();
    Kernel kernel =
        bench.hand("handAllGather", ranks * ranks * blocks, launch.blockSize());
    void *arguments = launch.otherArguments(1 << 18);
    void *parameters[] = {&arguments, &ranks, &blocks};
    unsigned calls = bytes < 1 << 20 ? 20 : 2;
    // By turns: clocks change while this goes on.
    double generated = 0, byHand = 0;
    for (unsigned turn = 0; turn < 3; ++turn) {
      double one = bench.cuda.seconds([&] { launch.enqueue(); }, calls, 10);
      double other = bench.cuda.seconds(
          [&] { bench.cuda.launch(kernel, parameters); }, calls, 10);
      generated = turn == 0 ? one : std::min(generated, one);
      byHand = turn == 0 ? other : std::min(byHand, other);
    }
    double ratio = generated / byHand;
    bench.report.add(
        "G7",
        "all_gather of " + kibibytes(bytes) + " per rank over hand-written",
        number(ratio, 3) + " (" + number(generated * 1e6, 1) + " us)",
        "<= 1.03", ratio <= 1.03);
  }
}
