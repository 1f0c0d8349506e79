//===- Cuda.h - The CUDA driver, for measurements ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Like libsccl, this looks the driver up at run time. Calls that fail throw a
// Failure, which ends one metric.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_BENCH_GPU_CUDA_H
#define SCCL_TOOLS_SCCL_BENCH_GPU_CUDA_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sccl::gpubench {

/// Why a metric could not be measured.
struct Failure {
  std::string message;
};

class Cuda;

/// Memory of the device, zeroed; given back with this object.
class DeviceMemory {
public:
  DeviceMemory(Cuda &cuda, uint64_t bytes);
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory();
  char *data() const { return static_cast<char *>(address); }

private:
  Cuda &cuda;
  void *address = nullptr;
};

/// A kernel and how it is launched.
struct Kernel {
  void *function = nullptr;
  unsigned blocks = 0, blockSize = 0;
};

class Cuda {
public:
  /// Uses device 0.
  explicit Cuda(double limitSeconds);
  Cuda(const Cuda &) = delete;

  std::string deviceName() const { return name; }
  /// "sm_90".
  std::string target() const { return chip; }
  unsigned multiprocessors() const { return numMultiprocessors; }
  uint64_t freeBytes();

  void *allocate(uint64_t bytes);
  void free(void *memory);
  /// In stream order.
  void copy(void *to, const void *from, uint64_t bytes);
  void fill(void *memory, unsigned char value, uint64_t bytes);

  /// Loads PTX or a cubin; it stays until the process ends.
  void *load(const std::string &image);
  /// Fails if the blocks cannot all be resident at once.
  Kernel find(void *module, const std::string &symbol, unsigned blocks,
              unsigned blockSize);
  /// Enqueues a cooperative launch; `parameters` are pointers to arguments.
  void launch(const Kernel &kernel, void **parameters);

  /// Waits for what was enqueued. After `limitSeconds` sets the abort word,
  /// waits once more as long, and fails.
  void wait();
  /// A word that kernels poll; 0 until a launch takes too long.
  uint64_t *abortWord() { return abort; }

  /// Seconds of one call of `enqueue`, by the device's clock: `calls` in a row
  /// per batch, the median of `batches`.
  double seconds(const std::function<void()> &enqueue, unsigned calls,
                 unsigned batches = 30);
  /// The same with the calls of a batch recorded once in a graph, so that the
  /// host has no part in it.
  double replaySeconds(const std::function<void()> &enqueue, unsigned calls,
                       unsigned batches = 30);

private:
  template <typename... Arguments>
  void call(const char *function, Arguments... arguments);
  void *lookUp(const char *function);
  int attribute(int which);
  double timeBatches(const std::function<void()> &batch, unsigned batches);

  double limitSeconds; ///< see wait()
  void *library = nullptr;
  void *stream = nullptr, *begin = nullptr, *end = nullptr;
  int device = 0;
  unsigned numMultiprocessors = 0;
  std::string name, chip;
  uint64_t *abort = nullptr;
  std::map<std::string, void *> modules; ///< by image
};

} // namespace sccl::gpubench

#endif // SCCL_TOOLS_SCCL_BENCH_GPU_CUDA_H
