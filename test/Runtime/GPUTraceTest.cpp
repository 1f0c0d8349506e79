//===- GPUTraceTest.cpp - Tests of what kernels tell ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUStreams.h"

#include "sccl/sccl-trace.h"

#include <array>
#include <ctime>
#include <functional>

using namespace sccl;

namespace {
/// A rank that asks what it has done.
struct TracedRank : StreamRank {
  using StreamRank::StreamRank;
  const scclTraceEvent *events = nullptr;
  size_t numEvents = 0;

  scclResult read() { return scclQueryTrace(member.comm, &events, &numEvents); }
  int record(bool on) {
    return check(!scclCommTrace(member.comm, on), "record");
  }
  int launch(unsigned times, size_t elements = count) {
    for (unsigned i = 0; i < times; ++i)
      failed += check(!reduce(elements), "launch");
    return check(streams.wait() == 0, "wait");
  }
  /// Begins to record, and launches once. Returns the number of events.
  size_t recordOne(const RankEnd &end, size_t elements = count) {
    failed += record(true);
    meet(end);
    failed += launch(1, elements) + check(!read(), "read");
    return numEvents;
  }
  /// Each of so many launches has told the same.
  int expectLaunches(unsigned launches, size_t each) {
    return check(!read(), "read") +
           check(numEvents == launches * each,
                 std::to_string(numEvents) + " events, expected " +
                     std::to_string(launches * each));
  }
};

class TraceGPU : public EitherGPU {
protected:
  std::string plan(bool isVirtual = false) const {
    return gpuPlan("pair-traced-all_reduce", kind, isVirtual);
  }
  /// Two ranks do `body`; returns how many of them failed.
  int run(const std::string &bytes,
          const std::function<int(TracedRank &, const RankEnd &)> &body,
          int devices = 2) const {
    return runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
      TracedRank rank(fake, end, bytes, kind, 10, devices);
      if (rank.failed)
        return 1;
      int failed = body(rank, end);
      meet(end);
      return failed + rank.failed;
    });
  }
};

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

/// Events of one launch, between two times of the host.
int checkEvents(const TracedRank &rank, uint64_t from, uint64_t to) {
  bool hasWait = false, hasSignal = false;
  uint64_t bytes = 0, last = 0;
  int failed = 0;
  for (size_t i = 0; i < rank.numEvents; ++i) {
    const scclTraceEvent &event = rank.events[i];
    failed += check(from <= event.begin && event.begin <= event.end &&
                        event.end <= to && last <= event.begin,
                    "times");
    last = event.begin;
    hasWait |= event.kind == scclTraceWait && event.flag != 0;
    hasSignal |= event.kind == scclTraceSignal && event.value != 0;
    bytes += event.bytes;
  }
  return failed + check(hasWait && hasSignal, "flags") +
         check(bytes >= TracedRank::count * sizeof(float), "bytes");
}
} // namespace

INSTANTIATE_TEST_SUITE_P(GPU, TraceGPU,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

/// Launches and replays, for as long as somebody records.
static int tellOfAll(TracedRank &rank, const RankEnd &end) {
  int failed = rank.launch(2) + rank.expectLaunches(0, 0);
  meet(end);
  failed += check(!rank.streams.beginCapture(), "begin");
  meet(end);
  failed += check(!rank.reduce(), "capture") + check(!rank.reduce(), "again");
  meet(end);
  void *graph = rank.streams.endCapture();
  meet(end);
  uint64_t from = now();
  failed += rank.record(true);
  meet(end);
  failed += rank.launch(1) + check(!rank.read(), "read");
  size_t each = rank.numEvents;
  failed += checkEvents(rank, from, now()) + rank.launch(2) +
            rank.expectLaunches(3, each);
  // Two launches in each replay; nobody wants to know of those between.
  failed += check(!rank.streams.replay(graph), "replay") +
            check(!rank.streams.wait(), "wait") + rank.expectLaunches(5, each);
  meet(end);
  failed += rank.record(true) + rank.expectLaunches(0, each);
  meet(end);
  failed += rank.launch(1) + rank.expectLaunches(1, each);
  meet(end);
  failed += rank.record(false) + rank.launch(1) + rank.expectLaunches(0, each);
  rank.streams.drop(graph);
  return failed;
}

TEST_P(TraceGPU, TellsOfLaunchesAndReplays) {
  std::string bytes = plan();
  ASSERT_GE(plan::readPlan(bytes)->manifest.programs.size(), 3u);
  for (int program = 0; program < 3; ++program)
    EXPECT_EQ(0,
              run(bytes,
                  [&](TracedRank &rank, const RankEnd &end) {
                    scclChoice choice = {};
                    choice.size = sizeof(choice);
                    choice.program = program;
                    return check(!scclCommSetChoice(rank.member.comm,
                                                    rank.member.plan, &choice),
                                 "choice") +
                           tellOfAll(rank, end);
                  }))
        << "program " << program;
}

TEST_P(TraceGPU, TellsOfRanksThatShareADevice) {
  EXPECT_EQ(0, run(
                   plan(/*isVirtual=*/true),
                   [](TracedRank &rank, const RankEnd &end) {
                     uint64_t from = now();
                     int failed = rank.record(true);
                     meet(end);
                     failed += rank.launch(1) + check(!rank.read(), "read");
                     size_t each = rank.numEvents;
                     return failed + checkEvents(rank, from, now()) +
                            rank.launch(3) + rank.expectLaunches(4, each);
                   },
                   /*devices=*/1));
}

TEST_P(TraceGPU, CountsWhatThereIsNoMemoryFor) {
  EXPECT_EQ(0, run(plan(), [](TracedRank &rank, const RankEnd &end) {
              size_t each = rank.recordOne(end, 8);
              return rank.launch(4095 + 7, 8) +
                     check(rank.read() == scclErrorOutOfMemory &&
                               messageHas("no memory for 7 more launches"),
                           "lost") +
                     check(rank.numEvents == 4096 * each, "the rest");
            }));
}

TEST_P(TraceGPU, ReadsWhileALaunchIsUnderWay) {
  EXPECT_EQ(0, run(plan(), [](TracedRank &rank, const RankEnd &end) {
              size_t each = rank.recordOne(end);
              int failed = 0;
              meet(end);
              // Rank 0 cannot end without rank 1.
              if (end.rank == 0)
                failed += check(!rank.reduce(), "enqueue") +
                          check(rank.streams.isBusy(), "under way") +
                          rank.expectLaunches(1, each);
              meet(end);
              if (end.rank == 1)
                failed += check(!rank.reduce(), "enqueue");
              return failed + check(!rank.streams.wait(), "wait") +
                     rank.expectLaunches(2, each);
            }));
}

/// What a launch asks of the driver is the same, whoever records.
TEST_P(TraceGPU, AsksTheDriverForNoMore) {
  auto callsOf = [&](const std::string &bytes, bool records) {
    std::array<unsigned, 3> calls = {};
    EXPECT_EQ(0, run(bytes, [&](TracedRank &rank, const RankEnd &end) {
                int failed = rank.record(records);
                meet(end);
                if (end.rank == 0)
                  fake.reset();
                meet(end);
                failed += rank.launch(5);
                meet(end);
                if (end.rank == 0)
                  calls = {fake.launches(),
                           fake.calls("cuMemcpyAsync", "hipMemcpyAsync"),
                           fake.calls("cuMemsetD8Async", "hipMemsetD8Async")};
                return failed;
              }));
    return calls;
  };
  auto plain = callsOf(gpuPlan("pair-all_reduce", kind), false);
  EXPECT_EQ(plain[0], 10u);
  EXPECT_EQ(callsOf(plan(), false), plain);
  EXPECT_EQ(callsOf(plan(), true), plain);
}

TEST_P(TraceGPU, NeedsAClockWhoseRateIsKnown) {
  Setting none("SCCL_FAKE_CLOCK", "0");
  EXPECT_EQ(0, run(plan(), [&](TracedRank &rank, const RankEnd &end) {
              int failed = rank.record(true);
              meet(end);
              failed += rank.launch(1);
              scclResult code = rank.read();
              return failed + (kind == scclDeviceCUDA
                                   ? check(!code, "nanoseconds")
                                   : check(code == scclErrorUnsupported &&
                                               messageHas("not say how fast"),
                                           "no rate"));
            }));
}

TEST_P(TraceGPU, RecordsNothingOfCodeThatDoesNotTell) {
  EXPECT_EQ(0, run(gpuPlan("pair-all_reduce", kind),
                   [](TracedRank &rank, const RankEnd &end) {
                     int failed = rank.record(true);
                     meet(end);
                     return failed + rank.launch(2) + rank.expectLaunches(0, 0);
                   }));
}

/// Cannot begin, as call number `number` of `name` fails: then nothing is
/// recorded, until somebody asks for it again.
static int failToBegin(const Fake &fake, TracedRank &rank, const RankEnd &end,
                       const std::string &name, unsigned number) {
  int failed = 0;
  if (end.rank == 0) {
    fake.reset();
    Setting fail("SCCL_FAKE_FAIL", name + ":" + std::to_string(number));
    failed +=
        check(scclCommTrace(rank.member.comm, 1) == scclErrorDevice, "begin");
  }
  meet(end);
  failed += rank.launch(1);
  if (end.rank == 0)
    failed += rank.expectLaunches(0, 0);
  meet(end);
  return failed;
}

TEST_P(TraceGPU, RecordsNothingIfItCannotBegin) {
  Setting noOther("SCCL_FAKE_NO_UNCACHED", "1"); // the last way to get memory
  for (auto [name, calls] :
       {std::pair(fake.isCUDA ? "cuMemAlloc_v2" : "fine-grained", 2u),
        std::pair(fake.isCUDA ? "cuMemcpyAsync" : "hipMemcpyAsync", 6u)})
    for (unsigned number = 1; number <= calls; ++number)
      EXPECT_EQ(0, run(plan(),
                       [&](TracedRank &rank, const RankEnd &end) {
                         int failed =
                             failToBegin(fake, rank, end, name, number);
                         size_t each = rank.recordOne(end);
                         failed += check(each != 0, "after it");
                         meet(end);
                         // And while it is recording.
                         std::string copy =
                             fake.isCUDA ? "cuMemcpyAsync" : "hipMemcpyAsync";
                         failed += failToBegin(fake, rank, end, copy, calls);
                         return failed +
                                check(rank.recordOne(end) == each, "as before");
                       }))
          << name << " number " << number;
}
