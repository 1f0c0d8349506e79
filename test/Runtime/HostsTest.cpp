//===- HostsTest.cpp - scclCommInit on several hosts ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SCCL_RANKS_PER_HOST has ranks of this host be on several.
//
//===----------------------------------------------------------------------===//

#include "MessageTesting.h"

#include <csignal>
#include <fstream>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sccl;

namespace {
/// Of the environment, while a test runs.
struct Setting {
  const char *name;
  Setting(const char *name, const char *value) : name(name) {
    setenv(name, value, 1);
  }
  ~Setting() { unsetenv(name); }
};

class HostsTest : public EitherWay {
  Setting hosts{"SCCL_RANKS_PER_HOST", "2"};
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Ranks, HostsTest,
                         testing::Values(RanksAs::Threads, RanksAs::Processes),
                         [](const testing::TestParamInfo<RanksAs> &info) {
                           return ranksAsName(info.param).str();
                         });

TEST_P(HostsTest, SumsAreExactOnFourHosts) {
  EXPECT_EQ(runRanks(8, GetParam(),
                     [](const RankEnd &end) {
                       Member member;
                       int wrong = check(
                           member.join(end, meshReduce) == scclSuccess, "join");
                       for (size_t count : {1, 7, 4097, 200001}) {
                         std::vector<float> send = valuesOf(end.rank, count),
                                            result(count), expected(count);
                         for (unsigned rank = 0; rank < 8; ++rank) {
                           std::vector<float> other = valuesOf(rank, count);
                           for (size_t i = 0; i < count; ++i)
                             expected[i] += other[i];
                         }
                         wrong |=
                             check(member.launch(send.data(), result.data(),
                                                 count) == scclSuccess,
                                   "launch");
                         wrong |= check(result == expected, "the sums");
                       }
                       return wrong;
                     }),
            0);
}

TEST_P(HostsTest, ThousandsOfLaunchesAlsoLater) {
  EXPECT_EQ(
      runRanks(4, GetParam(),
               [](const RankEnd &end) {
                 Member member;
                 int wrong =
                     check(member.join(end, ringGather) == scclSuccess, "join");
                 constexpr size_t count = 16;
                 constexpr int launches = 1000;
                 std::vector<float> send(count), all(4 * count);
                 for (int i = 0; i < launches && !wrong; ++i) {
                   std::iota(send.begin(), send.end(), i + 100.0f * end.rank);
                   uint64_t ticket = 0;
                   scclResult code =
                       i % 2 ? member.launch(send.data(), all.data(), count)
                             : scclLaunchAsync(member.comm, member.plan,
                                               send.data(), all.data(), count,
                                               scclFloat32, scclSum, &ticket);
                   if (code == scclSuccess && ticket != 0)
                     code = scclWait(member.comm, ticket);
                   wrong |= check(code == scclSuccess, "launch");
                   for (int rank = 0; rank < 4; ++rank)
                     wrong |= check(all[rank * count] == i + 100.0f * rank &&
                                        all[rank * count + count - 1] ==
                                            i + 100.0f * rank + count - 1,
                                    "rank " + std::to_string(rank));
                 }
                 return wrong;
               }),
      0);
}

/// What a rank has sent arrives also if it then waits for something else.
TEST_P(HostsTest, WhoHasSentMayWaitElsewhere) {
  Setting hosts("SCCL_RANKS_PER_HOST", "1");
  EXPECT_EQ(
      runRanks(8, GetParam(),
               [](const RankEnd &end) {
                 Member member;
                 int wrong = check(
                     member.join(end, cubeBroadcast, 5) == scclSuccess, "join");
                 for (size_t count : {8192, 8192, 16384, 16384, 40000}) {
                   std::vector<float> data(count, float(count)), result(count);
                   wrong |= check(member.launch(data.data(), result.data(),
                                                count) == scclSuccess,
                                  "launch");
                   meet(end);
                   wrong |= check(result == data, "the data");
                 }
                 return wrong;
               }),
      0);
}

/// Whether the process has memory that ranks of a host share.
static bool hasSharedMemory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:sccl ") != std::string::npos)
      return true;
  return false;
}

/// Each rank of a part is on a host of its own.
TEST_P(HostsTest, PartsOfSeveralHosts) {
  EXPECT_EQ(
      runRanks(8, GetParam(),
               [](const RankEnd &end) {
                 Member whole, part;
                 int wrong =
                     check(whole.join(end, meshReduce) == scclSuccess, "join");
                 // Each second rank, from the last on.
                 wrong |= check(scclCommSplit(whole.comm, int(end.rank % 2),
                                              -int(end.rank), nullptr,
                                              &part.comm) == scclSuccess,
                                "split");
                 wrong |= check(hasSharedMemory(), "ranks of a host");
                 meet(end);
                 scclCommDestroy(whole.comm);
                 meet(end);
                 wrong |= check(!hasSharedMemory(), "ranks of several hosts");
                 wrong |= check(
                     scclPlanLoad(ringGather, &part.plan) == scclSuccess &&
                         scclCommLoad(part.comm, part.plan) == scclSuccess,
                     "load");
                 float mine = float(end.rank), all[4] = {};
                 wrong |=
                     check(part.launch(&mine, all, 1) == scclSuccess, "launch");
                 for (int place = 0; place < 4; ++place)
                   wrong |= check(all[place] == 6 - 2 * place + end.rank % 2,
                                  "the order");
                 return wrong;
               }),
      0);
}

TEST_P(HostsTest, PlansForOneHostAreRefused) {
  EXPECT_EQ(runRanks(4, GetParam(),
                     [](const RankEnd &end) {
                       Member member;
                       return check(member.join(end, allGather) ==
                                            scclErrorUnsupported &&
                                        messageHas("no code for mpi"),
                                    "what is missing");
                     }),
            0);
}

TEST(HostsTest, WhereOneRankHasNoLibraryAllLearnThat) {
  Setting hosts("SCCL_RANKS_PER_HOST", "2");
  EXPECT_EQ(
      runRanks(4, RanksAs::Processes,
               [](const RankEnd &end) {
                 if (end.rank == 2)
                   setenv("SCCL_UCX_LIBRARY", "/nowhere/libsccl-ucx.so", 1);
                 Member member;
                 return check(
                     member.join(end, ringGather) == scclErrorUnsupported &&
                         messageHas("have libsccl-ucx to exchange messages: "
                                    "rank 2: /nowhere/libsccl-ucx.so: ") &&
                         messageHas("scclCommInitMPI"),
                     "rank 2");
               }),
      0);
}

TEST(HostsTest, NumbersOfRanksThatAreNone) {
  for (const char *value : {"", "0", "-1", "2x", "99999999999"}) {
    Setting hosts("SCCL_RANKS_PER_HOST", value);
    EXPECT_EQ(runRanks(2, RanksAs::Threads,
                       [](const RankEnd &end) {
                         Member member;
                         return check(member.join(end, exchange) ==
                                              scclErrorInvalidArgument &&
                                          messageHas("expected a number"),
                                      "is refused");
                       }),
              0)
        << value;
  }
}

/// UCX handles signals from the moment when it is loaded.
TEST(HostsTest, SignalsStayThoseOfTheProgram) {
  Setting hosts("SCCL_RANKS_PER_HOST", "2");
  EXPECT_EQ(runRanks(4, RanksAs::Processes,
                     [](const RankEnd &end) {
                       struct sigaction before[NSIG], after;
                       for (int number = 1; number < NSIG; ++number)
                         sigaction(number, nullptr, &before[number]);
                       Member member;
                       int wrong = check(
                           member.join(end, ringGather) == scclSuccess, "join");
                       for (int number = 1; number < NSIG; ++number)
                         if (sigaction(number, nullptr, &after) == 0)
                           wrong |= check(after.sa_handler ==
                                              before[number].sa_handler,
                                          "signal " + std::to_string(number));
                       return wrong;
                     }),
            0);
}

/// A child may only destroy its copy, and ends; its parent goes on.
TEST(HostsTest, ChildrenLeaveTheirParentsAlone) {
  Setting hosts("SCCL_RANKS_PER_HOST", "2");
  EXPECT_EQ(
      runRanks(4, RanksAs::Processes,
               [](const RankEnd &end) {
                 Member member;
                 int wrong =
                     check(member.join(end, ringGather) == scclSuccess, "join");
                 float mine = float(end.rank), all[4] = {};
                 wrong |= check(member.launch(&mine, all, 1) == scclSuccess,
                                "before");
                 pid_t child = fork();
                 if (child == 0) {
                   wrong = check(member.launch(&mine, all, 1) ==
                                     scclErrorUnsupported,
                                 "none of a child");
                   scclCommDestroy(member.comm);
                   exit(wrong);
                 }
                 int status = -1;
                 waitpid(child, &status, 0);
                 wrong |= check(status == 0, "the child");
                 wrong |= check(member.launch(&mine, all, 1) == scclSuccess &&
                                    all[3] == 3,
                                "after");
                 return wrong;
               }),
      0);
}

/// A rank dies while it is in a launch, and others are.
TEST(HostsTest, LostRanksAreNamed) {
  Setting hosts("SCCL_RANKS_PER_HOST", "1"), tls("UCX_TLS", "tcp");
  EXPECT_EQ(runRanks(4, RanksAs::Processes,
                     [](const RankEnd &end) {
                       Member member;
                       int wrong =
                           check(member.join(end, ringGather, 4) == scclSuccess,
                                 "join");
                       std::vector<float> send(1 << 16), all(4 << 16);
                       std::thread death;
                       if (end.rank == 3)
                         death = std::thread([] {
                           usleep(300000);
                           _exit(0);
                         });
                       Stopwatch watch;
                       scclResult code = scclSuccess;
                       while (code == scclSuccess && watch.seconds() < 20)
                         code = member.launch(send.data(), all.data(), 1 << 16);
                       if (end.rank == 3)
                         death.join();
                       wrong |= check(code == scclErrorRankLost ||
                                          code == scclErrorTimeout,
                                      "an error of ranks");
                       wrong |= check(messageHas("rank 3"), "which");
                       return wrong | check(watch.seconds() < 10, "in time");
                     }),
            0);
}
