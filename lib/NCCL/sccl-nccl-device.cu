//===- sccl-nccl-device.cu - NCCL's device functions in C -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL from 2.29 on has device functions for LLVM IR, in libnccl_device.bc;
// 2.28 has those of C++ alone. This makes the ones that sccl's kernels call of
// these, with the names and parameters of the bitcode, to be linked with the
// kernels by nvlink: see docs/NcclDevice.md.
//
//===----------------------------------------------------------------------===//

// Its C++ functions have the names of those below.
#define ncclGetPeerPointer ncclGetPeerPointerOfHeader
#include <nccl_device.h>
#undef ncclGetPeerPointer

#include <new>

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 28, 7) ||                              \
    NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 0)
#error "for NCCL 2.28 from 2.28.7 on; later ones have libnccl_device.bc"
#endif

/// A thread, or all of a block.
struct CoopAny {
  alignas(8) char isBlock;
  char unused[15];
  void *none;
};
/// Whoever calls has memory for 128 bytes of each.
struct GinContext {
  const ncclDevComm *comm;
  int context;
};
struct BarrierSession {
  const ncclDevComm *comm;
  ncclTeam team;
  ncclLsaBarrierHandle handle;
  uint32_t index;
  bool multimem;
  ncclMultimemHandle mmHandle;
};
static_assert(sizeof(CoopAny) == 24);
static_assert(sizeof(GinContext) <= 128 && sizeof(BarrierSession) <= 128);

/// Calls `body` with the threads of `coop`.
template <typename Body>
static __device__ void with(const CoopAny &coop, Body body) {
  if (coop.isBlock)
    body(ncclCoopCta());
  else
    body(ncclCoopThread());
}

static __device__ ncclGin open(const GinContext *net) {
  return ncclGin(*net->comm, net->context);
}

extern "C" {
__device__ void *ncclGetPeerPointer(ncclWindow_t window, size_t offset,
                                    int peer) {
  return ncclGetPeerPointerOfHeader(window, offset, peer);
}

__device__ void ncclCoopAnyInitThread(CoopAny *coop) { coop->isBlock = 0; }
__device__ void ncclCoopAnyInitCta(CoopAny *coop) { coop->isBlock = 1; }

/// All back ends that there are may be what the communicator has.
__device__ void ncclGin_C_init(GinContext *net, unsigned backendMask,
                               const ncclDevComm &comm, int context) {
  net->comm = &comm;
  net->context = context;
}

/// Kernels put without a signal or a counter.
__device__ void ncclGinPut(GinContext *net, ncclTeam team, int peer,
                           ncclWindow_t dstWindow, size_t dstOffset,
                           ncclWindow_t srcWindow, size_t srcOffset,
                           size_t bytes, bool isSignal, uint32_t signal,
                           int signalOp, uint64_t signalArgument,
                           bool isCounter, uint32_t counter, CoopAny coop,
                           bool hasDescriptor, void *descriptor, int released,
                           int required) {
  if (isSignal || isCounter || hasDescriptor)
    __trap();
  with(coop, [&](auto threads) {
    open(net).put(team, peer, dstWindow, dstOffset, srcWindow, srcOffset, bytes,
                  ncclGin_None(), ncclGin_None(), threads, ncclGin_None(),
                  cuda::thread_scope(released), cuda::thread_scope(required));
  });
}

/// Kernels count up by one.
__device__ void ncclGinSignal(GinContext *net, ncclTeam team, int peer,
                              bool isSignal, uint32_t signal, int signalOp,
                              uint64_t signalArgument, CoopAny coop,
                              bool hasDescriptor, void *descriptor,
                              int released, int required) {
  if (!isSignal || signalOp != 0 || hasDescriptor)
    __trap();
  with(coop, [&](auto threads) {
    open(net).signal(team, peer, ncclGin_SignalInc{signal}, threads,
                     ncclGin_None(), cuda::thread_scope(released),
                     cuda::thread_scope(required));
  });
}

__device__ uint64_t ncclGinReadSignal(GinContext *net, uint32_t signal, int bits,
                                      int order) {
  return open(net).readSignal(signal, bits, cuda::memory_order(order));
}

__device__ void ncclGinFlush(GinContext *net, CoopAny coop, int order) {
  with(coop, [&](auto threads) {
    open(net).flush(threads, cuda::memory_order(order));
  });
}

__device__ void ncclLsaBarrierSessionInit(
    BarrierSession *session, CoopAny coop, const ncclDevComm &comm,
    ncclTeam team, ncclLsaBarrierHandle handle, uint32_t index, bool multimem,
    ncclMultimemHandle mmHandle) {
  *session = {&comm, team, handle, index, multimem, mmHandle};
}

/// A session of the header keeps its count when it ends, which is here.
__device__ void ncclLsaBarrierSessionSync(BarrierSession *session,
                                          CoopAny coop, int order) {
  with(coop, [&](auto threads) {
    ncclLsaBarrierSession<decltype(threads)> own(
        threads, *session->comm, session->team, session->handle, session->index,
        session->multimem, session->mmHandle);
    own.sync(threads, cuda::memory_order(order));
  });
}
} // extern "C"
