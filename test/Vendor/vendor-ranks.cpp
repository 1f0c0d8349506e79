//===- vendor-ranks.cpp - A program for NCCL, on three ranks --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// usage: vendor-ranks
// threads|processes|devices|streams|exchange|later|aborted|shrink|strangers|refused
//
// Sums, maxima and more among three ranks, compared with the definition: ranks
// as threads, as processes, or as devices of one thread.

#include "Functions.h"

#include "Vendor/Rendezvous.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static constexpr int numRanks = 3, floats = 7;
static constexpr size_t count = 1000;
static std::atomic<int> problems{0};

static void check(bool isFine, const char *what, ncclComm_t comm = nullptr) {
  if (isFine)
    return;
  ++problems;
  std::printf("%s: %s\n", what, ncclGetLastError(comm));
}

/// The sum, largest and smallest value of all ranks, all ranks' own, and rank
/// 1's.
static void collect(ncclComm_t comm, int rank) {
  std::vector<float> mine(count, rank + 2.0f), result(count);
  auto reduced = [&](int op, float expected, const char *what) {
    bool isFine = !ncclAllReduce(mine.data(), result.data(), count, floats, op,
                                 comm, nullptr);
    check(isFine && result[0] == expected && result[count - 1] == expected,
          what, comm);
  };
  reduced(ncclSum, 9, "sum");
  reduced(ncclMax, 4, "max");
  reduced(ncclMin, 2, "min");
  std::vector<float> all(numRanks * count);
  check(!ncclAllGather(mine.data(), all.data(), count, floats, comm, nullptr) &&
            all[0] == 2 && all.back() == 4,
        "all_gather", comm);
  int number = -1, size = -1, device = -1;
  ncclResult_t later = ncclInternalError;
  check(!ncclCommUserRank(comm, &number) && number == rank &&
            !ncclCommCount(comm, &size) && size == numRanks &&
            !ncclCommCuDevice(comm, &device) && device >= 0 &&
            !ncclCommGetAsyncError(comm, &later) && later == ncclSuccess,
        "rank, count and device", comm);
}

/// Ranks 0 and 2 in the opposite order.
static void splitRanks(ncclComm_t comm, int rank) {
  ncclComm_t part = nullptr;
  check(!ncclCommSplit(comm, rank == 1 ? -1 : 0, -rank, &part, nullptr),
        "split", comm);
  check((part == nullptr) == (rank == 1), "a part for who asked", comm);
  int number = -1;
  if (part)
    check(!ncclCommUserRank(part, &number) && number == (rank == 0), "order");
  if (part)
    check(!ncclCommDestroy(part), "destroy a part");
}

/// What no plan serves: the vendor's, or an error.
static void callUnserved(ncclComm_t comm, int rank) {
  std::vector<float> data(count);
  ncclResult_t code =
      ncclBroadcast(data.data(), data.data(), count, floats, 1, comm, nullptr);
  if (code && rank == 0)
    std::printf("broadcast: %s: %s\n", ncclGetErrorString(code),
                ncclGetLastError(comm));
  code = ncclSend(data.data(), count, floats, 1, comm, nullptr);
  if (code && rank == 0)
    std::printf("send: %s: %s\n", ncclGetErrorString(code),
                ncclGetLastError(comm));
  void *handle = nullptr, *memory = nullptr;
  check(!ncclCommRegister(comm, data.data(), count * 4, &handle) &&
            !ncclCommDeregister(comm, handle),
        "register", comm);
  if (handle)
    check(!ncclMemAlloc(&memory, 100) && memory && !ncclMemFree(memory),
          "memory", comm);
}

static void rankMain(ncclUniqueId id, int rank) {
  ncclComm_t comm = nullptr;
  // A group of its own, as programs with several devices have.
  check(!ncclGroupStart() && !ncclCommInitRank(&comm, numRanks, id, rank),
        "begin to join");
  ncclResult_t code = ncclGroupEnd();
  if (code) {
    ++problems;
    std::printf("join: %s: %s\n", ncclGetErrorString(code),
                ncclGetLastError(nullptr));
    return;
  }
  collect(comm, rank);
  splitRanks(comm, rank);
  callUnserved(comm, rank);
  check(!ncclCommFinalize(comm) && !ncclCommDestroy(comm), "destroy");
}

static void asProcesses() {
  ncclUniqueId id;
  check(!ncclGetUniqueId(&id), "unique id");
  for (int rank = 0; rank < numRanks; ++rank)
    if (fork() == 0) {
      rankMain(id, rank);
      std::fflush(stdout);
      _exit(problems != 0);
    }
  int status = 0;
  while (wait(&status) > 0)
    problems += status != 0;
}

static void runThreads(void (*main)(ncclUniqueId, int)) {
  ncclUniqueId id;
  check(!ncclGetUniqueId(&id), "unique id");
  std::vector<std::thread> threads;
  for (int rank = 0; rank < numRanks; ++rank)
    threads.emplace_back(main, id, rank);
  for (std::thread &thread : threads)
    thread.join();
}

/// A connection to where ranks meet that has said `bytes` of a rank's hello.
static int connectAs(const sccl::vendor::Address &address, int rank,
                     size_t bytes) {
  struct {
    unsigned long long secret;
    int rank, numRanks;
  } hello = {address.secret, rank, numRanks};
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = address.address;
  place.sin_port = address.port;
  int end = socket(AF_INET, SOCK_STREAM, 0);
  check(!connect(end, reinterpret_cast<sockaddr *>(&place), sizeof place) &&
            send(end, &hello, bytes, 0) == ssize_t(bytes),
        "a stranger connects");
  return end;
}

/// Ranks meet although others have connected before them who say nothing, or
/// half a hello; those are sent away then.
static void amongStrangers() {
  alarm(60); // in place of waiting for ever
  ncclUniqueId id;
  check(!ncclGetUniqueId(&id), "unique id");
  sccl::vendor::Address address;
  std::memcpy(&address, &id, sizeof address);
  int silent = connectAs(address, 0, 0), half = connectAs(address, 0, 9);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < numRanks; ++rank)
    threads.emplace_back(rankMain, id, rank);
  for (std::thread &thread : threads)
    thread.join();
  for (int stranger : {silent, half}) {
    char byte;
    check(recv(stranger, &byte, 1, 0) == 0, "a stranger is sent away");
    close(stranger);
  }
}

/// A hello may come in two parts.
static void inTwoParts() {
  ncclUniqueId id;
  check(!ncclGetUniqueId(&id), "unique id");
  sccl::vendor::Address address;
  std::memcpy(&address, &id, sizeof address);
  struct {
    unsigned long long secret;
    int rank = 0, numRanks = 1;
    size_t bytes = 1; // and what it gathers then
    char byte = 'x';
  } words = {.secret = address.secret};
  int end = connectAs(address, 0, 9);
  usleep(20000);
  auto *rest = reinterpret_cast<char *>(&words) + 9;
  size_t length = offsetof(decltype(words), byte) + 1 - 9;
  char answer = 0;
  // It is of one rank, unlike the first part: that does not say so yet.
  check(send(end, rest, length, 0) == ssize_t(length) &&
            recv(end, &answer, 1, 0) == 1 && answer == 'x',
        "a hello in two parts");
  close(end);
}

static bool isFineOrGoesOn(ncclResult_t code) {
  return code == ncclSuccess || code == ncclInProgress;
}

/// Joins as programs do that wait for nothing, with a configuration that is
/// gone when the group ends.
static void joinLater(ncclUniqueId id, int rank, ncclComm_t &comm) {
  struct {
    size_t size;
    unsigned magic, version;
    int blocking;
  } config = {sizeof config, 0xcafebeef, 22803, 0};
  check(!ncclGroupStart() &&
            !ncclCommInitRankScalable(&comm, numRanks, rank, 1, &id, &config),
        "begin to join");
  std::memset(&config, 0xff, sizeof config);
  check(isFineOrGoesOn(ncclGroupEnd()), "join");
}

static void laterMain(ncclUniqueId id, int rank) {
  ncclComm_t comm = nullptr, part = nullptr;
  joinLater(id, rank, comm);
  std::vector<float> data(count, rank + 2.0f);
  check(comm && !ncclGroupStart() &&
            !ncclAllReduce(data.data(), data.data(), count, floats, ncclSum,
                           comm, nullptr) &&
            isFineOrGoesOn(ncclGroupEnd()) && data[0] == 9,
        "the sum", comm);
  // Rank 1 cannot split: nobody waits for it.
  ncclResult_t code = ncclCommSplit(comm, 99, rank, &part, nullptr);
  if (code && rank != 1)
    std::printf("split: %s\n", ncclGetLastError(comm));
  check(code && !part, "no part");
  check(!ncclCommDestroy(comm), "destroy");
}

/// All-to-all as RCCL spells it, by a plan and as no plan can.
static void exchangeMain(ncclUniqueId id, int rank) {
  ncclComm_t comm = nullptr;
  check(!ncclCommInitRank(&comm, numRanks, id, rank), "join");
  std::vector<float> send(numRanks), recv(numRanks);
  for (int i = 0; i < numRanks; ++i)
    send[i] = 10 * rank + i;
  check(!ncclAllToAll(send.data(), recv.data(), 1, floats, comm, nullptr) &&
            recv[0] == rank && recv[2] == 20 + rank,
        "all_to_all", comm);
  size_t counts[numRanks] = {1, 1, 1}, offsets[numRanks] = {0, 1, 2};
  ncclResult_t code = ncclAllToAllv(send.data(), counts, offsets, recv.data(),
                                    counts, offsets, floats, comm, nullptr);
  if (code)
    std::printf("all_to_allv: %s\n", ncclGetLastError(comm));
  check(!ncclCommDestroy(comm) && !ncclCommDestroy(comm) &&
            !ncclCommAbort(comm) && !ncclCommFinalize(comm),
        "ends once");
  int ranks = 0;
  check(ncclCommCount(comm, &ranks) == ncclInvalidArgument &&
            ncclAllToAll(send.data(), recv.data(), 1, floats, comm, nullptr) ==
                ncclInvalidArgument,
        "is gone");
}

/// Rank 1 is gone, or takes no part; the others go on without it.
static void shrinkMain(ncclUniqueId id, int rank) {
  ncclComm_t comm = nullptr, part = nullptr, pair = nullptr;
  check(!ncclCommInitRank(&comm, numRanks, id, rank), "join");
  int excluded[] = {1};
  constexpr int abort = 1;
  if (rank != 1) {
    ncclResult_t code =
        ncclCommShrink(comm, excluded, 1, &part, nullptr, abort);
    if (code)
      std::printf("shrink: %s: %s\n", ncclGetErrorString(code),
                  ncclGetLastError(comm));
    std::vector<float> data(count);
    int number = -1, size = -1;
    check(!part || (!ncclCommUserRank(part, &number) && number == rank / 2 &&
                    !ncclCommCount(part, &size) && size == 2 &&
                    !ncclAllReduce(data.data(), data.data(), count, floats,
                                   ncclSum, part, nullptr) &&
                    !ncclCommSplit(part, 0, 0, &pair, nullptr) && pair &&
                    !ncclCommDestroy(pair) && !ncclCommDestroy(part)),
          "what is left", part);
  }
  check(!ncclCommDestroy(comm), "destroy");
}

/// Rank 0 waits for the others, who do not come, until it is told not to.
static void abortedMain(ncclUniqueId id, int rank) {
  ncclComm_t comm = nullptr;
  check(!ncclCommInitRank(&comm, numRanks, id, rank), "join");
  std::vector<float> data(count, 1.0f);
  if (rank == 0) {
    std::thread other([&] {
      usleep(100000);
      check(!ncclCommAbort(comm), "abort");
    });
    ncclResult_t code = ncclAllReduce(data.data(), data.data(), count, floats,
                                      ncclSum, comm, nullptr);
    std::printf("aborted: %s\n", ncclGetLastError(nullptr));
    check(code == ncclInvalidUsage, "a code");
    other.join();
  } else {
    usleep(300000);
    check(!ncclCommDestroy(comm), "destroy");
  }
}

/// Makes a device current, as programs do with the runtime of the vendor.
static void makeCurrent() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  using Retain = int (*)(void **, int);
  using Push = int (*)(void *);
  auto retain =
      driver ? Retain(dlsym(driver, "cuDevicePrimaryCtxRetain")) : nullptr;
  void *context = nullptr;
  if (retain && !retain(&context, 0))
    Push(dlsym(driver, "cuCtxPushCurrent_v2"))(context);
}

static void asDevices() {
  ncclComm_t comms[numRanks];
  int devices[numRanks] = {0, 0, 0};
  ncclResult_t code = ncclCommInitAll(comms, numRanks, devices);
  check(!code, "init all");
  if (code)
    return;
  makeCurrent();
  float *send[numRanks], *recv[numRanks];
  check(!ncclGroupStart(), "start");
  for (int rank = 0; rank < numRanks; ++rank) {
    check(!ncclMemAlloc((void **)&send[rank], count * 4) &&
              !ncclMemAlloc((void **)&recv[rank], count * 4),
          "memory");
    for (size_t i = 0; i < count; ++i)
      send[rank][i] = rank + 2;
    check(!ncclAllReduce(send[rank], recv[rank], count, floats, ncclSum,
                         comms[rank], nullptr),
          "all_reduce");
  }
  check(!ncclGroupEnd(), "end");
  for (int rank = 0; rank < numRanks; ++rank)
    check(recv[rank][0] == 9 && recv[rank][count - 1] == 9, "the sum");
  for (int rank = 0; rank < numRanks; ++rank)
    check(!ncclMemFree(send[rank]) && !ncclMemFree(recv[rank]) &&
              !ncclCommDestroy(comms[rank]),
          "destroy");
}

/// Of the driver of CUDA, on host memory.
template <typename... Words>
static void drive(const char *name, Words... words) {
  static void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto function = reinterpret_cast<int (*)(Words...)>(
      driver ? dlsym(driver, name) : nullptr);
  check(function && !function(words...), name);
}

/// A rank with a GPU and a stream of its own.
static void streamMain(ncclUniqueId id, int rank) {
  void *context = nullptr, *stream = nullptr;
  float *data = nullptr;
  drive("cuInit", 0u);
  drive("cuDevicePrimaryCtxRetain", &context, rank);
  drive("cuCtxPushCurrent_v2", context);
  drive("cuStreamCreate", &stream, 0u);
  drive("cuMemAlloc_v2", &data, count * sizeof(float));
  ncclComm_t comm = nullptr;
  check(!ncclCommInitRank(&comm, numRanks, id, rank), "join");
  for (int launch = 0; comm && launch < 100; ++launch) {
    for (size_t i = 0; i < count; ++i)
      data[i] = float(rank + launch) + float(i);
    // Enqueued at the end of the group, and done when the stream is.
    check(
        !ncclGroupStart() &&
            !ncclAllReduce(data, data, count, floats, ncclSum, comm, stream) &&
            !ncclGroupEnd(),
        "all_reduce", comm);
    drive("cuStreamSynchronize", stream);
    for (size_t i = 0; i < count; ++i)
      if (data[i] != float(3 + 3 * launch) + 3 * float(i))
        return check(false, "the sum");
  }
  ncclResult_t later = ncclInternalError;
  check(comm && !ncclCommGetAsyncError(comm, &later) && !later, "no error");
  check(!ncclCommDestroy(comm), "destroy");
}

/// Says whether messages went by the library that stands in for the vendor's.
static void tellOfMessages() {
  const char *name = std::getenv("SCCL_NCCL_LIBRARY");
  void *library = name ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  auto sends = reinterpret_cast<unsigned (*)(int, int)>(
      library ? dlsym(library, "scclStandInSends") : nullptr);
  std::printf("messages by the vendor's library: %s\n",
              sends && sends(0, 1) + sends(0, 2) > 0 ? "some" : "none");
}

static void refused() {
  auto tell = [](const char *what, ncclResult_t code) {
    std::printf("%s: %s: %s\n", what, ncclGetErrorString(code),
                ncclGetLastError(nullptr));
  };
  ncclUniqueId id = {};
  ncclComm_t comm = nullptr;
  tell("rank", ncclCommInitRank(&comm, 2, id, 2));
  tell("id", ncclCommInitRank(&comm, 2, id, 0));
  tell("null", ncclAllReduce(nullptr, nullptr, 1, floats, 0, nullptr, nullptr));
  tell("group", ncclGroupEnd());
  tell("count", ncclCommCount(nullptr, nullptr));
  ncclUniqueId used;
  ncclComm_t first = nullptr;
  check(!ncclGetUniqueId(&used) && !ncclCommInitRank(&first, 1, used, 0),
        "one rank");
  tell("again", ncclCommInitRank(&comm, 1, used, 0));
  check(!ncclCommDestroy(first), "destroy");
  size_t garbage[4] = {};
  tell("config", ncclCommInitRankScalable(&comm, 2, 0, 1, &id, garbage));
  tell("ids", ncclCommInitRankScalable(&comm, 2, 0, 0, &id, nullptr));
  tell("unknown", ncclResult_t(99));
}

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  int version = 0;
  check(!ncclGetVersion(&version) && version > 20000, "version");
  if (what == "threads")
    runThreads(rankMain);
  else if (what == "processes")
    asProcesses();
  else if (what == "devices")
    asDevices();
  else if (what == "streams")
    runThreads(streamMain), tellOfMessages();
  else if (what == "later")
    runThreads(laterMain);
  else if (what == "aborted")
    runThreads(abortedMain);
  else if (what == "shrink")
    runThreads(shrinkMain);
  else if (what == "exchange")
    runThreads(exchangeMain);
  else if (what == "strangers")
    amongStrangers(), inTwoParts();
  else
    refused();
  std::printf("%s: %d problems\n", what.c_str(), int(problems));
  return problems != 0;
}
