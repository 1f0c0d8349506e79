//===- GPURounds.h - Messages in the order of streams -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL and RCCL are the stand-in of test/Vendor, drivers those of fake/, and
// kernels code for the host: what a GPU would do is done by threads of streams.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_GPUROUNDS_H
#define SCCL_TEST_RUNTIME_GPUROUNDS_H

#include "GPUStreams.h"
#include "MessageTesting.h"

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

namespace sccl {
/// Where the ranks of a test are, and what they have.
struct Ranks {
  unsigned count = 2;
  const char *plan = pairReduce;
  size_t scratchBytes = 4 << 20;
  double timeoutSeconds = 20;
  bool hasCode = true; ///< the plan, for GPUs
  std::function<int(unsigned)> device = [](unsigned rank) { return rank; };
  std::function<bool(unsigned)> hasGPU = [](unsigned) { return true; };
  bool isMixed = false;  ///< rank 1 has a GPU of the other vendor
  unsigned ofHost = 0;   ///< that are on one host; 0: no two are
  bool isDirect = false; ///< the transport carries messages, else the library
};

/// A rank with buffers on its GPU, of so many elements of 4 bytes.
struct RoundRank {
  Member member;
  Streams streams;
  void *send = nullptr, *recv = nullptr;

  RoundRank(const Fake &fake, const RankEnd &end) : streams(fake, end.rank) {}
  scclResult launch(const void *from, void *to, size_t count,
                    scclDataType type = scclFloat32) {
    return scclLaunch(member.comm, member.plan, from, to, count, type, scclSum,
                      streams.stream);
  }
  template <typename T> int put(void *to, const std::vector<T> &values) {
    return check(
        !scclMemCopy(member.comm, to, values.data(), values.size() * sizeof(T)),
        "copy to the device");
  }
  template <typename T>
  int expect(const void *from, const std::vector<T> &values,
             const std::string &what) {
    std::vector<T> found(values.size());
    return check(!streams.wait() &&
                     !scclMemCopy(member.comm, found.data(), from,
                                  found.size() * sizeof(T)) &&
                     found == values,
                 what);
  }
};

class Rounds : public EitherGPU {
protected:
  Rounds()
      : devices("SCCL_FAKE_DEVICES", "16"),
        library("SCCL_NCCL_LIBRARY", SCCL_TEST_STAND_IN) {}

  /// The plan with the code that `ranks` have. Plans for many of them are long:
  /// it is made once for all.
  const std::string &bytesOf(const Ranks &ranks) const {
    std::lock_guard lock(mutex);
    auto [place, isNew] =
        plans.try_emplace({ranks.plan, ranks.hasCode, ranks.isMixed});
    std::string &bytes = place->second;
    if (!isNew)
      return bytes;
    bytes = readFile(ranks.plan);
    if (ranks.hasCode)
      bytes = fake::withMessageCode(bytes, fake.isCUDA);
    if (ranks.isMixed)
      bytes = fake::withMessageCode(bytes, !fake.isCUDA);
    return bytes;
  }
  scclResult join(RoundRank &rank, LoopNetwork &network, const RankEnd &end,
                  const Ranks &ranks) const {
    const std::string &bytes = bytesOf(ranks);
    if (scclResult result =
            scclPlanLoadMemory(bytes.data(), bytes.size(), &rank.member.plan))
      return result;
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    if (ranks.hasGPU(end.rank)) {
      config.device = kind;
      if (ranks.isMixed && end.rank == 1)
        config.device = kind == scclDeviceCUDA ? scclDeviceHIP : scclDeviceCUDA;
      config.deviceIndex = ranks.device(end.rank);
    }
    config.timeoutSeconds = ranks.timeoutSeconds;
    config.scratchBytes = ranks.scratchBytes;
    // Code for the host is one block; with more they would be in groups.
    config.smBudget = 1;
    scclTransport transport = network.transport(end);
    scclResult result =
        scclCommInitTransport(&transport, &config, &rank.member.comm);
    return result ? result : scclCommLoad(rank.member.comm, rank.member.plan);
  }

  using Body = std::function<int(const RankEnd &, RoundRank &)>;
  /// What `body` returns for all ranks, with buffers of so many elements.
  int onRanks(const Ranks &ranks, size_t sends, size_t receives,
              const Body &body) const {
    LoopNetwork network;
    return onRanks(ranks, network, sends, receives, body);
  }
  int onRanks(const Ranks &ranks, LoopNetwork &network, size_t sends,
              size_t receives, const Body &body) const {
    network.ranksOfHost = ranks.ofHost;
    std::optional<Setting> wish;
    if (ranks.isDirect) {
      network.devices = 1 << kind;
      wish.emplace("SCCL_TRANSPORT", "direct");
    }
    return runRanks(ranks.count, RanksAs::Threads, [&](const RankEnd &end) {
      RoundRank rank(fake, end);
      if (check(!join(rank, network, end, ranks) &&
                    !scclMemAlloc(rank.member.comm, sends * 4, &rank.send) &&
                    !scclMemAlloc(rank.member.comm, receives * 4, &rank.recv),
                "join"))
        return 1;
      int failed = body(end, rank);
      failed += check(!rank.streams.wait(), "wait");
      meet(end);
      return failed;
    });
  }
  /// The same on hosts of one rank each, on two hosts, and on one, with the
  /// library and with a transport.
  int onHosts(Ranks ranks, size_t sends, size_t receives,
              const Body &body) const {
    int failed = 0;
    for (bool isDirect : {false, true}) {
      ranks.isDirect = isDirect;
      failed += check(!inStreams(ranks, sends, receives, body),
                      isDirect ? "by a transport" : "by the library");
    }
    return failed;
  }
  /// The same with what `ranks` say.
  int inStreams(Ranks ranks, size_t sends, size_t receives,
                const Body &body) const {
    int failed = 0;
    for (unsigned ofHost : {0u, (ranks.count + 1) / 2, ranks.count}) {
      ranks.ofHost = ofHost;
      failed += check(!onRanks(ranks, sends, receives, body),
                      std::to_string(ofHost) + " ranks of a host");
    }
    return failed;
  }
  int expectWay(bool isByHosts, const Ranks &ranks = {}) const;
  /// All ranks fail to join with `code` and `message`.
  void expectNoWay(scclResult code, const std::string &message,
                   const Ranks &ranks = {}) {
    LoopNetwork network;
    network.ranksOfHost = ranks.ofHost;
    EXPECT_EQ(0,
              runRanks(ranks.count, RanksAs::Threads, [&](const RankEnd &end) {
                RoundRank rank(fake, end);
                return check(join(rank, network, end, ranks) == code &&
                                 messageHas(message),
                             message);
              }));
  }
  /// Copies to the device and from it, by which hosts would exchange messages.
  unsigned copies() const {
    return fake.calls("cuMemcpyAsync", "hipMemcpyAsync");
  }
  Setting devices, library;
  mutable std::mutex mutex;
  /// By file, and by Ranks::hasCode and isMixed.
  mutable std::map<std::tuple<std::string, bool, bool>, std::string> plans;
};

/// Of rank `rank`; sums of floats are exact.
template <typename T> std::vector<T> inputOf(unsigned rank, size_t n) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = T((i * 7 + rank * 13) % 1021);
  return values;
}

template <typename T> std::vector<T> sumOf(unsigned ranks, size_t n) {
  std::vector<T> sum(n);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    std::vector<T> values = inputOf<T>(rank, n);
    for (size_t i = 0; i < n; ++i)
      sum[i] += values[i];
  }
  return sum;
}

/// Waits until `rank` has an error, whose stream ends then.
inline int expectError(RoundRank &rank, const std::string &message) {
  secondsToError(rank.member.comm);
  return check(scclCommGetError(rank.member.comm) != scclSuccess &&
                   messageHas(message),
               message) +
         check(!rank.streams.wait(), "wait");
}

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_GPUROUNDS_H
