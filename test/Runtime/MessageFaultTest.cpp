//===- MessageFaultTest.cpp - What goes wrong with messages ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageTesting.h"

#include "llvm/ADT/STLFunctionalExtras.h"

using namespace sccl;

/// What each rank says when rank 2 is lost.
static std::vector<std::string> loseRank(unsigned numRanks, const char *path) {
  LoopNetwork network;
  network.lostRank = 2;
  network.cutAfter = 50;
  std::vector<std::string> messages(numRanks);
  EXPECT_EQ(
      runRanks(numRanks, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 std::vector<int> all;
                 EXPECT_EQ(join(member, network, end, path, 2), scclSuccess);
                 std::vector<float> send(300000), result(numRanks * 300000);
                 EXPECT_EQ(member.launch(send.data(), result.data(), 300000),
                           scclErrorTimeout);
                 messages[end.rank] = scclGetLastErrorMessage();
                 EXPECT_TRUE(end.gather(0, all));
                 return 0;
               }),
      0);
  return messages;
}

TEST(MessageFaultTest, LostRankIsNamed) {
  // Rank 0 does not wait for rank 2, but for some that do.
  std::vector<std::string> messages = loseRank(4, ringGather);
  for (unsigned rank : {0, 1, 3})
    EXPECT_NE(messages[rank].find(" rank 2, which has not made the call, has "
                                  "ended or cannot be reached"),
              std::string::npos)
        << messages[rank];
  EXPECT_EQ(messages[2].rfind("rank 2 has waited 2 s for a message", 0), 0u)
      << messages[2];
}

TEST(MessageFaultTest, LostRankSaysThatItIs) {
  std::vector<std::string> messages = loseRank(8, meshReduce);
  EXPECT_EQ(messages[2],
            "rank 2 has waited 2 s for a message from rank 0, which has not "
            "made the call, has ended or cannot be reached; no answer came "
            "from 1, 3, 4, 5, 6, 7 either");
}

/// One of two ranks, and what it launches with. A peer may read the latter
/// until it has left its launch as well: messages are not taken back.
struct PairRank {
  scclResult launch(size_t count) {
    send.resize(count);
    result.resize(count);
    return member.launch(send.data(), result.data(), count);
  }

  Member member;
  std::vector<float> send, result;
};

/// What a launch of each of two ranks returns, and says; `launch` gets the
/// rank's number.
static void
expectOnPair(LoopNetwork &network, double timeoutSeconds, scclResult expected,
             const std::string &text,
             llvm::function_ref<scclResult(PairRank &, unsigned)> launch) {
  EXPECT_EQ(
      runRanks(2, RanksAs::Threads,
               [&](const RankEnd &end) {
                 PairRank rank;
                 Member &member = rank.member;
                 EXPECT_EQ(
                     join(member, network, end, pairReduce, timeoutSeconds),
                     scclSuccess);
                 // An abort also ends the join of a rank that is still at it.
                 std::vector<int> all;
                 EXPECT_TRUE(end.gather(0, all));
                 EXPECT_EQ(launch(rank, end.rank), expected);
                 EXPECT_NE(std::string(scclGetLastErrorMessage()).find(text),
                           std::string::npos)
                     << scclGetLastErrorMessage();
                 EXPECT_EQ(scclCommGetError(member.comm), expected);
                 // Whoever leaves early takes what it has to say along.
                 EXPECT_TRUE(end.gather(0, all));
                 // The buffers are freed: messages must not come now.
                 rank.send = std::vector<float>();
                 rank.result = std::vector<float>();
                 unsigned polls = network.polls;
                 EXPECT_TRUE(end.gather(0, all));
                 EXPECT_EQ(scclCommDestroy(member.comm), scclSuccess);
                 member.comm = nullptr;
                 EXPECT_EQ(network.polls, polls);
                 return 0;
               }),
      0);
}

static scclResult launchFloats(Member &member, size_t count) {
  std::vector<float> send(count), result(count);
  return member.launch(send.data(), result.data(), count);
}

TEST(MessageFaultTest, CutWireTimesOut) {
  LoopNetwork network;
  network.cutAfter = 5;
  Stopwatch watch;
  expectOnPair(network, 0.3, scclErrorTimeout, "has waited 0.3 s for a message",
               [](PairRank &pair, unsigned) { return pair.launch(1000000); });
  EXPECT_LT(watch.seconds(), 10);
}

TEST(MessageFaultTest, FailedMessageNamesRanks) {
  LoopNetwork network;
  network.failsAfter = 5;
  expectOnPair(network, 20, scclErrorRankLost, "failed: the wire is cut",
               [](PairRank &pair, unsigned) { return pair.launch(1000000); });
}

static void expectMismatchOn(LoopNetwork &network) {
  expectOnPair(network, 20, scclErrorMismatch, "launched with another count",
               [](PairRank &pair, unsigned rank) {
                 return pair.launch(1000 + rank * 64);
               });
}

TEST(MessageFaultTest, OtherCounts) {
  LoopNetwork network;
  expectMismatchOn(network);
}

TEST(MessageFaultTest, OtherCountsInSharedMemory) {
  LoopNetwork network;
  network.ranksOfHost = 2;
  expectMismatchOn(network);
}

TEST(MessageFaultTest, NobodyComesToSharedMemory) {
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

TEST(MessageFaultTest, AbortReachesOthers) {
  LoopNetwork network;
  expectOnPair(network, 20, scclErrorAborted,
               "rank 1 has aborted the communicator",
               [](PairRank &pair, unsigned rank) {
                 if (rank == 1) {
                   EXPECT_EQ(scclCommAbort(pair.member.comm), scclSuccess);
                 }
                 return pair.launch(1000);
               });
}

/// One thread tells the other ranks, and meanwhile another one launches.
TEST(MessageFaultTest, LaunchesDuringAnAbortAreAborted) {
  LoopNetwork network;
  std::atomic<bool> mayAbort = false, isAborting = false, hasLaunched = false;
  network.onSend = [&](int rank) {
    if (rank == 0 || !mayAbort)
      return;
    isAborting = true;
    for (int i = 0; i < 100 && !hasLaunched; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  expectOnPair(network, 20, scclErrorAborted,
               "rank 1 has aborted the communicator",
               [&](PairRank &pair, unsigned rank) {
                 if (rank == 0)
                   return pair.launch(1000);
                 mayAbort = true;
                 std::thread aborter([&] { scclCommAbort(pair.member.comm); });
                 while (!isAborting)
                   std::this_thread::yield();
                 scclResult result = pair.launch(1000);
                 hasLaunched = true;
                 aborter.join();
                 return result;
               });
}

TEST(MessageFaultTest, FailedCallIsACall) {
  LoopNetwork network;
  EXPECT_EQ(
      runRanks(2, RanksAs::Threads,
               [&](const RankEnd &end) {
                 Member member;
                 std::vector<int> all;
                 EXPECT_EQ(join(member, network, end, pairReduce), scclSuccess);
                 if (end.rank == 0) {
                   EXPECT_EQ(launchFloats(member, 1000), scclErrorMismatch);
                   EXPECT_TRUE(
                       messageHas("a call of rank 1 has failed: send is null"));
                 } else {
                   std::vector<float> result(1000);
                   EXPECT_EQ(member.launch(nullptr, result.data(), 1000),
                             scclErrorInvalidArgument);
                   // It is no other rank's first one.
                   EXPECT_EQ(launchFloats(member, 1000), scclErrorMismatch);
                 }
                 EXPECT_TRUE(end.gather(0, all));
                 return 0;
               }),
      0);
}

TEST(MessageFaultTest, FailuresToJoin) {
  LoopNetwork network, fewTags;
  fewTags.numTags = 4;
  EXPECT_EQ(
      runRanks(
          2, RanksAs::Threads,
          [&](const RankEnd &end) {
            Member other, none, tags, null;
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
            EXPECT_EQ(join(null, network, end, pairReduce), scclSuccess);
            // Rank 1 has no plan: once the others know theirs, once they do
            // not.
            scclPlan exchange = nullptr;
            EXPECT_EQ(scclPlanLoad(pairExchange, &exchange), scclSuccess);
            for (scclPlan plan : {null.plan, exchange}) {
              EXPECT_EQ(scclCommLoad(null.comm, end.rank ? nullptr : plan),
                        scclErrorInvalidArgument);
              EXPECT_TRUE(messageHas("plan is null"));
            }
            scclPlanDestroy(exchange);
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
