//===- GPUSwitch.h - Memory of GPUs at a switch -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_DEVICES_GPUSWITCH_H
#define SCCL_LIB_RUNTIME_DEVICES_GPUSWITCH_H

#include "Device.h"
#include "GPUContext.h"

namespace sccl {

/// What drivers give for memory that processes share: a descriptor, which
/// others take while this object lives. Where only debuggers may take
/// descriptors, every process of the user may meanwhile.
class OfferedDescriptor {
public:
  OfferedDescriptor() = default;
  OfferedDescriptor(const OfferedDescriptor &) = delete;
  ~OfferedDescriptor() { withdraw(); }

  /// Of the memory with a number.
  Status offer(const GPUDriver &driver, uint64_t memory);
  void withdraw();
  int number() const { return descriptor; }

private:
  int descriptor = -1;
};

/// The memory that a process offers, as a number of the driver's.
Status takeMemory(const GPUDriver &driver, const ProcessId &owner,
                  int descriptor, uint64_t &memory);

/// How memory of a device is made, CUmemAllocationProp.
struct PhysicalMemory {
  int kind = 1;   ///< pinned
  int shared = 1; ///< by descriptors
  int place = 1;  ///< a device
  int device = 0;
  void *unused = nullptr;
  unsigned char flags[8] = {};
};

/// CUmulticastObjectProp.
struct SwitchKind {
  unsigned devices = 0;
  size_t bytes = 0;
  unsigned long long shared = 1; ///< by descriptors
  unsigned long long flags = 0;
};

/// `bytes` as switches for so many devices can bind them.
Status roundForSwitch(const GPUDriver &driver, unsigned devices,
                      uint64_t &bytes);
/// The number of the memory that `buffer` has, which allocateForSwitch() made.
uint64_t numberOf(const DeviceBuffer &buffer);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_DEVICES_GPUSWITCH_H
