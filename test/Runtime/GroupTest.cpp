//===- GroupTest.cpp - Tests of groups and their plans --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace sccl;

static const char *const gather8 = SCCL_TEST_PLANS "/mesh8-all_gather.sccl";
static const char *const reduce8 = SCCL_TEST_PLANS "/mesh8-all_reduce.sccl";

namespace {
/// A communicator with several plans.
struct Party {
  scclComm comm = nullptr;
  std::vector<scclPlan> plans;
  Party() = default;
  Party(const Party &) = delete;
  ~Party() {
    scclCommDestroy(comm);
    for (scclPlan plan : plans)
      scclPlanDestroy(plan);
  }
  scclResult join(const RankEnd &end) {
    return scclCommInit(end.rank, end.numRanks, end.allGather, end.context,
                        nullptr, &comm);
  }
  scclResult load(const char *path) {
    scclPlan plan = nullptr;
    scclResult result = scclPlanLoad(path, &plan);
    plans.push_back(plan);
    return result ? result : scclCommLoad(comm, plan);
  }
};
} // namespace

/// One collective of the three in turn, with other data each time; compared
/// with its definition.
static int callOne(Party &party, unsigned turn, unsigned rank, size_t count) {
  constexpr unsigned ranks = 8, root = 3;
  auto value = [&](unsigned of, size_t i) {
    return float((turn + of * 5 + i) % 97);
  };
  std::vector<float> send(count), recv(ranks * count, -1);
  for (size_t i = 0; i < count; ++i)
    send[i] = value(rank, i);
  scclResult code;
  if (turn % 3 == 0)
    code = scclAllGather(send.data(), recv.data(), count, scclFloat32,
                         party.comm, nullptr);
  else if (turn % 3 == 1)
    code = scclAllReduce(send.data(), recv.data(), count, scclFloat32, scclSum,
                         party.comm, nullptr);
  else
    code = scclBroadcast(rank == root ? send.data() : nullptr, recv.data(),
                         count, scclFloat32, root, party.comm, nullptr);
  if (check(code == scclSuccess, "launch " + std::to_string(turn)))
    return 1;
  for (size_t i = 0; i < (turn % 3 == 0 ? ranks * count : count); ++i) {
    float expected = turn % 3 == 0 ? value(i / count, i % count) : 0;
    for (unsigned other = 0; turn % 3 == 1 && other < ranks; ++other)
      expected += value(other, i);
    if (turn % 3 == 2)
      expected = value(root, i);
    if (recv[i] != expected)
      return check(false, "launch " + std::to_string(turn) + ", element " +
                              std::to_string(i));
  }
  return 0;
}

/// Three plans of other topologies and collectives in one communicator, called
/// in turn. SCCL_TEST_LAUNCHES says how often: 100000 take 9 s, and 16 s of CPU
/// time, on two cores that are idle, but many minutes beside other jobs, where
/// Linux takes a whole time slice off each rank that yields.
TEST(Group, ServesThreePlans) {
  const char *text = std::getenv("SCCL_TEST_LAUNCHES");
  unsigned launches = text ? std::atoi(text) : 300;
  EXPECT_EQ(0, runRanks(8, RanksAs::Threads, [&](const RankEnd &end) {
              Party party;
              if (check(!party.join(end) && !party.load(gather8) &&
                            !party.load(reduce8) && !party.load(broadcast8),
                        "join and load"))
                return 1;
              for (unsigned turn = 0; turn < launches; ++turn)
                if (callOne(party, turn, end.rank,
                            turn % 100 == 50 ? 20000 : 1 + turn % 7))
                  return 1;
              return 0;
            }));
}

TEST_P(EitherWay, ChoosesAmongPlans) {
  EXPECT_EQ(
      0, runRanks(2, GetParam(), [](const RankEnd &end) {
        Party party;
        int rank = -1, ranks = -1;
        std::vector<float> a(4, 1), b(4);
        auto reduce = [&](scclDataType type, scclRedOp op) {
          return scclAllReduce(a.data(), b.data(), 4, type, op, party.comm,
                               nullptr);
        };
        int failed =
            check(!party.join(end), "join") +
            check(!scclCommRank(party.comm, &rank) && rank == int(end.rank) &&
                      !scclCommCount(party.comm, &ranks) && ranks == 2,
                  "rank and number of ranks") +
            check(reduce(scclFloat32, scclSum) == scclErrorUnsupported &&
                      messageHas("no plan is loaded for all_reduce of "
                                 "f32 sum; loaded: nothing"),
                  "nothing loaded");
        failed += check(!party.load(exchange) && !party.load(allToAll) &&
                            !party.load(allReduce),
                        "load");
        for (unsigned i = 0; i < 3; ++i)
          failed += check(!reduce(scclFloat32, scclSum) && b[0] == 2, "reduce");
        failed +=
            check(reduce(scclFloat64, scclSum) == scclErrorUnsupported &&
                      messageHas("of f64 sum; loaded: all_reduce (") &&
                      messageHas(": f32 sum), all_to_all ("),
                  "f64") +
            check(reduce(scclDataType(99), scclSum) == scclErrorInvalidArgument,
                  "type 99") +
            check(scclBroadcast(a.data(), b.data(), 4, scclFloat32, 1,
                                party.comm, nullptr) == scclErrorUnsupported &&
                      messageHas("no plan is loaded for broadcast with root 1"),
                  "broadcast");
        // A named plan, whatever was loaded last.
        failed += check(!scclLaunch(party.comm, party.plans[0], a.data(),
                                    b.data(), 4, scclFloat32, scclSum, nullptr),
                        "launch of a plan");
        // Loading once more changes nothing.
        return failed + check(!party.load(exchange), "again") +
               check(!reduce(scclFloat32, scclSum) && b[3] == 2, "and reduce");
      }));
}

// -1 had been any root.
TEST_P(EitherWay, RefusesRootsThatAreNoRanks) {
  EXPECT_EQ(
      0, runRanks(8, GetParam(), [](const RankEnd &end) {
        Party party;
        int failed = check(!party.join(end) && !party.load(broadcast8), "join");
        float a = 1, b = 0, many[8] = {};
        scclComm comm = party.comm;
        for (int root : {-1, -2, 8, INT_MIN, INT_MAX}) {
          std::string told =
              "root is " + std::to_string(root) + ", and there are 8 ranks";
          int plan = -1;
          for (scclResult result :
               {scclBroadcast(&a, &b, 1, scclFloat32, root, comm, nullptr),
                scclReduce(&a, &b, 1, scclFloat32, scclSum, root, comm,
                           nullptr),
                scclGather(&a, many, 1, scclFloat32, root, comm, nullptr),
                scclScatter(many, &b, 1, scclFloat32, root, comm, nullptr),
                scclQueryPlan(comm, "broadcast", root, 0, 1, scclFloat32,
                              scclSum, &plan)})
            failed += check(result == scclErrorInvalidArgument &&
                                messageHas(told) && b == 0,
                            told);
        }
        return failed +
               check(!scclBroadcast(&a, &b, 1, scclFloat32, 3, comm, nullptr) &&
                         b == 1,
                     "a root that is one");
      }));
}

TEST_P(EitherWay, RefusesToLaunchWhatIsNotLoaded) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Party party;
              float a = 1, b = 0;
              scclPlan other = nullptr;
              int failed =
                  check(!party.join(end) && !party.load(exchange), "join") +
                  check(!scclPlanLoad(allToAll, &other), "read") +
                  check(scclLaunch(party.comm, other, &a, &b, 1, scclFloat32,
                                   scclSum,
                                   nullptr) == scclErrorInvalidArgument &&
                            messageHas("was not loaded"),
                        "a plan that was not loaded");
              scclPlanDestroy(other);
              return failed;
            }));
}

TEST_P(EitherWay, StaysAsItIsIfLoadingFails) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Party party;
              float a = 1, b = 0;
              return check(!party.join(end) && !party.load(exchange), "join") +
                     check(party.load(allGather) == scclErrorMismatch &&
                               messageHas("is for 4 ranks, and there are 2"),
                           "a plan for four") +
                     check(party.load(end.rank ? allReduce : allToAll) ==
                                   scclErrorMismatch &&
                               messageHas("has another plan"),
                           "different plans") +
                     check(!scclAllReduce(&a, &b, 1, scclFloat32, scclSum,
                                          party.comm, nullptr) &&
                               b == 2,
                           "afterwards");
            }));
}

// A rank that could not read its plan: the others must not wait for it, and
// what comes next must not be taken for what it has to say. Rank 0 has known
// the plan before the second time, and the others load one that they do not
// know.
TEST_P(EitherWay, TellsPeersOfAPlanThatIsMissing) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Party party;
              scclComm part = nullptr;
              float a = 1, b = 0;
              int failed = check(!party.join(end), "join");
              for (const char *path : {exchange, exchange, allReduce}) {
                scclResult result = end.rank == 1
                                        ? scclCommLoad(party.comm, nullptr)
                                        : party.load(path);
                failed +=
                    check(result == scclErrorInvalidArgument &&
                              messageHas("plan is null") &&
                              messageHas("rank 1: ") == (end.rank == 0),
                          "no plan on rank 1") +
                    check(!scclCommSplit(party.comm, 0, 0, nullptr, &part) &&
                              !scclCommDestroy(part),
                          "split") +
                    check(!party.load(exchange), "load") +
                    check(!scclAllReduce(&a, &b, 1, scclFloat32, scclSum,
                                         party.comm, nullptr) &&
                              b == 2,
                          "reduce");
              }
              return failed;
            }));
}

namespace {
/// The all-gather of a rank, which can bring other bytes of the others.
struct Wire {
  const RankEnd &end;
  bool garbles = false;
};
} // namespace

static int gatherBy(void *context, const void *mine, void *all, size_t bytes) {
  const Wire &wire = *static_cast<Wire *>(context);
  const RankEnd &end = wire.end;
  int code = end.allGather(end.context, mine, all, bytes);
  for (unsigned rank = 0; wire.garbles && rank < end.numRanks; ++rank)
    if (rank != end.rank)
      std::memset(static_cast<char *>(all) + rank * bytes, 0x5a, bytes);
  return code;
}

// Programs compare codes with those that there are.
TEST_P(EitherWay, ReturnsNoCodeThatThereIsNot) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Party party;
              Wire wire = {end};
              scclComm part = nullptr;
              int failed = check(!scclCommInit(end.rank, 2, gatherBy, &wire,
                                               nullptr, &party.comm),
                                 "join");
              wire.garbles = true;
              return failed +
                     check(scclCommSplit(party.comm, 0, 0, nullptr, &part) ==
                                   scclErrorInternal &&
                               messageHas("unknown result code 1515870810"),
                           "garbage");
            }));
}

TEST_P(EitherWay, TellsPeersOfBadArguments) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              scclComm comm = nullptr;
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              config.timeoutSeconds = end.rank == 1 ? -1 : 10;
              return check(scclCommInit(end.rank, 2, end.allGather, end.context,
                                        &config,
                                        &comm) == scclErrorInvalidArgument &&
                               messageHas("timeoutSeconds is -1") &&
                               messageHas("rank 1: ") == (end.rank == 0),
                           "an argument of rank 1");
            }));
}

//===----------------------------------------------------------------------===//
// Launches by another thread
//===----------------------------------------------------------------------===//

// Whoever says nothing keeps the others waiting.
TEST_P(EitherWay, TellsPeersOfNullResults) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              scclComm none = nullptr, *result = end.rank ? nullptr : &none;
              void *memory = nullptr, **place = end.rank ? nullptr : &memory;
              Member member;
              int failed =
                  check(scclCommInit(end.rank, 2, end.allGather, end.context,
                                     nullptr,
                                     result) == scclErrorInvalidArgument &&
                            messageHas("comm is null"),
                        "init") +
                  check(!member.join(end, allReduce), "join") +
                  check(scclMemAlloc(member.comm, 100, place) ==
                                scclErrorInvalidArgument &&
                            messageHas("memory is null"),
                        "allocate") +
                  check(scclCommSplit(member.comm, 0, 0, nullptr, result) ==
                                scclErrorInvalidArgument &&
                            messageHas("result is null"),
                        "split");
              std::vector<float> a(10), b(10);
              return failed + reduceOnce(member, end, a.data(), b.data(), 10);
            }));
}

TEST_P(EitherWay, LaunchesBesideTheCaller) {
  EXPECT_EQ(
      0, runRanks(2, GetParam(), [](const RankEnd &end) {
        Party party;
        if (check(!party.join(end) && !party.load(exchange), "join"))
          return 1;
        constexpr unsigned launches = 40;
        std::vector<float> a(launches), b(launches, -1);
        std::vector<uint64_t> tickets(launches);
        int failed = check(scclWait(party.comm, 1) == scclErrorInvalidArgument,
                           "nothing to wait for");
        auto launch = [&](unsigned i) {
          a[i] = float(i + end.rank);
          return scclLaunchAsync(party.comm, party.plans[0], &a[i], &b[i], 1,
                                 scclFloat32, scclSum, &tickets[i]);
        };
        // Rank 1 comes when rank 0 has gone on already.
        if (end.rank == 1)
          meet(end);
        for (unsigned i = 0; i < launches; ++i)
          failed += check(launch(i) == scclSuccess, "launch");
        if (end.rank == 0) {
          failed += check(b[0] == -1, "not done");
          meet(end);
        }
        failed += check(!scclWait(party.comm, tickets[9]) && b[9] == 19, "9");
        // One that blocks comes after all of them.
        float c = 1, d = 0;
        failed += check(!scclAllReduce(&c, &d, 1, scclFloat32, scclSum,
                                       party.comm, nullptr) &&
                            d == 2 && b[launches - 1] == 2 * launches - 1,
                        "in order");
        for (unsigned i = 0; i < launches; ++i)
          failed += check(!scclWait(party.comm, tickets[i]) &&
                              b[i] == float(2 * i + 1),
                          "result");
        // An error is told by the wait, also by later ones.
        for (unsigned i = 0; i < 2; ++i)
          failed += check(!scclLaunchAsync(party.comm, party.plans[0], nullptr,
                                           nullptr, 1, scclFloat32, scclSum,
                                           &tickets[i]),
                          "launch of nothing");
        return failed + check(scclWait(party.comm, tickets[1]) ==
                                      scclErrorInvalidArgument &&
                                  messageHas("send is null") &&
                                  !scclWait(party.comm, tickets[5]),
                              "an error");
      }));
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

TEST_P(EitherWay, Splits) {
  EXPECT_EQ(
      0, runRanks(5, GetParam(), [](const RankEnd &end) {
        Party all, pair;
        // 0 and 3 make a pair, 4 and 1 another in reverse, 2 none.
        int color = end.rank == 2 ? SCCL_SPLIT_NOCOLOR : end.rank % 3;
        int key = -int(end.rank % 3) * int(end.rank);
        int failed =
            check(!all.join(end), "join") +
            check(!scclCommSplit(all.comm, color, key, nullptr, &pair.comm),
                  "split") +
            check((pair.comm == nullptr) == (end.rank == 2), "null");
        // The new group stays when the old one goes.
        scclCommDestroy(all.comm);
        all.comm = nullptr;
        if (failed || !pair.comm)
          return failed;
        int rank = -1;
        bool isSecond = end.rank == 3 || end.rank == 1;
        float a = float(end.rank), b = 0;
        failed +=
            check(!scclCommRank(pair.comm, &rank) && rank == int(isSecond),
                  "rank") +
            check(!pair.load(exchange), "load");
        for (unsigned i = 0; i < 100; ++i)
          failed += check(!scclAllReduce(&a, &b, 1, scclFloat32, scclSum,
                                         pair.comm, nullptr) &&
                              b == (color == 0 ? 3 : 5),
                          "reduce");
        void *memory = nullptr;
        return failed + check(!scclMemAlloc(pair.comm, 100, &memory), "memory");
      }));
}

TEST_P(EitherWay, PartsKeepTheOrder) {
  EXPECT_EQ(
      0, runRanks(2, GetParam(), [](const RankEnd &end) {
        Party all, part, free;
        scclConfig config = SCCL_CONFIG_INITIALIZER, other = config;
        config.order = "tree";
        config.oneRounding = 1; // f32 is not rounded to anything
        int failed =
            check(!scclCommInit(end.rank, end.numRanks, end.allGather,
                                end.context, &config, &all.comm),
                  "join") +
            check(!scclCommSplit(all.comm, 0, 0, &other, &part.comm), "split");
        failed += check(part.load(exchange) == scclErrorUnsupported &&
                            messageHas("is for the order tree"),
                        "a plan of another order");
        other.order = "any";
        failed +=
            check(!scclCommSplit(all.comm, 0, 0, &other, &free.comm), "split");
        return failed + check(!free.load(exchange), "a plan of any");
      }));
}

TEST_P(EitherWay, KnowsConfigsWithoutOrders) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Party all, part;
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              config.size = offsetof(scclConfig, order);
              config.order = "what a program has behind its structure";
              return check(!scclCommInit(end.rank, end.numRanks, end.allGather,
                                         end.context, &config, &all.comm),
                           "join") +
                     check(!scclCommSplit(all.comm, 0, 0, &config, &part.comm),
                           "split") +
                     check(!part.load(exchange), "load");
            }));
}

TEST_P(EitherWay, SplitsForAllOrNone) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Party all;
              scclComm none = nullptr;
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              config.size = end.rank == 1 ? 3 : sizeof(config);
              return check(!all.join(end), "join") +
                     check(scclCommSplit(all.comm, 0, 0, &config, &none) ==
                                   scclErrorInvalidArgument &&
                               messageHas("config.size is 3") && !none,
                           "a bad config");
            }));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_P(EitherWay, AllocatesAgainAndAgain) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              int failed = check(!member.join(end, allReduce), "join");
              constexpr size_t count = 10000;
              void *kept = nullptr;
              failed += check(!scclMemAlloc(member.comm, count * 4, &kept),
                              "memory that stays");
              for (unsigned round = 0; round < 50 && !failed; ++round) {
                void *memory = nullptr;
                failed += check(!scclMemAlloc(member.comm, count * 4, &memory),
                                "scclMemAlloc");
                if (failed)
                  break;
                failed += reduceOnce(member, end, static_cast<float *>(kept),
                                     static_cast<float *>(memory), count);
                meet(end);
                failed += check(!scclMemFree(member.comm, memory), "free");
              }
              return failed;
            }));
}
