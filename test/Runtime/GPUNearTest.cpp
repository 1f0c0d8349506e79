//===- GPUNearTest.cpp - Messages within hosts as writes ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed is in GPURoundTest.cpp, on hosts of one rank and of several;
// this is about the ways that messages take.
//
//===----------------------------------------------------------------------===//

#include "GPURounds.h"

using namespace sccl;

namespace {
/// Ranks that may be on hosts of several.
class NearRounds : public Rounds {
protected:
  /// Messages that went by the library, within hosts of `ofHost` ranks or
  /// between them, since this was made.
  struct Count {
    const Ranks &ranks;
    unsigned within = 0, between = 0;
    explicit Count(const Ranks &ranks) : ranks(ranks) { add(-1); }
    void add(int sign) {
      auto sends = reinterpret_cast<unsigned (*)(int, int)>(
          dlsym(library(), "scclStandInSends"));
      for (unsigned from = 0; sends && from < ranks.count; ++from)
        for (unsigned to = 0; to < ranks.count; ++to)
          (from / ranks.ofHost == to / ranks.ofHost ? within : between) +=
              sign * sends(from, to);
    }
    void end() { add(1); }
    static void *library() {
      static void *const opened = dlopen(SCCL_TEST_STAND_IN, RTLD_NOW);
      return opened;
    }
  };

  /// A sum of all ranks.
  int reduce(const Ranks &ranks) const {
    constexpr size_t count = 3001;
    return onRanks(
        ranks, count, count, [&](const RankEnd &end, RoundRank &rank) {
          return rank.put(rank.send, inputOf<float>(end.rank, count)) +
                 check(!rank.launch(rank.send, rank.recv, count), "launch") +
                 rank.expect(rank.recv, sumOf<float>(end.numRanks, count),
                             "sum");
        });
  }
  void expectSends(const Ranks &ranks, bool within, bool between) const {
    Count count(ranks);
    EXPECT_EQ(0, reduce(ranks));
    count.end();
    EXPECT_EQ(count.within != 0, within) << count.within;
    EXPECT_EQ(count.between != 0, between) << count.between;
  }
  /// Of streams, for others.
  unsigned waits() const {
    return fake.calls("cuStreamWaitEvent", "hipStreamWaitEvent");
  }
  const std::string name = fake.isCUDA ? "nccl" : "rccl";
};
} // namespace

INSTANTIATE_TEST_SUITE_P(GPU, NearRounds,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

static Ranks eightOn(unsigned hosts) {
  Ranks ranks{8, meshReduce};
  ranks.ofHost = 8 / hosts;
  return ranks;
}

TEST_P(NearRounds, OnlyWhatCrossesHostsIsAMessage) {
  for (unsigned hosts : {4, 2})
    expectSends(eightOn(hosts), false, true);
  expectSends(eightOn(1), false, false);
  expectSends(eightOn(8), false, true);
  Setting wish("SCCL_WITHIN_HOST", "writes");
  expectSends(eightOn(2), false, true);
  Setting library("SCCL_TRANSPORT", name);
  expectSends(eightOn(2), false, true);
}

TEST_P(NearRounds, MessagesWithinHostsMayBeAskedFor) {
  Setting wish("SCCL_WITHIN_HOST", "messages");
  expectSends(eightOn(2), true, true);
  expectSends(eightOn(1), true, false);
}

TEST_P(NearRounds, GPUsWithoutAccessToPeersSendMessages) {
  Setting peers("SCCL_FAKE_NO_PEERS", "1");
  expectSends(eightOn(2), true, true);
  Setting wish("SCCL_WITHIN_HOST", "writes");
  expectNoWay(scclErrorUnsupported,
              "SCCL_WITHIN_HOST is writes, and cannot be used: ", eightOn(2));
  expectNoWay(scclErrorUnsupported, "cannot access memory of device",
              eightOn(2));
}

TEST_P(NearRounds, WritesThatWereAskedForNeedTheLibrary) {
  Setting wish("SCCL_WITHIN_HOST", "writes");
  Setting other("SCCL_NCCL_LIBRARY", "none");
  expectNoWay(scclErrorUnsupported,
              "SCCL_WITHIN_HOST is writes, and cannot be used: messages pass "
              "through memory of the hosts",
              eightOn(2));
}

TEST_P(NearRounds, WritesThatWereAskedForNeedCode) {
  Setting wish("SCCL_WITHIN_HOST", "writes");
  Ranks ranks = eightOn(2);
  ranks.hasCode = false;
  expectNoWay(scclErrorUnsupported, "the plan has no code for messages on",
              ranks);
}

TEST_P(NearRounds, NobodyAsksForWhatThereIsNot) {
  Setting wish("SCCL_WITHIN_HOST", "telepathy");
  expectNoWay(scclErrorInvalidArgument,
              "SCCL_WITHIN_HOST is neither writes nor messages", eightOn(2));
}

/// Whichever call fails, all ranks take one way, or all fail.
TEST_P(NearRounds, AFailureOfOneRankIsOneForAll) {
  struct Call {
    const char *cuda, *hip;
  };
  for (Call call : {Call{"cuMemAlloc_v2", "hipExtMallocWithFlags"},
                    {"cuMemHostRegister_v2", "hipHostRegister"},
                    {"cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer"},
                    {"cuModuleLoadDataEx", "hipModuleLoadData"}}) {
    const char *failing = fake.isCUDA ? call.cuda : call.hip;
    Ranks ranks;
    ranks.ofHost = 2;
    unsigned number = 1, calls = 0;
    do {
      fake.reset();
      Setting fail("SCCL_FAKE_FAIL", failing + (":" + std::to_string(number)));
      LoopNetwork network;
      network.ranksOfHost = ranks.ofHost;
      std::array<scclResult, 2> results = {};
      EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                  RoundRank rank(fake, end);
                  results[end.rank] = join(rank, network, end, ranks);
                  meet(end);
                  return 0;
                }));
      EXPECT_EQ(results[0], results[1]) << failing << " " << number;
      EXPECT_EQ(fake.live(), 0u) << failing << " " << number;
      calls = fake.calls(call.cuda, call.hip);
    } while (++number <= calls);
    EXPECT_GT(number, 2u) << failing;
  }
}

TEST_P(NearRounds, ARankThatAbortsEndsKernelsThatWait) {
  for (unsigned culprit : {0, 1}) {
    Ranks ranks;
    ranks.ofHost = 2;
    EXPECT_EQ(
        0, onRanks(ranks, 100, 100, [&](const RankEnd &end, RoundRank &rank) {
          int failed = 0;
          if (end.rank == 0)
            failed += check(!rank.launch(rank.send, rank.recv, 100), "launch") +
                      check(rank.streams.isBusy(), "waits");
          meet(end);
          if (end.rank == culprit)
            failed += check(!scclCommAbort(rank.member.comm), "abort");
          return failed + expectError(rank, "rank " + std::to_string(culprit) +
                                                " has aborted");
        }));
  }
}

TEST_P(NearRounds, AnErrorOfTheLibraryEndsKernelsOfOtherHosts) {
  Ranks ranks = eightOn(2);
  EXPECT_EQ(0,
            onRanks(ranks, 100, 100, [&](const RankEnd &end, RoundRank &rank) {
              meet(end);
              if (end.rank == 0)
                setenv("SCCL_STAND_IN_FAIL", "ncclSend:1", 1);
              meet(end);
              (void)rank.launch(rank.send, rank.recv, 100);
              int failed = expectError(rank, "ncclSend failed");
              meet(end);
              return failed;
            }));
  unsetenv("SCCL_STAND_IN_FAIL");
}

/// Long messages run beside writes, in another stream, which a graph takes in.
TEST_P(NearRounds, GraphsRepeatWhatRunsBesideMessages) {
  constexpr size_t count = 400000;
  Setting room("SCCL_FAKE_SMS", "160");
  EXPECT_EQ(
      0,
      onRanks(
          eightOn(2), count, count, [&](const RankEnd &end, RoundRank &rank) {
            int failed = rank.put(rank.send, inputOf<float>(end.rank, count));
            failed +=
                check(!rank.launch(rank.send, rank.recv, count), "launch") +
                rank.expect(rank.recv, sumOf<float>(8, count), "at once");
            meet(end);
            unsigned before = waits();
            meet(end);
            failed +=
                check(!rank.streams.beginCapture(), "begin") +
                check(!rank.launch(rank.send, rank.recv, count), "launch");
            void *graph = rank.streams.endCapture();
            meet(end);
            failed += check(graph && waits() > before, "forks");
            for (unsigned turn = 0; turn < 5; ++turn)
              failed += check(!rank.streams.replay(graph), "replay");
            failed +=
                rank.expect(rank.recv, sumOf<float>(8, count), "after 5 times");
            rank.streams.drop(graph);
            return failed;
          }));
}

/// Two graphs that are captured at once are two, and both repeat.
TEST_P(NearRounds, GraphsThatAreCapturedAtOnceKeepApart) {
  constexpr size_t count = 400000;
  Setting room("SCCL_FAKE_SMS", "160");
  auto body = [&](const RankEnd &end, RoundRank &rank) {
    Streams other(fake, end.rank);
    auto launch = [&](void *stream) {
      return check(!scclLaunch(rank.member.comm, rank.member.plan, rank.send,
                               rank.recv, count, scclFloat32, scclSum, stream),
                   "launch");
    };
    int failed = rank.put(rank.send, inputOf<float>(end.rank, count)) +
                 launch(rank.streams.stream) +
                 rank.expect(rank.recv, sumOf<float>(8, count), "at once");
    meet(end);
    failed +=
        check(!rank.streams.beginCapture() && !other.beginCapture(), "begin") +
        launch(rank.streams.stream) + launch(other.stream) +
        launch(rank.streams.stream);
    void *graphs[] = {other.endCapture(), rank.streams.endCapture()};
    meet(end);
    for (void *graph : graphs) {
      failed += rank.put(rank.recv, std::vector<float>(count)) +
                check(graph && !rank.streams.replay(graph), "replay") +
                rank.expect(rank.recv, sumOf<float>(8, count), "by a graph");
      rank.streams.drop(graph);
    }
    return failed;
  };
  EXPECT_EQ(0, onRanks(eightOn(2), count, count, body));
}

/// Ranks of a host write to outputs that it has mapped, and to scratch memory
/// where outputs are other memory, by turns. A table of the addresses of
/// outputs is made once for a place.
TEST_P(NearRounds, OutputsThatAreMappedAreWrittenTo) {
  constexpr size_t count = 3001;
  auto allocate = fake.get<int(void **, size_t)>("cuMemAlloc_v2", "hipMalloc");
  auto release = fake.get<int(void *)>("cuMemFree_v2", "hipFree");
  auto body = [&](const RankEnd &end, RoundRank &rank) {
    void *other = nullptr;
    int failed = check(!allocate(&other, count * 4), "other memory");
    auto launch = [&](void *recv, bool isNew, const std::string &what) {
      failed += rank.put(rank.send, inputOf<float>(end.rank, count));
      meet(end);
      unsigned before = copies();
      meet(end);
      failed += check(!rank.launch(rank.send, recv, count), "launch");
      meet(end);
      failed += check((copies() != before) == isNew, what + ": tables");
      meet(end);
      failed += rank.expect(recv, sumOf<float>(end.numRanks, count), what);
    };
    launch(rank.recv, true, "mapped");
    launch(rank.recv, false, "mapped again");
    launch(other, false, "other");
    launch(rank.recv, false, "mapped after other");
    launch(static_cast<float *>(rank.recv) + 64, true, "another place");
    failed +=
        check(!scclMemFree(rank.member.comm, rank.recv), "free") +
        check(!scclMemAlloc(rank.member.comm, count * 4, &rank.recv), "again");
    launch(rank.recv, true, "new memory");
    meet(end);
    return failed + check(!release(other), "release");
  };
  Ranks ranks = eightOn(2);
  EXPECT_EQ(0, onRanks(ranks, count, count + 64, body));
}

/// In place a reduce_scatter has its output elsewhere in the input of each
/// rank, so that no rank knows the place of another's.
TEST_P(NearRounds, OutputsWithinInputsAreReachedByNobody) {
  constexpr size_t count = 1003;
  Ranks ranks{4, SCCL_TEST_PLANS "/line4-left-reduce_scatter.sccl"};
  ranks.ofHost = 4;
  auto body = [&](const RankEnd &end, RoundRank &rank) {
    std::vector<float> all = sumOf<float>(4, 4 * count);
    auto from = all.begin() + end.rank * count;
    std::vector<float> sum(from, from + count);
    int failed = 0;
    for (bool isInPlace : {true, false, true}) {
      void *recv = isInPlace
                       ? static_cast<float *>(rank.send) + end.rank * count
                       : rank.recv;
      failed += rank.put(rank.send, inputOf<float>(end.rank, 4 * count)) +
                check(!rank.launch(rank.send, recv, count), "launch") +
                rank.expect(recv, sum, isInPlace ? "in place" : "out of place");
    }
    return failed;
  };
  EXPECT_EQ(0, onRanks(ranks, 4 * count, count, body));
}

/// Ranks of a host would write beside the output of one that has it at another
/// place, or would wait for what does not come.
TEST_P(NearRounds, OutputsAtOtherPlacesAreAMismatch) {
  constexpr size_t count = 3001, apart = 64;
  const char *places[][2] = {
      {"at byte 0 of memory ", "at byte 256 of memory "},
      {"at byte 0 of memory ", "in place or in other memory"}};
  auto allocate = fake.get<int(void **, size_t)>("cuMemAlloc_v2", "hipMalloc");
  auto release = fake.get<int(void *)>("cuMemFree_v2", "hipFree");
  for (bool isMapped : {true, false}) {
    auto body = [&](const RankEnd &end, RoundRank &rank) {
      void *other = nullptr;
      int failed = check(!allocate(&other, count * 4), "other memory") +
                   check(!rank.launch(rank.send, rank.recv, count), "launch") +
                   check(!rank.streams.wait(), "wait");
      std::vector<float> before(count + apart, 7);
      failed += rank.put(rank.recv, before);
      meet(end);
      void *recv = rank.recv;
      if (end.rank == 2)
        recv = isMapped ? static_cast<float *>(recv) + apart : other;
      (void)rank.launch(rank.send, recv, count);
      // Until it is ended, no kernel has written.
      meet(end);
      auto *after = static_cast<const float *>(rank.recv);
      if (end.rank == 2)
        failed += check(std::equal(before.begin(), before.end(), after),
                        "nobody has written");
      meet(end);
      for (const char *place : places[!isMapped])
        failed += expectError(rank, place);
      meet(end);
      return failed + check(!release(other), "release");
    };
    EXPECT_EQ(0, onRanks(eightOn(2), count, count + apart, body)) << isMapped;
  }
}

/// On the same host or another.
TEST_P(NearRounds, AnotherCountOfOneRankIsAMismatch) {
  for (unsigned culprit : {0, 3, 5}) {
    auto body = [&](const RankEnd &end, RoundRank &rank) {
      meet(end);
      (void)rank.launch(rank.send, rank.recv, end.rank == culprit ? 64 : 100);
      int failed = expectError(rank, " launched with another count than ");
      meet(end);
      return failed;
    };
    EXPECT_EQ(0, onRanks(eightOn(2), 100, 100, body)) << culprit;
  }
}

/// On the same host or another; a rank that asks for errors says how far it is.
TEST_P(NearRounds, ATimeLimitNamesTheRankThatDoesNotLaunch) {
  Ranks ranks = eightOn(2);
  ranks.timeoutSeconds = 1;
  for (unsigned culprit : {0, 3, 5})
    for (bool isSilent : {false, true}) {
      std::string name = "rank " + std::to_string(culprit);
      auto body = [&](const RankEnd &end, RoundRank &rank) {
        int failed = 0;
        for (unsigned turn = 0; turn < 3; ++turn)
          failed += check(!rank.launch(rank.send, rank.recv, 100), "launch");
        if (end.rank != culprit)
          failed += check(!rank.launch(rank.send, rank.recv, 100), "launch");
        if (end.rank == culprit && isSilent)
          meet(end);
        failed += expectError(rank, "has waited 1 s for a launch in its stream "
                                    "that " +
                                        name + " has not made");
        if (end.rank != culprit && isSilent)
          meet(end);
        return failed;
      };
      EXPECT_EQ(0, onRanks(ranks, 100, 100, body)) << name << isSilent;
    }
}

/// However many are under way before it.
TEST_P(NearRounds, ATimeLimitIsOneOfALaunchFarBehind) {
  Ranks ranks = eightOn(2);
  ranks.timeoutSeconds = 1;
  auto body = [&](const RankEnd &end, RoundRank &rank) {
    bool isLate = end.rank == 6;
    int failed = 0;
    if (isLate)
      meet(end);
    for (unsigned turn = 0; turn < (isLate ? 150 : 200); ++turn)
      failed += check(!rank.launch(rank.send, rank.recv, 10), "launch");
    if (!isLate)
      meet(end);
    return failed + expectError(rank, " that rank 6 has not made");
  };
  EXPECT_EQ(0, onRanks(ranks, 100, 100, body));
}

/// A rank that has made the call need not answer, where others of its host know
/// the one that has not.
TEST_P(NearRounds, ATimeLimitNamesNobodyWhoIsInTheCall) {
  Ranks ranks = eightOn(2);
  ranks.timeoutSeconds = 1;
  auto body = [&](const RankEnd &end, RoundRank &rank) {
    int failed = 0;
    if (end.rank != 5)
      failed += check(!rank.launch(rank.send, rank.recv, 100), "launch");
    if (end.rank == 4)
      meet(end);
    failed += expectError(rank, " that rank 5 has not made");
    if (end.rank != 4)
      meet(end);
    return failed;
  };
  EXPECT_EQ(0, onRanks(ranks, 100, 100, body));
}

TEST_P(NearRounds, OfTenThousandLaunchesInARow) {
  Ranks ranks;
  ranks.ofHost = 2;
  constexpr size_t count = 100;
  EXPECT_EQ(
      0, onRanks(ranks, count, count, [&](const RankEnd &end, RoundRank &rank) {
        int failed = 0;
        // Now of another program, or another size.
        for (unsigned turn = 0; turn < 10000; ++turn)
          failed += check(!rank.launch(rank.send, rank.recv, 1 + turn % count),
                          "launch");
        failed += rank.put(rank.send, inputOf<float>(end.rank, count));
        failed += check(!rank.launch(rank.send, rank.recv, count), "last");
        return failed + rank.expect(rank.recv, sumOf<float>(2, count), "sum");
      }));
}
