//===- Ranks.cpp - Starting ranks on this machine -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/Ranks.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sccl;

llvm::StringRef sccl::ranksAsName(RanksAs kind) {
  switch (kind) {
  case RanksAs::Threads:
    return "threads";
  case RanksAs::Processes:
    return "processes";
  case RanksAs::MPI:
    return "mpi";
  case RanksAs::OpenMPI:
    return "openmpi";
  case RanksAs::MPICH:
    return "mpich";
  }
  return "";
}

std::optional<RanksAs> sccl::parseRanksAs(llvm::StringRef name) {
  for (RanksAs kind : {RanksAs::Threads, RanksAs::Processes, RanksAs::MPI,
                       RanksAs::OpenMPI, RanksAs::MPICH})
    if (name == ranksAsName(kind))
      return kind;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

namespace {
/// Where threads put what they gather.
struct Board {
  explicit Board(unsigned numRanks) : meeting(numRanks), mine(numRanks) {}
  std::barrier<> meeting;
  std::vector<const void *> mine;
};

struct ThreadEnd {
  Board *board;
  unsigned rank;

  static int allGather(void *context, const void *mine, void *all,
                       size_t bytes) {
    auto *end = static_cast<ThreadEnd *>(context);
    Board &board = *end->board;
    board.mine[end->rank] = mine;
    board.meeting.arrive_and_wait();
    for (size_t rank = 0; rank < board.mine.size(); ++rank)
      std::memcpy(static_cast<char *>(all) + rank * bytes, board.mine[rank],
                  bytes);
    board.meeting.arrive_and_wait();
    return 0;
  }
};
} // namespace

static int runThreads(unsigned numRanks,
                      llvm::function_ref<int(const RankEnd &)> body) {
  Board board(numRanks);
  std::vector<ThreadEnd> ends;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    ends.push_back({&board, rank});
  std::vector<int> results(numRanks, 0);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    threads.emplace_back([&, rank] {
      results[rank] = body({rank, numRanks, ThreadEnd::allGather, &ends[rank]});
      // Whoever stops early must not keep the others waiting.
      board.meeting.arrive_and_drop();
    });
  for (std::thread &thread : threads)
    thread.join();
  return *std::max_element(results.begin(), results.end());
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

static bool transfer(int fd, void *data, size_t bytes, bool sending) {
  char *at = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t count =
        sending ? send(fd, at, bytes, MSG_NOSIGNAL) : recv(fd, at, bytes, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += count;
    bytes -= count;
  }
  return true;
}

namespace {
/// A child's end; the parent collects and distributes.
struct ProcessEnd {
  int socket;
  unsigned numRanks;

  static int allGather(void *context, const void *mine, void *all,
                       size_t bytes) {
    auto *end = static_cast<ProcessEnd *>(context);
    uint64_t size = bytes;
    bool done = transfer(end->socket, &size, sizeof(size), true) &&
                transfer(end->socket, const_cast<void *>(mine), bytes, true) &&
                transfer(end->socket, all, bytes * end->numRanks, false);
    return done ? 0 : 1;
  }
};
} // namespace

/// What a child sends in an all-gather.
static bool receivePart(int socket, std::string &part) {
  constexpr uint64_t mostBytes = 1 << 20;
  uint64_t bytes;
  if (!transfer(socket, &bytes, sizeof(bytes), false) || bytes > mostBytes)
    return false;
  part.resize(bytes);
  return transfer(socket, part.data(), bytes, false);
}

namespace {
struct Child {
  pid_t process;
  int socket; ///< the parent's end
};

/// The parent's side: it serves its children and sees them out.
class Children {
public:
  explicit Children(double limitSeconds) : limitSeconds(limitSeconds) {}

  void add(Child child);
  void serve();
  void closeSockets();
  int awaitAll();

private:
  enum class Gathering { Done, Gone, Late };
  Gathering collect(std::vector<std::string> &parts);
  bool areStopped() const;
  bool isOver(unsigned milliseconds) const {
    return limitSeconds > 0 && milliseconds > limitSeconds * 1e3;
  }
  void kill(unsigned rank);
  int exitCode(unsigned rank, int status) const;

  double limitSeconds;
  std::vector<Child> children;
  std::vector<pollfd> awaited; ///< whose part is missing; -1 in place of others
  std::vector<bool> killed;
};
} // namespace

void Children::add(Child child) {
  children.push_back(child);
  killed.push_back(false);
  if (limitSeconds <= 0)
    return;
  // Whoever is stopped in the middle of a message.
  constexpr double mostSeconds = 1e9;
  timeval limit = {time_t(std::min(limitSeconds, mostSeconds)), 1};
  for (int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    setsockopt(child.socket, SOL_SOCKET, option, &limit, sizeof(limit));
}

/// True if somebody has stopped every child.
bool Children::areStopped() const {
  return llvm::all_of(children, [](const Child &child) {
    siginfo_t info = {};
    return waitid(P_PID, child.process, &info, WSTOPPED | WNOHANG | WNOWAIT) ==
               0 &&
           info.si_pid == child.process;
  });
}

/// Waits for what each rank has to say: as long as it takes until one has come,
/// unless all are stopped, and no longer than the limit for the others.
Children::Gathering Children::collect(std::vector<std::string> &parts) {
  // Many short waits, not one: no time passes while this process is stopped.
  constexpr int slice = 50;
  unsigned arrived = 0, waited = 0;
  awaited.clear();
  for (const Child &child : children)
    awaited.push_back({child.socket, POLLIN, 0});
  while (arrived < children.size()) {
    int ready = poll(awaited.data(), awaited.size(), slice);
    if (ready < 0 && errno != EINTR)
      return Gathering::Gone;
    if (ready == 0 && (arrived != 0 || areStopped()) && isOver(waited += slice))
      return Gathering::Late;
    for (unsigned rank = 0; ready > 0 && rank < children.size(); ++rank) {
      if (awaited[rank].revents == 0)
        continue;
      if (!receivePart(children[rank].socket, parts[rank]))
        return Gathering::Gone;
      awaited[rank] = {-1, 0, 0};
      ++arrived;
    }
  }
  return Gathering::Done;
}

/// Serves all-gathers until a child closes its socket or is late, which ends
/// them for all.
void Children::serve() {
  std::vector<std::string> parts(children.size());
  while (true) {
    Gathering gathering = collect(parts);
    if (gathering == Gathering::Late)
      for (unsigned rank = 0; rank < children.size(); ++rank)
        if (awaited[rank].fd >= 0)
          kill(rank);
    if (gathering != Gathering::Done)
      return closeSockets();
    std::string all;
    for (const std::string &part : parts) {
      if (part.size() != parts.front().size())
        return closeSockets();
      all += part;
    }
    for (const Child &child : children)
      if (!transfer(child.socket, all.data(), all.size(), true))
        return closeSockets();
  }
}

void Children::closeSockets() {
  for (Child &child : children) {
    if (child.socket >= 0)
      close(child.socket);
    child.socket = -1;
  }
}

void Children::kill(unsigned rank) {
  llvm::WithColor::error(llvm::errs(), "sccl") << llvm::formatv(
      "rank {0} has not answered for {1:f1} s; its process was killed\n", rank,
      limitSeconds);
  killed[rank] = true;
  ::kill(children[rank].process, SIGKILL);
}

/// Of a child that has ended: 1 if a signal ended it.
int Children::exitCode(unsigned rank, int status) const {
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  if (!killed[rank])
    llvm::WithColor::error(llvm::errs(), "sccl")
        << "the process of rank " << rank << " died of signal "
        << WTERMSIG(status) << '\n';
  return 1;
}

/// Waits until all have ended; returns the largest exit code.
int Children::awaitAll() {
  int result = 0;
  unsigned left = children.size();
  for (unsigned waited = 0; left > 0; ++waited) {
    for (unsigned rank = 0; rank < children.size(); ++rank) {
      int status = 0;
      pid_t &process = children[rank].process;
      if (process == 0 || waitpid(process, &status, WNOHANG) != process)
        continue;
      result = std::max(result, exitCode(rank, status));
      process = 0;
      --left;
    }
    // It may be printing, for somebody who reads slowly.
    bool isRankZeroAtWork =
        result == 0 && left == 1 && children[0].process != 0;
    for (unsigned rank = 0; rank < children.size(); ++rank)
      if (isOver(waited) && !isRankZeroAtWork && children[rank].process != 0 &&
          !killed[rank])
        kill(rank);
    if (left > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return result;
}

int sccl::afterFlush(int code) {
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  if (!error)
    return code;
  llvm::outs().clear_error();
  llvm::WithColor::error(llvm::errs(), "sccl")
      << "cannot write standard output: " << error.message() << '\n';
  return 1;
}

[[noreturn]] static void
runChild(pid_t parent, int socket, unsigned rank, unsigned numRanks,
         llvm::function_ref<int(const RankEnd &)> body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  ProcessEnd end{socket, numRanks};
  int code = afterFlush(body({rank, numRanks, ProcessEnd::allGather, &end}));
  llvm::errs().flush();
  _exit(code);
}

static int runProcesses(unsigned numRanks,
                        llvm::function_ref<int(const RankEnd &)> body,
                        double limitSeconds) {
  llvm::outs().flush();
  pid_t parent = getpid();
  Children children(limitSeconds);
  int result = 0;
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    int pair[2];
    pid_t child = -1;
    int error = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
      child = fork();
      error = errno;
      if (child == 0) {
        // Held by others too, the parent's ends would hide that it closed them.
        children.closeSockets();
        close(pair[0]);
        runChild(parent, pair[1], rank, numRanks, body);
      }
      close(pair[1]);
    } else {
      error = errno;
    }
    if (child < 0) {
      llvm::WithColor::error(llvm::errs(), "sccl")
          << "cannot start rank " << rank << ": " << std::strerror(error)
          << '\n';
      result = 1;
      break;
    }
    children.add({child, pair[0]});
  }
  if (result == 0)
    children.serve();
  children.closeSockets();
  return std::max(result, children.awaitAll());
}

//===----------------------------------------------------------------------===//
// MPI
//===----------------------------------------------------------------------===//

static int failMPI(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "sccl") << message << '\n';
  return 1;
}

static const char *productName(RanksAs kind) {
  return kind == RanksAs::MPICH ? "MPICH" : "Open MPI";
}

/// The library that links the MPI of `kind`. It is beside libsccl, which the
/// program has loaded.
static std::string libraryFor(RanksAs kind) {
  std::string name = ("libsccl-" + ranksAsName(kind) + ".so").str();
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&scclGetVersion), &info))
    return llvm::StringRef(info.dli_fname).rsplit('/').first.str() + "/" + name;
  return name;
}

static int runMPI(unsigned numRanks, RanksAs kind,
                  llvm::function_ref<int(const RankEnd &)> body,
                  double limitSeconds) {
  std::optional<RanksAs> starter = startedBy();
  if (!starter)
    return failMPI("mpirun has not started this process");
  if (kind != RanksAs::MPI && kind != *starter)
    return failMPI(llvm::Twine("mpirun of ") + productName(*starter) +
                   " has started this process, not that of " +
                   productName(kind));
  // MPI's own plugins expect to find its symbols.
  void *library = dlopen(libraryFor(*starter).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return failMPI(llvm::Twine("mpirun of ") + productName(*starter) +
                   " has started this process, but there is no library for "
                   "it: " +
                   dlerror() + "; build sccl with lib" + ranksAsName(*starter) +
                   "-dev");
  using Start = int (*)(unsigned *, unsigned *, unsigned *, double);
  using Finish = int (*)(int, int);
  auto start = reinterpret_cast<Start>(dlsym(library, "scclMpiStart"));
  auto finish = reinterpret_cast<Finish>(dlsym(library, "scclMpiFinish"));
  auto allGather =
      reinterpret_cast<scclAllGatherFn>(dlsym(library, "scclMpiAllGather"));
  auto world =
      reinterpret_cast<RankEnd::MakeTransport>(dlsym(library, "scclMpiWorld"));
  unsigned rank, started, here;
  if (!start || !finish || !allGather || !world ||
      start(&rank, &started, &here, limitSeconds) != 0)
    return failMPI("cannot start MPI");
  bool isCut = false;
  int result =
      started == numRanks
          ? body({rank, numRanks, allGather, nullptr, world, here < numRanks,
                  &isCut})
          : failMPI("mpirun has started " + llvm::Twine(started) +
                    " ranks, the plan is for " + llvm::Twine(numRanks));
  llvm::outs().flush();
  llvm::errs().flush();
  return finish(result, isCut) == 0 ? result : std::max(result, 1);
}

std::optional<RanksAs> sccl::startedBy() {
  // Where there is nothing but PMIx, only Open MPI can be meant: Debian's MPICH
  // does not speak it.
  if (std::getenv("OMPI_COMM_WORLD_SIZE"))
    return RanksAs::OpenMPI;
  if (std::getenv("PMI_SIZE"))
    return RanksAs::MPICH;
  if (std::getenv("PMIX_RANK"))
    return RanksAs::OpenMPI;
  return std::nullopt;
}

/// The names that mpirun of `kind` may have, the likeliest first. In Debian,
/// where both may be installed, mpirun is one of them.
static std::vector<std::string> mpirunNames(RanksAs kind) {
  auto hasLibrary = [](RanksAs mpi) {
    return access(libraryFor(mpi).c_str(), R_OK) == 0;
  };
  bool hasOpen = hasLibrary(RanksAs::OpenMPI),
       hasMPICH = hasLibrary(RanksAs::MPICH);
  if (kind == RanksAs::MPI && hasOpen != hasMPICH)
    kind = hasOpen ? RanksAs::OpenMPI : RanksAs::MPICH;
  if (kind == RanksAs::MPI)
    return {"mpirun", "mpirun.openmpi", "mpirun.mpich"};
  return {("mpirun." + ranksAsName(kind)).str(), "mpirun"};
}

/// Has mpirun of Open MPI find out in seconds, not in minutes, that a host
/// cannot be reached any more. What the user says comes first.
static void setLimitsOfMpirun() {
  setenv("OMPI_MCA_oob_tcp_keepalive_time", "5", /*overwrite=*/0);
  setenv("OMPI_MCA_oob_tcp_keepalive_intvl", "1", 0);
  setenv("OMPI_MCA_oob_tcp_keepalive_probes", "5", 0);
}

int sccl::becomeMpirun(unsigned numRanks, RanksAs kind,
                       llvm::ArrayRef<const char *> arguments) {
  std::string count = std::to_string(numRanks);
  std::vector<const char *> line = {"mpirun", "-n", count.c_str()};
  line.insert(line.end(), arguments.begin(), arguments.end());
  line.push_back(nullptr);
  setLimitsOfMpirun();
  for (const std::string &name : mpirunNames(kind)) {
    line[0] = name.c_str();
    execvp(name.c_str(), const_cast<char **>(line.data()));
  }
  return failMPI(llvm::Twine("cannot start mpirun: ") + std::strerror(errno) +
                 "; install openmpi-bin or mpich");
}

int sccl::runRanks(unsigned numRanks, RanksAs kind,
                   llvm::function_ref<int(const RankEnd &)> body,
                   double limitSeconds) {
  switch (kind) {
  case RanksAs::Threads:
    return runThreads(numRanks, body);
  case RanksAs::Processes:
    return runProcesses(numRanks, body, limitSeconds);
  case RanksAs::MPI:
  case RanksAs::OpenMPI:
  case RanksAs::MPICH:
    return runMPI(numRanks, kind, body, limitSeconds);
  }
  return 1;
}
