//===- MessageTest.cpp - Ranks that exchange messages ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"
#include "LoopTransport.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

using namespace sccl;

extern std::atomic<uint64_t> allocations;

static const char *const pairReduce =
    SCCL_TEST_PLANS "/pair-messages-all_reduce.sccl";
static const char *const pairExchange =
    SCCL_TEST_PLANS "/pair-messages-all_to_all.sccl";
static const char *const ringGather =
    SCCL_TEST_PLANS "/ring4-messages-all_gather.sccl";
static const char *const meshReduce =
    SCCL_TEST_PLANS "/mesh8-messages-all_reduce.sccl";

/// Joins through `network`, with the plan at `path`.
static scclResult join(Member &member, LoopNetwork &network, const RankEnd &end,
                       const char *path, double timeoutSeconds = 20,
                       size_t scratchBytes = 0) {
  scclResult result = scclPlanLoad(path, &member.plan);
  if (result != scclSuccess)
    return result;
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = timeoutSeconds;
  config.scratchBytes = scratchBytes;
  scclTransport transport = network.transport(end);
  result = scclCommInitTransport(&transport, &config, &member.comm);
  return result ? result : scclCommLoad(member.comm, member.plan);
}

/// Of rank `rank`: different values, whose sums are exact.
static std::vector<float> valuesOf(unsigned rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float((i * 7 + rank * 13) % 1024);
  return values;
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
      runRanks(8, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 EXPECT_EQ(join(member, network, end, meshReduce), scclSuccess);
                 std::vector<int32_t> send(100, int(8 * end.rank)), result(100);
                 EXPECT_EQ(scclAllReduce(send.data(), result.data(), 100,
                                         scclInt32, scclAvg, member.comm,
                                         nullptr),
                           scclSuccess)
                     << scclGetLastErrorMessage();
                 EXPECT_EQ(result, std::vector<int32_t>(100, 28));
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

/// What a launch of each of two ranks returns, and says; `launch` gets the
/// rank.
static void
expectOnPair(LoopNetwork &network, double timeoutSeconds, scclResult expected,
             const std::string &text,
             llvm::function_ref<scclResult(Member &, unsigned)> launch) {
  EXPECT_EQ(
      runRanks(2, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 EXPECT_EQ(
                     join(member, network, end, pairReduce, timeoutSeconds),
                     scclSuccess);
                 EXPECT_EQ(launch(member, end.rank), expected);
                 EXPECT_NE(std::string(scclGetLastErrorMessage()).find(text),
                           std::string::npos)
                     << scclGetLastErrorMessage();
                 EXPECT_EQ(scclCommGetError(member.comm), expected);
                 // Whoever leaves early takes what it has to say along.
                 std::vector<int> all;
                 EXPECT_TRUE(end.gather(0, all));
                 return 0;
               }),
      0);
}

static scclResult launchFloats(Member &member, size_t count) {
  std::vector<float> send(count), result(count);
  return member.launch(send.data(), result.data(), count);
}

TEST(MessageTest, CutWireTimesOut) {
  LoopNetwork network;
  network.cutAfter = 5;
  Stopwatch watch;
  expectOnPair(
      network, 0.3, scclErrorTimeout, "has waited 0.3 s for a message",
      [](Member &member, unsigned) { return launchFloats(member, 1000000); });
  EXPECT_LT(watch.seconds(), 10);
}

TEST(MessageTest, FailedMessageNamesRanks) {
  LoopNetwork network;
  network.failsAfter = 5;
  expectOnPair(
      network, 20, scclErrorRankLost, "failed: the wire is cut",
      [](Member &member, unsigned) { return launchFloats(member, 1000000); });
}

static void expectMismatchOn(LoopNetwork &network) {
  expectOnPair(network, 20, scclErrorMismatch,
               "they launched with another count, type or plan",
               [](Member &member, unsigned rank) {
                 return launchFloats(member, 1000 + rank * 64);
               });
}

TEST(MessageTest, OtherCounts) {
  LoopNetwork network;
  expectMismatchOn(network);
}

TEST(MessageTest, OtherCountsInSharedMemory) {
  LoopNetwork network;
  network.ranksOfHost = 2;
  expectMismatchOn(network);
}

TEST(MessageTest, NobodyComesToSharedMemory) {
  LoopNetwork network;
  network.ranksOfHost = 2;
  EXPECT_EQ(
      runRanks(
          2, RanksAs::Threads,
          [&](const RankEnd &end) {
            Member member;
            EXPECT_EQ(join(member, network, end, pairReduce, 0.3), scclSuccess);
            std::vector<int> all;
            // Rank 1 comes when rank 0 has given up.
            for (unsigned turn = 0; turn < 2; ++turn) {
              if (turn == end.rank) {
                EXPECT_EQ(launchFloats(member, 1000), scclErrorTimeout);
                std::string message = scclGetLastErrorMessage();
                EXPECT_NE(message.find("rank 0 has waited 0.3 s for a message "
                                       "from rank 1"),
                          std::string::npos)
                    << message;
              }
              EXPECT_TRUE(end.gather(0, all));
            }
            return 0;
          }),
      0);
}

TEST(MessageTest, AbortReachesOthers) {
  LoopNetwork network;
  expectOnPair(network, 20, scclErrorAborted,
               "rank 1 has aborted the communicator",
               [](Member &member, unsigned rank) {
                 if (rank == 1) {
                   EXPECT_EQ(scclCommAbort(member.comm), scclSuccess);
                 }
                 return launchFloats(member, 1000);
               });
}

TEST(MessageTest, LateRankHasANote) {
  LoopNetwork network;
  EXPECT_EQ(
      runRanks(
          2, RanksAs::Threads,
          [&](const RankEnd &end) {
            Member member;
            EXPECT_EQ(join(member, network, end, pairReduce, 0.3), scclSuccess);
            if (end.rank == 0) {
              EXPECT_EQ(launchFloats(member, 1000), scclErrorTimeout);
              std::string message = scclGetLastErrorMessage();
              EXPECT_NE(
                  message.find("rank 1, whose last call failed: send is null"),
                  std::string::npos)
                  << message;
            } else {
              std::vector<float> result(1000);
              EXPECT_EQ(member.launch(nullptr, result.data(), 1000),
                        scclErrorInvalidArgument);
            }
            std::vector<int> all;
            EXPECT_TRUE(end.gather(0, all));
            return 0;
          }),
      0);
}

TEST(MessageTest, FailuresToJoin) {
  LoopNetwork network, fewTags;
  fewTags.numTags = 4;
  EXPECT_EQ(
      runRanks(
          2, RanksAs::Threads,
          [&](const RankEnd &end) {
            Member other, none, tags;
            EXPECT_EQ(
                join(other, network, end, end.rank ? pairReduce : pairExchange),
                scclErrorMismatch);
            EXPECT_NE(
                std::string(scclGetLastErrorMessage()).find("another plan"),
                std::string::npos);
            EXPECT_EQ(join(none, network, end, allReduce),
                      scclErrorUnsupported);
            EXPECT_EQ(join(tags, fewTags, end, pairReduce),
                      scclErrorUnsupported);
            EXPECT_NE(
                std::string(scclGetLastErrorMessage()).find("tags of messages"),
                std::string::npos);
            return 0;
          }),
      0);
  scclComm comm = nullptr;
  EXPECT_EQ(scclCommInitTransport(nullptr, nullptr, &comm),
            scclErrorInvalidArgument);
  scclTransport empty = {};
  EXPECT_EQ(scclCommInitTransport(&empty, nullptr, &comm),
            scclErrorInvalidArgument);
}
