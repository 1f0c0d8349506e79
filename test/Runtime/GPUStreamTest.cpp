//===- GPUStreamTest.cpp - Tests of launches that are enqueued ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUStreams.h"
#include "SharedWords.h"

#include <csignal>

using namespace sccl;

namespace {
class StreamGPU : public EitherGPU {};
} // namespace

INSTANTIATE_TEST_SUITE_P(GPU, StreamGPU,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

TEST_P(StreamGPU, ReturnsBeforeTheWorkIsDone) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              StreamRank rank(fake, end, bytes, kind);
              if (rank.failed)
                return 1;
              int failed = rank.set(float(end.rank + 1));
              // Rank 1 waits until rank 0 has enqueued ten launches, none of
              // which can end without it.
              if (end.rank == 1)
                meet(end);
              for (unsigned i = 0; i < 10; ++i)
                failed += check(rank.reduce() == scclSuccess, "enqueue");
              if (end.rank == 0) {
                failed += check(rank.streams.isBusy(), "not done");
                // Another stream goes on meanwhile.
                Streams other(fake, 0);
                failed += check(!other.fill(rank.recv, 0, 0) && !other.wait(),
                                "overlap");
                failed += check(rank.streams.isBusy(), "still not done");
                meet(end);
              }
              failed += check(rank.streams.wait() == 0, "wait");
              failed += rank.expect(3);
              meet(end);
              return failed;
            }));
}

/// Two launches of different sizes in one graph.
static void *capture(StreamRank &rank, const RankEnd &end) {
  rank.failed += check(rank.reduce(7) == scclSuccess, "before");
  rank.streams.wait();
  meet(end);
  rank.failed += check(rank.streams.beginCapture() == 0, "begin");
  meet(end);
  rank.failed += check(rank.reduce() == scclSuccess, "capture") +
                 check(rank.reduce(5) == scclSuccess, "capture");
  meet(end);
  void *graph = rank.streams.endCapture();
  meet(end);
  return graph;
}

/// A launch of another size in between, and a replay with other data.
static void replayOnOtherData(StreamRank &rank, const RankEnd &end, void *graph,
                              unsigned value) {
  rank.failed += check(rank.reduce(100) == scclSuccess, "in between");
  rank.streams.wait();
  meet(end);
  rank.failed += rank.set(float(value + end.rank));
  rank.failed += check(rank.streams.replay(graph) == 0, "replay");
  rank.streams.wait();
  rank.failed += rank.expect(float(2 * value + 1));
  meet(end);
}

/// Captures a graph with `program`, or with what is chosen if that is negative,
/// and replays it.
static int replayOften(StreamRank &rank, const RankEnd &end, int program,
                       unsigned replays, const Fake &fake) {
  scclChoice choice = {};
  choice.size = sizeof(choice);
  choice.program = program;
  if (program >= 0)
    rank.failed +=
        check(!scclCommSetChoice(rank.member.comm, rank.member.plan, &choice),
              "choice");
  void *graph = capture(rank, end);
  unsigned before = fake.launches();
  for (unsigned i = 0; i < replays; ++i) {
    rank.failed += check(rank.streams.replay(graph) == 0, "replay");
    if (i % 100 == 0)
      replayOnOtherData(rank, end, graph, i);
  }
  rank.streams.wait();
  // The library has launched what was in between, and no more.
  rank.failed +=
      check(fake.launches() - before <= 2 * 10 * 2, "launches of the library");
  rank.failed += rank.expect(2 * (replays - 100) + 1) +
                 check(scclCommGetError(rank.member.comm) == 0, "no error");
  rank.streams.drop(graph);
  meet(end);
  return rank.failed;
}

TEST_P(StreamGPU, ReplaysAGraph) {
  for (const char *name : {"pair-halves-all_reduce", "pair-all_reduce"})
    for (int program : {-1, 0, 1, 2}) {
      std::string bytes = gpuPlan(name, kind);
      // Once is enough of the long one; all take their time on a busy machine.
      bool isLong = program < 0 && name == std::string("pair-all_reduce");
      const unsigned replays = isLong ? 1000 : 100;
      EXPECT_EQ(0, runRanks(2, RanksAs::Threads,
                            [&](const RankEnd &end) {
                              StreamRank rank(fake, end, bytes, kind);
                              return rank.failed
                                         ? 1
                                         : replayOften(rank, end, program,
                                                       replays, fake);
                            }))
          << name << ", program " << program;
    }
}

TEST_P(StreamGPU, CapturesCopiesOfUnregisteredMemory) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  auto *get = kind == scclDeviceCUDA
                  ? fake.get<int(void **, size_t)>("cuMemAlloc_v2", "")
                  : fake.get<int(void **, size_t)>("", "hipMalloc");
  auto *drop = fake.get<int(void *)>("cuMemFree_v2", "hipFree");
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              StreamRank rank(fake, end, bytes, kind);
              void *memory[2] = {};
              if (rank.failed || get(&memory[0], rank.count * 4) ||
                  get(&memory[1], rank.count * 4))
                return 1;
              rank.send = memory[0];
              rank.recv = memory[1];
              meet(end);
              int failed = check(!rank.streams.beginCapture(), "begin");
              meet(end);
              failed += check(rank.reduce() == scclSuccess, "capture");
              meet(end);
              void *graph = rank.streams.endCapture();
              meet(end);
              for (unsigned i = 0; i < 50; ++i) {
                failed += rank.set(float(i));
                failed += check(rank.streams.replay(graph) == 0, "replay");
                rank.streams.wait();
                failed += rank.expect(float(2 * i));
                meet(end);
              }
              rank.streams.drop(graph);
              for (void *block : memory)
                drop(block);
              return failed;
            }));
}

/// Launches of a size whose LL words were last written 2^32 launches ago.
/// Ranks that share a device do without numbers in memory of the host.
static int reachOldWords(StreamRank &rank, const RankEnd &end, bool isShared) {
  auto launch = [&](unsigned times, size_t count, float value) {
    rank.failed += rank.set(value);
    for (unsigned i = 0; i < times; ++i)
      rank.failed += check(rank.reduce(count) == scclSuccess, "launch");
    rank.streams.wait();
    rank.failed += rank.expect(2 * value, count);
    meet(end);
  };
  auto look = [&](const char *file) {
    auto words =
        end.rank == 0 ? SharedWords(file).read() : std::vector<uint64_t>();
    meet(end);
    return words;
  };
  launch(2, 4096, 1);
  launch(2, 64, 2);
  std::vector<uint64_t> host = look("sccl"), device = look("fake-gpu");
  launch(2, 64, 2);
  uint64_t pairs = (uint64_t(1) << 31) - 3;
  for (auto [file, before] :
       {std::pair{"sccl", &host}, {"fake-gpu", &device}}) {
    std::vector<uint64_t> after = look(file);
    if (end.rank == 0 && !(isShared && before == &host))
      growOn(file, *before, after, pairs);
  }
  meet(end);
  for (float value : {3, 4})
    launch(1, 4096, value);
  return rank.failed;
}

TEST_P(StreamGPU, DoesNotTakeOldWordsForNew) {
  for (int devices : {1, 2}) {
    std::string bytes = gpuPlan("pair-ll-all_reduce", kind, devices == 1);
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads,
                          [&](const RankEnd &end) {
                            StreamRank rank(fake, end, bytes, kind, 10,
                                            devices);
                            return rank.failed
                                       ? 1
                                       : reachOldWords(rank, end, devices == 1);
                          }))
        << devices << " devices";
  }
}

TEST_P(StreamGPU, ReportsAnAbortInFlight) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              StreamRank rank(fake, end, bytes, kind);
              if (rank.failed)
                return 1;
              int failed = 0;
              // Rank 1 does not launch.
              if (end.rank == 0)
                failed += check(rank.reduce() == scclSuccess, "enqueue") +
                          check(rank.streams.isBusy(), "in flight");
              meet(end);
              if (end.rank == 1)
                scclCommAbort(rank.member.comm);
              failed += check(secondsToError(rank.member.comm) < 5, "in time");
              failed += check(scclCommGetError(rank.member.comm) ==
                                      scclErrorAborted &&
                                  messageHas("rank 1 has aborted"),
                              "abort") +
                        check(rank.reduce() == scclErrorAborted, "later");
              // The kernel ends by itself.
              rank.streams.wait();
              meet(end);
              return failed;
            }));
}

TEST_P(StreamGPU, ReportsATimeLimitInAGraph) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              StreamRank rank(fake, end, bytes, kind, 0.5);
              if (rank.failed)
                return 1;
              meet(end);
              rank.streams.beginCapture();
              meet(end);
              int failed = check(rank.reduce() == scclSuccess, "capture");
              meet(end);
              void *graph = rank.streams.endCapture();
              meet(end);
              // A stream that is idle has no limit.
              std::this_thread::sleep_for(std::chrono::milliseconds(800));
              failed += check(!scclCommGetError(rank.member.comm), "idle");
              meet(end);
              if (end.rank == 0)
                failed += check(!rank.streams.replay(graph), "replay");
              failed += check(secondsToError(rank.member.comm) < 5, "in time") +
                        check(scclCommGetError(rank.member.comm) ==
                                      scclErrorTimeout &&
                                  messageHas("rank 1 did not begin a launch "
                                             "that rank 0 waited in for"),
                              "a time limit");
              rank.streams.wait();
              rank.streams.drop(graph);
              meet(end);
              return failed;
            }));
}

TEST_P(StreamGPU, ReportsALostRankInFlight) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  // The dead process makes the result 1.
  EXPECT_EQ(1, runRanks(2, RanksAs::Processes, [&](const RankEnd &end) {
              StreamRank rank(fake, end, bytes, kind);
              if (rank.failed)
                return 2;
              if (end.rank == 1) {
                std::this_thread::sleep_for(std::chrono::milliseconds(200));
                kill(getpid(), SIGKILL);
              }
              int failed =
                  check(rank.reduce() == scclSuccess, "enqueue") +
                  check(secondsToError(rank.member.comm) < 5, "in time") +
                  check(scclCommGetError(rank.member.comm) ==
                                scclErrorRankLost &&
                            messageHas("process of rank 1 has ended"),
                        "a dead rank");
              rank.streams.wait();
              return failed ? 2 : 0;
            }));
}
