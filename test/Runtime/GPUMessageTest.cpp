//===- GPUMessageTest.cpp - Ranks with GPUs that exchange messages --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUStreams.h"
#include "MessageTesting.h"

using namespace sccl;

namespace {
/// Buffers on the device of a rank, for so many floats.
struct Buffers {
  float *send, *recv;
  bool areMade;
  Buffers(Member &member, size_t sends, size_t receives)
      : send(member.allocate(sends)), recv(member.allocate(receives)),
        areMade(send && recv) {}
};

class MessageGPU : public EitherGPU {
protected:
  scclResult joinGPU(Member &member, LoopNetwork &network, const RankEnd &end,
                     const char *path, double timeoutSeconds = 20) const {
    if (scclResult result = scclPlanLoad(path, &member.plan))
      return result;
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    config.device = kind;
    config.deviceIndex = end.rank % 2;
    config.timeoutSeconds = timeoutSeconds;
    scclTransport transport = network.transport(end);
    scclResult result =
        scclCommInitTransport(&transport, &config, &member.comm);
    return result ? result : scclCommLoad(member.comm, member.plan);
  }

  using Body = std::function<int(const RankEnd &, Member &, Buffers &)>;
  /// What `body` returns for two ranks, with buffers of `count` floats each.
  int onPair(size_t count, const Body &body, double timeoutSeconds = 20) const {
    LoopNetwork network;
    return runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
      Member member;
      if (check(!joinGPU(member, network, end, pairReduce, timeoutSeconds),
                "join"))
        return 1;
      Buffers buffers(member, count, count);
      if (check(buffers.areMade, "memory"))
        return 1;
      int failed = body(end, member, buffers);
      meet(end);
      return failed;
    });
  }
};
} // namespace

INSTANTIATE_TEST_SUITE_P(GPU, MessageGPU,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

static int put(Member &member, float *to, const std::vector<float> &values) {
  return check(!scclMemCopy(member.comm, to, values.data(),
                            values.size() * sizeof(float)),
               "copy to the device");
}

static int expect(Member &member, const float *from,
                  const std::vector<float> &values) {
  std::vector<float> found(values.size());
  return check(!scclMemCopy(member.comm, found.data(), from,
                            found.size() * sizeof(float)) &&
                   found == values,
               std::to_string(values.size()) + " values");
}

static std::vector<float> sumOf(unsigned ranks, size_t count) {
  std::vector<float> sum(count);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    std::vector<float> values = valuesOf(rank, count);
    for (size_t i = 0; i < count; ++i)
      sum[i] += values[i];
  }
  return sum;
}

/// Of slices of 8 MiB there is one, one and a bit, and several.
static constexpr size_t sliceFloats = (8 << 20) / sizeof(float);

TEST_P(MessageGPU, AllReduceOfOneSliceAndOfSeveral) {
  std::vector<size_t> counts = {
      1, 7, 70001, sliceFloats, sliceFloats + 3, 2 * sliceFloats + 1001};
  auto reduceAll = [&](const RankEnd &end, Member &member, Buffers &buffers) {
    int failed = 0;
    for (size_t count : counts) {
      failed += put(member, buffers.send, valuesOf(end.rank, count));
      for (float *from : {buffers.send, buffers.recv}) {
        // The second time in place.
        if (from == buffers.recv)
          failed += put(member, from, valuesOf(end.rank, count));
        failed += check(!member.launch(from, buffers.recv, count), "launch") +
                  expect(member, buffers.recv, sumOf(2, count));
      }
    }
    return failed;
  };
  EXPECT_EQ(0, onPair(counts.back(), reduceAll));
}

/// Also where every second rank has no GPU.
TEST_P(MessageGPU, SegmentsOfAllRanksHaveTheirPlaces) {
  // Slices have 16 MiB / 5 of each segment.
  std::vector<size_t> counts = {1, 1003, 2 * sliceFloats / 5 + 17, sliceFloats};
  auto gather = [&](const RankEnd &end, Member &member) {
    Buffers buffers(member, counts.back(), 4 * counts.back());
    if (check(buffers.areMade, "memory"))
      return 1;
    int failed = 0;
    for (size_t count : counts) {
      std::vector<float> all;
      for (unsigned rank = 0; rank < 4; ++rank) {
        std::vector<float> values = valuesOf(rank, count);
        all.insert(all.end(), values.begin(), values.end());
      }
      for (float *from : {buffers.send, buffers.recv + end.rank * count})
        failed += put(member, from, valuesOf(end.rank, count)) +
                  check(!member.launch(from, buffers.recv, count), "launch") +
                  expect(member, buffers.recv, all);
    }
    meet(end);
    return failed;
  };
  for (unsigned every : {1, 2}) {
    LoopNetwork network;
    network.ranksOfHost = 2;
    EXPECT_EQ(0, runRanks(4, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                return check(!(end.rank % every == 0
                                   ? joinGPU(member, network, end, ringGather)
                                   : join(member, network, end, ringGather)),
                             "join") ||
                       gather(end, member);
              }));
  }
}

TEST_P(MessageGPU, ComesAfterWhatItsStreamHasToDo) {
  constexpr size_t count = 1 << 20;
  auto reduce = [&](const RankEnd &end, Member &member, Buffers &buffers) {
    Streams streams(fake, end.rank % 2);
    int failed = 0;
    // Bytes of 0 are floats of 0.
    for (unsigned turn = 0; turn < 4; ++turn)
      failed += put(member, buffers.send, valuesOf(1, count)) +
                check(!streams.fill(buffers.send, 0, count * 2) &&
                          !scclAllReduce(buffers.send, buffers.recv, count,
                                         scclFloat32, scclSum, member.comm,
                                         streams.stream),
                      "launch") +
                check(!streams.isBusy(), "done");
    std::vector<float> values = valuesOf(1, count);
    for (size_t i = 0; i < count; ++i)
      values[i] *= i < count / 2 ? 0 : 2;
    return failed + expect(member, buffers.recv, values);
  };
  EXPECT_EQ(0, onPair(count, reduce));
}

TEST_P(MessageGPU, RanksWithAGPUAndWithoutWorkTogether) {
  LoopNetwork network;
  constexpr size_t most = 2 * sliceFloats + 12345;
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              bool hasGPU = end.rank == 0;
              if (check(!(hasGPU ? joinGPU(member, network, end, pairReduce)
                                 : join(member, network, end, pairReduce)),
                        "join"))
                return 1;
              Buffers buffers(member, most, most);
              int failed = check(buffers.areMade, "memory");
              for (size_t count : {size_t(12345), most})
                for (float *from : {buffers.send, buffers.recv})
                  failed += put(member, from, valuesOf(end.rank, count)) +
                            check(!member.launch(from, buffers.recv, count),
                                  "launch") +
                            expect(member, buffers.recv, sumOf(2, count));
              meet(end);
              return failed;
            }));
}

TEST_P(MessageGPU, CapturedStreamsAreRefused) {
  constexpr size_t count = 100;
  auto capture = [&](const RankEnd &end, Member &member, Buffers &buffers) {
    Streams streams(fake, end.rank % 2);
    int failed = put(member, buffers.send, valuesOf(end.rank, count));
    meet(end);
    failed += check(!streams.beginCapture(), "begin");
    scclResult result =
        scclAllReduce(buffers.send, buffers.recv, count, scclFloat32, scclSum,
                      member.comm, streams.stream);
    failed += check(result == scclErrorUnsupported &&
                        messageHas("a graph cannot exchange messages"),
                    "capture is refused");
    streams.drop(streams.endCapture());
    meet(end);
    // That was a call, on all ranks: the next one is as good as any.
    return failed +
           check(!member.launch(buffers.send, buffers.recv, count), "launch") +
           expect(member, buffers.recv, sumOf(2, count));
  };
  EXPECT_EQ(0, onPair(count, capture));
}

TEST_P(MessageGPU, LaunchesAreNotAsynchronous) {
  auto launch = [](const RankEnd &, Member &member, Buffers &) {
    uint64_t ticket;
    return check(scclLaunchAsync(member.comm, member.plan, nullptr, nullptr, 0,
                                 scclFloat32, scclSum,
                                 &ticket) == scclErrorUnsupported &&
                     messageHas("order of their streams"),
                 "scclLaunchAsync");
  };
  EXPECT_EQ(0, onPair(1, launch));
}

TEST_P(MessageGPU, BuffersOfTheHostAreRefused) {
  auto launch = [](const RankEnd &, Member &member, Buffers &) {
    std::vector<float> send(8), recv(8);
    return check(member.launch(send.data(), recv.data(), 8) ==
                         scclErrorInvalidArgument &&
                     messageHas("device can access"),
                 "memory of the host");
  };
  EXPECT_EQ(0, onPair(8, launch));
}

TEST_P(MessageGPU, ARankThatDoesNotComeIsNamed) {
  constexpr size_t count = 100;
  auto launchAlone = [](const RankEnd &end, Member &member, Buffers &buffers) {
    if (end.rank != 0)
      return 0;
    return check(member.launch(buffers.send, buffers.recv, count) ==
                         scclErrorTimeout &&
                     messageHas("rank 1"),
                 "timeout");
  };
  EXPECT_EQ(0, onPair(count, launchAlone, /*timeoutSeconds=*/0.5));
}

TEST_P(MessageGPU, AnErrorOfTheDriverIsOneForAllRanks) {
  constexpr size_t count = sliceFloats + 1;
  auto fail = [&](const RankEnd &end, Member &member, Buffers &buffers) {
    meet(end);
    unsigned done = fake.calls("cuMemcpyAsync", "hipMemcpyAsync");
    meet(end);
    Setting fails("SCCL_FAKE_FAIL",
                  (fake.isCUDA ? "cuMemcpyAsync:" : "hipMemcpyAsync:") +
                      std::to_string(done + 3));
    scclResult result = member.launch(buffers.send, buffers.recv, count);
    return check(result == scclErrorDevice, "the driver's error");
  };
  EXPECT_EQ(0, onPair(count, fail));
}
