//===- stand-in.cpp - A library of NCCL's name that says what it is asked -===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StandIn.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

static std::atomic<int> live{0};

namespace {
/// As ncclConfig_t begins.
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};
} // namespace
std::atomic<bool> someGoOn{false};

bool isToFail(const char *name, int rank) {
  const char *fail = std::getenv("SCCL_STAND_IN_FAIL");
  return fail && fail == name + (":" + std::to_string(rank));
}

static ncclResult_t say(const char *name, ncclComm_t comm) {
  auto *own = static_cast<StandIn *>(comm);
  std::printf("vendor: %s by rank %d of %d\n", name, own->rank, own->numRanks);
  return ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclGetVersion(int *version) {
  const char *given = std::getenv("SCCL_STAND_IN_VERSION");
  *version = given ? std::atoi(given) : 22803;
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static std::atomic<int> made{0};
  std::snprintf(id->internal, sizeof(id->internal), "stand-in %d", ++made);
  return ncclSuccess;
}
static ncclResult_t make(ncclComm_t *comm, int numRanks, ncclUniqueId id,
                         int rank) {
  if (std::strncmp(id.internal, "stand-in", 8))
    return ncclInvalidArgument;
  if (isToFail("ncclCommInitRank", rank))
    return ncclSystemError;
  *comm = new StandIn{rank, numRanks, joinStandIns(id.internal, rank)};
  ++live;
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclCommInitRank(ncclComm_t *comm, int numRanks,
                                              ncclUniqueId id, int rank) {
  return make(comm, numRanks, id, rank);
}
/// A communicator that goes on after the call, which reads the configuration.
SCCL_VENDOR_API ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm,
                                                    int numRanks,
                                                    ncclUniqueId id, int rank,
                                                    ncclConfig_t *config) {
  auto *own = static_cast<Config *>(config);
  if (own->magic != 0xcafebeef || own->blocking != 0)
    return ncclInvalidArgument;
  if (ncclResult_t code = make(comm, numRanks, id, rank))
    return code;
  static_cast<StandIn *>(*comm)->looks = 3;
  someGoOn = true;
  return ncclInProgress;
}
SCCL_VENDOR_API ncclResult_t ncclCommInitAll(ncclComm_t *comms, int numRanks,
                                             const int *) {
  for (int rank = 0; rank < numRanks; ++rank, ++live)
    comms[rank] = new StandIn{rank, numRanks};
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int,
                                           ncclComm_t *result, void *) {
  if (color == 99 && static_cast<StandIn *>(comm)->rank == 1)
    return ncclSystemError;
  *result = color < 0 ? nullptr : new StandIn{-1, -1};
  live += color >= 0;
  return ncclSuccess;
}
/// Of the ranks that are left.
SCCL_VENDOR_API ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded,
                                            int numExcluded, ncclComm_t *result,
                                            void *, int flags) {
  auto *own = static_cast<StandIn *>(comm);
  int before = 0;
  for (int i = 0; i < numExcluded; ++i)
    before += excluded[i] < own->rank;
  *result = new StandIn{own->rank - before, own->numRanks - numExcluded};
  ++live;
  std::printf("vendor: ncclCommShrink with flags %d\n", flags);
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclCommCount(ncclComm_t comm, int *count) {
  *count = static_cast<StandIn *>(comm)->numRanks;
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) {
  *rank = static_cast<StandIn *>(comm)->rank;
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclCommFinalize(ncclComm_t) {
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete static_cast<StandIn *>(comm);
  if (--live == 0 && !std::getenv("SCCL_STAND_IN_QUIET"))
    std::printf("vendor: nothing is left\n");
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                                   ncclResult_t *code) {
  auto *own = static_cast<StandIn *>(comm);
  *code = own->looks > 0 && --own->looks > 0 ? ncclInProgress
          : own->messages                    ? errorOfMessages(*own->messages)
                                             : ncclSuccess;
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclAllReduce(const void *, void *, size_t, int,
                                           int, ncclComm_t comm, void *) {
  return say("ncclAllReduce", comm);
}
SCCL_VENDOR_API ncclResult_t ncclReduceScatter(const void *, void *, size_t,
                                               int, int, ncclComm_t comm,
                                               void *) {
  return say("ncclReduceScatter", comm);
}
SCCL_VENDOR_API ncclResult_t ncclReduce(const void *, void *, size_t, int, int,
                                        int, ncclComm_t comm, void *) {
  return say("ncclReduce", comm);
}
SCCL_VENDOR_API ncclResult_t ncclBroadcast(const void *, void *, size_t, int,
                                           int, ncclComm_t comm, void *) {
  return say("ncclBroadcast", comm);
}
SCCL_VENDOR_API ncclResult_t ncclAllToAll(const void *, void *, size_t, int,
                                          ncclComm_t comm, void *) {
  return say("ncclAllToAll", comm);
}
SCCL_VENDOR_API ncclResult_t ncclAllToAllv(const void *, const size_t *,
                                           const size_t *, void *,
                                           const size_t *, const size_t *, int,
                                           ncclComm_t comm, void *) {
  return say("ncclAllToAllv", comm);
}
SCCL_VENDOR_API ncclResult_t ncclMemAlloc(void **memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclMemFree(void *memory) {
  std::free(memory);
  return ncclSuccess;
}
SCCL_VENDOR_API ncclResult_t ncclCommRegister(ncclComm_t comm, void *, size_t,
                                              void **handle) {
  *handle = comm;
  return say("ncclCommRegister", comm);
}
SCCL_VENDOR_API ncclResult_t ncclCommDeregister(ncclComm_t comm, void *) {
  return say("ncclCommDeregister", comm);
}

SCCL_VENDOR_API ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (auto *own = static_cast<StandIn *>(comm); own->messages)
    abortMessages(own->messages);
  return ncclCommDestroy(comm);
}

// What is never forwarded; programs are linked to it all the same.
#define UNUSED(name)                                                           \
  SCCL_VENDOR_API ncclResult_t name() { return ncclInternalError; }
UNUSED(ncclCommInitRankScalable)
UNUSED(ncclCommCuDevice)
UNUSED(ncclAllGather)
SCCL_VENDOR_API const char *ncclGetErrorString(ncclResult_t) { return "?"; }
SCCL_VENDOR_API const char *ncclGetLastError(ncclComm_t) { return "vendor"; }
