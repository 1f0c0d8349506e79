//===- GrowthTest.cpp - Nothing grows over many launches ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks launch, now and later, register memory, launch from it and give it
// back. What they hold at the end is what they held after the first eighth:
// descriptors and mappings; of memory only a little more, because the copies of
// messages are touched one after the other. In long runs the fastest launch is
// as fast as at first.
//
// SCCL_LAUNCHES=1000000 launches so often in each way, the suite 2,000 times.
//
//===----------------------------------------------------------------------===//

#include "LongRun.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <malloc.h>

using namespace sccl;

namespace {
/// What a process holds.
struct Holdings {
  uint64_t files, mappings, heapBytes, residentBytes;

  static Holdings now() {
    namespace fs = std::filesystem;
    Holdings held = {};
    held.files = std::distance(fs::directory_iterator("/proc/self/fd"),
                               fs::directory_iterator());
    std::ifstream maps("/proc/self/maps");
    std::string line;
    while (std::getline(maps, line))
      held.mappings += line.find("memfd:sccl") != std::string::npos;
    uint64_t pages;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    held.residentBytes = pages * 4096;
    held.heapBytes = mallinfo2().uordblks;
    return held;
  }
};

/// CPU time of this thread, seconds.
double ownSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

uint64_t wantedLaunches() {
  const char *wanted = getenv("SCCL_LAUNCHES");
  return wanted ? strtoull(wanted, nullptr, 10) : 0;
}

/// Sanitizers keep what is freed.
constexpr bool countsMemory =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    false;
#else
    true;
#endif

class Growth : public LongRun {
public:
  using LongRun::LongRun;

  int run() {
    uint64_t wanted = wantedLaunches();
    total = std::max<uint64_t>(wanted ? wanted : 2000, 800);
    held.reserve(numParts);
    for (unsigned part = 0; part < numParts && !failed; ++part) {
      launchPart(part);
      meet(end);
      // Ranks that are threads of one process hold the same.
      if (end.rank == 0 || way.ranks == RanksAs::Processes)
        held.push_back(Holdings::now());
      meet(end);
    }
    if (failed)
      return 1;
    return held.empty() ? 0 : judge(wanted != 0);
  }

private:
  static constexpr unsigned numParts = 8;

  void launchPart(unsigned part) {
    uint64_t first = total * part / numParts;
    uint64_t last = total * (part + 1) / numParts;
    fastest[part] = 1e9;
    for (uint64_t number = first; number < last && !failed; ++number) {
      size_t count = number % 16 == 0 ? 1 + number * 37 % most : 64;
      double begin = ownSeconds();
      failed = number % 100 == 50   ? !launchRegistered(number, count)
               : number % 100 == 75 ? !launchLater(number, count)
                                    : !launch(number, count);
      if (count == 64)
        fastest[part] = std::min(fastest[part], ownSeconds() - begin);
    }
  }

  /// From memory that is registered for this launch.
  bool launchRegistered(uint64_t number, size_t count) {
    void *memory[2] = {};
    for (void *&each : memory)
      if (check(!scclMemAlloc(member.comm, 2 * most * sizeof(float), &each),
                "scclMemAlloc"))
        return false;
    bool right = launch(number, count, static_cast<float *>(memory[0]),
                        static_cast<float *>(memory[1]));
    for (void *each : memory)
      right &= check(!scclMemFree(member.comm, each), "scclMemFree") == 0;
    return right;
  }

  bool launchLater(uint64_t number, size_t count) {
    uint64_t ticket = 0;
    later.assign(4 * most, 1);
    float *recv = later.data() + 2 * most;
    bool done =
        !check(!scclLaunchAsync(member.comm, member.plan, later.data(), recv,
                                count, scclFloat32, scclSum, &ticket),
               "scclLaunchAsync") &&
        !check(!scclWait(member.comm, ticket), "scclWait");
    return done && !check(recv[0] == (way.reduces ? 2 : 1), "a later launch");
  }

  int judge(bool isLong) const {
    const Holdings &early = held.front(), &late = held.back();
    std::string name = std::string(way.name) + ": ";
    int wrong = check(late.files == early.files, name + "descriptors") +
                check(late.mappings == early.mappings, name + "mappings");
    if (countsMemory)
      wrong +=
          check(late.heapBytes <= early.heapBytes + (64 << 10), name + "heap") +
          check(late.residentBytes <= early.residentBytes + (4 << 20),
                name + "memory");
    if (!isLong)
      return wrong;
    printf("%s: %llu launches, heap %+lld bytes, memory %+lld KiB, "
           "fastest %.2f us at first, %.2f at last\n",
           way.name, (unsigned long long)total,
           (long long)(late.heapBytes - early.heapBytes),
           (long long)(late.residentBytes - early.residentBytes) / 1024,
           fastest[0] * 1e6, fastest[numParts - 1] * 1e6);
    fflush(stdout);
    return wrong + check(fastest[numParts - 1] <= 2 * fastest[0] + 5e-6,
                         name + "time of a launch");
  }

  uint64_t total = 0;
  double fastest[numParts]; ///< seconds of a launch, by part
  std::vector<float> later;
  std::vector<Holdings> held; ///< after each part
};
} // namespace

TEST(Growth, HoldsNoMoreAfterManyLaunches) {
  for (const LongWay &way : longWays) {
    LoopNetwork network;
    EXPECT_EQ(0, runRanks(2, way.ranks,
                          [&](const RankEnd &end) {
                            return Growth(end, way, network).run();
                          }))
        << way.name;
  }
}
