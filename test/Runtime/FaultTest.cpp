//===- FaultTest.cpp - Tests of what goes wrong ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sccl;

/// What a thread says that is asked whether to go on.
struct Answers {
  std::thread::id thread = std::this_thread::get_id();
  int asked = 0, elsewhere = 0;
  static int count(void *context) {
    auto &answers = *static_cast<Answers *>(context);
    answers.elsewhere += std::this_thread::get_id() != answers.thread;
    return ++answers.asked == 3;
  }
};

TEST_P(EitherWay, AsksWhetherToGoOn) {
  for (bool later : {false, true})
    EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
                Member member;
                std::vector<float> a(10), b(10);
                if (check(!member.join(end, exchange, 100), "join") ||
                    reduceOnce(member, end, a.data(), b.data(), 10))
                  return 1;
                Answers answers;
                int failed = 0;
                if (end.rank == 0) {
                  scclCommSetInterrupt(member.comm, Answers::count, &answers);
                  uint64_t ticket = 0;
                  scclResult result = scclSuccess;
                  if (!later)
                    result = member.launch(a.data(), b.data(), 10);
                  else if (!scclLaunchAsync(member.comm, member.plan, a.data(),
                                            b.data(), 10, scclFloat32, scclSum,
                                            &ticket))
                    result = scclWait(member.comm, ticket);
                  failed =
                      check(result == scclErrorAborted, "interrupted") +
                      check(answers.asked >= 3, "asked") +
                      check(answers.elsewhere == 0, "nobody else is asked");
                }
                Stopwatch watch;
                while (watch.seconds() < 20 &&
                       scclCommGetError(member.comm) == scclSuccess)
                  usleep(1000);
                failed += check(member.launch(a.data(), b.data(), 10) ==
                                        scclErrorAborted &&
                                    messageHas("rank 0 has aborted"),
                                "afterwards");
                meet(end);
                return failed;
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
                  meet(end);
                  return check(
                             result == scclErrorTimeout &&
                                 messageHas("rank 1 did not begin a launch "
                                            "that rank 0 waited in for 0.3 s"),
                             "a late rank") +
                         check(watch.seconds() < 10, "within the limit");
                }));
}

// It was a call of that rank, so its next launch is not taken for it.
TEST_P(EitherWay, TellsPeersWhyALaunchWasRefused) {
  for (bool hasWarmUp : {false, true})
    for (bool launchesLater : {false, true})
      EXPECT_EQ(
          0, runRanks(2, GetParam(), [=](const RankEnd &end) {
            Member member;
            if (check(!member.join(end, allReduce), "join"))
              return 1;
            std::vector<float> a(10), b(10);
            if (hasWarmUp && reduceOnce(member, end, a.data(), b.data(), 10))
              return 1;
            if (end.rank == 0 && check(member.launch(nullptr, b.data(), 10) ==
                                           scclErrorInvalidArgument,
                                       "null"))
              return 1;
            Stopwatch watch;
            while (end.rank == 0 && !launchesLater && watch.seconds() < 20 &&
                   scclCommGetError(member.comm) == scclSuccess)
              usleep(1000);
            scclResult result = member.launch(a.data(), b.data(), 10);
            std::string expected =
                "a call of rank 0 has failed: send is null, and should "
                "have 40 bytes; rank 1 made it";
            meet(end);
            return check(result == scclErrorMismatch &&
                             scclGetLastErrorMessage() == expected,
                         expected) +
                   check(watch.seconds() < 10, "before the limit");
          }));
}

// Nobody waits for a call that no rank makes.
TEST_P(EitherWay, AllMayBeRefusedAlike) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(!member.join(end, allReduce), "join"))
                return 1;
              std::vector<float> a(10), b(10);
              int failed = 0;
              for (unsigned i = 0; i < 3 && !failed; ++i)
                failed += reduceOnce(member, end, a.data(), b.data(), 10) +
                          check(member.launch(nullptr, b.data(), 10) ==
                                    scclErrorInvalidArgument,
                                "null") +
                          check(scclAllGather(a.data(), b.data(), 10,
                                              scclFloat32, member.comm,
                                              nullptr) == scclErrorUnsupported,
                                "no plan") +
                          check(scclLaunch(member.comm, nullptr, a.data(),
                                           b.data(), 10, scclFloat32, scclSum,
                                           nullptr) == scclErrorInvalidArgument,
                                "no plan") +
                          reduceOnce(member, end, a.data(), b.data(), 10);
              return failed;
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

/// What a child can do with a communicator of its parent. Returns 0 if all is
/// as it should be.
static int useInChild(Member &member, std::vector<float> &a,
                      std::vector<float> &b) {
  void *memory = nullptr;
  size_t bytes;
  const char *target;
  scclChoice choice = {};
  auto refuses = [](scclResult code, const char *what) {
    return check(code == scclErrorUnsupported &&
                     messageHas("has made the communicator, and this is a "
                                "child of it"),
                 what);
  };
  int failed =
      refuses(member.launch(a.data(), b.data(), a.size()), "launch") +
      refuses(member.launch(nullptr, nullptr, 1), "bad launch") +
      refuses(scclCommAbort(member.comm), "abort") +
      refuses(scclCommGetError(member.comm), "error") +
      refuses(scclMemAlloc(member.comm, 64, &memory), "alloc") +
      refuses(scclMemFree(member.comm, a.data()), "free") +
      refuses(scclMemCopy(member.comm, b.data(), a.data(), 4), "copy") +
      refuses(scclQueryScratch(member.comm, &bytes), "scratch") +
      refuses(scclQueryTarget(member.comm, &target), "target") +
      refuses(scclCommSetChoice(member.comm, member.plan, nullptr), "set") +
      refuses(scclQueryChoice(member.comm, member.plan, 1, scclFloat32, scclSum,
                              &choice),
              "choice") +
      check(scclCommDestroy(member.comm) == scclSuccess, "destroy");
  std::string maps = readFile("/proc/self/maps");
  return failed + check(maps.find("memfd:sccl (") == std::string::npos,
                        "shared memory is still mapped");
}

TEST(Library, LeavesTheParentAloneAfterFork) {
  for (const char *plan : {allReduce, exchange})
    EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [=](const RankEnd &end) {
                Member member;
                std::vector<float> a(1000), b(1000);
                void *memory = nullptr;
                if (check(!member.join(end, plan), "join") ||
                    check(!scclMemAlloc(member.comm, 4096, &memory), "alloc"))
                  return 1;
                pid_t child = fork();
                if (child == 0) {
                  alarm(20); // ends a child that hangs
                  _exit(useInChild(member, a, b));
                }
                int status = 0;
                waitpid(child, &status, 0);
                return check(child > 0 && WIFEXITED(status) &&
                                 WEXITSTATUS(status) == 0,
                             "the child") +
                       reduceOnce(member, end, a.data(), b.data(), a.size());
              }));
}

TEST(Library, JoinsAfterFork) {
  // The communicator of the parent does not matter to that of its child.
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              Member outer;
              if (check(!outer.join(end, allReduce), "join"))
                return 1;
              return runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
                Member member;
                std::vector<float> a(1000), b(1000);
                if (check(!member.join(end, allReduce), "join of a child"))
                  return 1;
                return reduceOnce(member, end, a.data(), b.data(), a.size());
              });
            }));
}

/// Rank 0 stops rank 1 at some moment of its launches, until they have failed,
/// and uses its memory for something else then, while rank 1 goes on. Returns
/// 0 if nobody has written there. `registered`: memory of scclMemAlloc, where
/// peers write themselves.
static int stopPeer(const RankEnd &end, useconds_t delay, bool registered) {
  constexpr float mine = -7;
  Member member;
  std::vector<pid_t> processes;
  const char *plan = registered ? allToAll : copiedAllToAll;
  if (check(!member.join(end, plan, 0.2), "join") ||
      check(end.gather(getpid(), processes), "gather"))
    return 1;
  constexpr size_t count = 1 << 21;
  std::vector<float> a(count, 1), own(count);
  float *memory = registered ? member.allocate(count) : own.data();
  if (check(memory, "memory"))
    return 1;
  llvm::MutableArrayRef<float> b(memory, count);
  std::thread stopper;
  if (end.rank == 0)
    stopper = std::thread([&] {
      usleep(delay);
      kill(processes[1], SIGSTOP);
    });
  scclResult result = scclSuccess;
  while (result == scclSuccess)
    result = member.launch(a.data(), b.data(), count / 2);
  if (end.rank == 0) {
    stopper.join();
    std::fill(b.begin(), b.end(), mine);
    kill(processes[1], SIGCONT);
  }
  int failed = check(result == scclErrorTimeout, "a stopped rank");
  end.gather(getpid(), processes); // rank 1 has returned, too
  bool isMine = std::all_of(b.begin(), b.end(), [&](float value) {
    return end.rank != 0 || value == mine;
  });
  return failed + check(isMine, "memory is written after the launch");
}

TEST(Library, WritesNothingAfterALaunchHasFailed) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              int failed = 0;
              for (unsigned trial = 0; trial < 16 && !failed; ++trial)
                failed = stopPeer(end, 20000 + 1700 * trial, trial % 2 != 0);
              return failed;
            }));
}

/// Stops `processes` for longer than their limit, again and again, as a shell
/// or a debugger would stop a whole job.
static void stopTogether(const std::vector<pid_t> &processes) {
  auto tell = [&](int signal) {
    for (pid_t process : processes)
      kill(process, signal);
  };
  for (unsigned stop = 0; stop < 8; ++stop) {
    usleep(30000);
    tell(SIGSTOP);
    usleep(500000);
    tell(SIGCONT);
  }
}

TEST(Library, TakesNobodyForLateWhileAllAreStopped) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              Member member;
              std::vector<pid_t> processes;
              if (check(!member.join(end, copiedAllToAll, 0.4), "join") ||
                  check(end.gather(getpid(), processes), "gather"))
                return 1;
              pid_t stopper = end.rank == 0 ? fork() : 0;
              if (end.rank == 0 && stopper == 0) {
                stopTogether(processes);
                _exit(0);
              }
              std::vector<float> a(1 << 21, 1), b(1 << 21);
              scclResult result = scclSuccess;
              for (bool isOver = false; !isOver && result == scclSuccess;) {
                result = member.launch(a.data(), b.data(), a.size() / 2);
                // Both go on until rank 0 knows that nobody stops them again.
                bool mine = end.rank == 0 &&
                            waitpid(stopper, nullptr, WNOHANG) == stopper;
                std::vector<char> all;
                if (check(end.gather(char(mine), all), "gather"))
                  return 1;
                isOver = all[0] != 0;
              }
              return check(result == scclSuccess, "nobody is late");
            }));
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
                  meet(end);
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
