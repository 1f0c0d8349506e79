//===- GPUSharingTest.cpp - Tests of ranks that share a GPU ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUTesting.h"

using namespace sccl;

namespace {
class SharedGPU : public EitherGPU {};
} // namespace
INSTANTIATE_TEST_SUITE_P(GPU, SharedGPU,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

TEST_P(SharedGPU, CollectsOnOneDevice) {
  for (auto [name, ranks, gathers] :
       {std::tuple{"pair-halves-all_reduce", 2, false},
        {"pair-all_reduce", 2, false},
        {"ring4-all_gather", 4, true},
        {"ring4-table-all_gather", 4, true}}) {
    std::string bytes = gpuPlan(name, kind, true);
    // All on one, and two on each of two.
    for (int devices : {1, 2})
      EXPECT_EQ(0, runRanks(ranks, RanksAs::Threads, [&](const RankEnd &end) {
                  return collectAll(end, bytes, kind, gathers, nullptr,
                                    devices);
                }));
  }
}

TEST_P(SharedGPU, LaunchesOnceForAllRanks) {
  std::string bytes = gpuPlan("ring4-all_gather", kind, true);
  EXPECT_EQ(0, runRanks(4, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              if (check(!join(member, end, bytes, kind, 10, 1), "join"))
                return 1;
              constexpr size_t count = 1000;
              void *send = nullptr, *recv = nullptr;
              scclMemAlloc(member.comm, count * 4, &send);
              scclMemAlloc(member.comm, count * 16, &recv);
              int failed = 0;
              for (unsigned launch = 0; launch < 3; ++launch) {
                bool isRight = false;
                failed += check(!collect(member, end, true, count, send, recv,
                                         nullptr, isRight) &&
                                    isRight,
                                "all ranks of one kernel");
              }
              meet(end);
              return failed;
            }));
  EXPECT_EQ(fake.launches(), 3u);
  // Ranks share what they load.
  EXPECT_EQ(fake.calls("cuModuleLoadDataEx", "hipModuleLoadData"),
            plan::parse(bytes)->manifest.kernels.size());
}

TEST_P(SharedGPU, RefusesToShareADeviceOtherwise) {
  expectFailure(scclErrorUnsupported,
                "2 ranks share device 0000:00:00.0, and kernels of several "
                "ranks are not promised to run at the same time; compile the "
                "plan with --virtual-ranks",
                /*devices=*/1);
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind, true);
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [&](const RankEnd &end) {
              Member member;
              return check(join(member, end, bytes, kind, 10, 1) ==
                                   scclErrorUnsupported &&
                               messageHas("ranks 0 and 1 share device "
                                          "0000:00:00.0, and are not threads "
                                          "of one process"),
                           "processes on one device");
            }));
  EXPECT_EQ(fake.launches(), 0u);
}

TEST_P(SharedGPU, GivesUpOnALateRankOfItsDevice) {
  std::string bytes = gpuPlan("ring4-all_gather", kind, true);
  for (unsigned late : {0u, 2u}) {
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(0, runRanks(4, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                if (check(!join(member, end, bytes, kind, 0.3, 1), "join"))
                  return 1;
                void *send = nullptr, *recv = nullptr;
                scclMemAlloc(member.comm, 4096, &send);
                scclMemAlloc(member.comm, 4 * 4096, &recv);
                if (end.rank == late)
                  std::this_thread::sleep_for(std::chrono::milliseconds(900));
                scclResult code =
                    scclLaunch(member.comm, member.plan, send, recv, 1000,
                               scclFloat32, scclSum, nullptr);
                meet(end);
                return check(code == scclErrorTimeout &&
                                 messageHas("rank " + std::to_string(late) +
                                            " did not begin a launch"),
                             "a late rank");
              }));
    EXPECT_LT(std::chrono::steady_clock::now() - begin,
              std::chrono::seconds(5));
  }
}

TEST_P(SharedGPU, TellsAllRanksOfAFailure) {
  std::string bytes = gpuPlan("ring4-all_gather", kind, true);
  // Each rank copies its tables at first, and the number of its launches; the
  // copy after these is that of the arguments.
  for (auto [cuda, hip, number] :
       {std::tuple{"cuLaunchCooperativeKernel",
                   "hipModuleLaunchCooperativeKernel", "1"},
        {"cuMemcpyAsync", "hipMemcpyAsync", "9"}}) {
    fake.reset();
    std::string name = fake.isCUDA ? cuda : hip;
    Setting fail("SCCL_FAKE_FAIL", name + ":" + number);
    EXPECT_EQ(0, runRanks(4, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                if (check(!join(member, end, bytes, kind, 2, 1), "join"))
                  return 1;
                void *send = nullptr, *recv = nullptr;
                scclMemAlloc(member.comm, 4096, &send);
                scclMemAlloc(member.comm, 4 * 4096, &recv);
                scclResult code =
                    scclLaunch(member.comm, member.plan, send, recv, 1000,
                               scclFloat32, scclSum, nullptr);
                // The leader names the call, the others the leader.
                bool isTold =
                    messageHas(end.rank == 0 ? name + " failed: told to fail"
                                             : "failed on rank 0");
                meet(end);
                return check(code == scclErrorDevice && isTold, name);
              }));
    EXPECT_EQ(fake.live(), 0u) << name;
  }
}

TEST_P(SharedGPU, NoticesDifferentCallsOnOneDevice) {
  // Copying through own buffers, so nothing else compares calls.
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind, true);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              if (check(!join(member, end, bytes, kind, 10, 1), "join"))
                return 1;
              void *send = nullptr, *recv = nullptr;
              scclMemAlloc(member.comm, 4096, &send);
              scclMemAlloc(member.comm, 4096, &recv);
              scclChoice choice = {};
              choice.size = sizeof(choice);
              choice.program = int(end.rank);
              choice.path = scclPathStaging;
              int failed =
                  check(!scclCommSetChoice(member.comm, member.plan, &choice),
                        "choice") +
                  check(scclLaunch(member.comm, member.plan, send, recv, 1000,
                                   scclFloat32, scclSum,
                                   nullptr) == scclErrorMismatch,
                        "different programs");
              meet(end);
              return failed;
            }));
}

TEST_P(SharedGPU, CountsTheRanksOfADevice) {
  Setting small("SCCL_FAKE_SMS", "1"), few("SCCL_FAKE_BLOCKS", "3");
  std::string shared = gpuPlan("pair-halves-all_reduce", kind, true);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              return check(
                  join(member, end, shared, kind, 10, 1) ==
                          scclErrorUnsupported &&
                      messageHas("a kernel needs 4 blocks of 1 threads "
                                 "at once, and this GPU holds 3"),
                  "too many blocks of all ranks");
            }));
  // On a device each they fit.
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              return collectAll(end, bytes, kind, false, nullptr);
            }));
}
