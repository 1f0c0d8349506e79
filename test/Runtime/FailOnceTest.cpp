//===- FailOnceTest.cpp - Everything fails once ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks call every function of sccl.h. The n-th allocation of one of them,
// or its n-th system call, fails, for each n. Then the call fails on all ranks
// or on none, and does well when it is made again, unless the communicator is
// out of use; nobody waits, and nothing is left.
//
// SCCL_FAIL_ALL=1 tries each n, the suite some.
//
//===----------------------------------------------------------------------===//

#include "Injection.h"
#include "MessageTesting.h"
#include "Runtime/Graveyard.h"

#include <cerrno>
#include <csignal>
#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace sccl;

namespace {
/// What fails in a trial.
struct Fault {
  unsigned victim;
  Injected what;
  uint64_t number;
  int error;
};

/// How ranks reach each other.
struct Kind {
  const char *name, *plan;
  RanksAs ranks;
  bool messages;
};

/// One rank's calls.
class Caller {
public:
  Caller(const RankEnd &end, const Fault &fault) : end(end) {
    if (end.rank == fault.victim)
      inject(fault.what, fault.number, fault.error);
  }
  ~Caller() { inject(Injected::Nothing, 0, 0); }

  /// A call that all ranks make. False if there is no use in going on.
  template <typename Body> bool together(const char *name, Body body) {
    for (unsigned turn = 0; turn < 2 && !isOver; ++turn) {
      scclResult code = call(body);
      std::vector<Report> all;
      end.gather(Report{code, isLost(), injection.hasFailed()}, all);
      bool any = false, every = true, lost = false, failed = false;
      for (const Report &report : all) {
        any |= report.code != scclSuccess;
        every &= report.code != scclSuccess;
        lost |= report.isLost;
        failed |= report.hasFailed;
      }
      if (!any)
        return true;
      demand(every || lost, name, "fails on one rank only");
      demand(failed && turn == 0, name, "fails for no reason");
      demand(code != scclErrorInternal, name, "says an internal error");
      isOver |= lost;
    }
    return false;
  }
  /// A call that one rank makes.
  template <typename Body> bool alone(const char *name, Body body) {
    if (isOver || call(body) == scclSuccess)
      return !isOver;
    demand(injection.hasFailed(), name, "fails for no reason");
    return demand(isLost() || call(body) == scclSuccess, name,
                  "fails when it is called again");
  }
  /// A call that may not fail.
  template <typename Body> void surely(const char *name, Body body) {
    demand(call(body) == scclSuccess, name, "fails");
  }
  bool demand(bool holds, const char *name, const char *what) {
    if (!holds && failures++ == 0)
      fprintf(stderr, "rank %u: %s %s: %s (number %llu of %s)\n", end.rank,
              name, what, scclGetLastErrorMessage(),
              (unsigned long long)injection.failAt,
              injection.what == Injected::Allocations ? "allocations"
                                                      : "system calls");
    return holds;
  }

  const RankEnd &end;
  scclComm comm = nullptr;
  bool isOver = false;
  int failures = 0;

private:
  struct Report {
    scclResult code;
    bool isLost, hasFailed;
  };
  template <typename Body> scclResult call(Body body) {
    scclResult code;
    {
      Arming armed(true);
      code = body();
    }
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    demand(!sigismember(&blocked, SIGUSR1), "a call", "leaves signals blocked");
    return code;
  }
  bool isLost() const { return comm && scclCommGetError(comm) != scclSuccess; }
};

/// A scclAllGatherFn in which nothing fails.
int gatherQuietly(void *context, const void *mine, void *all, size_t bytes) {
  Arming disarmed(false);
  const RankEnd &end = *static_cast<const RankEnd *>(context);
  return end.allGather(end.context, mine, all, bytes);
}

/// A function of a transport, in which nothing fails.
template <auto Function> struct Quiet;
template <typename Result, typename... Arguments,
          Result (*scclTransport::*Function)(void *, Arguments...)>
struct Quiet<Function> {
  static Result call(void *context, Arguments... arguments) {
    Arming disarmed(false);
    auto &inner = *static_cast<scclTransport *>(context);
    return (inner.*Function)(inner.context, arguments...);
  }
};

/// `inner`, with nothing that fails; it is closed with it.
scclTransport quiet(scclTransport &inner) {
  scclTransport made = inner;
  made.context = &inner;
  made.allGather = Quiet<&scclTransport::allGather>::call;
  made.reserve = Quiet<&scclTransport::reserve>::call;
  made.send = Quiet<&scclTransport::send>::call;
  made.sendAsking = Quiet<&scclTransport::sendAsking>::call;
  made.receive = Quiet<&scclTransport::receive>::call;
  made.poll = Quiet<&scclTransport::poll>::call;
  made.close = Quiet<&scclTransport::close>::call;
  made.errorText = Quiet<&scclTransport::errorText>::call;
  return made;
}

constexpr size_t numFloats = 300;

/// What a rank of a trial has, and its calls.
class Trial {
public:
  Trial(const RankEnd &end, const Kind &kind, const Fault &fault,
        LoopNetwork &network)
      : calls(end, fault), kind(kind), network(network) {}

  /// Returns how much was wrong.
  int run() {
    text = readFile(kind.plan);
    if (load() && join() && launch() && query() && moreMemory() && split())
      giveUp();
    calls.isOver = false;
    calls.surely("scclCommDestroy", [&] { return scclCommDestroy(part); });
    calls.surely("scclCommDestroy",
                 [&] { return scclCommDestroy(calls.comm); });
    calls.surely("scclPlanDestroy", [&] { return scclPlanDestroy(plan); });
    return calls.failures;
  }

private:
  bool load() {
    int version;
    scclPlan copy = nullptr;
    scclPlanInfo info = {};
    info.size = sizeof(info);
    bool done = calls.alone("scclGetVersion", [&] {
      return scclGetVersion(&version);
    }) && calls.alone("scclPlanLoad", [&] {
      return scclPlanLoad(kind.plan, &plan);
    }) && calls.alone("scclPlanLoadMemory", [&] {
      return scclPlanLoadMemory(text.data(), text.size(), &copy);
    }) && calls.alone("scclPlanGetInfo", [&] {
      return scclPlanGetInfo(plan, &info);
    });
    calls.surely("scclPlanDestroy", [&] { return scclPlanDestroy(copy); });
    return done;
  }

  bool join() {
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    config.timeoutSeconds = 2;
    config.scratchBytes = 1 << 20;
    const RankEnd &end = calls.end;
    scclComm made = nullptr;
    bool done = calls.together("scclCommInit", [&] {
      if (!kind.messages)
        return scclCommInit(end.rank, end.numRanks, gatherQuietly,
                            const_cast<RankEnd *>(&end), &config, &made);
      {
        Arming disarmed(false);
        inner = network.transport(end);
      }
      scclTransport transport = quiet(inner);
      return scclCommInitTransport(&transport, &config, &made);
    });
    calls.comm = made;
    return done && calls.together("scclCommLoad", [&] {
      return scclCommLoad(calls.comm, plan);
    });
  }

  bool launch() {
    const size_t bytes = 4096 * sizeof(float);
    std::vector<float> own(numFloats * 2), result(numFloats * 2);
    void *memory = nullptr;
    auto launchOn = [&](float *send, float *recv) {
      return calls.together("scclLaunch", [&] {
        return scclLaunch(calls.comm, plan, send, recv, numFloats, scclFloat32,
                          scclSum, nullptr);
      });
    };
    if (!launchOn(own.data(), result.data()) ||
        !calls.together("scclMemAlloc", [&] {
          return scclMemAlloc(calls.comm, bytes, &memory);
        }))
      return false;
    float *shared = static_cast<float *>(memory);
    uint64_t ticket = 0;
    return launchOn(shared, shared + 2048) && launchNamed(own, result) &&
           calls.alone("scclMemCopy",
                       [&] {
                         return scclMemCopy(calls.comm, own.data(), shared,
                                            sizeof(float));
                       }) &&
           calls.alone("scclLaunchAsync",
                       [&] {
                         return scclLaunchAsync(calls.comm, plan, own.data(),
                                                result.data(), numFloats,
                                                scclFloat32, scclSum, &ticket);
                       }) &&
           calls.together("scclWait",
                          [&] { return scclWait(calls.comm, ticket); }) &&
           calls.alone("scclMemFree",
                       [&] { return scclMemFree(calls.comm, memory); });
  }

  /// As the sister of scclLaunch that the plan is for; they share all code.
  bool launchNamed(std::vector<float> &send, std::vector<float> &recv) {
    bool moves = kind.plan == copiedAllToAll;
    return calls.together(moves ? "scclAllToAll" : "scclAllReduce", [&] {
      return moves ? scclAllToAll(send.data(), recv.data(), numFloats,
                                  scclFloat32, calls.comm, nullptr)
                   : scclAllReduce(send.data(), recv.data(), numFloats,
                                   scclFloat32, scclSum, calls.comm, nullptr);
    });
  }

  bool query() {
    scclComm comm = calls.comm;
    size_t bytes;
    const char *target;
    const scclTraceEvent *events;
    size_t numEvents;
    int number;
    scclPlanInfo info = {};
    info.size = sizeof(info);
    scclPlanGetInfo(plan, &info);
    scclChoice choice = {};
    choice.size = sizeof(choice);
    return calls.alone("scclCommRank", [&] {
      return scclCommRank(comm, &number);
    }) && calls.alone("scclCommCount", [&] {
      return scclCommCount(comm, &number);
    }) && calls.alone("scclQueryScratch", [&] {
      return scclQueryScratch(comm, &bytes);
    }) && calls.alone("scclQueryTarget", [&] {
      return scclQueryTarget(comm, &target);
    }) && calls.alone("scclCommTrace", [&] {
      return scclCommTrace(comm, /*on=*/0);
    }) && calls.alone("scclQueryTrace", [&] {
      return scclQueryTrace(comm, &events, &numEvents);
    }) && calls.alone("scclQueryPlan", [&] {
      return scclQueryPlan(comm, info.collective, -1, 0, 1, scclFloat32,
                           scclSum, &number);
    }) && calls.alone("scclQueryChoice", [&] {
      return scclQueryChoice(comm, plan, 1, scclFloat32, scclSum, &choice);
    }) && calls.alone("scclCommSetChoice", [&] {
      return scclCommSetChoice(comm, plan, &choice);
    });
  }

  /// What ranks ask for again, after it was given back.
  bool moreMemory() {
    for (unsigned turn = 0; turn < 2; ++turn) {
      void *memory = nullptr;
      if (!calls.together(
              "scclMemAlloc",
              [&] { return scclMemAlloc(calls.comm, 100, &memory); }) ||
          !calls.alone("scclMemFree",
                       [&] { return scclMemFree(calls.comm, memory); }))
        return false;
    }
    return calls.together("scclCommLoad",
                          [&] { return scclCommLoad(calls.comm, plan); });
  }

  bool split() {
    return kind.messages || calls.together("scclCommSplit", [&] {
      return scclCommSplit(calls.comm, 1, int(calls.end.rank), nullptr, &part);
    });
  }

  void giveUp() {
    calls.alone("scclCommAbort", [&] { return scclCommAbort(calls.comm); });
    calls.demand(scclCommGetError(calls.comm) == scclErrorAborted ||
                     kind.messages,
                 "scclCommGetError", "does not say that it was aborted");
  }

  Caller calls;
  const Kind &kind;
  LoopNetwork &network;
  scclTransport inner = {};
  std::string text;
  scclPlan plan = nullptr;
  scclComm part = nullptr;
};

/// What the process holds that a trial may leave.
struct Holdings {
  uint64_t blocks = 0;
  unsigned descriptors = 0, mappings = 0;

  static Holdings now() {
    Holdings held;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
      ++held.descriptors;
    closedir(folder);
    std::string maps = readFile("/proc/self/maps");
    for (size_t at = 0; (at = maps.find("memfd:sccl", at)) != maps.npos; ++at)
      ++held.mappings;
    held.blocks = liveBlocks();
    return held;
  }
};

/// What the ranks of a trial have found, wherever they are.
struct Tally {
  bool isOver; ///< there is no number so high
  int failures;
};

class FailOnce : public testing::TestWithParam<Kind> {};
} // namespace

/// Returns true if there are more numbers.
static bool tryFault(const Kind &kind, const Fault &fault, Tally &tally) {
  LoopNetwork network;
  alarm(60);
  tally = {};
  int result = runRanks(2, kind.ranks, [&](const RankEnd &end) {
    int failures = 0;
    bool hasFailed;
    unsigned before = Holdings::now().mappings;
    {
      Trial trial(end, kind, fault, network);
      failures = trial.run();
      hasFailed = injection.hasFailed();
    }
    if (kind.ranks == RanksAs::Processes) {
      unsigned after = Holdings::now().mappings;
      failures += check(after == before, "shared memory is left");
    }
    if (end.rank == fault.victim)
      tally.isOver = !hasFailed;
    return failures;
  });
  alarm(0);
  EXPECT_EQ(result, 0) << kind.name << ", rank " << fault.victim << ", number "
                       << fault.number << ", error " << fault.error;
  return !tally.isOver && !testing::Test::HasFailure();
}

/// Fails if trials with `fault` leave something, each time.
static void expectNothingLeft(const Kind &kind, const Fault &fault,
                              const Holdings &before, Tally &tally) {
  if (kind.ranks == RanksAs::Processes)
    return;
  Holdings after = Holdings::now();
  for (unsigned turn = 0; turn < 3 && (after.blocks > before.blocks ||
                                       after.descriptors > before.descriptors ||
                                       after.mappings > before.mappings);
       ++turn) {
    Holdings last = after;
    tryFault(kind, fault, tally);
    after = Holdings::now();
    // What is kept once, as the stacks of threads, is no leak.
    if (after.blocks <= last.blocks && after.descriptors <= last.descriptors &&
        after.mappings <= last.mappings)
      return;
    if (turn == 2)
      ADD_FAILURE() << kind.name << ", number " << fault.number << ": "
                    << after.blocks - last.blocks << " blocks, "
                    << after.descriptors - last.descriptors << " descriptors, "
                    << after.mappings - last.mappings << " mappings are left";
  }
}

/// Lets number after number fail. Returns how many there are.
static uint64_t failEach(const Kind &kind, Injected what, unsigned victim,
                         int error) {
  auto *tally =
      static_cast<Tally *>(mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const uint64_t stride = getenv("SCCL_FAIL_ALL") ? 1 : 13;
  uint64_t number = 1;
  // The library keeps as many destroyed handles, of two ranks in each trial.
  unsigned kept = kind.ranks == RanksAs::Threads ? Graveyard<int>::capacity : 0;
  for (unsigned trial = 0; trial <= kept / 2; ++trial)
    tryFault(kind, {victim, what, 0, 0}, *tally);
  // Different ones in each test.
  number += (victim * 5 + error) % stride;
  while (true) {
    Fault fault = {victim, what, number, error};
    Holdings before = Holdings::now();
    if (!tryFault(kind, fault, *tally))
      break;
    expectNothingLeft(kind, fault, before, *tally);
    number += stride;
  }
  munmap(tally, sizeof(Tally));
  return number - 1;
}

TEST_P(FailOnce, Allocations) {
  if (!canInject(Injected::Allocations))
    GTEST_SKIP() << "sanitizers allocate themselves";
  for (unsigned victim : {0u, 1u}) {
    uint64_t count = failEach(GetParam(), Injected::Allocations, victim, 0);
    EXPECT_GT(count, 100u);
    printf("%s: rank %u: %llu allocations\n", GetParam().name, victim,
           (unsigned long long)count);
  }
}

TEST_P(FailOnce, SystemCalls) {
  if (!canInject(Injected::SystemCalls))
    GTEST_SKIP() << "the kernel shows no system calls";
  for (int error : {ENOMEM, EINTR}) {
    uint64_t count = failEach(GetParam(), Injected::SystemCalls, 1, error);
    EXPECT_GT(count, GetParam().messages ? 10u : 30u);
    printf("%s: error %d: %llu system calls\n", GetParam().name, error,
           (unsigned long long)count);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ranks, FailOnce,
    testing::Values(Kind{"threads", allReduce, RanksAs::Threads, false},
                    Kind{"processes", exchange, RanksAs::Processes, false},
                    Kind{"copies", copiedAllToAll, RanksAs::Processes, false},
                    Kind{"messages", pairReduce, RanksAs::Threads, true}),
    [](const testing::TestParamInfo<Kind> &info) { return info.param.name; });
