//===- LibraryTest.cpp - Tests of libsccl ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Runtime/Ranks.h"
#include "sccl/sccl.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

using namespace sccl;

/// See Allocations.cpp.
extern std::atomic<uint64_t> allocations;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

// Peers write the caller's receive buffer.
static const char *allReduce = SCCL_TEST_PLANS "/pair-halves-all_reduce.sccl";
// Peers write scratch memory only.
static const char *exchange = SCCL_TEST_PLANS "/pair-all_reduce.sccl";
static const char *allGather = SCCL_TEST_PLANS "/ring4-all_gather.sccl";
static const char *allToAll = SCCL_TEST_PLANS "/pair-all_to_all.sccl";
static const char *ptxOnly = SCCL_TEST_PLANS "/pair-ptx.sccl";

namespace {
/// A plan and a communicator that go when the test ends.
struct Member {
  scclPlan plan = nullptr;
  scclComm comm = nullptr;
  Member() = default;
  Member(const Member &) = delete;
  ~Member() {
    scclCommDestroy(comm);
    scclPlanDestroy(plan);
  }
  scclResult join(const RankEnd &end, const char *path,
                  double timeoutSeconds = 20, unsigned numRanks = 0) {
    scclResult result = scclPlanLoad(path, &plan);
    if (result != scclSuccess)
      return result;
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    config.timeoutSeconds = timeoutSeconds;
    return scclCommInit(plan, end.rank, numRanks ? numRanks : end.numRanks,
                        end.allGather, end.context, &config, &comm);
  }
  scclResult launch(const float *send, float *recv, size_t count) {
    return scclLaunch(comm, send, recv, count, scclFloat32, scclSum, nullptr);
  }
};

struct Stopwatch {
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  }
};
} // namespace

/// A body returns this when all is as it should be; a text of failure is
/// printed, because processes cannot report to GoogleTest.
static int check(bool condition, const std::string &what) {
  if (!condition)
    fprintf(stderr, "failed: %s (last message: %s)\n", what.c_str(),
            scclGetLastErrorMessage());
  return condition ? 0 : 1;
}

static bool messageHas(const char *part) {
  return std::string(scclGetLastErrorMessage()).find(part) != std::string::npos;
}

static std::string readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class EitherWay : public testing::TestWithParam<RanksAs> {};
INSTANTIATE_TEST_SUITE_P(Library, EitherWay,
                         testing::Values(RanksAs::Threads, RanksAs::Processes),
                         [](const auto &info) {
                           return ranksAsName(info.param).str();
                         });

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

TEST(Library, KnowsItsVersion) {
  int version = 0;
  EXPECT_EQ(scclGetVersion(&version), scclSuccess);
  EXPECT_EQ(version, SCCL_VERSION_CODE);
  EXPECT_EQ(scclGetVersion(nullptr), scclErrorInvalidArgument);
  EXPECT_STREQ(scclErrorString(scclErrorBusy), "a launch is in flight");
  EXPECT_STREQ(scclErrorString(scclResult(99)), "unknown result code");
}

TEST(Library, DescribesAPlan) {
  scclPlan plan = nullptr;
  ASSERT_EQ(scclPlanLoad(allReduce, &plan), scclSuccess);
  scclPlanInfo info = {};
  EXPECT_EQ(scclPlanGetInfo(plan, &info), scclErrorInvalidArgument);
  EXPECT_TRUE(messageHas("info.size is 0"));
  info.size = sizeof(info);
  EXPECT_EQ(scclPlanGetInfo(plan, &info), scclSuccess);
  EXPECT_STREQ(info.collective, "all_reduce");
  EXPECT_EQ(info.ranks, 2);
  EXPECT_EQ(info.combining, 1);
  EXPECT_EQ(strlen(info.hash), 64u);
  EXPECT_EQ(scclPlanDestroy(plan), scclSuccess);
}

TEST(Library, RefusesBadPlans) {
  scclPlan plan = nullptr;
  EXPECT_EQ(scclPlanLoad("/nonexistent.sccl", &plan), scclErrorSystem);
  EXPECT_TRUE(messageHas("cannot open /nonexistent.sccl: No such file"));
  EXPECT_EQ(scclPlanLoad("/", &plan), scclErrorInvalidPlan);
  EXPECT_EQ(scclPlanLoad(nullptr, &plan), scclErrorInvalidArgument);
  EXPECT_EQ(scclPlanLoad("/proc/self/exe", &plan), scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("this is no sccl plan"));
  std::string bytes = readFile(allReduce);
  ASSERT_FALSE(bytes.empty());
  for (size_t size : {size_t(0), size_t(30), size_t(64), bytes.size() - 1})
    EXPECT_EQ(scclPlanLoadMemory(bytes.data(), size, &plan),
              scclErrorInvalidPlan);
  for (size_t i = 0; i < bytes.size(); i += 211) {
    bytes[i] ^= 4;
    EXPECT_EQ(scclPlanLoadMemory(bytes.data(), bytes.size(), &plan),
              scclErrorInvalidPlan)
        << i;
    bytes[i] ^= 4;
  }
  bytes[8] = 9;
  EXPECT_EQ(scclPlanLoadMemory(bytes.data(), bytes.size(), &plan),
            scclErrorInvalidPlan);
  EXPECT_TRUE(messageHas("format version 9, this is for version 1"));
  EXPECT_EQ(plan, nullptr);
}

TEST(Library, LoadsFast) {
  double best = 1;
  for (unsigned i = 0; i < 20; ++i) {
    Stopwatch watch;
    scclPlan plan = nullptr;
    ASSERT_EQ(scclPlanLoad(allReduce, &plan), scclSuccess);
    best = std::min(best, watch.seconds());
    scclPlanDestroy(plan);
  }
  EXPECT_LT(best, 0.010);
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

TEST_P(EitherWay, RefusesTheWrongNumberOfRanks) {
  EXPECT_EQ(0, runRanks(3, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(member.join(end, allReduce) == scclErrorMismatch &&
                               messageHas("is for 2 ranks, and there are 3"),
                           "three ranks");
            }));
}

TEST_P(EitherWay, RefusesDifferentPlans) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(
                  member.join(end, end.rank == 0 ? allReduce : ptxOnly) ==
                          scclErrorMismatch &&
                      messageHas("has another plan") && messageHas("(M1)"),
                  "different plans");
            }));
}

TEST_P(EitherWay, FailsForAllIfOneFails) {
  // Rank 1 asks for a device that there is not.
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              scclPlanLoad(allReduce, &member.plan);
              scclConfig config = SCCL_CONFIG_INITIALIZER;
              config.scratchBytes = end.rank == 1 ? 1 : 0;
              scclResult result =
                  scclCommInit(member.plan, end.rank, 2, end.allGather,
                               end.context, &config, &member.comm);
              return check(result == scclErrorOutOfMemory &&
                               messageHas("bytes of memory, which is more"),
                           "scratch memory of 1 byte");
            }));
}

TEST(Library, RefusesBadArgumentsOfInit) {
  Member member;
  ASSERT_EQ(scclPlanLoad(allReduce, &member.plan), scclSuccess);
  auto never = [](void *, const void *, void *, size_t) { return 1; };
  auto init = [&](int rank, int ranks, const scclConfig *config) {
    return scclCommInit(member.plan, rank, ranks, never, nullptr, config,
                        &member.comm);
  };
  EXPECT_EQ(init(2, 2, nullptr), scclErrorInvalidArgument);
  EXPECT_EQ(init(-1, 2, nullptr), scclErrorInvalidArgument);
  EXPECT_EQ(init(0, 0, nullptr), scclErrorInvalidArgument);
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = 0;
  EXPECT_EQ(init(0, 2, &config), scclErrorInvalidArgument);
  config = SCCL_CONFIG_INITIALIZER;
  config.size = 4;
  EXPECT_EQ(init(0, 2, &config), scclErrorInvalidArgument);
  EXPECT_EQ(init(0, 2, nullptr), scclErrorSystem);
  EXPECT_TRUE(messageHas("all-gather failed"));
  EXPECT_EQ(
      scclCommInit(member.plan, 0, 2, nullptr, nullptr, nullptr, &member.comm),
      scclErrorInvalidArgument);
}

TEST_P(EitherWay, RefusesAPlanForOtherDevices) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              return check(member.join(end, ptxOnly) == scclErrorUnsupported &&
                               messageHas("it has code for: sm_90"),
                           "a plan without code for CPUs");
            }));
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

/// all_reduce of `count` floats from `send` to `recv`, checked.
static int reduceOnce(Member &member, const RankEnd &end, float *send,
                      float *recv, size_t count) {
  for (size_t i = 0; i < count; ++i)
    send[i] = float(i % 100 + end.rank);
  if (int failed = check(member.launch(send, recv, count) == scclSuccess,
                         "launch of " + std::to_string(count)))
    return failed;
  for (size_t i = 0; i < count; ++i)
    if (recv[i] != float(2 * (i % 100) + 1))
      return check(false, "element " + std::to_string(i));
  return 0;
}

TEST_P(EitherWay, ReducesAnySizeFromAnyMemory) {
  for (const char *plan : {allReduce, exchange})
    EXPECT_EQ(
        0, runRanks(2, GetParam(), [plan](const RankEnd &end) {
          Member member;
          if (check(member.join(end, plan) == scclSuccess, "join"))
            return 1;
          constexpr size_t most = 3000001;
          void *shared[2];
          for (void *&memory : shared)
            if (scclMemAlloc(member.comm, most * 4, &memory))
              return check(false, "scclMemAlloc");
          std::vector<float> send(most), recv(most);
          for (size_t count :
               {size_t(1), size_t(3), size_t(1000), size_t(65537), most}) {
            auto *a = static_cast<float *>(shared[0]);
            auto *b = static_cast<float *>(shared[1]);
            if (reduceOnce(member, end, send.data(), recv.data(), count) ||
                reduceOnce(member, end, a, b, count) ||
                reduceOnce(member, end, a, a, count) ||
                reduceOnce(member, end, send.data(), send.data(), count) ||
                // One rank registered, the other not.
                reduceOnce(member, end, end.rank ? a : send.data(),
                           end.rank ? b : recv.data(), count))
              return 1;
          }
          int failed = check(!scclMemFree(member.comm, shared[0]), "free") +
                       check(scclMemFree(member.comm, shared[0]) ==
                                 scclErrorInvalidArgument,
                             "second free");
          return failed;
        }));
}

/// What ranks send to each other, by all_gather or all_to_all.
struct Exchange {
  const RankEnd &end;
  bool isAllToAll;
  size_t count; ///< of a segment

  unsigned sendSegments() const { return isAllToAll ? end.numRanks : 1; }
  static float value(unsigned rank, unsigned segment, size_t i) {
    return float((rank * 31 + segment * 7 + i) % 1021);
  }
  void fill(float *send) const {
    for (unsigned segment = 0; segment < sendSegments(); ++segment)
      for (size_t i = 0; i < count; ++i)
        send[segment * count + i] = value(end.rank, segment, i);
  }
  /// 0 if `recv` holds what everyone has sent here.
  int compare(const float *recv, const std::string &what) const {
    for (unsigned from = 0; from < end.numRanks; ++from)
      for (size_t i = 0; i < count; ++i)
        if (recv[from * count + i] != value(from, isAllToAll ? end.rank : 0, i))
          return check(false, what + ", from rank " + std::to_string(from) +
                                  ", element " + std::to_string(i));
    return 0;
  }
};

/// Launches every program with every path and length of pieces, from memory of
/// all kinds.
static int exchangeEveryWay(Member &member, const Exchange &exchange) {
  const RankEnd &end = exchange.end;
  size_t elements = exchange.count * end.numRanks;
  void *shared[2];
  for (void *&memory : shared)
    if (scclMemAlloc(member.comm, elements * 4, &memory))
      return check(false, "scclMemAlloc");
  std::vector<float> own[2] = {std::vector<float>(elements),
                               std::vector<float>(elements)};
  scclChoice choice = {};
  choice.size = sizeof(choice);
  unsigned programs = 0;
  for (; choice.path = scclPathDirect,
         scclCommSetChoice(member.comm, &choice) == scclSuccess;
       ++choice.program, ++programs)
    for (scclPath path : {scclPathDirect, scclPathBounce})
      for (size_t piece : {0, 192, 20000})
        for (unsigned kinds = 0; kinds < 8; ++kinds) {
          choice.path = path;
          choice.pieceBytes = piece;
          scclCommSetChoice(member.comm, &choice);
          auto memory = [&](unsigned index) {
            return kinds >> index & 1 ? static_cast<float *>(shared[index])
                                      : own[index].data();
          };
          float *recv = memory(1), *send = memory(0);
          // Where one rank works in place, the others need not.
          if (kinds & 4 && end.rank != 1)
            send =
                exchange.isAllToAll ? recv : recv + end.rank * exchange.count;
          exchange.fill(send);
          std::string what = "program " + std::to_string(choice.program) +
                             ", path " + std::to_string(path) + ", pieces of " +
                             std::to_string(piece) + ", memory " +
                             std::to_string(kinds);
          if (check(!member.launch(send, recv, exchange.count), what) ||
              exchange.compare(recv, what))
            return 1;
        }
  return check(programs == 4, "programs of the plan");
}

TEST_P(EitherWay, MovesEveryWay) {
  for (auto [plan, ranks] : {std::pair(allGather, 4), {allToAll, 2}})
    for (size_t count : {1, 47, 6001})
      EXPECT_EQ(
          0,
          runRanks(
              ranks, GetParam(),
              [plan, count](const RankEnd &end) {
                Member member;
                if (check(!member.join(end, plan), "join"))
                  return 1;
                return exchangeEveryWay(member, {end, plan == allToAll, count});
              }))
          << plan << ", " << count << " elements";
}

TEST_P(EitherWay, RefusesBadBuffers) {
  EXPECT_EQ(
      0, runRanks(2, GetParam(), [](const RankEnd &end) {
        Member member;
        if (check(member.join(end, allReduce) == scclSuccess, "join"))
          return 1;
        std::vector<float> a(100), b(100);
        char *bytes = reinterpret_cast<char *>(a.data());
        auto *odd = reinterpret_cast<float *>(bytes + 1);
        auto refuses = [&](const float *send, float *recv, size_t count,
                           const char *message) {
          return check(member.launch(send, recv, count) ==
                               scclErrorInvalidArgument &&
                           messageHas(message),
                       message);
        };
        int failed = refuses(nullptr, b.data(), 10,
                             "send is null, and should "
                             "have 40 bytes") +
                     refuses(a.data(), nullptr, 10, "recv is null") +
                     refuses(odd, b.data(), 10, "send is not aligned to 4") +
                     refuses(a.data(), a.data() + 1, 10, "overlap") +
                     refuses(a.data(), b.data(), SIZE_MAX / 2, "too much") +
                     refuses(reinterpret_cast<float *>(UINTPTR_MAX - 15),
                             b.data(), 10, "beyond the end");
        auto code = [&](scclDataType type, scclRedOp op, void *stream) {
          return scclLaunch(member.comm, a.data(), b.data(), 10, type, op,
                            stream);
        };
        failed +=
            check(code(scclDataType(12), scclSum, nullptr) ==
                      scclErrorInvalidArgument,
                  "type 12") +
            check(code(scclFloat32, scclRedOp(-1), nullptr) ==
                      scclErrorInvalidArgument,
                  "op -1") +
            check(code(scclFloat32, scclSum, &failed) ==
                      scclErrorInvalidArgument,
                  "a stream") +
            check(code(scclFloat64, scclSum, nullptr) == scclErrorUnsupported &&
                      messageHas("cannot reduce f64 sum; it has: f32 sum"),
                  "f64");
        // None of this has harmed the communicator.
        return failed + reduceOnce(member, end, a.data(), b.data(), 100) +
               check(member.launch(nullptr, nullptr, 0) == scclSuccess,
                     "count 0");
      }));
}

TEST_P(EitherWay, DoesNotAllocateInLaunches) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(member.join(end, allReduce) == scclSuccess, "join"))
                return 1;
              std::vector<float> a(100000), b(100000);
              std::vector<int> all;
              for (size_t count : {size_t(2), a.size()})
                if (check(member.launch(a.data(), b.data(), count) == 0, "1st"))
                  return 1;
              end.gather(0, all);
              uint64_t before = allocations;
              for (unsigned i = 0; i < 100; ++i)
                for (size_t count : {size_t(2), a.size()})
                  if (check(!member.launch(a.data(), b.data(), count), "nth"))
                    return 1;
              uint64_t after = allocations;
              end.gather(0, all);
              return check(after == before, "allocations in launches");
            }));
}

TEST_P(EitherWay, TellsWhatItChooses) {
  EXPECT_EQ(
      0, runRanks(2, GetParam(), [](const RankEnd &end) {
        Member member;
        if (check(member.join(end, allReduce) == scclSuccess, "join"))
          return 1;
        scclChoice choice = {};
        choice.size = sizeof(choice);
        size_t scratch = 0;
        auto query = [&](size_t count) {
          return scclQueryChoice(member.comm, count, scclFloat32, scclSum,
                                 &choice);
        };
        int failed = check(query(1) == 0 && choice.program == 2 &&
                               std::string(choice.reason) ==
                                   "cheapest in the cost model",
                           "small") +
                     check(query(1 << 20) == 0 && choice.path == scclPathDirect,
                           "large") +
                     check(scclQueryScratch(member.comm, &scratch) == 0 &&
                               scratch > 4096,
                           "scratch");
        for (auto [type, op] : {std::pair(99, 0), {-1, 0}, {scclFloat32, 77}})
          failed += check(scclQueryChoice(member.comm, 1, scclDataType(type),
                                          scclRedOp(op),
                                          &choice) == scclErrorInvalidArgument,
                          "query of type " + std::to_string(type) + " and op " +
                              std::to_string(op));
        choice.path = scclPathBounce;
        choice.pieceBytes = 4096;
        failed += check(scclCommSetChoice(member.comm, &choice) == 0, "set") +
                  check(query(1 << 20) == 0 && choice.pieceBytes == 4096 &&
                            choice.path == scclPathBounce,
                        "forced");
        std::vector<float> a(100000), b(100000);
        failed += reduceOnce(member, end, a.data(), b.data(), a.size());
        choice.program = 77;
        return failed + check(scclCommSetChoice(member.comm, &choice) ==
                                  scclErrorUnsupported,
                              "program 77");
      }));
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

TEST_P(EitherWay, ReportsDifferentCounts) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(member.join(end, allReduce) == scclSuccess, "join"))
                return 1;
              std::vector<float> a(200000), b(200000);
              return check(
                         member.launch(a.data(), b.data(), 100000 + end.rank) ==
                                 scclErrorMismatch &&
                             messageHas("another count"),
                         "different counts") +
                     check(scclCommGetError(member.comm) == scclErrorMismatch,
                           "afterwards");
            }));
}

TEST_P(EitherWay, GivesUpOnALateRank) {
  for (const char *plan : {allReduce, exchange})
    for (size_t count : {size_t(10), size_t(100000)})
      EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
                  Member member;
                  if (check(member.join(end, plan, 0.3) == 0, "join"))
                    return 1;
                  std::vector<float> a(count), b(count);
                  if (reduceOnce(member, end, a.data(), b.data(), count))
                    return 1;
                  // However busy the machine is, rank 1 is later than the
                  // limit.
                  Stopwatch watch;
                  while (end.rank == 1 && watch.seconds() < 20 &&
                         scclCommGetError(member.comm) == scclSuccess)
                    usleep(1000);
                  scclResult result = member.launch(a.data(), b.data(), count);
                  std::vector<int> all;
                  end.gather(0, all);
                  return check(
                             result == scclErrorTimeout &&
                                 messageHas("rank 1 did not begin a launch "
                                            "that rank 0 waited in for 0.3 s"),
                             "a late rank") +
                         check(watch.seconds() < 10, "within the limit");
                }));
}

TEST(Library, NoticesADeadRank) {
  for (const char *plan : {allReduce, exchange})
    for (size_t count : {size_t(10), size_t(1000000)}) {
      Stopwatch watch;
      // The dead process makes the result 1.
      EXPECT_EQ(1, runRanks(2, RanksAs::Processes, [&](const RankEnd &end) {
                  Member member;
                  if (check(member.join(end, plan) == 0, "join"))
                    return 2;
                  std::vector<float> a(count), b(count);
                  std::thread killer;
                  if (end.rank == 1)
                    killer = std::thread([] {
                      usleep(100000);
                      kill(getpid(), SIGKILL);
                    });
                  scclResult result = scclSuccess;
                  while (result == scclSuccess)
                    result = member.launch(a.data(), b.data(), count);
                  return check(result == scclErrorRankLost &&
                                   messageHas("process of rank 1 has ended"),
                               "a dead rank")
                             ? 2
                             : 0;
                }));
      EXPECT_LT(watch.seconds(), 5);
    }
}

TEST_P(EitherWay, AbortsOnAllRanks) {
  for (const char *plan : {allReduce, exchange})
    for (size_t count : {size_t(10), size_t(1000000)})
      EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
                  Member member;
                  if (check(member.join(end, plan) == 0, "join"))
                    return 1;
                  std::thread aborter;
                  if (end.rank == 0)
                    aborter = std::thread([&] {
                      usleep(100000);
                      scclCommAbort(member.comm);
                    });
                  std::vector<float> a(count), b(count);
                  scclResult result = scclSuccess;
                  while (result == scclSuccess)
                    result = member.launch(a.data(), b.data(), count);
                  if (aborter.joinable())
                    aborter.join();
                  std::vector<int> all;
                  end.gather(0, all);
                  return check(result == scclErrorAborted &&
                                   messageHas("rank 0 has aborted"),
                               "abort") +
                         check(member.launch(a.data(), b.data(), 1) ==
                                   scclErrorAborted,
                               "later launches");
                }));
}

TEST_P(EitherWay, RefusesASecondLaunchInFlight) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(member.join(end, allReduce) == 0, "join"))
                return 1;
              std::vector<float> a(10), b(10), c(10), d(10);
              std::vector<int> all;
              std::atomic<int> failed = 0;
              if (end.rank == 0) {
                // This launch waits for rank 1, which waits for the all-gather.
                std::thread first([&] {
                  failed += reduceOnce(member, end, a.data(), b.data(), 10);
                });
                usleep(200000);
                failed += check(member.launch(c.data(), d.data(), 10) ==
                                    scclErrorBusy,
                                "second launch");
                end.gather(0, all);
                first.join();
              } else {
                end.gather(0, all);
                failed += reduceOnce(member, end, a.data(), b.data(), 10);
              }
              return failed.load();
            }));
}

/// Open files and mappings of shared memory of this process.
static std::string resources() {
  namespace fs = std::filesystem;
  auto count = [](const char *path) {
    return std::distance(fs::directory_iterator(path),
                         fs::directory_iterator());
  };
  std::ifstream maps("/proc/self/maps");
  std::string line;
  unsigned shared = 0;
  while (std::getline(maps, line))
    shared += line.find("memfd:sccl") != std::string::npos;
  return std::to_string(count("/proc/self/fd")) + " files, " +
         std::to_string(shared) + " mappings, " +
         std::to_string(count("/dev/shm")) + " names";
}

TEST(Library, ReleasesWhatItTakes) {
  std::string before = resources();
  for (unsigned round = 0; round < 3; ++round)
    EXPECT_EQ(0, runRanks(4, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                void *memory = nullptr;
                std::vector<int> all;
                int failed = check(!member.join(end, allGather), "join") +
                             check(!scclMemAlloc(member.comm, 4096, &memory),
                                   "scclMemAlloc");
                std::vector<float> a(100), b(400);
                failed += check(!member.launch(a.data(), b.data(), 100), "run");
                end.gather(0, all);
                return failed;
              }));
  EXPECT_EQ(resources(), before);
}
