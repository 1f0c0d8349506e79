//===- CallCampaignTest.cpp - Ranks that make different calls -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks make the same random calls: of several sizes, without elements, and
// some that are refused. In most runs some ranks make another one once, of
// which all learn. A call that succeeds has the right data, whenever it is.
//
// SCCL_FAULTS=2000 does so 2,000 times, the suite 60.
//
//===----------------------------------------------------------------------===//

#include "MessageTesting.h"

#include <algorithm>
#include <random>
#include <unistd.h>

using namespace sccl;

namespace {
enum class Kind { Reduce, Gather, Exchange, Broadcast };

/// What ranks launch, and how they reach each other.
struct Way {
  const char *plan;
  unsigned numRanks;
  Kind kind;
  bool messages = false;
  bool hasTypes = false; ///< has code for other types and reductions
};
constexpr Way ways[] = {
    {SCCL_TEST_PLANS "/pair-halves-all_reduce-kinds.sccl", 2, Kind::Reduce,
     false, true},
    {SCCL_TEST_PLANS "/pair-all_reduce-kinds.sccl", 2, Kind::Reduce, false,
     true},
    {SCCL_TEST_PLANS "/pair-ll-all_reduce.sccl", 2, Kind::Reduce},
    {allToAll, 2, Kind::Exchange, false, true},
    {copiedAllToAll, 2, Kind::Exchange, false, true},
    {SCCL_TEST_PLANS "/mesh3-all_reduce.sccl", 3, Kind::Reduce},
    {allGather, 4, Kind::Gather, false, true},
    {SCCL_TEST_PLANS "/mesh8-all_reduce.sccl", 8, Kind::Reduce},
    {SCCL_TEST_PLANS "/mesh8-all_gather.sccl", 8, Kind::Gather, false, true},
    {broadcast8, 8, Kind::Broadcast, false, true},
    {pairReduce, 2, Kind::Reduce, true},
    {pairExchange, 2, Kind::Exchange, true, true},
    {ringGather, 4, Kind::Gather, true, true},
    {cubeBroadcast, 8, Kind::Broadcast, true, true},
};

struct Call {
  size_t count;
  scclDataType type = scclFloat32;
  scclRedOp op = scclSum;
  bool hasBuffers = true;
  bool isRefused() const {
    return (!hasBuffers && count != 0) || type > scclFloat8e5m2;
  }
  /// Whether ranks that make the two have made the same call.
  bool isLike(const Call &other) const {
    return isRefused() == other.isRefused() &&
           (isRefused() ||
            (count == other.count && type == other.type && op == other.op));
  }
};

/// Everything random about one run.
struct Script {
  Way way;
  RanksAs ranks;
  bool isRegistered; ///< buffers are memory of scclMemAlloc
  std::vector<Call> calls;
  size_t faultAt; ///< a number of a call; none if there is no such one
  std::vector<Call> faults; ///< by rank: what it does in place of that
};

constexpr size_t mostElements = 70000;
constexpr unsigned numCalls = 12;

class Drawing {
public:
  explicit Drawing(unsigned seed) : random(seed) {}

  Script draw() {
    Script script;
    script.way = ways[random() % std::size(ways)];
    script.ranks = script.way.messages || random() % 2 ? RanksAs::Threads
                                                       : RanksAs::Processes;
    script.isRegistered = random() % 2 != 0;
    // Programs repeat themselves more often than not.
    for (unsigned i = 0; i < numCalls; ++i)
      script.calls.push_back(i != 0 && random() % 2 ? script.calls.back()
                                                    : drawCall());
    script.faultAt = random() % (numCalls + 2);
    script.faults.assign(script.way.numRanks, {});
    if (script.faultAt >= numCalls)
      return script;
    const Call &usual = script.calls[script.faultAt];
    std::fill(script.faults.begin(), script.faults.end(), usual);
    Call other = drawOther(usual, script.way);
    script.faults[random() % script.way.numRanks] = other;
    if (script.way.numRanks > 2 && random() % 3 == 0)
      script.faults[random() % (script.way.numRanks - 1)] = other;
    return script;
  }

private:
  Call drawCall() {
    constexpr size_t counts[] = {1, 10, 1000, 5000, mostElements};
    switch (random() % 8) {
    case 0:
      return {0};
    case 1:
      return {10, scclFloat32, scclSum, false};
    case 2:
      return {10, scclDataType(99)};
    default:
      return {counts[random() % std::size(counts)]};
    }
  }
  Call drawOther(const Call &usual, const Way &way) {
    Call other = usual;
    while (other.isLike(usual)) {
      other = drawCall();
      if (way.hasTypes && !usual.isRefused() && random() % 3 == 0) {
        other = usual;
        if (way.kind == Kind::Reduce && random() % 2)
          other.op = scclMax;
        else
          other.type = scclInt32;
      }
    }
    return other;
  }
  std::mt19937 random;
};

class Rank {
public:
  Rank(const RankEnd &end, const Script &script, LoopNetwork &network)
      : end(end), script(script) {
    scclResult joined = script.way.messages
                            ? join(member, network, end, script.way.plan)
                            : member.join(end, script.way.plan);
    demand(joined == scclSuccess, "joins");
    const size_t count = mostElements * end.numRanks;
    own.resize(script.isRegistered ? 0 : 2 * count);
    send = script.isRegistered ? member.allocate(count) : own.data();
    recv = script.isRegistered ? member.allocate(count) : own.data() + count;
    demand(send && recv, "memory");
  }

  int run() {
    meet(end);
    for (size_t i = 0; i < script.calls.size() && !failed; ++i)
      make(i == script.faultAt ? script.faults[end.rank] : script.calls[i], i);
    Stopwatch watch;
    while (isFaulty() && watch.seconds() < 10 &&
           scclCommGetError(member.comm) == scclSuccess)
      usleep(1000);
    demand(scclCommGetError(member.comm) ==
               (isFaulty() ? scclErrorMismatch : scclSuccess),
           "learns of it");
    meet(end);
    return failed;
  }

private:
  void demand(bool holds, const std::string &what) {
    failed += check(holds, std::string(script.way.plan) + ", rank " +
                               std::to_string(end.rank) + ": " + what);
  }

  bool isFaulty() const { return script.faultAt < script.calls.size(); }

  /// Call number `number`.
  void make(const Call &call, size_t number) {
    for (size_t i = 0; i < call.count * end.numRanks; ++i) {
      send[i] = valueOf(end.rank, i, number);
      recv[i] = -1;
    }
    scclResult result =
        scclLaunch(member.comm, member.plan, call.hasBuffers ? send : nullptr,
                   call.hasBuffers ? recv : nullptr, call.count, call.type,
                   call.op, nullptr);
    std::string name = "call " + std::to_string(number);
    // Ranks that are ahead may have found it.
    if (isOver || (isFaulty() && result == scclErrorMismatch)) {
      demand(result == (call.isRefused() ? scclErrorInvalidArgument
                                         : scclErrorMismatch),
             name + " after the mismatch: " + std::to_string(result));
      isOver = isOver || result == scclErrorMismatch;
      return;
    }
    demand(result ==
               (call.isRefused() ? scclErrorInvalidArgument : scclSuccess),
           name + ": " + std::to_string(result));
    // Integers are the same bytes.
    if (result == scclSuccess)
      demand(isRight(call.count, number), name + " has wrong data");
  }

  static float valueOf(unsigned rank, size_t i, size_t number) {
    return float((i * 7 + rank * 13 + number * 131) % 1024);
  }
  bool isRight(size_t count, size_t number) const {
    bool hasSegments =
        script.way.kind == Kind::Gather || script.way.kind == Kind::Exchange;
    for (size_t i = 0; i < (hasSegments ? end.numRanks : 1) * count; ++i)
      if (recv[i] != expected(i, count, number))
        return false;
    return true;
  }
  float expected(size_t i, size_t count, size_t number) const {
    switch (script.way.kind) {
    case Kind::Gather:
      return valueOf(unsigned(i / count), i % count, number);
    case Kind::Exchange:
      return valueOf(unsigned(i / count), end.rank * count + i % count, number);
    case Kind::Broadcast:
      return valueOf(cubeRoot, i, number);
    case Kind::Reduce:
      break;
    }
    float sum = 0;
    for (unsigned rank = 0; rank < end.numRanks; ++rank)
      sum += valueOf(rank, i, number);
    return sum;
  }

  const RankEnd &end;
  const Script &script;
  Member member;
  std::vector<float> own;
  float *send = nullptr, *recv = nullptr;
  bool isOver = false; ///< a call has had a mismatch
  int failed = 0;
};
} // namespace

TEST(CallCampaign, NoCallIsTakenForAnother) {
  const char *wanted = getenv("SCCL_FAULTS");
  unsigned count = wanted ? unsigned(atoi(wanted)) : 60;
  unsigned faults = 0;
  for (unsigned seed = 1; seed <= count; ++seed) {
    Script script = Drawing(seed).draw();
    faults += script.faultAt < script.calls.size();
    LoopNetwork network;
    network.ranksOfHost = seed % 2 ? 0 : 8;
    alarm(60);
    EXPECT_EQ(0, runRanks(script.way.numRanks, script.ranks,
                          [&](const RankEnd &end) {
                            return Rank(end, script, network).run();
                          }))
        << "run " << seed;
    alarm(0);
  }
  printf("%u runs, %u with other calls\n", count, faults);
}
