//===- GPURoundFaultTest.cpp - Which way messages of GPUs go --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPURounds.h"

using namespace sccl;

/// A sum of two ranks, and whether it has passed through memory of the hosts,
/// which takes copies to the devices and from them.
int Rounds::expectWay(bool isByHosts, const Ranks &ranks) const {
  constexpr size_t count = 1000;
  return onRanks(ranks, count, count, [&](const RankEnd &end, RoundRank &rank) {
    int failed = rank.put(rank.send, inputOf<float>(end.rank, count));
    meet(end);
    unsigned before = copies();
    meet(end);
    failed += check(!rank.launch(rank.send, rank.recv, count), "launch") +
              check(!rank.streams.wait(), "wait");
    meet(end);
    failed += check((copies() != before) == isByHosts, "way");
    meet(end);
    return failed + rank.expect(rank.recv, sumOf<float>(2, count), "sum");
  });
}

TEST_P(Rounds, GoByTheLibraryIfAllRanksHaveIt) {
  EXPECT_EQ(0, expectWay(false));
  Setting wish("SCCL_TRANSPORT", fake.isCUDA ? "nccl" : "rccl");
  EXPECT_EQ(0, expectWay(false));
}

TEST_P(Rounds, GoByHostsWhereNothingElseWorks) {
  Ranks ranks;
  ranks.hasCode = false;
  EXPECT_EQ(0, expectWay(true, ranks));
  // Ranks of one GPU.
  ranks = {};
  ranks.device = [](unsigned) { return 1; };
  EXPECT_EQ(0, expectWay(true, ranks));
  for (auto [name, value] : {std::pair("SCCL_TRANSPORT", "staging"),
                             {"SCCL_STAND_IN_FAIL", "ncclCommInitRank:1"}}) {
    Setting setting(name, value);
    EXPECT_EQ(0, expectWay(true)) << name;
  }
  // Under another name: what is good is not asked twice for its version.
  Setting version("SCCL_STAND_IN_VERSION", "20906");
  for (const char *name : {"none", "/nowhere/libnccl.so",
                           SCCL_TEST_FAKES "/../../Vendor/lib/libnccl.so.2"}) {
    Setting other("SCCL_NCCL_LIBRARY", name);
    EXPECT_EQ(0, expectWay(true)) << name;
  }
}

TEST_P(Rounds, WhatWasAskedForByNameIsThereOrAnError) {
  std::string name = fake.isCUDA ? "nccl" : "rccl";
  Setting wish("SCCL_TRANSPORT", name);
  std::string prefix = "SCCL_TRANSPORT is " + name + ", and cannot be used: ";
  Ranks ranks;
  ranks.hasCode = false;
  expectNoWay(scclErrorUnsupported, "the plan has no code for messages on",
              ranks);
  ranks = {};
  ranks.device = [](unsigned) { return 1; };
  expectNoWay(scclErrorUnsupported, prefix + "rank 0 and rank 1 share a GPU",
              ranks);
  {
    Setting fails("SCCL_STAND_IN_FAIL", "ncclCommInitRank:1");
    expectNoWay(scclErrorSystem, "ncclCommInitRank failed");
  }
  {
    Setting other("SCCL_NCCL_LIBRARY", "libm.so.6");
    expectNoWay(scclErrorUnsupported,
                prefix + "rank 0: libm.so.6 cannot be used: it has no function "
                         "ncclGetVersion");
  }
  {
    Setting other("SCCL_NCCL_LIBRARY",
                  SCCL_TEST_FAKES "/../../Vendor/lib/./libnccl.so.2");
    Setting version("SCCL_STAND_IN_VERSION", "20906");
    expectNoWay(scclErrorUnsupported,
                "has version 2.9.6, and 2.10.0 is needed");
  }
  Setting other("SCCL_TRANSPORT", fake.isCUDA ? "rccl" : "nccl");
  expectNoWay(scclErrorUnsupported, "rank 0: its GPU is not one for");
}

TEST_P(Rounds, NobodyAsksForWhatThereIsNot) {
  Setting wish("SCCL_TRANSPORT", "carrier pigeons");
  expectNoWay(
      scclErrorInvalidArgument,
      "SCCL_TRANSPORT is 'carrier pigeons', expected nccl, rccl, direct "
      "or staging");
}

TEST_P(Rounds, RanksWithoutAGPUAreInNobodysWay) {
  Ranks ranks;
  ranks.hasGPU = [](unsigned rank) { return rank == 0; };
  auto launch = [&](const RankEnd &end, RoundRank &rank) {
    return rank.put(rank.send, inputOf<float>(end.rank, 100)) +
           check(!scclLaunch(rank.member.comm, rank.member.plan, rank.send,
                             rank.recv, 100, scclFloat32, scclSum, nullptr),
                 "launch") +
           rank.expect(rank.recv, sumOf<float>(2, 100), "sum");
  };
  EXPECT_EQ(0, onRanks(ranks, 100, 100, launch));
  Setting wish("SCCL_TRANSPORT", fake.isCUDA ? "nccl" : "rccl");
  expectNoWay(scclErrorUnsupported,
              "rank 1: its buffers are in memory of the host", ranks);
}

TEST_P(Rounds, GPUsOfTwoVendorsHaveNoLibraryTogether) {
  Fake other(fake.isCUDA ? scclDeviceHIP : scclDeviceCUDA);
  Ranks ranks;
  ranks.isMixed = true;
  setenv("SCCL_TRANSPORT", fake.isCUDA ? "nccl" : "rccl", 1);
  expectNoWay(scclErrorUnsupported, "rank 1: its GPU is not one for", ranks);
  unsetenv("SCCL_TRANSPORT");
  auto launch = [&](const RankEnd &end, RoundRank &rank) {
    int failed = rank.put(rank.send, inputOf<float>(end.rank, 100));
    meet(end);
    unsigned before = copies();
    meet(end);
    failed += check(!scclLaunch(rank.member.comm, rank.member.plan, rank.send,
                                rank.recv, 100, scclFloat32, scclSum, nullptr),
                    "launch");
    meet(end);
    return failed + check(copies() != before, "by way of the hosts") +
           rank.expect(rank.recv, sumOf<float>(2, 100), "sum");
  };
  EXPECT_EQ(0, onRanks(ranks, 100, 100, launch));
  EXPECT_EQ(other.live(), 0u);
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

TEST_P(Rounds, AnErrorOfTheLibraryIsOneForAllRanks) {
  auto fail = [&](const RankEnd &end, RoundRank &rank) {
    meet(end);
    if (end.rank == 0)
      setenv("SCCL_STAND_IN_FAIL", "ncclSend:1", 1);
    meet(end);
    scclResult result = rank.launch(rank.send, rank.recv, 100);
    // Rank 0 may have been told already.
    int failed = check(result == scclSuccess ? end.rank == 0
                                             : messageHas("ncclSend failed"),
                       "launch");
    failed += expectError(rank, "ncclSend failed");
    meet(end);
    return failed;
  };
  EXPECT_EQ(0, onRanks({}, 100, 100, fail));
  unsetenv("SCCL_STAND_IN_FAIL");
}

TEST_P(Rounds, ARankThatAbortsEndsTheStreamsOfOthers) {
  EXPECT_EQ(0, onRanks({}, 100, 100, [&](const RankEnd &end, RoundRank &rank) {
              int failed = 0;
              if (end.rank == 0)
                failed +=
                    check(!rank.launch(rank.send, rank.recv, 100), "launch") +
                    check(rank.streams.isBusy(), "waits");
              meet(end);
              if (end.rank == 1)
                failed += check(!scclCommAbort(rank.member.comm), "abort");
              return failed + expectError(rank, "rank 1 has aborted");
            }));
}

/// Ranks are told of it, or the library notices first.
TEST_P(Rounds, OfOtherLengthsAreAnError) {
  EXPECT_EQ(0, onRanks({}, 100, 100, [&](const RankEnd &end, RoundRank &rank) {
              meet(end);
              (void)rank.launch(rank.send, rank.recv, 50 + 50 * end.rank);
              int failed = expectError(rank, "");
              failed +=
                  check(messageHas(" launched with another count than ") ||
                            messageHas("a message in a stream failed"),
                        "which");
              meet(end);
              return failed;
            }));
}

TEST_P(Rounds, ABufferOfTheHostIsRefusedAndIsNoCall) {
  EXPECT_EQ(0, onRanks({}, 100, 100, [&](const RankEnd &end, RoundRank &rank) {
              std::vector<float> host(100);
              int failed = rank.put(rank.send, inputOf<float>(end.rank, 100));
              if (end.rank == 0)
                failed += check(rank.launch(host.data(), rank.recv, 100) ==
                                    scclErrorInvalidArgument,
                                "memory of the host");
              return failed +
                     check(!rank.launch(rank.send, rank.recv, 100), "launch") +
                     rank.expect(rank.recv, sumOf<float>(2, 100), "sum");
            }));
}

/// One that was split is on the hosts of the first group: on several of them
/// ranks have the same GPU.
TEST_P(Rounds, PartsAreOnTheHostsOfTheWhole) {
  Setting hosts("SCCL_RANKS_PER_HOST", "2"),
      wish("SCCL_TRANSPORT", kind == scclDeviceCUDA ? "nccl" : "rccl"),
      writes("SCCL_WITHIN_HOST", "writes");
  std::string bytes = fake::withMessageCode(readFile(pairReduce), fake.isCUDA);
  auto body = [&](const RankEnd &end) {
    Member whole, part;
    Streams streams(fake, end.rank % 2);
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    config.device = kind;
    config.deviceIndex = int(end.rank % 2);
    config.smBudget = 1;
    scclResult code = scclCommInit(end.rank, end.numRanks, end.allGather,
                                   end.context, &config, &whole.comm);
    // Of builds without UCX.
    if (code == scclErrorUnsupported && messageHas("libsccl-ucx"))
      return 0;
    void *memory = nullptr;
    float mine = float(end.rank), sum = 0;
    int failed =
        check(!code, "join") +
        check(!scclCommSplit(whole.comm, int(end.rank % 2), 0, &config,
                             &part.comm),
              "split") +
        check(!scclPlanLoadMemory(bytes.data(), bytes.size(), &part.plan) &&
                  !scclCommLoad(part.comm, part.plan) &&
                  !scclMemAlloc(part.comm, sizeof(sum), &memory),
              "load") +
        check(!scclMemCopy(part.comm, memory, &mine, sizeof(sum)) &&
                  !scclLaunch(part.comm, part.plan, memory, memory, 1,
                              scclFloat32, scclSum, streams.stream) &&
                  !streams.wait() &&
                  !scclMemCopy(part.comm, &sum, memory, sizeof(sum)) &&
                  sum == float(2 + 2 * (end.rank % 2)),
              "sum of two hosts");
    meet(end);
    return failed;
  };
  EXPECT_EQ(0, runRanks(4, RanksAs::Threads, body));
}
