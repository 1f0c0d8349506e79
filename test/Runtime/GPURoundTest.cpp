//===- GPURoundTest.cpp - What messages in streams do ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPURounds.h"

#include <bit>
#include <malloc.h>

using namespace sccl;

INSTANTIATE_TEST_SUITE_P(GPU, Rounds,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

static const std::vector<size_t> counts = {1, 3, 1000, 70001, 300007};

/// Sums out of place and in place, each launch at once behind the one before.
template <typename T>
static int reduceAll(const RankEnd &end, RoundRank &rank, scclDataType type) {
  int failed = 0;
  for (size_t count : counts) {
    std::vector<T> own = inputOf<T>(end.rank, count),
                   sum = sumOf<T>(end.numRanks, count);
    std::string what = std::to_string(count) + " elements";
    failed += rank.put(rank.send, own) +
              check(!rank.launch(rank.send, rank.recv, count, type), what) +
              rank.expect(rank.recv, sum, what) +
              rank.expect(rank.send, own, "the input, " + what);
    failed += rank.put(rank.recv, own) +
              check(!rank.launch(rank.recv, rank.recv, count, type), what) +
              rank.expect(rank.recv, sum, what + " in place");
  }
  return failed;
}

TEST_P(Rounds, AllReduceOfEightRanks) {
  Ranks ranks{8, meshReduce};
  EXPECT_EQ(0, onHosts(ranks, counts.back(), counts.back(),
                       [](const RankEnd &end, RoundRank &rank) {
                         return reduceAll<int32_t>(end, rank, scclInt32) +
                                reduceAll<float>(end, rank, scclFloat32);
                       }));
}

TEST_P(Rounds, InPiecesWhereMemoryIsShort) {
  Ranks ranks{8, meshReduce, 100000};
  EXPECT_EQ(0, onHosts(ranks, counts.back(), counts.back(),
                       [](const RankEnd &end, RoundRank &rank) {
                         return reduceAll<int32_t>(end, rank, scclInt32);
                       }));
}

/// Each schedule that sccl plan has found for some size, for a size at which
/// all its chunks have something and for one at which most have nothing.
TEST_P(Rounds, AllSchedulesOfTwoBoxes) {
  Ranks ranks{16, kind == scclDeviceCUDA
                      ? SCCL_TEST_PLANS "/boxes2-all_reduce.sccl"
                      : SCCL_TEST_PLANS "/mi300x2-all_reduce.sccl"};
  auto reduce = [&](const RankEnd &end, RoundRank &rank) {
    scclPlanInfo info = {};
    info.size = sizeof(info);
    scclChoice choice = {};
    choice.size = sizeof(choice);
    int failed = check(!scclPlanGetInfo(rank.member.plan, &info), "plan") +
                 check(info.numPrograms > 4, std::to_string(info.numPrograms));
    for (; choice.program < int(info.numPrograms); ++choice.program)
      for (size_t count : {5, 7001}) {
        std::string what = std::to_string(count) + " elements by program " +
                           std::to_string(choice.program);
        failed += check(!scclCommSetChoice(rank.member.comm, rank.member.plan,
                                           &choice),
                        "choice") +
                  rank.put(rank.send, inputOf<float>(end.rank, count)) +
                  check(!rank.launch(rank.send, rank.recv, count), what) +
                  rank.expect(rank.recv, sumOf<float>(16, count), what);
      }
    // Nothing passes through memory of the hosts.
    meet(end);
    unsigned before = copies();
    meet(end);
    failed += check(!rank.launch(rank.send, rank.recv, 1000), "launch") +
              check(!rank.streams.wait(), "wait");
    meet(end);
    return failed + check(copies() == before, "copies");
  };
  EXPECT_EQ(0, onHosts(ranks, 7001, 7001, reduce));
}

TEST_P(Rounds, AllGatherPutsSegmentsInTheirPlaces) {
  for (const char *plan :
       {ringGather, SCCL_TEST_PLANS "/boxes2-all_gather.sccl"}) {
    unsigned numRanks = plan == ringGather ? 4 : 16;
    // Room for a piece of each segment only.
    Ranks ranks{numRanks, plan, 1 << 20};
    constexpr size_t most = 70001;
    EXPECT_EQ(0, onHosts(ranks, most, most * numRanks,
                         [](const RankEnd &end, RoundRank &rank) {
                           int failed = 0;
                           for (size_t count : {size_t(1), size_t(999), most}) {
                             std::vector<float> all;
                             for (unsigned of = 0; of < end.numRanks; ++of) {
                               auto own = inputOf<float>(of, count);
                               all.insert(all.end(), own.begin(), own.end());
                             }
                             auto own = inputOf<float>(end.rank, count);
                             void *place = static_cast<float *>(rank.recv) +
                                           end.rank * count;
                             for (void *from : {rank.send, place})
                               failed +=
                                   rank.put(from, own) +
                                   check(!rank.launch(from, rank.recv, count),
                                         "launch") +
                                   rank.expect(rank.recv, all, "all");
                           }
                           return failed;
                         }));
  }
}

TEST_P(Rounds, BroadcastOfARootThatIsNotTheFirst) {
  constexpr size_t count = 54321;
  EXPECT_EQ(0, onHosts({8, cubeBroadcast}, count, count,
                       [](const RankEnd &end, RoundRank &rank) {
                         auto sent = inputOf<float>(cubeRoot, count);
                         return rank.put(rank.send,
                                         inputOf<float>(end.rank, count)) +
                                check(!rank.launch(rank.send, rank.recv, count),
                                      "launch") +
                                rank.expect(rank.recv, sent, "broadcast");
                       }));
}

/// In place all ranks copy what they would overwrite, in pieces.
TEST_P(Rounds, AllToAllInPlace) {
  constexpr size_t count = 30001;
  EXPECT_EQ(
      0,
      onHosts({2, pairExchange, 50000}, 2 * count, 2 * count,
              [](const RankEnd &end, RoundRank &rank) {
                std::vector<float> own, expected;
                for (unsigned to = 0; to < 2; ++to)
                  for (size_t i = 0; i < count; ++i) {
                    own.push_back(float(i % 1021 * 4 + to * 2 + end.rank));
                    expected.push_back(float(i % 1021 * 4 + end.rank * 2 + to));
                  }
                int failed = 0;
                for (void *from : {rank.send, rank.recv})
                  failed +=
                      rank.put(from, own) +
                      check(!rank.launch(from, rank.recv, count), "launch") +
                      rank.expect(rank.recv, expected, "all");
                return failed;
              }));
}

TEST_P(Rounds, LaunchesReturnBeforeTheirStream) {
  constexpr size_t count = 1000;
  EXPECT_EQ(
      0, inStreams({}, count, count, [&](const RankEnd &end, RoundRank &rank) {
        int failed = rank.put(rank.send, inputOf<float>(end.rank, count));
        // Of rank 0 alone nothing can be done.
        if (end.rank == 0)
          failed += check(!rank.launch(rank.send, rank.recv, count), "launch") +
                    check(rank.streams.isBusy(), "under way");
        meet(end);
        // What the stream has to do before comes before, and after after.
        if (end.rank == 1)
          failed += check(!rank.streams.fill(rank.send, 0, count * 4) &&
                              !rank.launch(rank.send, rank.recv, count) &&
                              !rank.streams.fill(rank.send, 1, count * 4),
                          "launch");
        return failed + rank.expect(rank.recv, inputOf<float>(0, count), "0");
      }));
}

TEST_P(Rounds, GraphsRepeatThem) {
  constexpr size_t count = 1000;
  EXPECT_EQ(
      0, inStreams({8, meshReduce}, count, count,
                   [&](const RankEnd &end, RoundRank &rank) {
                     auto own = inputOf<float>(end.rank, count);
                     int failed = rank.put(rank.send, own);
                     meet(end);
                     failed += check(!rank.streams.beginCapture(), "begin") +
                               check(!rank.launch(rank.send, rank.recv, count),
                                     "launch");
                     void *graph = rank.streams.endCapture();
                     meet(end);
                     for (unsigned turn = 0; turn < 20; ++turn)
                       failed += check(!rank.streams.replay(graph), "replay");
                     failed += rank.expect(rank.recv, sumOf<float>(8, count),
                                           "after 20 times");
                     rank.streams.drop(graph);
                     return failed;
                   }));
}

TEST_P(Rounds, OfManyLaunchesInARow) {
  constexpr size_t count = 500;
  EXPECT_EQ(0, onHosts({8, meshReduce}, count, count,
                       [&](const RankEnd &end, RoundRank &rank) {
                         // 0 stays 0 however often it is added.
                         auto own = std::vector<float>(count);
                         own[7] = float(end.rank == 3);
                         int failed = rank.put(rank.recv, own);
                         for (unsigned turn = 0; turn < 10; ++turn)
                           failed +=
                               check(!rank.launch(rank.recv, rank.recv, count),
                                     "launch");
                         std::vector<float> sum(count);
                         sum[7] = 1;
                         for (unsigned turn = 1; turn < 10; ++turn)
                           sum[7] *= 8;
                         return failed + rank.expect(rank.recv, sum, "8^9");
                       }));
}

/// Of other data each, with results at places of their own. What is held does
/// not grow once events are there for the launches that are watched.
TEST_P(Rounds, OfTenThousandLaunchesOnSeveralHosts) {
  constexpr size_t count = 8, launches = 10000, some = 2000;
  auto byteOf = [](unsigned rank, size_t launch) {
    return static_cast<unsigned char>((launch * 7 + launch / 64 + rank * 31) %
                                      100);
  };
  auto valueOf = [&](unsigned rank, size_t launch) {
    uint32_t bits = byteOf(rank, launch) * 0x01010101u;
    return std::bit_cast<float>(bits);
  };
  Ranks ranks;
  auto reduce = [&](const RankEnd &end, RoundRank &rank) {
    int failed = 0;
    std::vector<float> sums;
    sums.reserve(launches * count);
    std::vector<unsigned> live;
    std::vector<size_t> heap;
    for (size_t i = 0; i < launches && !failed; ++i) {
      sums.insert(sums.end(), count, valueOf(0, i) + valueOf(1, i));
      failed += check(
          !rank.streams.fill(rank.send, byteOf(end.rank, i), count * 4) &&
              !rank.launch(rank.send,
                           static_cast<float *>(rank.recv) + i * count, count),
          "launch " + std::to_string(i));
      if (i != some && i != launches - 1)
        continue;
      failed += rank.expect(rank.recv, sums, "the sums");
      meet(end);
      live.push_back(fake.live());
      heap.push_back(mallinfo2().uordblks);
      meet(end);
    }
    // The library that stands in for NCCL keeps all messages.
    constexpr size_t little = 64 << 10;
    return failed + check(live.front() == live.back(), "on the device") +
           check(!ranks.isDirect || heap.back() < heap.front() + little,
                 "in memory");
  };
  for (bool isDirect : {false, true}) {
    ranks.isDirect = isDirect;
    EXPECT_EQ(0, onRanks(ranks, count, launches * count, reduce))
        << (isDirect ? "by a transport" : "by the library");
  }
}

TEST_P(Rounds, NullIsTheNullStream) {
  constexpr size_t count = 1000;
  EXPECT_EQ(0,
            onHosts({}, count, count, [&](const RankEnd &end, RoundRank &rank) {
              return rank.put(rank.send, inputOf<float>(end.rank, count)) +
                     check(!scclLaunch(rank.member.comm, rank.member.plan,
                                       rank.send, rank.recv, count, scclFloat32,
                                       scclSum, nullptr),
                           "launch") +
                     rank.expect(rank.recv, sumOf<float>(2, count), "sum");
            }));
}

TEST_P(Rounds, CallsWithoutElementsDoNothing) {
  EXPECT_EQ(0, inStreams({}, 1, 1, [&](const RankEnd &end, RoundRank &rank) {
              return end.rank == 0
                         ? check(!rank.launch(rank.send, rank.recv, 0) &&
                                     !rank.streams.isBusy(),
                                 "none")
                         : 0;
            }));
}
