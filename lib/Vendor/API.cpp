//===- API.cpp - The functions of libsccl-nccl ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"
#include "RealLibrary.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace sccl::vendor;

/// Passes a call to the vendor's library, with its communicator.
template <typename... Arguments>
static ncclResult_t forward(const char *name, ncclComm_t comm,
                            Arguments... arguments) {
  if (!realOf(comm))
    return failWith(memberOf(comm) ? ncclInvalidUsage : ncclInvalidArgument,
                    memberOf(comm) ? name : noMember);
  return callReal(name, arguments...);
}

SCCL_VENDOR_API ncclResult_t ncclGetVersion(int *version) {
  if (!version)
    return ncclInvalidArgument;
  *version = 21805;
  return hasRealLibrary() ? callReal("ncclGetVersion", version) : ncclSuccess;
}

SCCL_VENDOR_API const char *ncclGetErrorString(ncclResult_t code) {
  static const char *const texts[] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "operation in progress"};
  bool isKnown = code >= ncclSuccess && code <= ncclInProgress;
  return isKnown ? texts[code] : "unknown result code";
}

SCCL_VENDOR_API const char *ncclGetLastError(ncclComm_t comm) {
  if (*lastMessage() || !realOf(comm))
    return lastMessage();
  using Function = const char *(*)(ncclComm_t);
  auto function = reinterpret_cast<Function>(realFunction("ncclGetLastError"));
  return function ? function(realOf(comm)) : "";
}

SCCL_VENDOR_API ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static_assert(sizeof(Address) <= sizeof(ncclUniqueId));
  if (!id)
    return failWith(ncclInvalidArgument, "the unique id is null");
  Address address;
  std::string problem = listenForRanks(address);
  if (!problem.empty())
    return failWith(ncclSystemError, problem.c_str());
  std::memset(id, 0, sizeof *id);
  std::memcpy(id, &address, sizeof address);
  return ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm,
                                                    int numRanks,
                                                    ncclUniqueId id, int rank,
                                                    ncclConfig_t *config) {
  if (!comm || numRanks < 1 || rank < 0 || rank >= numRanks)
    return failWith(ncclInvalidArgument, "no such rank, or comm is null");
  *comm = nullptr;
  Joining joining;
  std::memcpy(&joining.address, &id, sizeof joining.address);
  joining.rank = rank;
  joining.numRanks = numRanks;
  if (ncclResult_t code = joining.config.take(config))
    return code;
  return runOrDefer([=] { return joinRanks(joining, *comm); });
}

/// The first id is enough: ranks meet at one place.
SCCL_VENDOR_API ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm,
                                                      int numRanks, int rank,
                                                      int numIds,
                                                      ncclUniqueId *ids,
                                                      ncclConfig_t *config) {
  if (numIds < 1 || !ids)
    return failWith(ncclInvalidArgument, "there is no unique id");
  return ncclCommInitRankConfig(comm, numRanks, ids[0], rank, config);
}

SCCL_VENDOR_API ncclResult_t ncclCommInitRank(ncclComm_t *comm, int numRanks,
                                              ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, numRanks, id, rank, nullptr);
}

SCCL_VENDOR_API ncclResult_t ncclCommInitAll(ncclComm_t *comms, int numDevices,
                                             const int *devices) {
  if (!comms || numDevices < 1)
    return failWith(ncclInvalidArgument, "no devices, or comms is null");
  std::fill_n(comms, numDevices, nullptr);
  std::vector<ncclComm_t> made(numDevices);
  if (hasRealLibrary())
    if (ncclResult_t code =
            callReal("ncclCommInitAll", made.data(), numDevices, devices))
      return code;
  std::vector<RealComm> real;
  for (ncclComm_t one : made)
    real.emplace_back(one);
  Joining joining;
  std::string problem = listenForRanks(joining.address);
  if (!problem.empty())
    return failWith(ncclSystemError, problem.c_str());
  joining.numRanks = numDevices;
  joining.makesReal = false;
  std::vector<Work> works;
  for (int rank = 0; rank < numDevices; ++rank) {
    joining.rank = rank;
    joining.device = devices ? devices[rank] : rank;
    works.push_back(
        [joining, &own = real[rank], comm = comms + rank]() mutable {
          joining.real = own.release();
          return joinRanks(joining, *comm);
        });
  }
  ncclResult_t code = runTogether(std::move(works));
  for (int rank = 0; code != ncclSuccess && rank < numDevices; ++rank)
    delete memberOf(std::exchange(comms[rank], nullptr));
  return code;
}

SCCL_VENDOR_API ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (ncclResult_t code = checkNothingWaits(memberOf(comm)))
    return code;
  return realOf(comm) ? callReal("ncclCommFinalize", realOf(comm))
                      : ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (ncclResult_t code = checkNothingWaits(memberOf(comm)))
    return code;
  ncclComm_t real = endMember(memberOf(comm));
  return real ? callReal("ncclCommDestroy", real) : ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (ncclResult_t code = checkNothingWaits(memberOf(comm)))
    return code;
  if (Member *member = memberOf(comm))
    member->abortOurs();
  ncclComm_t real = endMember(memberOf(comm));
  return real ? callReal("ncclCommAbort", real) : ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm,
                                                   ncclResult_t *code) {
  if (!memberOf(comm) || !code)
    return failWith(ncclInvalidArgument,
                    "comm is null or destroyed, or the result is null");
  *code = ncclSuccess;
  if (memberOf(comm)->ours)
    *code = asVendor(scclCommGetError(memberOf(comm)->ours));
  if (*code != ncclSuccess || !realOf(comm))
    return ncclSuccess;
  return callReal("ncclCommGetAsyncError", realOf(comm), code);
}

SCCL_VENDOR_API ncclResult_t ncclCommCount(ncclComm_t comm, int *count) {
  if (!memberOf(comm) || !count)
    return failWith(ncclInvalidArgument,
                    "comm is null or destroyed, or the result is null");
  *count = memberOf(comm)->numRanks;
  return ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) {
  if (!memberOf(comm) || !rank)
    return failWith(ncclInvalidArgument,
                    "comm is null or destroyed, or the result is null");
  *rank = memberOf(comm)->rank;
  return ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device) {
  if (!memberOf(comm) || !device)
    return failWith(ncclInvalidArgument,
                    "comm is null or destroyed, or the result is null");
  *device = memberOf(comm)->device;
  return ncclSuccess;
}

// Collectives.

SCCL_VENDOR_API ncclResult_t ncclAllReduce(const void *send, void *recv,
                                           size_t count, ncclDataType_t type,
                                           ncclRedOp_t op, ncclComm_t comm,
                                           ncclStream_t stream) {
  return execute({Kind::AllReduce, memberOf(comm), send, recv, count, type, op,
                  -1, stream},
                 [&] {
                   return forward("ncclAllReduce", comm, send, recv, count,
                                  type, op, realOf(comm), stream);
                 });
}

SCCL_VENDOR_API ncclResult_t ncclReduceScatter(const void *send, void *recv,
                                               size_t count,
                                               ncclDataType_t type,
                                               ncclRedOp_t op, ncclComm_t comm,
                                               ncclStream_t stream) {
  return execute({Kind::ReduceScatter, memberOf(comm), send, recv, count, type,
                  op, -1, stream},
                 [&] {
                   return forward("ncclReduceScatter", comm, send, recv, count,
                                  type, op, realOf(comm), stream);
                 });
}

SCCL_VENDOR_API ncclResult_t ncclReduce(const void *send, void *recv,
                                        size_t count, ncclDataType_t type,
                                        ncclRedOp_t op, int root,
                                        ncclComm_t comm, ncclStream_t stream) {
  return execute(
      {Kind::Reduce, memberOf(comm), send, recv, count, type, op, root, stream},
      [&] {
        return forward("ncclReduce", comm, send, recv, count, type, op, root,
                       realOf(comm), stream);
      });
}

SCCL_VENDOR_API ncclResult_t ncclAllGather(const void *send, void *recv,
                                           size_t count, ncclDataType_t type,
                                           ncclComm_t comm,
                                           ncclStream_t stream) {
  return execute({Kind::AllGather, memberOf(comm), send, recv, count, type,
                  ncclSum, -1, stream},
                 [&] {
                   return forward("ncclAllGather", comm, send, recv, count,
                                  type, realOf(comm), stream);
                 });
}

/// NCCL and RCCL spell it differently, and a program may have been built for
/// the one and run with the other.
static ncclResult_t exchange(const char *name, const char *otherName,
                             const void *send, void *recv, size_t count,
                             ncclDataType_t type, ncclComm_t comm,
                             ncclStream_t stream) {
  return execute({Kind::AllToAll, memberOf(comm), send, recv, count, type,
                  ncclSum, -1, stream},
                 [&] {
                   bool isOther =
                       !realFunction(name) && realFunction(otherName);
                   return forward(isOther ? otherName : name, comm, send, recv,
                                  count, type, realOf(comm), stream);
                 });
}

SCCL_VENDOR_API ncclResult_t ncclAlltoAll(const void *send, void *recv,
                                          size_t count, ncclDataType_t type,
                                          ncclComm_t comm,
                                          ncclStream_t stream) {
  return exchange("ncclAlltoAll", "ncclAllToAll", send, recv, count, type, comm,
                  stream);
}

/// RCCL's.
SCCL_VENDOR_API ncclResult_t ncclAllToAll(const void *send, void *recv,
                                          size_t count, ncclDataType_t type,
                                          ncclComm_t comm,
                                          ncclStream_t stream) {
  return exchange("ncclAllToAll", "ncclAlltoAll", send, recv, count, type, comm,
                  stream);
}

/// RCCL's.
SCCL_VENDOR_API ncclResult_t ncclAllToAllv(
    const void *send, const size_t *sendCounts, const size_t *sendOffsets,
    void *recv, const size_t *recvCounts, const size_t *recvOffsets,
    ncclDataType_t type, ncclComm_t comm, ncclStream_t stream) {
  return forward("ncclAllToAllv", comm, send, sendCounts, sendOffsets, recv,
                 recvCounts, recvOffsets, type, realOf(comm), stream);
}

/// Those with a root that only move data have the same arguments.
static ncclResult_t move(Kind kind, const char *name, const void *send,
                         void *recv, size_t count, ncclDataType_t type,
                         int root, ncclComm_t comm, ncclStream_t stream) {
  return execute(
      {kind, memberOf(comm), send, recv, count, type, ncclSum, root, stream},
      [&] {
        return forward(name, comm, send, recv, count, type, root, realOf(comm),
                       stream);
      });
}

SCCL_VENDOR_API ncclResult_t ncclBroadcast(const void *send, void *recv,
                                           size_t count, ncclDataType_t type,
                                           int root, ncclComm_t comm,
                                           ncclStream_t stream) {
  return move(Kind::Broadcast, "ncclBroadcast", send, recv, count, type, root,
              comm, stream);
}

SCCL_VENDOR_API ncclResult_t ncclBcast(void *buffer, size_t count,
                                       ncclDataType_t type, int root,
                                       ncclComm_t comm, ncclStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

SCCL_VENDOR_API ncclResult_t ncclGather(const void *send, void *recv,
                                        size_t count, ncclDataType_t type,
                                        int root, ncclComm_t comm,
                                        ncclStream_t stream) {
  return move(Kind::Gather, "ncclGather", send, recv, count, type, root, comm,
              stream);
}

SCCL_VENDOR_API ncclResult_t ncclScatter(const void *send, void *recv,
                                         size_t count, ncclDataType_t type,
                                         int root, ncclComm_t comm,
                                         ncclStream_t stream) {
  return move(Kind::Scatter, "ncclScatter", send, recv, count, type, root, comm,
              stream);
}

SCCL_VENDOR_API ncclResult_t ncclSend(const void *send, size_t count,
                                      ncclDataType_t type, int peer,
                                      ncclComm_t comm, ncclStream_t stream) {
  return forward("ncclSend", comm, send, count, type, peer, realOf(comm),
                 stream);
}

SCCL_VENDOR_API ncclResult_t ncclRecv(void *recv, size_t count,
                                      ncclDataType_t type, int peer,
                                      ncclComm_t comm, ncclStream_t stream) {
  return forward("ncclRecv", comm, recv, count, type, peer, realOf(comm),
                 stream);
}

SCCL_VENDOR_API ncclResult_t ncclGroupStart() { return startGroup(); }
SCCL_VENDOR_API ncclResult_t ncclGroupEnd() { return endGroup(); }

// Memory. Plans access any memory of the device; what is registered makes the
// vendor's library faster.

SCCL_VENDOR_API ncclResult_t ncclMemAlloc(void **memory, size_t bytes) {
  if (!memory)
    return failWith(ncclInvalidArgument, "the result is null");
  if (realFunction("ncclMemAlloc"))
    return callReal("ncclMemAlloc", memory, bytes);
  using Function = int (*)(void **, size_t);
  auto function =
      reinterpret_cast<Function>(driverFunction("cuMemAlloc_v2", "hipMalloc"));
  if (!function || function(memory, bytes))
    return failWith(ncclUnhandledCudaError, "the driver has no such memory");
  return ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclMemFree(void *memory) {
  if (realFunction("ncclMemFree"))
    return callReal("ncclMemFree", memory);
  using Function = int (*)(void *);
  auto function =
      reinterpret_cast<Function>(driverFunction("cuMemFree_v2", "hipFree"));
  if (!function || (memory && function(memory)))
    return failWith(ncclUnhandledCudaError, "the driver cannot free this");
  return ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommRegister(const ncclComm_t comm,
                                              void *buffer, size_t bytes,
                                              void **handle) {
  if (!memberOf(comm) || !handle)
    return failWith(ncclInvalidArgument,
                    "comm is null or destroyed, or the handle is null");
  *handle = nullptr;
  return realOf(comm)
             ? callReal("ncclCommRegister", realOf(comm), buffer, bytes, handle)
             : ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommDeregister(const ncclComm_t comm,
                                                void *handle) {
  return realOf(comm) && handle
             ? callReal("ncclCommDeregister", realOf(comm), handle)
             : ncclSuccess;
}

/// As ncclCommRegister; NCCL gives no window, too, where it has no use for one.
SCCL_VENDOR_API ncclResult_t ncclCommWindowRegister(ncclComm_t comm,
                                                    void *buffer, size_t bytes,
                                                    void **window, int flags) {
  if (!memberOf(comm) || !window)
    return failWith(ncclInvalidArgument,
                    "comm is null or destroyed, or the window is null");
  *window = nullptr;
  return realOf(comm) ? callReal("ncclCommWindowRegister", realOf(comm), buffer,
                                 bytes, window, flags)
                      : ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclCommWindowDeregister(ncclComm_t comm,
                                                      void *window) {
  return realOf(comm) && window
             ? callReal("ncclCommWindowDeregister", realOf(comm), window)
             : ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op,
                                                      void *scalar,
                                                      ncclDataType_t type,
                                                      int residence,
                                                      ncclComm_t comm) {
  return forward("ncclRedOpCreatePreMulSum", comm, op, scalar, type, residence,
                 realOf(comm));
}

SCCL_VENDOR_API ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return forward("ncclRedOpDestroy", comm, op, realOf(comm));
}
