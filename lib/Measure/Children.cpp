//===- Children.cpp - Ranks that are child processes ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Children.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sccl;

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

int ProcessEnd::allGather(void *context, const void *mine, void *all,
                          size_t bytes) {
  auto *end = static_cast<ProcessEnd *>(context);
  uint64_t size = bytes;
  bool done = transfer(end->socket, &size, sizeof(size), true) &&
              transfer(end->socket, const_cast<void *>(mine), bytes, true) &&
              transfer(end->socket, all, bytes * end->numRanks, false);
  return done ? 0 : 1;
}

/// What a child sends in an all-gather.
static bool receivePart(int socket, std::string &part) {
  constexpr uint64_t mostBytes = 1 << 20;
  uint64_t bytes;
  if (!transfer(socket, &bytes, sizeof(bytes), false) || bytes > mostBytes)
    return false;
  part.resize(bytes);
  return transfer(socket, part.data(), bytes, false);
}

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
