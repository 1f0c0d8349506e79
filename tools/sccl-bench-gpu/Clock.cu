//===- Clock.cu - What the clock believes, measured on one GPU ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The constants of docs/Clock.md as far as one GPU has them, by kernels as a
// careful person would write them. What flags and LL words take from block to
// block is in HandWritten.cu. A program of its own, which no build makes:
//
//   nvcc -arch=sm_90 -O3 -std=c++17 tools/sccl-bench-gpu/Clock.cu -o clock
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

static constexpr unsigned blockSize = 256;

static void check(cudaError_t code) {
  if (code == cudaSuccess)
    return;
  std::fprintf(stderr, "clock: error: %s\n", cudaGetErrorString(code));
  std::exit(1);
}

/// Microseconds of a call of `enqueue`: the median of 9 batches of `calls`.
static float microseconds(const std::function<void()> &enqueue,
                          unsigned calls) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  enqueue();
  std::vector<float> all(9);
  for (float &time : all) {
    check(cudaEventRecord(begin));
    for (unsigned i = 0; i < calls; ++i)
      enqueue();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&time, begin, end));
  }
  check(cudaGetLastError());
  std::sort(all.begin(), all.end());
  return all[all.size() / 2] * 1e3f / calls;
}

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

__global__ void nothing() {}

enum class Order { Relaxed, System, Device };

template <Order order> __device__ void signal(uint64_t *flag, uint64_t value) {
  if constexpr (order == Order::Relaxed)
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(flag), "l"(value)
                 : "memory");
  else if constexpr (order == Order::System)
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(flag), "l"(value)
                 : "memory");
  else
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(flag), "l"(value)
                 : "memory");
}

/// A block writes 16 bytes for each thread, joins, and sets a flag.
template <Order order>
__global__ void signals(uint4 *data, uint64_t *flags, unsigned rounds) {
  volatile uint4 *mine = data + blockIdx.x * blockSize + threadIdx.x;
  for (unsigned i = 0; i < rounds; ++i) {
    mine->x = i;
    __syncthreads();
    if (threadIdx.x == 0)
      signal<order>(flags + 16 * blockIdx.x, i);
    __syncthreads();
  }
}

static void measureSignals(char *memory) {
  constexpr unsigned rounds = 1000;
  auto *data = reinterpret_cast<uint4 *>(memory);
  auto *flags = reinterpret_cast<uint64_t *>(memory + (1 << 24));
  for (unsigned blocks : {1, 32}) {
    auto of = [&](auto *kernel) {
      return microseconds(
                 [&] { kernel<<<blocks, blockSize>>>(data, flags, rounds); },
                 1) /
             rounds;
    };
    float relaxed = of(signals<Order::Relaxed>);
    std::printf("a signal of %u blocks, beside a store: %.2f us, at the scope "
                "of the GPU %.2f\n",
                blocks, of(signals<Order::System>) - relaxed,
                of(signals<Order::Device>) - relaxed);
  }
}

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

/// Sums `inputs` inputs, or copies one; `unroll` accesses of 16 bytes for each
/// thread.
template <unsigned inputs, unsigned unroll>
__global__ void sum(const float4 *from, uint64_t apart, float4 *to,
                    uint64_t words) {
  uint64_t threads = uint64_t(gridDim.x) * blockSize;
  uint64_t at = blockIdx.x * blockSize + threadIdx.x;
  for (; at + (unroll - 1) * threads < words; at += unroll * threads) {
    float4 all[unroll];
#pragma unroll
    for (unsigned i = 0; i < unroll; ++i)
      all[i] = from[at + i * threads];
#pragma unroll
    for (unsigned input = 1; input < inputs; ++input)
#pragma unroll
      for (unsigned i = 0; i < unroll; ++i) {
        float4 more = from[input * apart + at + i * threads];
        all[i].x += more.x, all[i].y += more.y;
        all[i].z += more.z, all[i].w += more.w;
      }
#pragma unroll
    for (unsigned i = 0; i < unroll; ++i)
      to[at + i * threads] = all[i];
  }
}

/// Two LL words of 8 bytes for each thread.
__device__ void storeWords(uint64_t *to, uint64_t first, uint64_t second) {
  asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(first),
               "l"(second)
               : "memory");
}
__device__ void loadWords(const uint64_t *from, uint64_t number,
                          uint64_t &first, uint64_t &second) {
  do
    asm volatile("ld.relaxed.sys.v2.b64 {%0, %1}, [%2];"
                 : "=l"(first), "=l"(second)
                 : "l"(from)
                 : "memory");
  while (first >> 32 != number || second >> 32 != number);
}

/// Two ranks of `blocks` blocks send each other two LL words for each of
/// `lines`, and then read what has come.
__global__ void exchange(uint64_t *words, uint64_t lines, uint64_t number,
                         unsigned blocks) {
  unsigned me = blockIdx.x / blocks;
  uint64_t first = blockIdx.x % blocks * blockSize + threadIdx.x;
  uint64_t threads = uint64_t(blocks) * blockSize;
  constexpr unsigned each = 4;
  for (uint64_t at = first; at < lines; at += threads)
    storeWords(words + 2 * (lines * (1 - me) + at), number << 32 | at,
               number << 32 | at);
  uint64_t sums = 0, one[each], other[each];
  for (uint64_t at = first; at + (each - 1) * threads < lines;
       at += each * threads)
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      loadWords(words + 2 * (lines * me + at + i * threads), number, one[i],
                other[i]);
      sums += one[i] + other[i];
    }
  if (sums == 1) // never, so that the loads stay
    words[0] = 0;
}

static void measureRates(char *memory) {
  auto *from = reinterpret_cast<float4 *>(memory);
  auto *to = reinterpret_cast<float4 *>(memory + (uint64_t(1) << 30));
  constexpr uint64_t bytes = 8 << 20, words = bytes / sizeof(float4);
  for (unsigned blocks : {1, 4, 32}) {
    auto rate = [&](auto *kernel, unsigned inputs) {
      auto enqueue = [&] {
        kernel<<<blocks, blockSize>>>(from, words, to, words);
      };
      return 1e-3 * inputs * bytes / microseconds(enqueue, 4) / blocks;
    };
    std::printf("a block of %u loads, GB/s: to copy %.0f, to sum 2 %.0f, to "
                "sum 8 %.0f\n",
                blocks, rate(sum<1, 8>, 1), rate(sum<2, 4>, 2),
                rate(sum<8, 4>, 8));
  }
  constexpr uint64_t lines = 1 << 18;
  constexpr unsigned blocks = 4;
  uint64_t number = 1;
  float time = microseconds(
      [&] {
        exchange<<<2 * blocks, blockSize>>>(
            reinterpret_cast<uint64_t *>(memory), lines, number++, blocks);
      },
      4);
  std::printf("a block handles %.0f GB/s of LL words\n",
              2e-3 * 16 * lines / time / blocks);
}

int main() {
  cudaDeviceProp about;
  check(cudaGetDeviceProperties(&about, 0));
  std::printf("%s\n", about.name);
  char *memory;
  constexpr uint64_t bytes = uint64_t(2) << 30;
  check(cudaMalloc(&memory, bytes));
  check(cudaMemset(memory, 0, bytes));
  std::printf("a launch after another: %.1f us\n",
              microseconds([] { nothing<<<32, blockSize>>>(); }, 50));
  measureSignals(memory);
  check(cudaMemset(memory, 0, bytes));
  measureRates(memory);
}
