//===- LongRun.h - Launches whose results are checked -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_LONGRUN_H
#define SCCL_TEST_RUNTIME_LONGRUN_H

#include "MessageTesting.h"

namespace sccl {

/// How two ranks reach each other, and what they launch.
struct LongWay {
  const char *name, *plan;
  RanksAs ranks;
  bool messages, reduces;
};
inline constexpr const char *halvesAndLL =
    SCCL_TEST_PLANS "/pair-ll-all_reduce.sccl";
inline const LongWay longWays[] = {
    {"threads, buffers", allReduce, RanksAs::Threads, false, true},
    {"threads, LL words", halvesAndLL, RanksAs::Threads, false, true},
    {"processes, buffers", allReduce, RanksAs::Processes, false, true},
    {"processes, scratch", exchange, RanksAs::Processes, false, true},
    {"processes, copies", copiedAllToAll, RanksAs::Processes, false, false},
    {"processes, LL words", halvesAndLL, RanksAs::Processes, false, true},
    {"threads, messages", pairReduce, RanksAs::Threads, true, true},
};

/// One of two ranks that launch again and again.
class LongRun {
public:
  LongRun(const RankEnd &end, const LongWay &way, LoopNetwork &network)
      : end(end), way(way) {
    scclResult joined = way.messages ? join(member, network, end, way.plan)
                                     : member.join(end, way.plan);
    failed = check(joined == scclSuccess, "join") != 0;
  }

  /// Launch number `number`, of `count` elements of a segment, from the
  /// buffers given; checks all of the result.
  bool launch(uint64_t number, size_t count, float *send, float *recv) {
    for (size_t i = 0; i < sizeOf(count); ++i)
      send[i] = valueOf(end.rank, i, number);
    return !check(member.launch(send, recv, count) == scclSuccess,
                  nameOf(number)) &&
           isRight(number, count, recv);
  }
  /// The same from memory of its own. Up to `most` elements.
  bool launch(uint64_t number, size_t count) {
    return launch(number, count, sent.data(), received.data());
  }

  bool isRight(uint64_t number, size_t count, const float *recv) {
    for (size_t i = 0; i < sizeOf(count); ++i)
      if (recv[i] != expected(i, count, number))
        return check(false,
                     nameOf(number) + ": element " + std::to_string(i)) == 0;
    return true;
  }

  static constexpr size_t most = 4096;
  const RankEnd &end;
  const LongWay &way;
  Member member;
  bool failed = false;

private:
  std::string nameOf(uint64_t number) const {
    return std::string(way.name) + ", launch " + std::to_string(number);
  }
  /// Elements of a buffer.
  size_t sizeOf(size_t count) const { return way.reduces ? count : 2 * count; }
  static float valueOf(unsigned rank, size_t i, uint64_t number) {
    return float((i * 7 + rank * 13 + number * 3) % 1024);
  }
  float expected(size_t i, size_t count, uint64_t number) const {
    if (way.reduces)
      return valueOf(0, i, number) + valueOf(1, i, number);
    return valueOf(unsigned(i / count), end.rank * count + i % count, number);
  }

  std::vector<float> sent = std::vector<float>(2 * most);
  std::vector<float> received = std::vector<float>(2 * most);
};

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_LONGRUN_H
