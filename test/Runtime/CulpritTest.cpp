//===- CulpritTest.cpp - Tests of who is blamed ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include <csignal>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sccl;

/// Launches until that fails.
static scclResult launchOn(Member &member, std::vector<float> &send,
                           std::vector<float> &recv, size_t count) {
  scclResult result = scclSuccess;
  while (result == scclSuccess)
    result = member.launch(send.data(), recv.data(), count);
  return result;
}

//===----------------------------------------------------------------------===//
// Late ranks
//===----------------------------------------------------------------------===//

/// Ranks launch broadcasts; after some of them `victim` begins none any more,
/// and the others are ahead of each other by what buffers let them be.
static int stayAway(const RankEnd &end, unsigned victim, size_t count) {
  Member member;
  if (check(!member.join(end, broadcast8, 0.5), "join"))
    return 1;
  std::vector<float> send(count, 1), recv(count);
  for (unsigned launch = 0; launch < 20; ++launch)
    if (check(!member.launch(send.data(), recv.data(), count), "launch"))
      return 1;
  meet(end);
  int failed = 0;
  if (end.rank != victim)
    failed = check(launchOn(member, send, recv, count) == scclErrorTimeout &&
                       messageHas("rank " + std::to_string(victim) +
                                  " did not begin a launch"),
                   "blames rank " + std::to_string(victim));
  meet(end);
  return failed;
}

TEST_P(EitherWay, BlamesTheRankThatIsFurthestBehind) {
  for (size_t count : {size_t(8), size_t(20000)})
    for (unsigned victim : {0, 3, 7})
      EXPECT_EQ(0, runRanks(8, GetParam(), [=](const RankEnd &end) {
                  return stayAway(end, victim, count);
                }));
}

TEST(Culprit, NamesAProcessThatIsStopped) {
  for (unsigned victim : {1, 3})
    EXPECT_EQ(0, runRanks(4, RanksAs::Processes, [=](const RankEnd &end) {
                Member member;
                std::vector<pid_t> processes;
                std::vector<float> send(1000), recv(4000);
                if (check(!member.join(end, allGather, 0.5), "join") ||
                    check(end.gather(getpid(), processes), "gather"))
                  return 1;
                // It may be in a launch, or between two of them.
                if (end.rank == 0) {
                  usleep(20000);
                  kill(processes[victim], SIGSTOP);
                }
                scclResult result = launchOn(member, send, recv, 1000);
                std::string who = std::to_string(victim);
                bool isNamed =
                    messageHas("rank " + who + " is stopped in a launch") ||
                    messageHas("rank " + who + " did not begin a launch");
                if (end.rank == 0)
                  kill(processes[victim], SIGCONT);
                meet(end);
                return check(result == scclErrorTimeout && isNamed,
                             "names rank " + who);
              }));
}

//===----------------------------------------------------------------------===//
// Ranks that disagree
//===----------------------------------------------------------------------===//

TEST_P(EitherWay, ReportsWhatDiffersOfARankThatIsFarAhead) {
  for (unsigned launches : {20, 200})
    EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
                Member member;
                std::vector<float> a(10), b(10);
                if (check(!member.join(end, exchange, 5), "join"))
                  return 1;
                // Without elements there is nothing to wait for.
                scclResult result = scclSuccess;
                for (unsigned i = 0; i < launches && !result && !end.rank; ++i)
                  result = member.launch(a.data(), b.data(), 0);
                if (end.rank == 1)
                  result = member.launch(a.data(), b.data(), 10);
                Stopwatch watch;
                while (watch.seconds() < 20 && !result) {
                  usleep(1000);
                  result = scclCommGetError(member.comm);
                }
                int failed =
                    check(result == scclErrorMismatch &&
                              messageHas("launched with another count"),
                          "differs");
                meet(end);
                return failed;
              }));
}

TEST_P(EitherWay, GoesFarAheadWithNothing) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
              Member member;
              std::vector<float> a(10), b(10);
              if (check(!member.join(end, exchange), "join"))
                return 1;
              if (end.rank == 1)
                usleep(50000);
              for (unsigned i = 0; i < 1000; ++i)
                if (check(!member.launch(a.data(), b.data(), 0), "nothing"))
                  return 1;
              return reduceOnce(member, end, a.data(), b.data(), 10);
            }));
}

TEST_P(EitherWay, TakesAnyReductionWhereNothingIsReduced) {
  for (size_t count : {size_t(8), size_t(100000)})
    for (const char *plan : {allGather, copiedAllToAll}) {
      unsigned ranks = plan == allGather ? 4 : 2;
      EXPECT_EQ(0, runRanks(ranks, GetParam(), [=](const RankEnd &end) {
                  Member member;
                  std::vector<float> a(2 * count), b(4 * count);
                  if (check(!member.join(end, plan), "join"))
                    return 1;
                  int failed =
                      check(!scclLaunch(member.comm, member.plan, a.data(),
                                        b.data(), count, scclFloat32,
                                        end.rank ? scclMin : scclSum, nullptr),
                            "the reduction does not matter");
                  meet(end);
                  return failed;
                }));
    }
}

TEST_P(EitherWay, ReportsOtherMemoryThanThatOfPeers) {
  for (bool launches : {false, true})
    EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
                Member member;
                constexpr size_t count = 100000, bytes = count * sizeof(float);
                void *memory[3] = {};
                if (check(!member.join(end, allReduce), "join"))
                  return 1;
                for (void *&part : memory)
                  if (check(!scclMemAlloc(member.comm, bytes, &part), "alloc"))
                    return 1;
                int failed = check(!scclMemFree(member.comm, memory[end.rank]),
                                   "frees its own");
                auto *send = static_cast<float *>(memory[1 - end.rank]);
                auto *recv = static_cast<float *>(memory[2]);
                void *more = nullptr;
                if (launches)
                  failed += check(member.launch(send, recv, count) ==
                                          scclErrorMismatch &&
                                      messageHas("freed other memory than"),
                                  "launch");
                else
                  failed += check(scclMemAlloc(member.comm, bytes, &more) ==
                                          scclErrorMismatch &&
                                      messageHas("freed other memory than"),
                                  "alloc");
                meet(end);
                return failed;
              }));
}

TEST(Culprit, NamesARankWhoseMemoryHasAHole) {
  for (bool isSend : {false, true})
    EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [=](const RankEnd &end) {
                Member member;
                constexpr size_t bytes = 1 << 20;
                if (check(!member.join(end, copiedAllToAll), "join"))
                  return 1;
                char *buffers[2];
                for (char *&buffer : buffers)
                  buffer = static_cast<char *>(
                      mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
                // In what is for rank 0, or comes from there.
                if (end.rank == 1)
                  munmap(buffers[isSend ? 0 : 1] + bytes / 4, bytes / 4);
                scclResult result =
                    member.launch(reinterpret_cast<float *>(buffers[0]),
                                  reinterpret_cast<float *>(buffers[1]),
                                  bytes / sizeof(float) / 2);
                std::string expected =
                    isSend          ? "a buffer of rank 1 is not memory "
                                      "that rank 0 can read"
                    : end.rank == 0 ? "the communicator failed on rank 1: the "
                                      "receive buffer cannot be written"
                                    : "the receive buffer cannot be written";
                int failed = check(result == scclErrorInvalidArgument &&
                                       scclGetLastErrorMessage() == expected,
                                   expected);
                meet(end);
                return failed;
              }));
}

//===----------------------------------------------------------------------===//
// Parts of a group
//===----------------------------------------------------------------------===//

namespace {
/// Ranks 0 and 1 of three, without the others' all-gather.
struct Half {
  Member all;
  scclComm part = nullptr;
  Half() = default;
  Half(const Half &) = delete;
  ~Half() { scclCommDestroy(part); }
  int join(const RankEnd &end, double timeoutSeconds) {
    return check(!all.join(end, allReduce, timeoutSeconds, 2) &&
                     !scclCommSplit(all.comm, 0, 0, nullptr, &part),
                 "split");
  }
  /// How calls of all ranks go.
  int failsWith(scclResult code, const std::string &message) {
    int failed = 0;
    for (unsigned call = 0; call < 3; ++call) {
      void *memory = nullptr;
      failed += check(scclMemAlloc(part, 4096, &memory) == code &&
                          messageHas(message),
                      "alloc: " + message);
    }
    failed += check(scclCommLoad(part, all.plan) == code && messageHas(message),
                    "load: " + message);
    return failed + check(scclCommGetError(part) == code && messageHas(message),
                          "error: " + message);
  }
};
} // namespace

TEST(Culprit, NamesARankOfAPartThatIsLost) {
  // The dead process makes the result 1.
  EXPECT_EQ(1, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              Half half;
              if (half.join(end, 20))
                return 2;
              if (end.rank == 1)
                raise(SIGKILL);
              return half.failsWith(scclErrorRankLost,
                                    "the process of rank 1 has ended")
                         ? 2
                         : 0;
            }));
}

TEST_P(EitherWay, NamesARankOfAPartThatIsLate) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Half half;
              if (half.join(end, 0.3))
                return 1;
              if (end.rank == 1)
                meet(end);
              // The late one has the same answer: nothing is out of step.
              int failed =
                  half.failsWith(scclErrorTimeout, "rank 1 did not begin a "
                                                   "call that rank 0 waited "
                                                   "in for 0.3 s");
              if (end.rank == 0)
                meet(end);
              meet(end);
              return failed;
            }));
}

TEST_P(EitherWay, EndsWaitsOfAPartThatIsAborted) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Half half;
              if (half.join(end, 60))
                return 1;
              Stopwatch watch;
              if (end.rank == 1) {
                usleep(100000);
                scclCommAbort(half.part);
              }
              int failed = half.failsWith(scclErrorAborted, "rank 1 has "
                                                            "aborted") +
                           check(watch.seconds() < 20, "soon");
              meet(end);
              return failed;
            }));
}

TEST_P(EitherWay, AsksWhileAPartIsWaitedFor) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Half half;
              if (half.join(end, 60))
                return 1;
              int failed = 0, asked = 0;
              if (end.rank == 0) {
                auto answer = [](void *asked) -> int {
                  return ++*static_cast<int *>(asked) == 3;
                };
                scclCommSetInterrupt(half.part, answer, &asked);
                failed =
                    half.failsWith(scclErrorAborted, "rank 0 has aborted") +
                    check(asked == 3, "asked");
              }
              meet(end);
              return failed;
            }));
}
