//===- Ranks.cpp - Starting ranks on this machine -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Runtime/Ranks.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

/// Serves all-gathers until a child closes its socket, which ends them for all.
static void serve(const std::vector<int> &sockets) {
  std::string all;
  while (true) {
    uint64_t bytes = 0;
    for (size_t rank = 0; rank < sockets.size(); ++rank) {
      uint64_t size;
      if (!transfer(sockets[rank], &size, sizeof(size), false))
        return;
      if (rank == 0)
        bytes = size;
      if (size != bytes || size > (1 << 20))
        return;
      all.resize(bytes * sockets.size());
      if (!transfer(sockets[rank], all.data() + rank * bytes, bytes, false))
        return;
    }
    for (int socket : sockets)
      if (!transfer(socket, all.data(), all.size(), true))
        return;
  }
}

/// Waits for a child; returns its exit code, or 1 if a signal ended it.
static int awaitChild(pid_t child, unsigned rank) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  llvm::WithColor::error(llvm::errs(), "sccl")
      << "the process of rank " << rank << " died of signal "
      << WTERMSIG(status) << '\n';
  return 1;
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
                        llvm::function_ref<int(const RankEnd &)> body) {
  llvm::outs().flush();
  pid_t parent = getpid();
  std::vector<int> sockets;
  std::vector<pid_t> children;
  int result = 0;
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    int pair[2];
    pid_t child = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
      child = fork();
      if (child == 0) {
        // Held by others too, the parent's ends would hide that it closed them.
        for (int socket : sockets)
          close(socket);
        close(pair[0]);
        runChild(parent, pair[1], rank, numRanks, body);
      }
      close(pair[1]);
      sockets.push_back(pair[0]);
    }
    if (child < 0) {
      llvm::WithColor::error(llvm::errs(), "sccl")
          << "cannot start rank " << rank << ": " << std::strerror(errno)
          << '\n';
      result = 1;
      break;
    }
    children.push_back(child);
  }
  if (result == 0)
    serve(sockets);
  for (int socket : sockets)
    close(socket);
  for (unsigned rank = 0; rank < children.size(); ++rank)
    result = std::max(result, awaitChild(children[rank], rank));
  return result;
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
                  llvm::function_ref<int(const RankEnd &)> body) {
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
  using Start = int (*)(unsigned *, unsigned *);
  using Finish = int (*)();
  auto start = reinterpret_cast<Start>(dlsym(library, "scclMpiStart"));
  auto finish = reinterpret_cast<Finish>(dlsym(library, "scclMpiFinish"));
  auto allGather =
      reinterpret_cast<scclAllGatherFn>(dlsym(library, "scclMpiAllGather"));
  unsigned rank, started;
  if (!start || !finish || !allGather || start(&rank, &started) != 0)
    return failMPI("cannot start MPI");
  int result =
      started == numRanks
          ? body({rank, numRanks, allGather, nullptr})
          : failMPI("mpirun has started " + llvm::Twine(started) +
                    " ranks, the plan is for " + llvm::Twine(numRanks));
  return finish() == 0 ? result : std::max(result, 1);
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

int sccl::becomeMpirun(unsigned numRanks, RanksAs kind,
                       llvm::ArrayRef<const char *> arguments) {
  std::string count = std::to_string(numRanks);
  std::vector<const char *> line = {"mpirun", "-n", count.c_str()};
  line.insert(line.end(), arguments.begin(), arguments.end());
  line.push_back(nullptr);
  for (const std::string &name : mpirunNames(kind)) {
    line[0] = name.c_str();
    execvp(name.c_str(), const_cast<char **>(line.data()));
  }
  return failMPI(llvm::Twine("cannot start mpirun: ") + std::strerror(errno) +
                 "; install openmpi-bin or mpich");
}

int sccl::runRanks(unsigned numRanks, RanksAs kind,
                   llvm::function_ref<int(const RankEnd &)> body) {
  switch (kind) {
  case RanksAs::Threads:
    return runThreads(numRanks, body);
  case RanksAs::Processes:
    return runProcesses(numRanks, body);
  case RanksAs::MPI:
  case RanksAs::OpenMPI:
  case RanksAs::MPICH:
    return runMPI(numRanks, kind, body);
  }
  return 1;
}
