//===- MessageMismatchTest.cpp - Ranks that make different calls ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over a transport, and in memory that ranks share. With MPI:
// test/Tools/mpi-mismatch.test.
//
//===----------------------------------------------------------------------===//

#include "MessageTesting.h"

#include <unistd.h>

using namespace sccl;

namespace {
/// One of several calls. What it needs of the buffers, all of them have.
struct Launch {
  size_t count;
  scclDataType type = scclFloat32;
  scclRedOp op = scclSum;
  bool hasBuffers = true;
};

/// Ranks share no memory, or all of them do.
class MessageMismatchTest : public testing::TestWithParam<unsigned> {
protected:
  LoopNetwork network;
  void SetUp() override { network.ranksOfHost = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Wires, MessageMismatchTest, testing::Values(0u, 8u));
} // namespace

static scclResult launch(Member &member, const Launch &what) {
  static std::vector<double> send(1 << 20), recv(1 << 20);
  return scclLaunch(member.comm, member.plan,
                    what.hasBuffers ? send.data() : nullptr,
                    what.hasBuffers ? recv.data() : nullptr, what.count,
                    what.type, what.op, nullptr);
}

/// Fails unless the communicator is out of use soon, because of a mismatch.
static void awaitMismatch(Member &member) {
  Stopwatch watch;
  while (watch.seconds() < 15 && scclCommGetError(member.comm) == scclSuccess)
    usleep(1000);
  EXPECT_EQ(scclCommGetError(member.comm), scclErrorMismatch);
  EXPECT_EQ(launch(member, {10}), scclErrorMismatch);
}

/// Rank `victim` makes `other` in place of the second of three calls.
static void expectMismatch(LoopNetwork &network, unsigned numRanks,
                           const char *plan, const Launch &usual,
                           const Launch &other, unsigned victim) {
  EXPECT_EQ(runRanks(numRanks, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       EXPECT_EQ(join(member, network, end, plan), scclSuccess);
                       // Who is ahead may fail before others have joined.
                       meet(end);
                       scclResult result = launch(member, usual);
                       if (result == scclSuccess)
                         result =
                             launch(member, end.rank == victim ? other : usual);
                       // A program that does not look goes on.
                       if (result == scclSuccess || end.rank == victim)
                         launch(member, usual);
                       awaitMismatch(member);
                       meet(end);
                       return 0;
                     }),
            0);
}

TEST_P(MessageMismatchTest, NoElementsOnOneRank) {
  for (unsigned victim : {0, 1})
    for (size_t count : {10, 100000})
      expectMismatch(network, 2, pairReduce, {count}, {0}, victim);
}

TEST_P(MessageMismatchTest, NoElementsOnARankThatOnlyReceives) {
  expectMismatch(network, 8, cubeBroadcast, {10}, {0}, 5);
  expectMismatch(network, 8, cubeBroadcast, {10}, {0}, cubeRoot);
}

TEST_P(MessageMismatchTest, OtherTypesOfTheSameSize) {
  expectMismatch(network, 8, meshReduce, {10}, {10, scclInt32}, 3);
  expectMismatch(network, 4, ringGather, {5000}, {5000, scclInt32}, 1);
}

TEST_P(MessageMismatchTest, OtherReductions) {
  expectMismatch(network, 8, meshReduce, {10}, {10, scclFloat32, scclAvg}, 7);
  expectMismatch(network, 8, meshReduce, {100000},
                 {100000, scclFloat32, scclAvg}, 2);
}

TEST_P(MessageMismatchTest, FailedCalls) {
  expectMismatch(network, 8, meshReduce, {10},
                 {10, scclFloat32, scclSum, false}, 4);
  expectMismatch(network, 4, ringGather, {10}, {10, scclDataType(99)}, 2);
}

TEST_P(MessageMismatchTest, CountsOfManyPieces) {
  for (size_t count : {100, 100001, 300000})
    expectMismatch(network, 2, pairReduce, {100000}, {count}, 1);
}

/// All fail in the same call, and go on.
TEST_P(MessageMismatchTest, AllMayFailAlike) {
  EXPECT_EQ(runRanks(4, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       EXPECT_EQ(join(member, network, end, ringGather),
                                 scclSuccess);
                       for (unsigned i = 0; i < 3; ++i) {
                         EXPECT_EQ(launch(member, {10}), scclSuccess);
                         EXPECT_EQ(launch(member, {10, scclDataType(99)}),
                                   scclErrorInvalidArgument);
                         EXPECT_EQ(launch(member, {0}), scclSuccess);
                       }
                       EXPECT_EQ(launch(member, {10}), scclSuccess);
                       EXPECT_EQ(scclCommGetError(member.comm), scclSuccess);
                       return 0;
                     }),
            0);
}

/// One launches where the others load a plan, which is there already.
TEST_P(MessageMismatchTest, LaunchesWhereOthersLoad) {
  EXPECT_EQ(runRanks(4, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       EXPECT_EQ(join(member, network, end, ringGather),
                                 scclSuccess);
                       EXPECT_EQ(end.rank == 2
                                     ? launch(member, {10})
                                     : scclCommLoad(member.comm, member.plan),
                                 scclErrorMismatch);
                       EXPECT_TRUE(messageHas("launched where"));
                       meet(end);
                       return 0;
                     }),
            0);
}

TEST_P(MessageMismatchTest, CollectiveCallsHaveALimit) {
  EXPECT_EQ(runRanks(4, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       void *memory = nullptr;
                       EXPECT_EQ(join(member, network, end, ringGather, 0.3),
                                 scclSuccess);
                       if (end.rank != 3) {
                         EXPECT_EQ(scclMemAlloc(member.comm, 100, &memory),
                                   scclErrorTimeout);
                         EXPECT_TRUE(messageHas("rank 3, which has not made"))
                             << scclGetLastErrorMessage();
                       }
                       meet(end);
                       return 0;
                     }),
            0);
}

/// Arguments that are wrong on one rank are told to all.
TEST_P(MessageMismatchTest, NullResultsAreToldToAll) {
  EXPECT_EQ(
      runRanks(2, RanksAs::Threads,
               [&](const RankEnd &end) {
                 scclComm none = nullptr;
                 scclTransport transport = network.transport(end);
                 EXPECT_EQ(scclCommInitTransport(&transport, nullptr,
                                                 end.rank ? nullptr : &none),
                           scclErrorInvalidArgument);
                 EXPECT_TRUE(messageHas("comm is null"));
                 Member member;
                 void *memory = nullptr;
                 EXPECT_EQ(join(member, network, end, pairReduce), scclSuccess);
                 EXPECT_EQ(scclMemAlloc(member.comm, 100,
                                        end.rank ? nullptr : &memory),
                           scclErrorInvalidArgument);
                 EXPECT_EQ(scclMemAlloc(member.comm, 100 + end.rank, &memory),
                           scclErrorMismatch);
                 // None of that is the end.
                 EXPECT_EQ(launch(member, {10}), scclSuccess);
                 return 0;
               }),
      0);
}

TEST_P(MessageMismatchTest, MemoryIsByNeed) {
  EXPECT_EQ(
      runRanks(8, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 size_t before = 0, after = 0;
                 EXPECT_EQ(join(member, network, end, meshReduce), scclSuccess);
                 EXPECT_EQ(scclQueryScratch(member.comm, &before), scclSuccess);
                 EXPECT_LT(before, size_t(4) << 20);
                 EXPECT_EQ(launch(member, {1 << 19}), scclSuccess);
                 EXPECT_EQ(scclQueryScratch(member.comm, &after), scclSuccess);
                 EXPECT_EQ(before, after);
                 return 0;
               }),
      0);
}
