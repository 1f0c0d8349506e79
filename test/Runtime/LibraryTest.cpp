//===- LibraryTest.cpp - Tests of libsccl ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include "sccl/Plan/Plan.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace sccl;

INSTANTIATE_TEST_SUITE_P(Library, EitherWay,
                         testing::Values(RanksAs::Threads, RanksAs::Processes),
                         [](const auto &info) {
                           return ranksAsName(info.param).str();
                         });

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

TEST(Library, KnowsItsVersion) {
  int version = 0;
  EXPECT_EQ(scclGetVersion(&version), scclSuccess);
  EXPECT_EQ(version, SCCL_VERSION_CODE);
  EXPECT_EQ(scclGetVersion(nullptr), scclErrorInvalidArgument);
  EXPECT_STREQ(scclErrorString(scclErrorBusy), "a launch is in flight");
  EXPECT_STREQ(scclErrorString(scclResult(99)), "unknown result code");
}

TEST(Library, DescribesAPlan) {
  scclPlan plan = nullptr;
  ASSERT_EQ(scclPlanLoad(allReduce, &plan), scclSuccess);
  scclPlanInfo info = {};
  EXPECT_EQ(scclPlanGetInfo(plan, &info), scclErrorInvalidArgument);
  EXPECT_TRUE(messageHas("info.size is 0"));
  info.size = sizeof(info);
  EXPECT_EQ(scclPlanGetInfo(plan, &info), scclSuccess);
  EXPECT_STREQ(info.collective, "all_reduce");
  EXPECT_EQ(info.ranks, 2);
  EXPECT_EQ(info.combining, 1);
  EXPECT_EQ(strlen(info.hash), 64u);
  EXPECT_EQ(std::string(info.targets).substr(0, 6), "x86-64");
  // As a program passes it that was compiled before there were targets.
  info.targets = nullptr;
  info.size = offsetof(scclPlanInfo, targets);
  EXPECT_EQ(scclPlanGetInfo(plan, &info), scclSuccess);
  EXPECT_EQ(info.targets, nullptr);
  EXPECT_EQ(scclPlanDestroy(plan), scclSuccess);
}

TEST(Library, RefusesBadPlans) {
  scclPlan plan = nullptr;
  EXPECT_EQ(scclPlanLoad("/nonexistent.sccl", &plan), scclErrorSystem);
  EXPECT_TRUE(messageHas("cannot open /nonexistent.sccl: No such file"));
  EXPECT_EQ(scclPlanLoad("/", &plan), scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("/ is no regular file"));
  EXPECT_EQ(scclPlanLoad(nullptr, &plan), scclErrorInvalidArgument);
  EXPECT_EQ(scclPlanLoad("/proc/self/exe", &plan), scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("this is no sccl plan"));
  std::string bytes = readFile(allReduce);
  ASSERT_FALSE(bytes.empty());
  for (size_t size : {size_t(0), size_t(30), size_t(64), bytes.size() - 1})
    EXPECT_EQ(scclPlanLoadMemory(bytes.data(), size, &plan),
              scclErrorInvalidPlan);
  size_t end = *plan::headBytes(bytes, bytes.size()); // the rest comes later
  for (size_t i = 0; i < end; i += 211) {
    bytes[i] ^= 4;
    EXPECT_EQ(scclPlanLoadMemory(bytes.data(), bytes.size(), &plan),
              scclErrorInvalidPlan)
        << i;
    bytes[i] ^= 4;
  }
  bytes[8] = 9;
  EXPECT_EQ(scclPlanLoadMemory(bytes.data(), bytes.size(), &plan),
            scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("format version 9, this is for version 4"));
  EXPECT_EQ(plan, nullptr);
}

TEST(Library, RefusesAPipeWithoutWaiting) {
  std::string path =
      testing::TempDir() + "sccl-pipe-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  scclPlan plan = nullptr;
  alarm(20);
  EXPECT_EQ(scclPlanLoad(path.c_str(), &plan), scclErrorInvalidPlan);
  alarm(0);
  EXPECT_TRUE(messageHas("is no regular file"));
  unlink(path.c_str());
}

namespace {
/// A value that an environment variable has while this lives.
struct Setting {
  Setting(const char *name, const char *value) : name(name) {
    setenv(name, value, 1);
  }
  ~Setting() { unsetenv(name); }
  Setting(const Setting &) = delete;
  const char *name;
};
} // namespace

/// A plan is code: whoever may write its file is who the process obeys.
TEST(Library, RefusesPlansThatOthersMayWrite) {
  std::string path =
      testing::TempDir() + "sccl-shared-" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << readFile(allReduce);
  auto load = [&] {
    scclPlan plan = nullptr;
    scclResult result = scclPlanLoad(path.c_str(), &plan);
    scclPlanDestroy(plan);
    return result;
  };
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(load(), scclSuccess);
  ASSERT_EQ(chmod(path.c_str(), 0646), 0);
  EXPECT_EQ(load(), scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas(path + " is code that may be changed by all users"));
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  EXPECT_EQ(load(), scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("changed by its group"));
  {
    Setting any("SCCL_PLAN_WRITERS", "any");
    EXPECT_EQ(load(), scclSuccess);
    Setting wrong("SCCL_PLAN_WRITERS", "me");
    EXPECT_EQ(load(), scclErrorInvalidPlan);
    EXPECT_TRUE(messageHas("SCCL_PLAN_WRITERS is 'me', expected any"));
  }
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(load(), scclSuccess);
  if (chown(path.c_str(), geteuid() + 4242, -1) == 0) { // root alone may
    EXPECT_EQ(load(), scclErrorInvalidPlan);
    EXPECT_TRUE(messageHas("owner, user " + std::to_string(geteuid() + 4242)));
  }
  unlink(path.c_str());
}

TEST(Library, ExecutesNothingButPTXIfToldSo) {
  std::string bytes = readFile(ptxOnly);
  Result<plan::Plan> assembled = plan::readPlan(bytes);
  ASSERT_TRUE(assembled);
  for (plan::KernelInfo &kernel : assembled->manifest.kernels)
    kernel.format = "cubin";
  std::string cubin = *plan::serialize(*assembled);
  auto load = [](const std::string &bytes) {
    scclPlan plan = nullptr;
    scclResult result = scclPlanLoadMemory(bytes.data(), bytes.size(), &plan);
    scclPlanDestroy(plan);
    return result;
  };
  EXPECT_EQ(load(cubin), scclSuccess);
  Setting ptx("SCCL_PLAN_CODE", "ptx");
  EXPECT_EQ(load(bytes), scclSuccess);
  for (const std::string &machineCode : {cubin, readFile(allReduce)}) {
    EXPECT_EQ(load(machineCode), scclErrorInvalidPlan);
    EXPECT_TRUE(messageHas("no PTX, and SCCL_PLAN_CODE=ptx allows nothing"));
  }
  Setting wrong("SCCL_PLAN_CODE", "PTX");
  EXPECT_EQ(load(bytes), scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("SCCL_PLAN_CODE is 'PTX', expected ptx"));
}

/// Of a plan with code of both kinds, CPUs get none.
TEST(Library, LeavesHostCodeAloneIfToldSo) {
  Setting ptx("SCCL_PLAN_CODE", "ptx");
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [](const RankEnd &end) {
              Member member;
              return check(member.join(end, bothKinds) ==
                                   scclErrorUnsupported &&
                               messageHas("it has code for: sm_90"),
                           "host code");
            }));
}

/// The time does not depend on code for other devices.
TEST(Library, LoadsFast) {
  std::string bytes = readFile(allReduce);
  Result<plan::Plan> read = plan::readPlan(bytes);
  ASSERT_TRUE(bool(read)) << read.error();
  plan::Plan &large = *read;
  large.blobs.resize(large.blobs.size() + 10, std::string(500000, 'x'));
  bytes = *plan::serialize(large);
  double best = 1;
  for (unsigned i = 0; i < 20; ++i) {
    Stopwatch watch;
    scclPlan plan = nullptr;
    ASSERT_EQ(scclPlanLoadMemory(bytes.data(), bytes.size(), &plan),
              scclSuccess);
    best = std::min(best, watch.seconds());
    scclPlanDestroy(plan);
  }
  EXPECT_LT(best, 0.010);
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

TEST_P(EitherWay, RefusesTheWrongNumberOfRanks) {
  EXPECT_EQ(0, runRanks(3, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(member.join(end, allReduce) == scclErrorMismatch &&
                               messageHas("is for 2 ranks, and there are 3"),
                           "three ranks");
            }));
}

TEST_P(EitherWay, RefusesDifferentPlans) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(
                  member.join(end, end.rank == 0 ? allReduce : ptxOnly) ==
                          scclErrorMismatch &&
                      messageHas("has another plan") && messageHas("(M1)"),
                  "different plans");
            }));
}

TEST_P(EitherWay, FailsForAllIfOneFails) {
  // Rank 1 asks for a device that there is not.
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              scclPlanLoad(allReduce, &member.plan);
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              config.scratchBytes = end.rank == 1 ? 1 : 0;
              scclResult result = member.join(end, config, 2);
              return check(result == scclErrorOutOfMemory &&
                               messageHas("bytes of memory, which is more"),
                           "scratch memory of 1 byte");
            }));
}

TEST(Library, RefusesBadArgumentsOfInit) {
  Member member;
  ASSERT_EQ(scclPlanLoad(allReduce, &member.plan), scclSuccess);
  auto never = [](void *, const void *, void *, size_t) { return 1; };
  auto init = [&](int rank, int ranks, const scclConfig *config) {
    return scclCommInit(rank, ranks, never, nullptr, config, &member.comm);
  };
  EXPECT_EQ(init(2, 2, nullptr), scclErrorInvalidArgument);
  EXPECT_EQ(init(-1, 2, nullptr), scclErrorInvalidArgument);
  EXPECT_EQ(init(0, 0, nullptr), scclErrorInvalidArgument);
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = 0;
  EXPECT_EQ(init(0, 2, &config), scclErrorInvalidArgument);
  config = SCCL_CONFIG_INITIALIZER;
  config.size = 4;
  EXPECT_EQ(init(0, 2, &config), scclErrorInvalidArgument);
  EXPECT_EQ(init(0, 2, nullptr), scclErrorSystem);
  EXPECT_TRUE(messageHas("all-gather failed"));
  EXPECT_EQ(scclCommInit(0, 2, nullptr, nullptr, nullptr, &member.comm),
            scclErrorInvalidArgument);
}

TEST_P(EitherWay, RefusesDamagedCode) {
  std::string bytes = readFile(allReduce);
  size_t code = bytes.find("\x7f"
                           "ELF");
  ASSERT_NE(code, std::string::npos);
  bytes[code + 200] ^= 4;
  EXPECT_EQ(0, runRanks(2, GetParam(), [&](const RankEnd &end) {
              Member member;
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              return check(!scclPlanLoadMemory(bytes.data(), bytes.size(),
                                               &member.plan) &&
                               member.join(end, config, 2) ==
                                   scclErrorInvalidPlan &&
                               messageHas("blob 0 does not have the SHA-256"),
                           "damaged code");
            }));
}

TEST_P(EitherWay, RefusesAPlanForOtherDevices) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(member.join(end, ptxOnly) == scclErrorUnsupported &&
                               messageHas("it has code for: sm_90"),
                           "a plan without code for CPUs");
            }));
}

//===----------------------------------------------------------------------===//
// Leaving
//===----------------------------------------------------------------------===//

/// Open files and mappings of shared memory of this process.
static std::string resources() {
  namespace fs = std::filesystem;
  auto count = [](const char *path) {
    return std::distance(fs::directory_iterator(path),
                         fs::directory_iterator());
  };
  std::ifstream maps("/proc/self/maps");
  std::string line;
  unsigned shared = 0;
  while (std::getline(maps, line))
    shared += line.find("memfd:sccl") != std::string::npos;
  return std::to_string(count("/proc/self/fd")) + " files, " +
         std::to_string(shared) + " mappings, " +
         std::to_string(count("/dev/shm")) + " names";
}

// Finalizers of languages with garbage may run twice, and in any order.
TEST_P(EitherWay, DestroysOnce) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(!member.join(end, allReduce), "join"))
                return 1;
              std::vector<float> data(10);
              std::vector<scclComm> others(20);
              int failed = check(!scclPlanDestroy(member.plan) &&
                                     !scclPlanDestroy(member.plan),
                                 "the plan");
              failed += check(member.launch(data.data(), data.data(), 10) ==
                                      scclErrorInvalidArgument &&
                                  messageHas("the plan was destroyed"),
                              "a launch of it");
              scclPlanInfo info = {};
              info.size = sizeof info;
              failed += check(scclPlanGetInfo(member.plan, &info) ==
                                  scclErrorInvalidArgument,
                              "what it is for");
              failed +=
                  check(!scclCommDestroy(member.comm), "the communicator");
              for (scclComm &other : others)
                failed += check(!scclCommInit(end.rank, 2, end.allGather,
                                              end.context, nullptr, &other),
                                "another one");
              failed +=
                  check(!scclCommDestroy(member.comm), "the old one again");
              int rank = 0;
              failed += check(scclCommRank(member.comm, &rank) ==
                                      scclErrorInvalidArgument &&
                                  messageHas("comm was destroyed"),
                              "its rank");
              for (scclComm other : others)
                failed += check(!scclCommRank(other, &rank) &&
                                    rank == end.rank && !scclCommDestroy(other),
                                "others stay");
              return failed;
            }));
}

TEST(Library, ReleasesWhatItTakes) {
  std::string before = resources();
  for (unsigned round = 0; round < 3; ++round)
    EXPECT_EQ(0, runRanks(4, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                void *memory = nullptr;
                std::vector<int> all;
                int failed = check(!member.join(end, allGather), "join") +
                             check(!scclMemAlloc(member.comm, 4096, &memory),
                                   "scclMemAlloc");
                std::vector<float> a(100), b(400);
                failed += check(!member.launch(a.data(), b.data(), 100), "run");
                end.gather(0, all);
                return failed;
              }));
  EXPECT_EQ(resources(), before);
}
