//===- Ranks.cpp - Starting ranks on this machine -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/Ranks.h"

#include "Children.h"

#include "sccl/Model/Threads.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
  // Nobody begins unless all do.
  std::promise<bool> haveAllStarted;
  std::shared_future<bool> begins = haveAllStarted.get_future().share();
  std::vector<Thread> threads(numRanks);
  unsigned started = 0;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    started += threads[rank].start([&, rank, begins] {
      if (!begins.get())
        return;
      results[rank] = body({rank, numRanks, ThreadEnd::allGather, &ends[rank]});
      // Whoever stops early must not keep the others waiting.
      board.meeting.arrive_and_drop();
    });
  haveAllStarted.set_value(started == numRanks);
  for (Thread &thread : threads)
    thread.join();
  if (started != numRanks) {
    llvm::WithColor::error(llvm::errs(), "sccl")
        << "cannot start a thread for each of " << numRanks << " ranks\n";
    return 1;
  }
  return *std::max_element(results.begin(), results.end());
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

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
