//===- Cuda.cpp - The CUDA driver, for measurements -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <thread>

using namespace sccl;
using namespace sccl::gpubench;

DeviceMemory::DeviceMemory(Cuda &cuda, uint64_t bytes)
    : cuda(cuda), address(cuda.allocate(std::max<uint64_t>(bytes, 1))) {
  cuda.fill(address, 0, std::max<uint64_t>(bytes, 1));
}

DeviceMemory::~DeviceMemory() { cuda.free(address); }

void *Cuda::lookUp(const char *function) {
  void *found = dlsym(library, function);
  if (!found)
    throw Failure{std::string("the CUDA driver has no ") + function};
  return found;
}

/// Numbers, pointers and addresses of the device are passed as they are.
template <typename... Arguments>
void Cuda::call(const char *function, Arguments... arguments) {
  auto *entry = reinterpret_cast<int (*)(Arguments...)>(lookUp(function));
  int code = entry(arguments...);
  if (code == 0)
    return;
  const char *text = nullptr;
  auto *describe =
      reinterpret_cast<int (*)(int, const char **)>(lookUp("cuGetErrorString"));
  describe(code, &text);
  throw Failure{std::string(function) +
                " failed: " + (text ? text : "unknown error") + " (" +
                std::to_string(code) + ")"};
}

int Cuda::attribute(int which) {
  int value = 0;
  call("cuDeviceGetAttribute", &value, which, device);
  return value;
}

Cuda::Cuda(double limitSeconds) : limitSeconds(limitSeconds) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    throw Failure{std::string("no CUDA driver: ") + dlerror()};
  call("cuInit", 0u);
  call("cuDeviceGet", &device, 0);
  char text[256] = "";
  call("cuDeviceGetName", text, int(sizeof(text)), device);
  name = text;
  constexpr int multiprocessorCount = 16, major = 75, minor = 76;
  numMultiprocessors = attribute(multiprocessorCount);
  chip = "sm_" + std::to_string(10 * attribute(major) + attribute(minor));
  void *context = nullptr;
  call("cuDevicePrimaryCtxRetain", &context, device);
  call("cuCtxSetCurrent", context);
  constexpr unsigned nonBlocking = 1;
  call("cuStreamCreate", &stream, nonBlocking);
  call("cuEventCreate", &begin, 0u);
  call("cuEventCreate", &end, 0u);
  // Pinned memory has one address on both sides.
  void *pinned = nullptr;
  call("cuMemHostAlloc", &pinned, sizeof(uint64_t), 1u);
  abort = static_cast<uint64_t *>(pinned);
  *abort = 0;
}

uint64_t Cuda::freeBytes() {
  size_t available = 0, all = 0;
  call("cuMemGetInfo_v2", &available, &all);
  return available;
}

void *Cuda::allocate(uint64_t bytes) {
  void *memory = nullptr;
  call("cuMemAlloc_v2", &memory, size_t(bytes));
  return memory;
}

/// Also called while a Failure is on its way, so errors are of no interest.
void Cuda::free(void *memory) {
  reinterpret_cast<int (*)(void *)>(lookUp("cuMemFree_v2"))(memory);
}

void Cuda::copy(void *to, const void *from, uint64_t bytes) {
  call("cuMemcpyAsync", to, from, size_t(bytes), stream);
}

void Cuda::fill(void *memory, unsigned char value, uint64_t bytes) {
  call("cuMemsetD8Async", memory, value, size_t(bytes), stream);
}

void *Cuda::load(const std::string &image) {
  void *&module = modules[image];
  if (module)
    return module;
  call("cuModuleLoadData", &module, static_cast<const void *>(image.c_str()));
  return module;
}

Kernel Cuda::find(void *module, const std::string &symbol, unsigned blocks,
                  unsigned blockSize) {
  Kernel kernel{nullptr, blocks, blockSize};
  call("cuModuleGetFunction", &kernel.function, module, symbol.c_str());
  int resident = 0;
  call("cuOccupancyMaxActiveBlocksPerMultiprocessor", &resident,
       kernel.function, int(blockSize), size_t(0));
  if (uint64_t(resident) * numMultiprocessors < blocks)
    throw Failure{symbol + " needs " + std::to_string(blocks) +
                  " blocks at once, and this GPU holds " +
                  std::to_string(resident * numMultiprocessors)};
  return kernel;
}

void Cuda::launch(const Kernel &kernel, void **parameters) {
  call("cuLaunchCooperativeKernel", kernel.function, kernel.blocks, 1u, 1u,
       kernel.blockSize, 1u, 1u, 0u, stream, parameters);
}

void Cuda::wait() {
  using Clock = std::chrono::steady_clock;
  constexpr int notReady = 600;
  auto *query = reinterpret_cast<int (*)(void *)>(lookUp("cuStreamQuery"));
  auto since = Clock::now();
  bool aborted = false;
  int code = 0;
  while ((code = query(stream)) == notReady) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    std::chrono::duration<double> elapsed = Clock::now() - since;
    if (elapsed.count() < limitSeconds)
      continue;
    if (aborted)
      throw Failure{"a kernel did not end after it was given up"};
    __atomic_store_n(abort, 1, __ATOMIC_RELEASE);
    aborted = true;
    since = Clock::now();
  }
  __atomic_store_n(abort, 0, __ATOMIC_RELEASE);
  if (aborted)
    throw Failure{"a kernel was not done after " +
                  std::to_string(int(limitSeconds)) + " s"};
  call("cuStreamSynchronize", stream); // reports what went wrong
}

double Cuda::timeBatches(const std::function<void()> &batch, unsigned batches) {
  batch(); // warms up
  wait();
  std::vector<double> all;
  for (unsigned i = 0; i < batches; ++i) {
    call("cuEventRecord", begin, stream);
    batch();
    call("cuEventRecord", end, stream);
    wait();
    float milliseconds = 0;
    call("cuEventElapsedTime", &milliseconds, begin, end);
    all.push_back(milliseconds * 1e-3);
  }
  std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  return all[all.size() / 2];
}

double Cuda::seconds(const std::function<void()> &enqueue, unsigned calls,
                     unsigned batches) {
  auto batch = [&] {
    for (unsigned i = 0; i < calls; ++i)
      enqueue();
  };
  return timeBatches(batch, batches) / calls;
}

double Cuda::replaySeconds(const std::function<void()> &enqueue, unsigned calls,
                           unsigned batches) {
  constexpr unsigned relaxed = 2;
  void *graph = nullptr, *executable = nullptr;
  call("cuStreamBeginCapture_v2", stream, relaxed);
  for (unsigned i = 0; i < calls; ++i)
    enqueue();
  call("cuStreamEndCapture", stream, &graph);
  call("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  double time =
      timeBatches([&] { call("cuGraphLaunch", executable, stream); }, batches);
  call("cuGraphExecDestroy", executable);
  call("cuGraphDestroy", graph);
  return time / calls;
}
