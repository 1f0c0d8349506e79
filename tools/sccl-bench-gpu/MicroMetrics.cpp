//===- MicroMetrics.cpp - Copies, reductions and flags --------------------===//
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

/// 1 GiB, or what fits four times; far more than any L2 cache holds.
static uint64_t largeBytes(Bench &bench, unsigned copies) {
  uint64_t fits = bench.cuda.freeBytes() / (copies + 1) >> 20 << 20;
  return std::min<uint64_t>(uint64_t(1) << 30, fits);
}

static std::string rateText(double rate) {
  return number(rate * 1e-9, 0) + " GB/s";
}

//===----------------------------------------------------------------------===//
// G1
//===----------------------------------------------------------------------===//

static void compareCopies(Bench &bench, double best) {
  double ratio = best / bench.needCopyRate();
  bench.report.add("G1", "generated copy over cuMemcpy",
                   number(ratio, 3) + " (" + rateText(best) + ")", ">= 0.97",
                   ratio >= 0.97);
  PlanFile plan(bench.file("copy.sccl"));
  uint64_t bytes = largeBytes(bench, 5);
  double byHand = 0;
  try {
    PlanLaunch buffers(bench.cuda, plan, 0, "", bytes);
    void *ranks = buffers.otherArguments(1 << 16);
    void *parameters[] = {&ranks};
    for (unsigned perSM : {1, 2}) {
      Kernel kernel =
          bench.hand("handCopy", perSM * bench.cuda.multiprocessors(), 512);
      double time =
          bench.cuda.seconds([&] { bench.cuda.launch(kernel, parameters); }, 4);
      byHand = std::max(byHand, 2.0 * bytes / time);
    }
  } catch (const Failure &failure) {
    return bench.report.missing("G1", "generated copy over hand-written",
                                failure.message);
  }
  bench.report.add("G1", "generated copy over hand-written",
                   number(best / byHand, 3) + " (" + rateText(byHand) + ")",
                   ">= 0.99", best / byHand >= 0.99);
}

void gpubench::measureCopy(Bench &bench) {
  PlanFile plan(bench.file("copy.sccl"));
  uint64_t bytes = largeBytes(bench, 5);
  {
    DeviceMemory from(bench.cuda, bytes), to(bench.cuda, bytes);
    double time = bench.cuda.seconds(
        [&] { bench.cuda.copy(to.data(), from.data(), bytes); }, 4);
    bench.copyRate = 2.0 * bytes / time;
  }
  bench.report.note("G1", "cuMemcpy on the device, read and written",
                    rateText(*bench.copyRate));
  double best = 0;
  for (unsigned i = 0; i < plan.view.manifest.programs.size(); ++i) {
    std::string what = "generated copy, " +
                       std::to_string(plan.view.manifest.programs[i].blocks) +
                       " blocks per channel";
    try {
      PlanLaunch launch(bench.cuda, plan, i, "", bytes);
      double time = bench.cuda.seconds([&] { launch.enqueue(); }, 4, 10);
      double rate = launch.trafficBytes() / time;
      best = std::max(best, rate);
      bench.report.note("G1", what, rateText(rate));
    } catch (const Failure &failure) {
      bench.report.missing("G1", what, failure.message);
    }
  }
  if (best == 0)
    throw Failure{"no generated copy ran"};
  compareCopies(bench, best);
}

//===----------------------------------------------------------------------===//
// G2
//===----------------------------------------------------------------------===//

/// The best program of a reduce_scatter, in which each rank reads and writes
/// `buffers` segments if it reads nothing twice.
static void reduceWith(Bench &bench, const char *file, unsigned buffers,
                       const std::string &element) {
  std::string what =
      "reduction of " + std::to_string(buffers - 1) + " inputs, " + element;
  try {
    PlanFile plan(bench.file(file));
    unsigned ranks = plan.view.manifest.ranks;
    uint64_t bytes = largeBytes(bench, 4 * ranks * ranks);
    double best = 0;
    for (unsigned i = 0; i < plan.view.manifest.programs.size(); ++i) {
      PlanLaunch launch(bench.cuda, plan, i, element, bytes);
      double time = bench.cuda.seconds([&] { launch.enqueue(); }, 4, 10);
      best = std::max(best, double(ranks) * buffers * bytes / time);
    }
    double ratio = best / bench.needCopyRate();
    bench.report.add("G2", what, number(ratio, 3) + " (" + rateText(best) + ")",
                     ">= 0.95", ratio >= 0.95);
  } catch (const Failure &failure) {
    bench.report.missing("G2", what, failure.message);
  }
}

void gpubench::measureReduce(Bench &bench) {
  for (const char *element : {"f32", "f16", "bf16", "f8e4m3"})
    reduceWith(bench, "reduce2.sccl", 3, element);
  reduceWith(bench, "reduce8.sccl", 9, "f32");
}

//===----------------------------------------------------------------------===//
// G3
//===----------------------------------------------------------------------===//

namespace {
/// Memory for two ranks that set each other's flags.
class FlagPair {
public:
  explicit FlagPair(Cuda &cuda) : memory(cuda, 4 * controlBytes), cuda(cuda) {
    PeerEntry peers[2] = {};
    RankArguments ranks[2] = {};
    char *table = memory.data() + 2 * controlBytes;
    array = reinterpret_cast<RankArguments *>(memory.data() + 3 * controlBytes);
    for (unsigned rank : {0, 1}) {
      peers[rank].control = memory.data() + rank * controlBytes;
      ranks[rank].control = peers[rank].control;
      ranks[rank].peers = reinterpret_cast<PeerEntry *>(table);
      ranks[rank].abort = cuda.abortWord();
      ranks[rank].blocks = 1;
    }
    cuda.copy(table, peers, sizeof(peers));
    cuda.copy(array, ranks, sizeof(ranks));
    cuda.wait();
  }
  /// Seconds of a launch; hand-written kernels are told the rounds, and where
  /// their flags stand.
  double seconds(const Kernel &kernel, uint64_t rounds) {
    uint64_t base = 0;
    return cuda.seconds(
        [&] {
          void *parameters[] = {&array, &rounds, &base};
          cuda.launch(kernel, parameters);
          base += rounds;
        },
        1);
  }

private:
  static constexpr uint64_t controlBytes = 1 << 16;
  DeviceMemory memory;
  Cuda &cuda;
  RankArguments *array;
};
} // namespace

/// Round trips in one launch of ping-pong.ptx; gpu.sh writes as many.
static constexpr uint64_t generatedRounds = 500;
static constexpr uint64_t handRounds = 10000;

static void compareRoundTrips(Bench &bench, double generated) {
  constexpr unsigned blockSize = 256;
  struct Way {
    const char *symbol, *name;
  };
  static constexpr Way ways[] = {
      {"handRelease", "release and acquire, single threads"},
      {"handFence", "fence and relaxed store, single threads"},
      {"handGPUScope", "gpu scope, single threads"},
      {"handLL", "LL word, single threads"}};
  FlagPair pair(bench.cuda);
  double idle = pair.seconds(bench.hand("handNothing", 2, blockSize), 0);
  auto roundTrip = [&](const char *symbol) {
    Kernel kernel = bench.hand(symbol, 2, blockSize);
    return (pair.seconds(kernel, handRounds) - idle) / handRounds;
  };
  double byHand = roundTrip("handFlagsOfBlocks");
  double ratio = generated / byHand;
  bench.report.add("G3", "generated round trip over hand-written",
                   number(ratio, 3) + " (" + number(byHand * 1e6, 3) + " us)",
                   "<= 1.05", ratio <= 1.05);
  for (const Way &way : ways)
    bench.report.note("G3", std::string("round trip: ") + way.name,
                      number(roundTrip(way.symbol) * 1e6, 3) + " us");
}

void gpubench::measureFlags(Bench &bench) {
  void *module = bench.cuda.load(readFile(bench.file("ping-pong.ptx")));
  Kernel kernel = bench.cuda.find(module, "pingpong_virtual", 2, 256);
  double time = FlagPair(bench.cuda).seconds(kernel, 0);
  double generated = time / generatedRounds;
  bench.oneWay = generated / 2;
  bench.report.note("G3", "generated round trip between two blocks",
                    number(generated * 1e6, 3) + " us");
  try {
    compareRoundTrips(bench, generated);
  } catch (const Failure &failure) {
    bench.report.missing("G3", "generated round trip over hand-written",
                         failure.message);
  }
}
