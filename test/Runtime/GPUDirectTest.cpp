//===- GPUDirectTest.cpp - Transports that take memory of GPUs ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed is in GPURoundTest.cpp; this is about who takes this way,
// and what goes wrong on it.
//
//===----------------------------------------------------------------------===//

#include "GPURounds.h"

using namespace sccl;

namespace {
class Direct : public Rounds {
protected:
  /// Ranks of hosts with `ofHost` each, whose transport takes memory of GPUs.
  Ranks direct(unsigned ofHost = 0, double timeoutSeconds = 20) const {
    Ranks ranks;
    ranks.ofHost = ofHost;
    ranks.isDirect = true;
    ranks.timeoutSeconds = timeoutSeconds;
    return ranks;
  }
  /// Messages may be under way in memory after an error, which is left alone
  /// until the process ends: here one of its own. `isLeft`: some surely are.
  void expectInProcess(const Ranks &ranks, const Body &body,
                       const std::function<void(LoopNetwork &)> &prepare = {},
                       bool isLeft = false) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto run = [&] {
      LoopNetwork network;
      if (prepare)
        prepare(network);
      int failed = onRanks(ranks, network, count, count, body);
      std::_Exit(failed + check(!isLeft || fake.live() != 0, "memory"));
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  }
  int expectLaunch(RoundRank &rank, scclResult code, const std::string &message,
                   size_t elements = count) const {
    return check(rank.launch(rank.send, rank.recv, elements) == code &&
                     messageHas(message),
                 message);
  }
  static constexpr size_t count = 1000;
  const std::string name = fake.isCUDA ? "nccl" : "rccl";
};
} // namespace

INSTANTIATE_TEST_SUITE_P(GPU, Direct,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

/// Launches by the library return before their stream.
TEST_P(Direct, IsTheWayWhereThereIsNoLibrary) {
  for (bool hasLibrary : {true, false}) {
    std::optional<Setting> other;
    if (!hasLibrary)
      other.emplace("SCCL_NCCL_LIBRARY", "none");
    LoopNetwork network;
    network.devices = 1 << kind;
    EXPECT_EQ(
        0,
        onRanks({}, network, count, count,
                [&](const RankEnd &end, RoundRank &rank) {
                  int failed =
                      rank.put(rank.send, inputOf<float>(end.rank, count));
                  meet(end);
                  unsigned before = copies();
                  meet(end);
                  if (hasLibrary && end.rank == 0)
                    failed += check(!rank.launch(rank.send, rank.recv, count) &&
                                        rank.streams.isBusy(),
                                    "returns before");
                  meet(end);
                  if (!hasLibrary || end.rank == 1)
                    failed += check(!rank.launch(rank.send, rank.recv, count),
                                    "launch");
                  failed += check(!rank.streams.wait(), "wait");
                  meet(end);
                  failed += check(copies() == before, "no copies");
                  meet(end);
                  return failed +
                         rank.expect(rank.recv, sumOf<float>(2, count), "sum");
                }));
  }
}

TEST_P(Direct, NeedsTransportsOfAllRanks) {
  Setting other("SCCL_NCCL_LIBRARY", "none");
  auto isStaged = [&](const RankEnd &end, RoundRank &rank) {
    int failed = rank.put(rank.send, inputOf<float>(end.rank, count));
    meet(end);
    unsigned before = copies();
    meet(end);
    failed += check(!rank.launch(rank.send, rank.recv, count), "launch");
    meet(end);
    failed += check(copies() != before, "by way of the hosts");
    meet(end);
    return failed + rank.expect(rank.recv, sumOf<float>(2, count), "sum");
  };
  // Of rank 1 alone it is not known, or not that it is of an old library; or
  // what all take is another vendor's.
  for (unsigned turn : {0, 1, 2}) {
    LoopNetwork network;
    network.devices = turn == 2 ? 7 & ~(1 << kind) : 1 << kind;
    network.adjust = [turn](scclTransport &transport) {
      if (turn == 0 && transport.rank == 1)
        transport.devices = 0;
      if (turn == 1)
        transport.size = offsetof(scclTransport, devices);
    };
    EXPECT_EQ(0, onRanks({}, network, count, count, isStaged)) << turn;
    Ranks ranks;
    LoopNetwork strict;
    strict.devices = network.devices;
    strict.adjust = network.adjust;
    Setting wish("SCCL_TRANSPORT", "direct");
    std::string message = "SCCL_TRANSPORT is direct, and cannot be used: rank ";
    message += turn == 0 ? "1" : "0";
    message += ": its transport does not say that it takes memory of its GPU";
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                RoundRank rank(fake, end);
                return check(join(rank, strict, end, ranks) ==
                                     scclErrorUnsupported &&
                                 messageHas(message),
                             message);
              }));
  }
}

TEST_P(Direct, NeedsCodeAndGPUs) {
  Ranks ranks = direct();
  ranks.hasCode = false;
  Setting wish("SCCL_TRANSPORT", "direct");
  auto refuses = [&](const std::string &message) {
    LoopNetwork network;
    network.devices = 1 << kind;
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                RoundRank rank(fake, end);
                return check(join(rank, network, end, ranks) ==
                                     scclErrorUnsupported &&
                                 messageHas(message),
                             message);
              }));
  };
  refuses("the plan has no code for messages on");
  ranks = direct();
  ranks.hasGPU = [](unsigned rank) { return rank == 0; };
  refuses("rank 1: its buffers are in memory of the host");
}

/// Ranks of one GPU are in nobody's way, either.
TEST_P(Direct, RanksMayShareAGPU) {
  Ranks ranks = direct();
  ranks.device = [](unsigned) { return 1; };
  EXPECT_EQ(0, expectWay(false, ranks));
}

TEST_P(Direct, GraphsCannotCaptureIt) {
  auto capture = [&](const RankEnd &end, RoundRank &rank) {
    int failed = rank.put(rank.send, inputOf<float>(end.rank, count));
    meet(end);
    failed += check(!rank.streams.beginCapture(), "begin") +
              expectLaunch(rank, scclErrorUnsupported,
                           "a graph cannot exchange messages");
    rank.streams.drop(rank.streams.endCapture());
    meet(end);
    return failed + check(!rank.launch(rank.send, rank.recv, count), "next") +
           rank.expect(rank.recv, sumOf<float>(2, count), "sum");
  };
  for (unsigned ofHost : {1, 2})
    EXPECT_EQ(0, onRanks(direct(ofHost), count, count, capture));
}

TEST_P(Direct, ComesAfterWhatItsStreamHasToDo) {
  auto reduce = [&](const RankEnd &end, RoundRank &rank) {
    int failed = 0;
    for (unsigned turn = 0; turn < 4; ++turn)
      failed += rank.put(rank.send, inputOf<float>(end.rank, count)) +
                check(!rank.streams.fill(rank.send, 0, count * 4) &&
                          !rank.launch(rank.send, rank.recv, count),
                      "launch") +
                check(!rank.streams.isBusy(), "done");
    return failed + rank.expect(rank.recv, std::vector<float>(count), "0");
  };
  EXPECT_EQ(0, onRanks(direct(), count, count, reduce));
}

/// Now of one program, now of another, and of 0 elements.
TEST_P(Direct, ManyLaunchesInARow) {
  for (unsigned ofHost : {1, 2})
    EXPECT_EQ(0, onRanks(direct(ofHost), count, count,
                         [&](const RankEnd &end, RoundRank &rank) {
                           auto own = inputOf<float>(end.rank, count);
                           int failed = 0;
                           for (unsigned turn = 0; turn < 200; ++turn)
                             failed += check(!rank.launch(rank.send, rank.recv,
                                                          turn % count),
                                             "launch");
                           failed += rank.put(rank.send, own) +
                                     expectLaunch(rank, scclSuccess, "");
                           return failed + rank.expect(rank.recv,
                                                       sumOf<float>(2, count),
                                                       "sum");
                         }));
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

/// Whether it would send messages, or write to memory of rank 0.
TEST_P(Direct, ARankThatDoesNotComeIsNamed) {
  for (unsigned ofHost : {1, 2})
    expectInProcess(direct(ofHost, 0.5),
                    [&](const RankEnd &end, RoundRank &rank) {
                      int failed = 0;
                      if (end.rank == 0)
                        failed = expectLaunch(rank, scclErrorTimeout,
                                              "rank 0 has waited 0.5 s for a "
                                              "message from rank 1");
                      meet(end);
                      return failed;
                    });
}

/// After some rounds nothing comes from rank 2 of eight, or goes there.
TEST_P(Direct, ALostRankIsNamed) {
  for (unsigned ofHost : {1, 4}) {
    Ranks ranks = direct(ofHost, 2);
    ranks.count = 8;
    ranks.plan = meshReduce;
    std::atomic<int> *cut = nullptr;
    expectInProcess(
        ranks,
        [&](const RankEnd &end, RoundRank &rank) {
          int failed =
              check(!rank.launch(rank.send, rank.recv, count), "first");
          meet(end);
          if (end.rank == 0)
            *cut = 0;
          meet(end);
          std::string who =
              end.rank == 2 ? "rank 2 has waited" : " rank 2, which";
          failed += expectLaunch(rank, scclErrorTimeout, who);
          meet(end);
          return failed;
        },
        [&](LoopNetwork &network) {
          network.lostRank = 2;
          cut = &network.cutAfter;
        },
        /*isLeft=*/true);
  }
}

TEST_P(Direct, AFailedMessageNamesItsRanks) {
  std::atomic<int> *fails = nullptr;
  expectInProcess(
      direct(),
      [&](const RankEnd &end, RoundRank &rank) {
        int failed = check(!rank.launch(rank.send, rank.recv, count), "first");
        meet(end);
        if (end.rank == 0)
          *fails = 0;
        meet(end);
        failed += expectLaunch(rank, scclErrorRankLost, "the wire is cut");
        meet(end);
        return failed;
      },
      [&](LoopNetwork &network) { fails = &network.failsAfter; });
}

TEST_P(Direct, ARankThatAbortsEndsLaunchesOfOthers) {
  for (unsigned ofHost : {1, 2})
    expectInProcess(direct(ofHost), [&](const RankEnd &end, RoundRank &rank) {
      // An abort would also end the join of a rank that is at it.
      meet(end);
      int failed = 0;
      if (end.rank == 0)
        failed = expectLaunch(rank, scclErrorAborted, "rank 1 has aborted");
      else
        failed = check(!scclCommAbort(rank.member.comm), "abort");
      meet(end);
      return failed;
    });
}

TEST_P(Direct, OtherCallsAreAMismatch) {
  for (unsigned ofHost : {1, 2})
    expectInProcess(direct(ofHost), [&](const RankEnd &end, RoundRank &rank) {
      int failed =
          expectLaunch(rank, scclErrorMismatch, "launched with another count",
                       count - 64 * end.rank);
      meet(end);
      return failed;
    });
}

TEST_P(Direct, ABufferOfTheHostIsAnErrorOfAllRanks) {
  expectInProcess(direct(), [&](const RankEnd &end, RoundRank &rank) {
    std::vector<float> host(count);
    int failed =
        end.rank == 1
            ? check(rank.launch(host.data(), rank.recv, count) ==
                        scclErrorInvalidArgument,
                    "memory of the host")
            : expectLaunch(rank, scclErrorMismatch, "device can access");
    meet(end);
    return failed;
  });
}

TEST_P(Direct, AnErrorOfTheDriverIsOneForAllRanks) {
  expectInProcess(direct(), [&](const RankEnd &end, RoundRank &rank) {
    meet(end);
    const char *failing = fake.isCUDA ? "cuLaunchCooperativeKernel"
                                      : "hipModuleLaunchCooperativeKernel";
    Setting fails("SCCL_FAKE_FAIL",
                  failing + (":" + std::to_string(fake.launches() + 1)));
    meet(end);
    int failed =
        check(rank.launch(rank.send, rank.recv, count) == scclErrorDevice,
              "the driver's error");
    meet(end);
    return failed;
  });
}
