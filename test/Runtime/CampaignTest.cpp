//===- CampaignTest.cpp - What is done to a running job -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks launch again and again; at some moment one of them is killed, stopped,
// or leaves, or all are suspended. The others have the right code and culprit,
// nobody writes to their memory when their launch has returned, and there is no
// file left.
//
// SCCL_FAULTS=2000 does so 2,000 times, the suite 40.
//
//===----------------------------------------------------------------------===//

#include "MessageTesting.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sccl;
namespace fs = std::filesystem;

namespace {
enum class Fault { Kill, Stop, StopLong, SuspendAll, Abort, Leave };
constexpr const char *faultNames[] = {"kill",        "stop",  "stop too long",
                                      "suspend all", "abort", "leave"};

/// Where nobody is to be late the limit is longer than a busy machine lets
/// anybody wait.
constexpr double limitOf(Fault fault) {
  bool isShort = fault == Fault::StopLong || fault == Fault::Leave ||
                 fault == Fault::SuspendAll;
  return isShort ? 0.5 : 20;
}

/// How ranks reach each other, and what they launch.
struct Way {
  const char *name, *plan;
  RanksAs ranks;
  bool messages;
  unsigned numRanks = 2;
  bool registered = false; ///< receive buffers are memory of scclMemAlloc
};
constexpr Way ways[] = {
    {"buffers", allReduce, RanksAs::Processes, false},
    {"scratch", exchange, RanksAs::Processes, false},
    {"copies", copiedAllToAll, RanksAs::Processes, false},
    {"threads", allReduce, RanksAs::Threads, false},
    {"messages", pairReduce, RanksAs::Threads, true},
    {"ring", allGather, RanksAs::Processes, false, 4},
    {"root", broadcast8, RanksAs::Processes, false, 8},
    {"registered", allToAll, RanksAs::Processes, false, 2, true},
};

/// Everything random about one of them.
struct Attack {
  Way way;
  Fault fault;
  unsigned victim;
  useconds_t delay, pause;
  size_t count;
};

Attack drawAttack(unsigned seed) {
  std::mt19937 random(seed);
  Attack attack;
  attack.way = ways[random() % std::size(ways)];
  // Threads can neither be killed nor stopped alone.
  attack.fault = attack.way.ranks == RanksAs::Threads
                     ? (random() % 2 ? Fault::Abort : Fault::Leave)
                     : Fault(random() % 6);
  attack.victim = random() % attack.way.numRanks;
  attack.delay = random() % 30000;
  attack.pause = random() % 20000;
  attack.count = size_t(1) << random() % 18;
  return attack;
}

/// What all ranks see, wherever they are.
struct Board {
  std::atomic<uint64_t> last;    ///< launches to do
  std::atomic<bool> isGone;      ///< the victim leaves
  std::atomic<unsigned> guarded; ///< ranks whose memory has another use
  std::atomic<int> failures;
};

class Rank {
public:
  Rank(const RankEnd &end, const Attack &attack, Board &board)
      : end(end), attack(attack), board(board),
        isVictim(end.rank == attack.victim),
        isAttacker(end.rank == (attack.victim + 1) % end.numRanks) {}

  void run(LoopNetwork &network) {
    const double limit = limitOf(attack.fault);
    scclResult joined = attack.way.messages
                            ? join(member, network, end, attack.way.plan, limit)
                            : member.join(end, attack.way.plan, limit);
    demand(joined == scclSuccess && end.gather(getpid(), processes), "joins");
    process = processes[attack.victim];
    makeBuffers();
    std::thread attacker([&] { strike(); });
    scclResult result = launchOn();
    attacker.join();
    if (!isVictim || attack.fault == Fault::Abort)
      checkCode(result);
    if (!isVictim)
      guard();
    meet(end);
    demand(isVictim || isUntouched(), "memory is as it was left");
  }

private:
  void demand(bool holds, const char *what) {
    if (check(holds, std::string(attack.way.name) + ", " +
                         faultNames[unsigned(attack.fault)] + ": " + what))
      ++board.failures;
  }

  /// Does to the victim what is to be done; in the victim if it does so itself.
  void strike() {
    bool isOwn = attack.fault == Fault::Abort || attack.fault == Fault::Leave;
    if (isOwn ? !isVictim : !isAttacker)
      return;
    usleep(attack.delay);
    switch (attack.fault) {
    case Fault::Kill:
      kill(process, SIGKILL);
      break;
    case Fault::Stop:
      kill(process, SIGSTOP);
      usleep(attack.pause);
      kill(process, SIGCONT);
      board.last = launches + 50;
      break;
    case Fault::StopLong:
      kill(process, SIGSTOP);
      break;
    case Fault::SuspendAll:
      suspendAll();
      board.last = launches + 50;
      break;
    case Fault::Abort:
      scclCommAbort(member.comm);
      break;
    case Fault::Leave:
      board.isGone = true;
      break;
    }
  }

  /// By a process of its own, which nobody stops.
  void suspendAll() {
    pid_t stopper = fork();
    if (stopper == 0) {
      for (pid_t each : processes)
        kill(each, SIGSTOP);
      usleep(useconds_t(limitOf(attack.fault) * 1.5e6));
      for (pid_t each : processes)
        kill(each, SIGCONT);
      _exit(0);
    }
    waitpid(stopper, nullptr, 0);
  }

  void makeBuffers() {
    const size_t count = attack.count * end.numRanks;
    send.assign(count, float(end.rank));
    own.resize(count);
    float *memory = attack.way.registered ? member.allocate(count) : own.data();
    demand(memory, "memory");
    recv = {memory, count};
  }

  scclResult launchOn() {
    scclResult result = scclSuccess;
    while (result == scclSuccess && launches < board.last &&
           !(isVictim && attack.fault == Fault::Leave && board.isGone)) {
      result = member.launch(send.data(), recv.data(), attack.count);
      ++launches;
    }
    if (isVictim && attack.fault == Fault::Leave) {
      demand(scclCommDestroy(member.comm) == scclSuccess, "leaves");
      member.comm = nullptr;
    }
    return result;
  }

  void checkCode(scclResult result) {
    constexpr scclResult expected[] = {scclErrorRankLost, scclSuccess,
                                       scclErrorTimeout,  scclSuccess,
                                       scclErrorAborted,  scclErrorTimeout};
    demand(result == expected[unsigned(attack.fault)], "has the right code");
    if (result == scclSuccess)
      return;
    std::string who = "rank " + std::to_string(attack.victim);
    // Messages say whose they are.
    demand(messageHas(who + " has a") || messageHas(who + " did") ||
               messageHas(who + " is") || messageHas("process of " + who) ||
               messageHas("from " + who) || messageHas("by " + who),
           "names the culprit");
  }

  /// Uses the memory for something else, and lets the victim go on.
  void guard() {
    std::fill(recv.begin(), recv.end(), mine);
    ++board.guarded;
    if (attack.fault == Fault::StopLong && isAttacker) {
      while (board.guarded < end.numRanks - 1)
        usleep(1000);
      kill(process, SIGCONT);
    }
    if (attack.fault == Fault::Kill)
      usleep(2000);
  }
  /// Messages may be under way to it.
  bool isUntouched() const {
    return attack.way.messages ||
           std::all_of(recv.begin(), recv.end(),
                       [](float value) { return value == mine; });
  }

  static constexpr float mine = -7;
  const RankEnd &end;
  const Attack &attack;
  Board &board;
  bool isVictim, isAttacker;
  std::vector<pid_t> processes;
  pid_t process = 0; ///< of the victim
  Member member;
  std::vector<float> send, own;
  llvm::MutableArrayRef<float> recv;
  std::atomic<uint64_t> launches = 0;
};

unsigned countDescriptors() {
  unsigned count = 0;
  for (int number = 0; number < 256; ++number)
    count += fcntl(number, F_GETFD) != -1;
  return count;
}

/// Whatever a fault leaves where programs leave files: the folder of the
/// process and that for temporary ones, which are one empty folder here, and
/// names in shared memory. Others may make files of theirs there meanwhile.
class EmptyFolder {
public:
  EmptyFolder() {
    char name[] = "/tmp/sccl-campaign-XXXXXX";
    folder = mkdtemp(name);
    fs::current_path(folder);
    setenv("TMPDIR", folder.c_str(), 1);
  }
  ~EmptyFolder() {
    fs::current_path(before);
    unsetenv("TMPDIR");
    fs::remove_all(folder);
  }
  unsigned numFiles() const {
    unsigned count = 0;
    for (const auto &entry : fs::directory_iterator("/dev/shm"))
      count += entry.path().filename().string().find("sccl") == 0;
    for (const auto &entry : fs::recursive_directory_iterator(folder)) {
      (void)entry;
      ++count;
    }
    return count;
  }

private:
  std::string folder;
  fs::path before = fs::current_path();
};
} // namespace

static bool survives(unsigned seed, Board &board) {
  Attack attack = drawAttack(seed);
  board.last = UINT64_MAX;
  board.isGone = false;
  board.guarded = 0;
  board.failures = 0;
  LoopNetwork network;
  alarm(60);
  int result =
      runRanks(attack.way.numRanks, attack.way.ranks, [&](const RankEnd &end) {
        Rank(end, attack, board).run(network);
        return 0;
      });
  alarm(0);
  return board.failures == 0 && result == int(attack.fault == Fault::Kill);
}

TEST(Campaign, SurvivorsKnowAndKeepTheirMemory) {
  auto *board =
      static_cast<Board *>(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const char *wanted = getenv("SCCL_FAULTS");
  unsigned count = wanted ? unsigned(atoi(wanted)) : 40;
  unsigned before = countDescriptors();
  std::map<std::string, unsigned> made;
  EmptyFolder folder;
  for (unsigned seed = 1; seed <= count; ++seed) {
    Attack attack = drawAttack(seed);
    ++made[std::string(attack.way.name) + ": " +
           faultNames[unsigned(attack.fault)]];
    EXPECT_TRUE(survives(seed, *board)) << "fault " << seed;
    EXPECT_EQ(folder.numFiles(), 0u) << "fault " << seed;
  }
  EXPECT_EQ(countDescriptors(), before);
  for (const auto &[name, times] : made)
    printf("%s %u\n", name.c_str(), times);
  munmap(board, sizeof(Board));
}
