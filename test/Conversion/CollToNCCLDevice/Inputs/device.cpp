//===- device.cpp - NCCL's device functions on the simulated network ------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled for NVPTX, as libnccl_device.bc is, so that structures are passed as
// there, and then for the host together with the kernels.
//
//===----------------------------------------------------------------------===//

#include "nccl_device.h"

#include "sim.h"

// The two structures that callers have memory for, but do not look into.

struct ncclGin_C {
  const ncclDevComm *comm;
  int context;
};
struct ncclLsaBarrierSession_C {
  const ncclDevComm *comm;
};

static void sync(const ncclCoopAny &coop) {
  if (coop.storage.space[0] != 0)
    sim_barrier();
}
static bool isFirst(const ncclCoopAny &coop) {
  return coop.storage.space[0] == 0 || sim_tid() == 0;
}

void *ncclGetPeerPointer(ncclWindow_t w, size_t offset, int peer) {
  return sim_peer_pointer(w, offset, peer);
}
void ncclCoopAnyInitThread(ncclCoopAny *coop) { coop->storage.space[0] = 0; }
void ncclCoopAnyInitCta(ncclCoopAny *coop) { coop->storage.space[0] = 1; }

void ncclGin_C_init(ncclGin_C *net, unsigned backendMask,
                    ncclDevComm const &comm, int contextIndex) {
  sim_check(backendMask == ~0u, "backend mask");
  net->comm = &comm;
  net->context = contextIndex;
}

static void checkTeam(const ncclGin_C *net, const ncclTeam &team) {
  const ncclDevComm &comm = *net->comm;
  sim_check(team.nRanks == comm.nRanks && team.rank == comm.rank &&
                team.stride == 1,
            "the world's team");
}

void ncclGinPut(ncclGin_C *net, ncclTeam team, int peer, ncclWindow_t dstWin,
                size_t dstOffset, ncclWindow_t srcWin, size_t srcOffset,
                size_t bytes, bool isSignal, uint32_t signalId,
                ncclGinSignalOp_t signalOp, uint64_t signalOpArg,
                bool isCounter, uint32_t counterId, ncclCoopAny coop,
                bool isDescriptor, ncclGinDescriptorSmem *descriptor,
                cuda::thread_scope givenRelease,
                cuda::thread_scope requiredRelease) {
  checkTeam(net, team);
  sim_check(!isSignal && !isCounter && !isDescriptor && !descriptor,
            "operands of a put");
  sim_check(givenRelease == requiredRelease, "scopes of a put");
  sync(coop);
  if (isFirst(coop))
    sim_put(net->comm->sim, net->context, peer, dstWin, dstOffset, srcWin,
            srcOffset, bytes);
  sync(coop);
}

void ncclGinSignal(ncclGin_C *net, ncclTeam team, int peer, bool isSignal,
                   uint32_t signalId, ncclGinSignalOp_t signalOp,
                   uint64_t signalOpArg, ncclCoopAny coop, bool isDescriptor,
                   ncclGinDescriptorSmem *descriptor,
                   cuda::thread_scope givenRelease,
                   cuda::thread_scope requiredRelease) {
  checkTeam(net, team);
  sim_check(isSignal && signalOp == ncclGinSignalInc && signalOpArg == 1 &&
                !isDescriptor && !descriptor,
            "operands of a signal");
  sim_check(givenRelease == requiredRelease, "scopes of a signal");
  sync(coop);
  if (isFirst(coop))
    sim_signal(net->comm->sim, net->context, peer, signalId);
  sync(coop);
}

uint64_t ncclGinReadSignal(ncclGin_C *net, uint32_t signal, int bits,
                           cuda::memory_order ord) {
  sim_check(bits == 64 && ord == cuda::memory_order_acquire,
            "operands of a read");
  return sim_read_signal(net->comm->sim, net->context, signal);
}

void ncclGinFlush(ncclGin_C *net, ncclCoopAny coop, cuda::memory_order ord) {
  sync(coop);
  if (isFirst(coop))
    sim_flush(net->comm->sim, net->context);
  sync(coop);
}

void ncclLsaBarrierSessionInit(ncclLsaBarrierSession_C *session,
                               ncclCoopAny coop, ncclDevComm const &comm,
                               ncclTeam team, ncclLsaBarrierHandle handle,
                               uint32_t index, bool multimem,
                               ncclMultimemHandle mmHandle) {
  sim_check(team.nRanks == comm.lsaSize && team.rank == comm.lsaRank &&
                team.stride == 1 && handle.nBarriers == 1 && index == 0 &&
                handle.bufHandle == comm.lsaBarrier.bufHandle && !multimem &&
                !mmHandle.mcBasePtr,
            "operands of a barrier");
  session->comm = &comm;
  sync(coop);
}

void ncclLsaBarrierSessionSync(ncclLsaBarrierSession_C *session,
                               ncclCoopAny coop, cuda::memory_order order) {
  sync(coop);
  if (isFirst(coop))
    sim_lsa_barrier(session->comm->sim);
  sync(coop);
}
