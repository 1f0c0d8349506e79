//===- vendor-faults.cpp - A program for NCCL that does what is wrong -----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// usage: vendor-faults arguments|child|splits|pending|order|orders

#include "Functions.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

static constexpr int numRanks = 3, floats = 7;
static std::atomic<int> problems{0};

static void check(bool isFine, const char *what) {
  if (isFine)
    return;
  ++problems;
  std::printf("%s: %s\n", what, ncclGetLastError(nullptr));
}

static void tell(const char *what, ncclResult_t code) {
  std::printf("%s: %s: %s\n", what, ncclGetErrorString(code),
              code ? ncclGetLastError(nullptr) : "");
}

static ncclResult_t sum(ncclComm_t comm, float &value, int type = floats,
                        int op = ncclSum) {
  return ncclAllReduce(&value, &value, 1, type, op, comm, nullptr);
}

/// What no library knows, told by one rank; nothing has begun.
static void passWrongArguments(ncclComm_t comm, int rank) {
  float value = 1;
  if (rank == 0) {
    tell("type", sum(comm, value, 99));
    tell("reduction", sum(comm, value, floats, 99));
    for (int root : {77, -1})
      tell("root",
           ncclBroadcast(&value, &value, 1, floats, root, comm, nullptr));
  }
  check(!sum(comm, value) && value == numRanks, "the sum afterwards");
}

static void callInChild(ncclComm_t comm, int rank) {
  float value = 1;
  if (rank == 0) {
    std::fflush(stdout);
    if (fork() == 0) {
      tell("child", sum(comm, value));
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    check(wait(&status) > 0 && status == 0, "the child ends");
  }
  check(!sum(comm, value) && value == numRanks, "the sum of the parents");
}

/// Two parts of one communicator in one group: a pair, and all in reverse.
static void splitTwice(ncclComm_t comm, int rank) {
  for (int turn = 0; turn < 20; ++turn) {
    ncclComm_t pair = nullptr, all = nullptr;
    check(!ncclGroupStart() &&
              !ncclCommSplit(comm, rank == 1 ? -1 : 0, 0, &pair, nullptr) &&
              !ncclCommSplit(comm, 0, -rank, &all, nullptr),
          "begin to split");
    check(!ncclGroupEnd(), "split");
    int number = -1, size = -1;
    check((pair == nullptr) == (rank == 1) && all, "parts for who asked");
    if (pair)
      check(!ncclCommUserRank(pair, &number) && number == rank / 2 &&
                !ncclCommCount(pair, &size) && size == 2 &&
                !ncclCommDestroy(pair),
            "the pair");
    float value = 1;
    if (all)
      check(!ncclCommUserRank(all, &number) && number == 2 - rank &&
                !sum(all, value) && value == numRanks && !ncclCommDestroy(all),
            "all");
  }
}

/// A communicator cannot go while calls of it, or its parts, wait for the end
/// of a group.
static void endTooEarly(ncclComm_t comm, int) {
  for (bool splits : {false, true}) {
    float value = 1;
    ncclComm_t part = nullptr;
    check(!ncclGroupStart() &&
              !(splits ? ncclCommSplit(comm, 0, 0, &part, nullptr)
                       : sum(comm, value)),
          "a group");
    for (auto end : {ncclCommFinalize, ncclCommDestroy, ncclCommAbort})
      check(end(comm) == ncclInvalidUsage &&
                ncclGetLastError(nullptr) ==
                    std::string(
                        "calls of the communicator wait for ncclGroupEnd"),
            "too early");
    check(!ncclGroupEnd(), "the end of the group");
    check(splits ? part && !ncclCommDestroy(part) : value == numRanks,
          "what was put off");
  }
}

/// Has every reduction called, of floats and of integers, by a part, too.
static void addUp(ncclComm_t comm, int rank) {
  constexpr int ints = 2, halves = 6;
  float value[numRanks] = {1};
  auto say = [&](const char *what, ncclResult_t code) {
    if (rank == 0)
      tell(what, code);
  };
  say("sum", sum(comm, *value));
  say("average", sum(comm, *value, floats, ncclAvg));
  say("max", sum(comm, *value, floats, ncclMax));
  say("ints", sum(comm, *value, ints));
  say("halves", sum(comm, *value, halves));
  say("program's own", sum(comm, *value, floats, 77));
  say("reduce", ncclReduce(value, value, 1, floats, ncclSum, 0, comm, nullptr));
  say("scatter",
      ncclReduceScatter(value, value, 1, floats, ncclSum, comm, nullptr));
  ncclComm_t part = nullptr;
  check(!ncclCommSplit(comm, 0, 0, &part, nullptr), "split");
  say("sum of a part", sum(part, *value));
  check(!ncclCommDestroy(part), "the part ends");
}

/// Joins with another order on each rank, one process for each.
static void joinInOrders() {
  ncclUniqueId id;
  check(!ncclGetUniqueId(&id), "unique id");
  for (int rank = 0; rank < numRanks; ++rank)
    if (fork() == 0) {
      alarm(60);
      setenv("SCCL_ORDER", rank == 1 ? "left" : "tree", 1);
      ncclComm_t comm = nullptr;
      tell("join", ncclCommInitRank(&comm, numRanks, id, rank));
      std::fflush(stdout);
      _exit(comm != nullptr);
    }
  int status = 0;
  while (wait(&status) > 0)
    check(status == 0, "a rank joins");
}

static void run(void (*body)(ncclComm_t, int)) {
  alarm(60); // in place of waiting for ever
  ncclUniqueId id;
  check(!ncclGetUniqueId(&id), "unique id");
  std::vector<std::thread> threads;
  for (int rank = 0; rank < numRanks; ++rank)
    threads.emplace_back([=] {
      ncclComm_t comm = nullptr;
      check(!ncclCommInitRank(&comm, numRanks, id, rank), "join");
      body(comm, rank);
      check(!ncclCommDestroy(comm), "destroy");
    });
  for (std::thread &thread : threads)
    thread.join();
}

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "arguments")
    run(passWrongArguments);
  else if (what == "child")
    run(callInChild);
  else if (what == "splits")
    run(splitTwice);
  else if (what == "pending")
    run(endTooEarly);
  else if (what == "order")
    run(addUp);
  else if (what == "orders")
    joinInOrders();
  else
    return 2;
  std::printf("%s: %d problems\n", what.c_str(), int(problems));
  return problems != 0;
}
