//===- HandWritten.cu - What generated kernels are compared with ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain CUDA as a careful person would write it: 16-byte accesses, eight loads
// before the first store, one release per block and step. Compiled to PTX by
// test/Integration/gpu.sh where there is nvcc; called as KernelABI.h says.
//
//===----------------------------------------------------------------------===//

#include <cstdint>

struct Peer {
  char *input, *output, *scratch, *control;
};
/// RankArguments of KernelABI.h.
struct Rank {
  char *input, *output, *scratch, *control;
  Peer *peers;
  uint64_t *abort;
  uint64_t segment, distance;
  const void *table;
  uint64_t reduction, blocks;
};

static constexpr unsigned unroll = 8;
static constexpr unsigned abortPeriod = 1 << 13; ///< gpuAbortPeriod, FlagCode.h

__device__ static uint4 load(const uint4 *from) {
  uint4 value;
  asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}

/// Block `block` of `blocks` copies its tiles; `bytes` is a multiple of 16.
__device__ static void copyTiles(char *to, const char *from, uint64_t bytes,
                                 unsigned block, unsigned blocks) {
  const uint4 *source = reinterpret_cast<const uint4 *>(from);
  uint4 *target = reinterpret_cast<uint4 *>(to);
  uint64_t words = bytes / sizeof(uint4);
  uint64_t tile = uint64_t(blockDim.x) * unroll;
  uint64_t at = block * tile + threadIdx.x;
  for (; at + (unroll - 1) * blockDim.x < words; at += tile * blocks) {
    uint4 values[unroll];
#pragma unroll
    for (unsigned i = 0; i < unroll; ++i)
      values[i] = load(source + at + i * blockDim.x);
#pragma unroll
    for (unsigned i = 0; i < unroll; ++i)
      target[at + i * blockDim.x] = values[i];
  }
  // The last tile, which is not full.
  for (unsigned i = 0; i < unroll; ++i)
    if (at + i * blockDim.x < words)
      target[at + i * blockDim.x] = load(source + at + i * blockDim.x);
}

/// G1: all blocks copy the input of rank 0 to the output of rank 1.
extern "C" __global__ void handCopy(Rank *ranks) {
  copyTiles(ranks[1].output, ranks[0].input, ranks[0].segment, blockIdx.x,
            gridDim.x);
}

/// What a launch costs that does nothing.
extern "C" __global__ void handNothing(Rank *) {}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

__device__ static void release(uint64_t *flag, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value)
               : "memory");
}
__device__ static uint64_t acquire(const uint64_t *flag) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(flag)
               : "memory");
  return value;
}
__device__ static uint64_t relaxed(const uint64_t *word) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(word)
               : "memory");
  return value;
}

__device__ static bool isAborted(const Rank &rank) {
  return relaxed(rank.abort) != 0;
}

/// Until the flag has the value; looks at the abort word as rarely as
/// generated code.
__device__ static void await(const uint64_t *flag, uint64_t value,
                             const Rank &rank) {
  for (unsigned polls = 1; acquire(flag) < value; ++polls)
    if (polls % abortPeriod == 0 && isAborted(rank))
      return;
}

/// Flag `index` of a rank, a line each, after the line of its epoch words.
__device__ static uint64_t *flagOf(char *control, unsigned index) {
  return reinterpret_cast<uint64_t *>(control + 128 * (1 + index));
}

/// G3: two blocks, `rounds` times there and back, as in generated code: all
/// threads join before a flag is set and after it was seen. Flags count on from
/// `base`.
extern "C" __global__ void handFlagsOfBlocks(Rank *ranks, uint64_t rounds,
                                             uint64_t base) {
  unsigned me = blockIdx.x, other = 1 - me;
  uint64_t *mine = flagOf(ranks[me].control, 0);
  uint64_t *theirs = flagOf(ranks[other].control, 0);
  for (uint64_t i = 1; i <= rounds; ++i)
    for (unsigned turn = 0; turn < 2; ++turn)
      if (turn == me) {
        __syncthreads();
        if (threadIdx.x == 0)
          release(theirs, base + i);
      } else {
        if (threadIdx.x == 0)
          await(mine, base + i, ranks[me]);
        __syncthreads();
      }
}

/// Ways to tell the other block.
enum class Way { Release, Fence, GPUScope, LL };

template <Way way> __device__ static void send(uint64_t *to, uint64_t value) {
  if constexpr (way == Way::Release)
    release(to, value);
  else if constexpr (way == Way::Fence)
    asm volatile(
        "fence.acq_rel.sys; st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to),
        "l"(value)
        : "memory");
  else if constexpr (way == Way::GPUScope)
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(value)
                 : "memory");
  else // data and number in one word, 32 bits each
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to),
                 "l"(value << 32 | value)
                 : "memory");
}
template <Way way>
__device__ static bool hasCome(const uint64_t *from, uint64_t value) {
  uint64_t now = 0;
  if constexpr (way == Way::GPUScope)
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                 : "=l"(now)
                 : "l"(from)
                 : "memory");
  else if constexpr (way == Way::LL)
    now = relaxed(from) >> 32;
  else
    now = acquire(from);
  return now >= value;
}

/// The same between single threads.
template <Way way>
__device__ static void pingPong(Rank *ranks, uint64_t rounds, uint64_t base,
                                unsigned index) {
  if (threadIdx.x != 0)
    return;
  unsigned me = blockIdx.x, other = 1 - me;
  uint64_t *mine = flagOf(ranks[me].control, index);
  uint64_t *theirs = flagOf(ranks[other].control, index);
  for (uint64_t i = 1; i <= rounds; ++i)
    for (unsigned turn = 0; turn < 2; ++turn) {
      if (turn == me) {
        send<way>(theirs, base + i);
        continue;
      }
      for (unsigned polls = 1; !hasCome<way>(mine, base + i); ++polls)
        if (polls % abortPeriod == 0 && isAborted(ranks[me]))
          return;
    }
}
extern "C" __global__ void handRelease(Rank *ranks, uint64_t rounds,
                                       uint64_t base) {
  pingPong<Way::Release>(ranks, rounds, base, 1);
}
extern "C" __global__ void handFence(Rank *ranks, uint64_t rounds,
                                     uint64_t base) {
  pingPong<Way::Fence>(ranks, rounds, base, 2);
}
extern "C" __global__ void handGPUScope(Rank *ranks, uint64_t rounds,
                                        uint64_t base) {
  pingPong<Way::GPUScope>(ranks, rounds, base, 3);
}
extern "C" __global__ void handLL(Rank *ranks, uint64_t rounds,
                                      uint64_t base) {
  pingPong<Way::LL>(ranks, rounds, base, 4);
}

//===----------------------------------------------------------------------===//
// A collective
//===----------------------------------------------------------------------===//

/// G7: all_gather on a mesh of `n` ranks in one step. Each rank has a channel
/// for itself and one for each peer; blocks of a channel wait until the peer
/// has begun, copy the input to the peer's output, and tell it; then they wait
/// for what the peer sends.
extern "C" __global__ void handAllGather(Rank *ranks, uint64_t n,
                                         uint64_t blocks) {
  unsigned channel = blockIdx.x / blocks, block = blockIdx.x % blocks;
  unsigned me = channel / n, peer = channel % n;
  const Rank &rank = ranks[me];
  const Peer &other = rank.peers[peer];
  // Flags of a rank: by sender and block, ready ones after arrivals. Each block
  // reads its launch number where it alone writes.
  uint64_t *epoch =
      reinterpret_cast<uint64_t *>(rank.scratch) + peer * blocks + block;
  uint64_t launch = *epoch + 1;
  auto flag = [&](char *control, unsigned from, bool isReady) {
    return flagOf(control, ((isReady ? n : 0) + from) * blocks + block);
  };
  bool isSelf = me == peer;
  __syncthreads();
  if (!isSelf && threadIdx.x == 0) {
    release(flag(other.control, me, true), launch);
    await(flag(rank.control, peer, true), launch, rank);
  }
  __syncthreads();
  copyTiles(other.output + me * rank.distance, rank.input, rank.segment, block,
            blocks);
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  if (!isSelf) {
    release(flag(other.control, me, false), launch);
    await(flag(rank.control, peer, false), launch, rank);
  }
  *epoch = launch;
}
