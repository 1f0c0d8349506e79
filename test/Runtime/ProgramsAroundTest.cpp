//===- ProgramsAroundTest.cpp - What programs do meanwhile ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs handle signals, fork, cancel threads, and set how numbers are
// rounded; libsccl is to have no part in that.
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

static char *guarded;
static constexpr size_t guardedBytes = 1 << 20;

static void open(int, siginfo_t *, void *) {
  mprotect(guarded, guardedBytes, PROT_READ | PROT_WRITE);
}

TEST(Around, LetsProgramsHandleTheirFaults) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              struct sigaction action = {};
              action.sa_sigaction = open;
              action.sa_flags = SA_SIGINFO;
              sigaction(SIGSEGV, &action, nullptr);
              Member member;
              if (check(!member.join(end, exchange), "join"))
                return 1;
              constexpr size_t count = guardedBytes / sizeof(float);
              std::vector<float> send(count, 1);
              int failed = 0;
              for (bool later : {false, true}) {
                guarded = static_cast<char *>(
                    mmap(nullptr, guardedBytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
                auto *recv = reinterpret_cast<float *>(guarded);
                uint64_t ticket = 0;
                scclResult result =
                    later ? scclLaunchAsync(member.comm, member.plan,
                                            send.data(), recv, count,
                                            scclFloat32, scclSum, &ticket)
                          : member.launch(send.data(), recv, count);
                if (later && !result)
                  result = scclWait(member.comm, ticket);
                failed += check(!result && recv[count - 1] == 2, "handled");
                munmap(guarded, guardedBytes);
              }
              return failed;
            }));
}

TEST(Around, LeavesSignalsToThreadsThatWaitForThem) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [](const RankEnd &end) {
              sigset_t all, before;
              sigfillset(&all);
              pthread_sigmask(SIG_BLOCK, &all, &before);
              Member member;
              int failed = check(!member.join(end, exchange), "join");
              for (int wanted : {SIGTRAP, SIGSEGV, SIGTERM}) {
                int got = 0;
                kill(getpid(), wanted);
                sigwait(&all, &got);
                failed +=
                    check(got == wanted, "signal " + std::to_string(wanted));
              }
              pthread_sigmask(SIG_SETMASK, &before, nullptr);
              return failed;
            }));
}

namespace {
/// What a thread is asked, and what it does meanwhile with its own.
struct Nested {
  Member *inner;
  int asked = 0;
  static int answer(void *context) {
    auto &nested = *static_cast<Nested *>(context);
    void *memory = nullptr;
    if (++nested.asked == 2)
      check(!scclMemAlloc(nested.inner->comm, 64, &memory), "the inner one");
    return nested.asked == 4;
  }
  static int goOn(void *) { return 0; }
};

/// A rank among one.
int gatherAlone(void *, const void *mine, void *all, size_t bytes) {
  std::memcpy(all, mine, bytes);
  return 0;
}
} // namespace

TEST_P(EitherWay, AsksOnAfterAnAnswerThatWaited) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              float a = 1, b = 0;
              if (check(!member.join(end, exchange, 60), "join"))
                return 1;
              int failed = 0;
              if (end.rank == 0) {
                // Its calls ask another function meanwhile.
                Member other;
                scclConfig config = SCCL_CONFIG_INITIALIZER;
                scclCommInit(0, 1, gatherAlone, nullptr, &config, &other.comm);
                scclCommSetInterrupt(other.comm, Nested::goOn, nullptr);
                Nested nested{&other};
                scclCommSetInterrupt(member.comm, Nested::answer, &nested);
                failed = check(member.launch(&a, &b, 1) == scclErrorAborted &&
                                   nested.asked == 4,
                               "asked to the end");
              }
              meet(end);
              return failed;
            }));
}

//===----------------------------------------------------------------------===//
// Threads and processes
//===----------------------------------------------------------------------===//

/// Joins, and loads `plan`; with `launches`, launches it.
static int loadOnce(const RankEnd &end, scclPlan plan, bool launches) {
  scclComm comm = nullptr;
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  float a = 1, b = 2;
  scclResult result =
      scclCommInit(end.rank, 2, end.allGather, end.context, &config, &comm);
  if (!result)
    result = scclCommLoad(comm, plan);
  if (!result && launches)
    result = scclLaunch(comm, plan, &a, &b, 1, scclFloat32, scclSum, nullptr);
  int failed = check(!result && b == 2, "loads and launches");
  scclCommDestroy(comm);
  return failed;
}

TEST(Around, LetsChildrenLoadWhileParentsDo) {
  std::atomic<bool> isOver = false;
  scclPlan plan = nullptr;
  ASSERT_FALSE(scclPlanLoad(exchange, &plan));
  std::thread parent([&] {
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                std::vector<char> over = {0};
                int failed = 0;
                while (!over[0] && !failed) {
                  failed = loadOnce(end, plan, /*launches=*/false);
                  end.gather(char(isOver), over);
                }
                return failed;
              }));
  });
  for (unsigned child = 0; child < 100 && !testing::Test::HasFailure();
       ++child) {
    pid_t process = fork();
    if (process == 0) {
      alarm(30); // ends a child that hangs
      _exit(runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
        return loadOnce(end, plan, /*launches=*/true);
      }));
    }
    int status = 0;
    waitpid(process, &status, 0);
    EXPECT_EQ(0, status);
  }
  isOver = true;
  parent.join();
  scclPlanDestroy(plan);
}

TEST(Around, IsNotCancelled) {
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [](const RankEnd &end) {
              Member member;
              scclComm part = nullptr;
              if (check(!member.join(end, exchange, 0.5) &&
                            !scclCommSplit(member.comm, 0, 0, nullptr, &part),
                        "join"))
                return 1;
              scclResult results[2] = {};
              if (end.rank == 0) {
                // Rank 1 comes to neither.
                std::thread waiting([&] {
                  float a = 1, b = 0;
                  uint64_t ticket = 0;
                  void *memory = nullptr;
                  scclLaunchAsync(member.comm, member.plan, &a, &b, 1,
                                  scclFloat32, scclSum, &ticket);
                  results[0] = scclWait(member.comm, ticket);
                  results[1] = scclMemAlloc(part, 64, &memory);
                });
                usleep(100000);
                pthread_cancel(waiting.native_handle());
                waiting.join();
              }
              int failed =
                  check(end.rank == 1 || (results[0] == scclErrorTimeout &&
                                          results[1] == scclErrorTimeout),
                        "both have ended");
              meet(end);
              scclCommDestroy(part);
              return failed;
            }));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)
TEST_P(EitherWay, AddsTheSameWhateverRoundingIsSet) {
  // Small numbers are zero, and results are rounded down.
  constexpr unsigned flushToZero = 0x8040, down = 0x2000;
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(!member.join(end, allReduce), "join"))
                return 1;
              unsigned before = __builtin_ia32_stmxcsr();
              unsigned own = before | flushToZero | down;
              std::vector<float> a(1000), b(1000);
              for (size_t i = 0; i < a.size(); ++i)
                a[i] = i % 2 ? 1e-40f : end.rank ? 0x1p-24f * 1.5f : 1;
              __builtin_ia32_ldmxcsr(own);
              scclResult result = member.launch(a.data(), b.data(), a.size());
              unsigned after = __builtin_ia32_stmxcsr();
              __builtin_ia32_ldmxcsr(before);
              int failed = check(!result && (after & ~0x3fu) == (own & ~0x3fu),
                                 "keeps what the program has set");
              for (size_t i = 0; i < b.size(); ++i)
                if (b[i] != (i % 2 ? 2 * 1e-40f : 1 + 0x1p-23f))
                  return check(false, "element " + std::to_string(i));
              return failed;
            }));
}
#endif
