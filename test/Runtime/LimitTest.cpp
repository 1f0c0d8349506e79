//===- LimitTest.cpp - Tests of what the system does not grant ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include "sccl/Model/AvailableMemory.h"
#include "sccl/Plan/Plan.h"

#include <filesystem>
#include <functional>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace sccl;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// A folder with files of /proc and /sys as another machine would have them.
class FakeRoot {
public:
  FakeRoot()
      : path(testing::TempDir() + "sccl-root-" + std::to_string(getpid())) {}
  ~FakeRoot() { fs::remove_all(path); }
  void write(const std::string &name, const std::string &text) {
    fs::create_directories(fs::path(path + name).parent_path());
    std::ofstream(path + name) << text;
  }
  /// In sixteenths, of which one is held back.
  void expect(uint64_t bytes) {
    EXPECT_EQ(availableMemory(path), bytes / 16 * 15);
  }
  std::string path;
};

/// Sets the soft limit of a resource for a while.
class SoftLimit {
public:
  SoftLimit(__rlimit_resource_t kind, rlim_t value) : kind(kind) {
    getrlimit(kind, &before);
    rlimit changed = {value, before.rlim_max};
    setrlimit(kind, &changed);
  }
  ~SoftLimit() { setrlimit(kind, &before); }

private:
  __rlimit_resource_t kind;
  rlimit before;
};
} // namespace

static const std::string memInfo =
    "MemTotal:       64000 kB\nMemFree:        1600 kB\n"
    "MemAvailable:   32000 kB\nBuffers:        10 kB\n";

TEST(Limits, AsksTheMachineForMemory) {
  FakeRoot root;
  EXPECT_EQ(availableMemory(root.path), UINT64_MAX);
  root.write("/proc/meminfo", "MemTotal: 64000 kB\n");
  EXPECT_EQ(availableMemory(root.path), UINT64_MAX);
  root.write("/proc/meminfo", memInfo);
  root.expect(32000 * 1024);
  EXPECT_GT(availableMemory(), 0u);
  EXPECT_LT(availableMemory(), uint64_t(1) << 46);
}

TEST(Limits, AsksControlGroupsForMemory) {
  FakeRoot root;
  root.write("/proc/meminfo", memInfo);
  root.write("/proc/thread-self/cgroup", "0::/a/b\n");
  std::string group = "/sys/fs/cgroup/a";
  root.write(group + "/b/memory.max", "max\n");
  root.write(group + "/b/memory.current", "160000\n");
  root.expect(32000 * 1024);
  // The group around it has a limit; files in memory do not count.
  root.write(group + "/memory.max", "3200000\n");
  root.write(group + "/memory.current", "1600000\n");
  root.expect(1600000);
  root.write(group + "/memory.stat", "anon 7\ninactive_file 800000\nx 9\n");
  root.expect(2400000);
  root.write(group + "/memory.max", "160000\n");
  root.expect(0);
}

TEST(Limits, AsksOldControlGroupsForMemory) {
  FakeRoot root;
  root.write("/proc/meminfo", memInfo);
  root.write("/proc/thread-self/cgroup",
             "5:memory,hugetlb:/far/away\n4:cpu:/\n0::/\n");
  std::string group = "/sys/fs/cgroup/memory";
  root.write(group + "/memory.limit_in_bytes", "9223372036854771712\n");
  root.write(group + "/memory.usage_in_bytes", "1600000\n");
  root.expect(32000 * 1024);
  // A container may see its own group as the top.
  root.write(group + "/memory.limit_in_bytes", "3200000\n");
  root.expect(1600000);
  root.write(group + "/memory.stat", "cache 5\ntotal_inactive_file 160000\n");
  root.expect(1760000);
}

/// Fails if the allocation succeeds, or for another reason.
static int refusesMemory(Member &member, size_t bytes, const char *message) {
  void *memory = nullptr;
  return check(scclMemAlloc(member.comm, bytes, &memory) ==
                       scclErrorOutOfMemory &&
                   messageHas(message) && !memory,
               message);
}

TEST(Limits, RefusesMoreMemoryThanThereIs) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              Member member;
              if (check(!member.join(end, allReduce), "join"))
                return 1;
              // Should the check be missing, this keeps the machine alive.
              SoftLimit files(RLIMIT_FSIZE, 1 << 20);
              // All of it for each rank is too much for both together.
              int failed =
                  refusesMemory(member, size_t(1) << 46, " bytes each, ");
              std::vector<uint64_t> shares;
              end.gather(availableMemory() / 4 * 3, shares);
              failed += refusesMemory(member, shares[0],
                                      " are available for all of them");
              void *memory = nullptr;
              return failed +
                     check(!scclMemAlloc(member.comm, 4096, &memory), "4 KiB");
            }));
}

/// The plan `path` with so many slots of scratch in each program that own
/// buffers for segments of 2^40 bytes come to 2^64.
static std::string withScratch(const char *path) {
  Result<plan::Plan> plan = plan::readPlan(readFile(path));
  unsigned slots = plan::Limits::slots;
  for (plan::ProgramEntry &program : plan->manifest.programs)
    for (RankNeeds &needs : program.ranks)
      // Those that announce themselves have theirs in common. An input and an
      // output are two slots each.
      needs.scratchSlots = program.announcesReady ? slots : slots - 4;
  // Each is chosen for such segments, so that none has less scratch.
  constexpr uint64_t most = uint64_t(1) << 40;
  for (plan::SizeTable &table : plan->manifest.tables) {
    plan::SizeChoice choice = table.choices.front();
    choice.pieceBytes = most;
    table.choices.clear();
    for (unsigned i = 0; i < plan->manifest.programs.size(); ++i) {
      choice.program = i;
      choice.firstByte = i == 0 ? 0 : most + i;
      table.choices.push_back(choice);
    }
  }
  Result<std::string> bytes = plan::serialize(*plan);
  return bytes ? *bytes : bytes.error();
}

TEST(Limits, CountsMoreMemoryThanAddressesReach) {
  std::string bytes = withScratch(allReduce);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              config.scratchBytes = SIZE_MAX;
              return check(!scclPlanLoadMemory(bytes.data(), bytes.size(),
                                               &member.plan),
                           "plan") ||
                     check(member.join(end, config, 2) ==
                                   scclErrorOutOfMemory &&
                               messageHas("18446744073709551360 bytes"),
                           "2^64 bytes");
            }));
}

TEST(Limits, SurvivesAPlanThatIsCutOff) {
  std::string bytes = readFile(allReduce);
  // What is left: the manifest, less than that.
  for (size_t left : {bytes.size() / 2, size_t(100), size_t(0)})
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                std::string path = testing::TempDir() + "sccl-cut-" +
                                   std::to_string(getpid()) + "-" +
                                   std::to_string(end.rank);
                std::ofstream(path, std::ios::binary) << bytes;
                Member member;
                int failed =
                    check(!scclPlanLoad(path.c_str(), &member.plan), "plan");
                std::filesystem::resize_file(path, left);
                failed += check(member.join(end, SCCL_CONFIG_INITIALIZER, 2) ==
                                    scclErrorInvalidPlan,
                                "code");
                std::filesystem::remove(path);
                return failed;
              }));
}

TEST(Limits, KeepsToTheSizeOfFiles) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              Member member;
              if (check(!member.join(end, allReduce), "join"))
                return 1;
              SoftLimit files(RLIMIT_FSIZE, 1 << 20);
              void *memory = nullptr;
              int failed =
                  refusesMemory(member, 1 << 20, "ulimit -f, is 1048576") +
                  check(!scclMemAlloc(member.comm, 1 << 19, &memory), "half");
              // Code is in files, too.
              SoftLimit none(RLIMIT_FSIZE, 100);
              Member other;
              return failed +
                     check(other.join(end, allReduce) == scclErrorOutOfMemory &&
                               messageHas("ulimit -f, is 100"),
                           "join with a limit of 100 bytes");
            }));
}

TEST_P(EitherWay, RefusesToAllocateDifferentSizes) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              void *memory = nullptr;
              return check(!member.join(end, allReduce) &&
                               scclMemAlloc(member.comm, 4096 << end.rank,
                                            &memory) == scclErrorMismatch &&
                               messageHas("bytes, rank"),
                           "different sizes");
            }));
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

TEST(Limits, TakesNobodyForDeadWithoutDescriptors) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              Member member;
              if (check(!member.join(end, allReduce), "join"))
                return 1;
              SoftLimit files(RLIMIT_NOFILE, 0);
              // Rank 0 looks after rank 1 many times meanwhile.
              if (end.rank == 1)
                usleep(400000);
              std::vector<float> a(10), b(10);
              return reduceOnce(member, end, a.data(), b.data(), a.size());
            }));
}

TEST(Limits, SaysWhatIsMissingWithoutDescriptors) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              Member member;
              if (check(!scclPlanLoad(allReduce, &member.plan), "load"))
                return 1;
              SoftLimit files(RLIMIT_NOFILE, end.rank == 1 ? 0 : 64);
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              return check(member.join(end, config, 2) == scclErrorSystem &&
                               messageHas("Too many open files"),
                           "join");
            }));
}

/// Ends the main thread of this process, as pthread_exit does, and goes on in
/// another one.
static int runWithoutMainThread(std::function<int()> body) {
  std::thread([body] {
    std::string text;
    while (text.find(") Z") == std::string::npos)
      text = readFile("/proc/self/stat");
    int code = body();
    fflush(stderr);
    _exit(code);
  }).detach();
  syscall(SYS_exit, 0);
  return 1;
}

TEST(Limits, NeedsNoMainThread) {
  for (const char *plan : {allReduce, exchange})
    EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [=](const RankEnd &end) {
                auto body = [=] {
                  Member member;
                  if (check(!member.join(end, plan), "join"))
                    return 1;
                  void *memory = nullptr;
                  std::vector<float> a(100000), b(100000);
                  int failed =
                      check(!scclMemAlloc(member.comm, 4096, &memory), "alloc");
                  // Long enough for the others to look after this process.
                  if (end.rank == 0)
                    usleep(200000);
                  for (size_t count : {size_t(10), a.size()})
                    failed +=
                        reduceOnce(member, end, a.data(), b.data(), count);
                  meet(end);
                  return failed;
                };
                return end.rank == 0 ? runWithoutMainThread(body) : body();
              }));
}
