//===- nccl_device.h - NCCL's device functions, as far as tests need them -===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Our own text, with the names, parameters and structures of NCCL 2.30's C
// functions. Sizes of opaque structures are those that callers rely on.
//
//===----------------------------------------------------------------------===//

#ifndef NCCL_DEVICE_H
#define NCCL_DEVICE_H

#include "nccl.h"

struct ncclTeam {
  int nRanks, rank, stride;
};
struct ncclLsaBarrierHandle {
  uint32_t bufHandle;
  int nBarriers;
};
struct ncclMultimemHandle {
  void *mcBasePtr;
};

/// Opaque to those who launch, but for these members.
struct ncclDevComm {
  int rank, nRanks, lsaRank, lsaSize;
  ncclLsaBarrierHandle lsaBarrier;
  void *sim;
};

struct ncclDevCommRequirements {
  size_t size;
  unsigned magic, version;
  int lsaBarrierCount;
  int ginContextCount, ginSignalCount;
  int ginConnectionType;
  bool ginStrongSignalsRequired;
};
#define NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER                                 \
  { sizeof(ncclDevCommRequirements), 0, NCCL_VERSION_CODE, 0, 0, 0, 0, false }
#define NCCL_GIN_CONNECTION_FULL 1

extern "C" {
ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements *,
                               ncclDevComm *);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm *);
}
inline ncclTeam ncclTeamWorld(const ncclDevComm &comm) {
  return {comm.nRanks, comm.rank, 1};
}
inline ncclTeam ncclTeamLsa(const ncclDevComm &comm) {
  return {comm.lsaSize, comm.lsaRank, 1};
}

// What kernels call.

struct ncclCoopAny {
  struct Storage {
    alignas(void *) char space[16];
  } storage;
  const void *vtable;
};
struct ncclGin_C;
struct ncclGinDescriptorSmem;
struct ncclLsaBarrierSession_C;
enum ncclGinSignalOp_t { ncclGinSignalInc = 0, ncclGinSignalAdd };
namespace cuda {
enum thread_scope {
  thread_scope_system = 0,
  thread_scope_device = 1,
  thread_scope_block = 2,
  thread_scope_thread = 10
};
enum memory_order { memory_order_acquire = 2, memory_order_acq_rel = 4 };
} // namespace cuda

extern "C" {
void *ncclGetPeerPointer(ncclWindow_t w, size_t offset, int peer);
void ncclCoopAnyInitThread(ncclCoopAny *coop);
void ncclCoopAnyInitCta(ncclCoopAny *coop);
void ncclGin_C_init(ncclGin_C *net, unsigned backendMask,
                    ncclDevComm const &comm, int contextIndex);
void ncclGinPut(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin,
                size_t dstOffset, ncclWindow_t srcWin, size_t srcOffset,
                size_t bytes, bool isSignal, uint32_t signalId,
                ncclGinSignalOp_t signalOp, uint64_t signalOpArg,
                bool isCounter, uint32_t counterId, ncclCoopAny coop,
                bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                cuda::thread_scope givenRelease,
                cuda::thread_scope requiredRelease);
void ncclGinSignal(ncclGin_C *net, ncclTeam team, int peer, bool isSignal,
                   uint32_t signalId, ncclGinSignalOp_t signalOp,
                   uint64_t signalOpArg, ncclCoopAny coop, bool isDescriptor,
                   ncclGinDescriptorSmem *descriptor,
                   cuda::thread_scope givenRelease,
                   cuda::thread_scope requiredRelease);
uint64_t ncclGinReadSignal(ncclGin_C *net, uint32_t signal, int bits,
                           cuda::memory_order ord);
void ncclGinFlush(ncclGin_C *net, ncclCoopAny coop, cuda::memory_order ord);
void ncclLsaBarrierSessionInit(ncclLsaBarrierSession_C *session,
                               ncclCoopAny coop, ncclDevComm const &comm,
                               ncclTeam team, ncclLsaBarrierHandle handle,
                               uint32_t index, bool multimem,
                               ncclMultimemHandle mmHandle);
void ncclLsaBarrierSessionSync(ncclLsaBarrierSession_C *session,
                               ncclCoopAny coop, cuda::memory_order order);
}

#endif // NCCL_DEVICE_H
