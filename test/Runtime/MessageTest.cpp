//===- MessageTest.cpp - Ranks that exchange messages ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageTesting.h"

#include "Runtime/Messages/DefaultPiece.h"

#include <algorithm>
#include <atomic>

using namespace sccl;

extern std::atomic<uint64_t> allocations;

TEST(MessageTest, PiecesAreAlikeAndAtMostFourWhereTheyAreShort) {
  auto pieces = [](uint64_t segment, uint64_t chunks, uint64_t mostChunks) {
    uint64_t piece = defaultPiece(segment, chunks, mostChunks);
    EXPECT_NE(piece, 0u);
    EXPECT_EQ(piece % 64, 0u);
    return (segment + piece - 1) / piece;
  };
  // Too short to be cut.
  EXPECT_EQ(pieces(1, 1, 1), 1u);
  EXPECT_EQ(pieces(4095, 1, 1), 1u);
  EXPECT_EQ(pieces(24 * 2048, 24, 24), 1u);
  // Pieces have 2 KiB a chunk.
  EXPECT_EQ(pieces(4096, 1, 1), 2u);
  EXPECT_EQ(pieces(131072, 24, 1), 2u);
  EXPECT_EQ(pieces(8192, 1, 1), 4u);
  // Messages have at most 8 KiB.
  EXPECT_EQ(pieces(32768, 1, 1), 4u);
  EXPECT_EQ(pieces(32769, 1, 1), 5u);
  EXPECT_EQ(pieces(1 << 20, 6, 1), 22u);
  EXPECT_EQ(pieces(1 << 20, 6, 2), 43u);
  // But chunks have 2 KiB, however many there are.
  EXPECT_EQ(pieces(1 << 20, 6, 4), 86u);
  EXPECT_EQ(pieces(1 << 20, 6, 6), 86u);
  // The last piece is no remainder.
  EXPECT_GT((1 << 20) % defaultPiece(1 << 20, 6, 1),
            defaultPiece(1 << 20, 6, 1) - 22 * 64);
  EXPECT_EQ(pieces(0, 0, 0), 0u);
  EXPECT_EQ(defaultPiece(uint64_t(1) << 62, 1, 1), 8192u);
}

/// Launches all_gather on 4 ranks and compares.
static void gatherOnRing(LoopNetwork &network) {
  EXPECT_EQ(
      runRanks(4, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 EXPECT_EQ(join(member, network, end, ringGather), scclSuccess)
                     << scclGetLastErrorMessage();
                 for (size_t count : {1, 3, 8, 1000, 100003, 20000}) {
                   std::vector<float> send = valuesOf(end.rank, count),
                                      all(4 * count);
                   EXPECT_EQ(member.launch(send.data(), all.data(), count),
                             scclSuccess)
                       << scclGetLastErrorMessage();
                   for (unsigned rank = 0; rank < 4; ++rank)
                     EXPECT_TRUE(std::equal(all.begin() + rank * count,
                                            all.begin() + (rank + 1) * count,
                                            valuesOf(rank, count).begin()))
                         << rank << " of " << count;
                 }
                 return 0;
               }),
      0);
}

TEST(MessageTest, AllGatherOfAnySize) {
  LoopNetwork network;
  gatherOnRing(network);
}

TEST(MessageTest, RanksOfHostsShareMemory) {
  LoopNetwork hosts, host;
  hosts.ranksOfHost = 2;
  gatherOnRing(hosts);
  // Nothing is needed of the wires but to join.
  host.ranksOfHost = 4;
  host.cutAfter = 0;
  gatherOnRing(host);
}

/// Launches all_reduce on 8 ranks and compares.
static void reduceOnMesh(LoopNetwork &network, size_t scratchBytes,
                         bool inPlace) {
  EXPECT_EQ(runRanks(8, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       EXPECT_EQ(join(member, network, end, meshReduce, 20,
                                      scratchBytes),
                                 scclSuccess)
                           << scclGetLastErrorMessage();
                       for (size_t count : {1, 7, 4097, 200001}) {
                         std::vector<float> send = valuesOf(end.rank, count),
                                            result(count), expected(count);
                         for (unsigned rank = 0; rank < 8; ++rank) {
                           std::vector<float> other = valuesOf(rank, count);
                           for (size_t i = 0; i < count; ++i)
                             expected[i] += other[i];
                         }
                         if (inPlace)
                           result = send;
                         EXPECT_EQ(member.launch(inPlace ? result.data()
                                                         : send.data(),
                                                 result.data(), count),
                                   scclSuccess)
                             << scclGetLastErrorMessage();
                         EXPECT_EQ(result, expected) << count;
                       }
                       return 0;
                     }),
            0);
}

TEST(MessageTest, AllReduce) {
  for (unsigned seed : {1, 2, 3}) {
    LoopNetwork network(seed);
    reduceOnMesh(network, 0, /*inPlace=*/false);
  }
}

TEST(MessageTest, AllReduceInPlace) {
  LoopNetwork network;
  reduceOnMesh(network, 0, /*inPlace=*/true);
}

TEST(MessageTest, AllReduceOnTwoHosts) {
  for (unsigned seed : {1, 2, 3}) {
    LoopNetwork network(seed);
    network.ranksOfHost = 4;
    reduceOnMesh(network, 0, /*inPlace=*/seed == 2);
  }
}

TEST(MessageTest, AllReduceInLittleMemory) {
  LoopNetwork network;
  reduceOnMesh(network, 20000, /*inPlace=*/true);
}

TEST(MessageTest, Averages) {
  LoopNetwork network;
  EXPECT_EQ(
      runRanks(
          8, RanksAs::Threads,
          [&](const RankEnd &end) {
            Member member;
            EXPECT_EQ(join(member, network, end, meshReduce), scclSuccess);
            std::vector<int32_t> send(100, int(8 * end.rank)), result(100);
            EXPECT_EQ(scclAllReduce(send.data(), result.data(), 100, scclInt32,
                                    scclAvg, member.comm, nullptr),
                      scclSuccess)
                << scclGetLastErrorMessage();
            EXPECT_EQ(result, std::vector<int32_t>(100, 28));
            // The sum is infinite, the mean is not.
            std::vector<float> large(100, 0x1p127f), means(100);
            EXPECT_EQ(scclAllReduce(large.data(), means.data(), 100,
                                    scclFloat32, scclAvg, member.comm, nullptr),
                      scclSuccess);
            EXPECT_EQ(means, large);
            return 0;
          }),
      0);
}

TEST(MessageTest, AllToAllInPlace) {
  LoopNetwork network;
  EXPECT_EQ(
      runRanks(2, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 EXPECT_EQ(join(member, network, end, pairExchange),
                           scclSuccess);
                 constexpr size_t count = 50000;
                 std::vector<float> buffer = valuesOf(end.rank, 2 * count),
                                    expected = buffer;
                 std::vector<float> other = valuesOf(1 - end.rank, 2 * count);
                 std::copy_n(other.begin() + end.rank * count, count,
                             expected.begin() + (1 - end.rank) * count);
                 scclResult result =
                     member.launch(buffer.data(), buffer.data(), count);
                 EXPECT_TRUE(result == scclErrorInvalidArgument ||
                             (result == scclSuccess && buffer == expected));
                 return 0;
               }),
      0);
}

/// Counts on 8 ranks, `ranksOfHost` of which share memory.
static void countAllocations(unsigned ranksOfHost) {
  LoopNetwork network;
  network.ranksOfHost = ranksOfHost;
  EXPECT_EQ(runRanks(8, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       EXPECT_EQ(join(member, network, end, meshReduce),
                                 scclSuccess);
                       std::vector<float> send(1000), result(1000);
                       auto launch = [&] {
                         return member.launch(send.data(), result.data(), 1000);
                       };
                       EXPECT_EQ(launch(), scclSuccess);
                       std::vector<int> all;
                       EXPECT_TRUE(end.gather(0, all));
                       uint64_t before = allocations;
                       EXPECT_TRUE(end.gather(0, all));
                       for (int i = 0; i < 20; ++i)
                         EXPECT_EQ(launch(), scclSuccess);
                       EXPECT_TRUE(end.gather(0, all));
                       EXPECT_EQ(allocations - before, 0u);
                       EXPECT_TRUE(end.gather(0, all));
                       return 0;
                     }),
            0);
}

TEST(MessageTest, LaunchesDoNotAllocate) {
  countAllocations(0);
  countAllocations(4);
}

/// The root launches `times` broadcasts before others do, and returns what the
/// last of them did.
static scclResult broadcastAhead(Member &member, int times) {
  std::vector<float> send = valuesOf(0, 2000), result(2000);
  scclResult last = scclSuccess;
  for (int i = 0; i < times && last == scclSuccess; ++i) {
    last = member.launch(send.data(), result.data(), 2000);
    // It is the caller's again.
    send = i + 1 < times ? valuesOf(i + 1, 2000) : std::vector<float>(2000);
  }
  return last;
}

TEST(MessageTest, RootRunsAhead) {
  constexpr int times = 9;
  LoopNetwork network;
  network.buffers = true;
  EXPECT_EQ(runRanks(8, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       std::vector<int> all;
                       EXPECT_EQ(join(member, network, end, cubeBroadcast),
                                 scclSuccess);
                       if (end.rank == cubeRoot) {
                         EXPECT_EQ(broadcastAhead(member, times), scclSuccess)
                             << scclGetLastErrorMessage();
                       }
                       EXPECT_TRUE(end.gather(0, all));
                       for (int i = 0; i < times && end.rank != cubeRoot; ++i) {
                         std::vector<float> send(2000), result(2000);
                         EXPECT_EQ(
                             member.launch(send.data(), result.data(), 2000),
                             scclSuccess)
                             << scclGetLastErrorMessage();
                         EXPECT_EQ(result, valuesOf(i, 2000)) << i;
                       }
                       EXPECT_TRUE(end.gather(0, all));
                       return 0;
                     }),
            0);
}

TEST(MessageTest, RootWaitsForOthers) {
  LoopNetwork network;
  network.buffers = true;
  EXPECT_EQ(runRanks(8, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       std::vector<int> all;
                       EXPECT_EQ(join(member, network, end, cubeBroadcast, 0.3),
                                 scclSuccess);
                       if (end.rank == cubeRoot) {
                         EXPECT_EQ(broadcastAhead(member, 1000),
                                   scclErrorTimeout);
                         EXPECT_NE(std::string(scclGetLastErrorMessage())
                                       .find("for a message to be taken by"),
                                   std::string::npos)
                             << scclGetLastErrorMessage();
                       }
                       EXPECT_TRUE(end.gather(0, all));
                       return 0;
                     }),
            0);
}

/// Launches more than the queue holds, and waits for the last one.
static void launchLater(bool hasThreads) {
  LoopNetwork network;
  network.hasThreads = hasThreads;
  EXPECT_EQ(
      runRanks(2, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 EXPECT_EQ(join(member, network, end, pairReduce), scclSuccess);
                 constexpr unsigned count = 100, launches = 80;
                 std::vector<std::vector<float>> send(launches), recv(launches);
                 uint64_t ticket = 0;
                 for (unsigned i = 0; i < launches; ++i) {
                   send[i] = valuesOf(end.rank + i, count);
                   recv[i].resize(count);
                   EXPECT_EQ(scclLaunchAsync(member.comm, member.plan,
                                             send[i].data(), recv[i].data(),
                                             count, scclFloat32, scclSum,
                                             &ticket),
                             scclSuccess)
                       << scclGetLastErrorMessage();
                 }
                 EXPECT_EQ(ticket, launches);
                 EXPECT_EQ(scclWait(member.comm, ticket), scclSuccess);
                 for (unsigned i = 0; i < launches; ++i)
                   EXPECT_EQ(recv[i][7],
                             valuesOf(i, count)[7] + valuesOf(1 + i, count)[7]);
                 EXPECT_EQ(scclWait(member.comm, ticket + 1),
                           scclErrorInvalidArgument);
                 return 0;
               }),
      0);
}

TEST(MessageTest, LaunchesLater) {
  launchLater(/*hasThreads=*/true);
  launchLater(/*hasThreads=*/false);
}

TEST(MessageTest, SplitNeedsTheTransport) {
  LoopNetwork network;
  EXPECT_EQ(
      runRanks(2, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 scclComm part = nullptr;
                 EXPECT_EQ(join(member, network, end, pairReduce), scclSuccess);
                 EXPECT_EQ(scclCommSplit(member.comm, 0, 0, nullptr, &part),
                           scclErrorUnsupported);
                 return 0;
               }),
      0);
}

TEST(MessageTest, OneRankAsksForAnOrder) {
  LoopNetwork network;
  EXPECT_EQ(runRanks(2, RanksAs::Threads,
                     [&](const RankEnd &end) {
                       Member member;
                       EXPECT_EQ(join(member, network, end, pairReduce, 20, 0,
                                      end.rank ? "tree" : nullptr),
                                 scclErrorUnsupported);
                       EXPECT_TRUE(messageHas("is for the order tree"));
                       return 0;
                     }),
            0);
}
