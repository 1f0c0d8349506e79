//===- GPUBudgetTest.cpp - Tests of how many blocks launches have ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUTesting.h"

using namespace sccl;

namespace {
/// Elements of a segment that give each of four blocks something to read.
constexpr size_t many = 1000;

class GPUBudget : public EitherGPU {
protected:
  /// A plan whose launches may have up to four blocks for each channel, and
  /// whose transfers are of one chunk.
  std::string planOfFour(bool isVirtual = false) const {
    auto plan =
        plan::readPlan(gpuPlan("pair-halves-all_reduce", kind, isVirtual));
    if (!plan)
      return "";
    for (plan::ProgramEntry &program : plan->manifest.programs) {
      program.blocks = 4;
      program.largestTransfer = 1;
    }
    auto written = plan::serialize(*plan);
    return written ? *written : "";
  }

  scclResult joinWithin(Member &member, const RankEnd &end,
                        const std::string &bytes, int smBudget,
                        int devices = 2) const {
    if (scclResult code =
            scclPlanLoadMemory(bytes.data(), bytes.size(), &member.plan))
      return code;
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    config.device = kind;
    config.deviceIndex = end.rank % devices;
    config.timeoutSeconds = 10;
    config.smBudget = smBudget;
    return member.join(end, config, end.numRanks);
  }

  /// Launches for `count` elements; then the grid must have had as many blocks
  /// for each channel of `grids` ranks as `smBudget` allows, or one if there is
  /// little to do.
  int expectBlocks(Member &member, const RankEnd &end, const std::string &bytes,
                   size_t count, unsigned smBudget, unsigned grids = 1) const {
    void *send = nullptr, *recv = nullptr;
    scclMemAlloc(member.comm, many * 4, &send);
    scclMemAlloc(member.comm, many * 4, &recv);
    scclChoice choice = {};
    choice.size = sizeof(choice);
    bool isRight = false;
    scclResult code =
        collect(member, end, false, count, send, recv, nullptr, isRight);
    int failed = check(!code && isRight, "collect");
    code = scclQueryChoice(member.comm, member.plan, count, scclFloat32,
                           scclSum, &choice);
    failed += check(!code, "scclQueryChoice");
    auto plan = plan::readPlan(bytes);
    unsigned channels =
        plan->manifest.programs[choice.program].ranks[end.rank].channels;
    unsigned most = smBudget ? std::min(4u, smBudget / channels) : 4;
    unsigned blocks = count < many ? channels : channels * most;
    failed +=
        check(choice.multiprocessors == int(blocks),
              "multiprocessors are " + std::to_string(choice.multiprocessors)) +
        check(fake.blocks() == grids * blocks,
              "blocks are " + std::to_string(fake.blocks()));
    meet(end); // another launch may change them
    return failed;
  }

  void expectNoPlan(scclResult code, const std::string &message,
                    std::array<int, 2> budgets) {
    std::string bytes = planOfFour();
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                return check(
                    joinWithin(member, end, bytes, budgets[end.rank]) == code &&
                        messageHas(message),
                    message);
              }));
  }
};
} // namespace
INSTANTIATE_TEST_SUITE_P(GPU, GPUBudget,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

TEST_P(GPUBudget, LimitsTheBlocksOfLaunches) {
  std::string bytes = planOfFour();
  for (int smBudget : {0, 100, 7, 3})
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                return check(!joinWithin(member, end, bytes, smBudget),
                             "join") +
                       expectBlocks(member, end, bytes, many, smBudget) +
                       // 16 bytes are one block's.
                       expectBlocks(member, end, bytes, 1, smBudget) +
                       expectBlocks(member, end, bytes, many, smBudget);
              }));
}

/// Ranks that share a GPU have so many each.
TEST_P(GPUBudget, LimitsTheBlocksOfEachRank) {
  std::string bytes = planOfFour(/*isVirtual=*/true);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              return check(!joinWithin(member, end, bytes, 7, 1), "join") +
                     expectBlocks(member, end, bytes, many, 7, 2) +
                     expectBlocks(member, end, bytes, 1, 7, 2);
            }));
}

/// What is resident within the budget need not be without.
TEST_P(GPUBudget, CountsForResidency) {
  Setting few("SCCL_FAKE_SMS", "1"), blocks("SCCL_FAKE_BLOCKS", "6");
  expectNoPlan(scclErrorUnsupported, "a kernel needs 8 blocks of 1 threads",
               {0, 0});
  std::string bytes = planOfFour();
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              return check(!joinWithin(member, end, bytes, 6), "join") +
                     expectBlocks(member, end, bytes, many, 6);
            }));
}

TEST_P(GPUBudget, IsRefusedIfItIsTooSmall) {
  expectNoPlan(
      scclErrorUnsupported,
      "the plan for all_reduce needs at least 2 multiprocessors, for a "
      "block of each channel of a rank, and smBudget is 1",
      {1, 1});
  expectNoPlan(scclErrorInvalidArgument, "smBudget is -1, expected 0 or more",
               {-1, -1});
}

TEST_P(GPUBudget, IsTheSameOnAllRanks) {
  expectNoPlan(scclErrorMismatch, "has smBudget", {4, 6});
}
