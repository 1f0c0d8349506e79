//===- GPUContext.h - One GPU, as a process uses it -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_DEVICES_GPUCONTEXT_H
#define SCCL_LIB_RUNTIME_DEVICES_GPUCONTEXT_H

#include "GPUDriver.h"

#include <memory>

namespace sccl {

/// A GPU and its primary context, which the caller's own CUDA or HIP code uses
/// as well. Kept as long as anything that was made in it.
class GPUContext {
public:
  static Status open(const GPUDriver &driver, int index,
                     std::shared_ptr<GPUContext> &context);
  GPUContext(const GPUDriver &driver, int index)
      : driver(driver), index(index) {}
  GPUContext(const GPUContext &) = delete;
  ~GPUContext();

  Status attribute(int which, int &value) const {
    return driver.call(driver.getAttribute, &value, which, device);
  }

  const GPUDriver &driver;
  const int index;         ///< as the caller counts
  int device = 0;          ///< as the driver names it
  void *primary = nullptr; ///< CUDA
};

/// Makes a context the current one of this thread, and gives back the one that
/// the caller had.
class CurrentContext {
public:
  explicit CurrentContext(const GPUContext &context);
  CurrentContext(const CurrentContext &) = delete;
  ~CurrentContext();
  const Status &status() const { return entered; }

private:
  const GPUContext &context;
  int before = 0; ///< HIP
  Status entered;
};

/// What was allocated on a GPU.
struct GPUMemory {
  std::shared_ptr<GPUContext> context;
  void *address = nullptr;
  bool isImported = false;
  /// Of memory that was made apart from its address: its number, 0 if it was
  /// not, and the bytes that are mapped.
  uint64_t number = 0;
  uint64_t mappedBytes = 0;

  /// Gives the memory with that number an address, for kernels of `context`,
  /// which is the current one.
  Status map(uint64_t bytes);
  /// Has kernels of another device access it.
  Status share(int device) const;
  ~GPUMemory();
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_DEVICES_GPUCONTEXT_H
