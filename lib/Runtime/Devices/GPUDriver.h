//===- GPUDriver.h - The drivers of GPU vendors -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA's driver and HIP's run time have the same calls under other names. They
// are looked up when a program asks for such a device, so libsccl needs neither
// to be built nor to be loaded. Where arguments differ, an entry is null for
// one of the two, and GPUDevice.cpp has the only places that tell them apart.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_DEVICES_GPUDRIVER_H
#define SCCL_LIB_RUNTIME_DEVICES_GPUDRIVER_H

#include "Runtime/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sccl {

/// Passed by value, as both interfaces do.
struct IpcMemory {
  std::array<char, 64> bytes;
};

/// A function of a driver, and its name for messages.
template <typename... Parameters> struct DriverCall {
  const char *name = nullptr;
  int (*function)(Parameters...) = nullptr;
  explicit operator bool() const { return function != nullptr; }
};

/// Values that differ between the two.
struct DriverConstants {
  int multiprocessors, cooperativeLaunch, pageableMemory; ///< attributes
};

/// Devices are numbers; contexts, modules, functions and streams are pointers,
/// and so are addresses of device memory.
struct GPUDriver {
  const char *vendor = ""; ///< "CUDA" or "HIP"
  DriverConstants constants{};

  DriverCall<unsigned> init;
  DriverCall<int *> countDevices;
  DriverCall<int *, int> getDevice;
  DriverCall<int *, int, int> getAttribute;
  DriverCall<char *, int, int> getBusId;
  DriverCall<void **, int> retainContext; ///< CUDA
  DriverCall<int> releaseContext;         ///< CUDA
  DriverCall<void *> pushContext;         ///< CUDA
  DriverCall<void **> popContext;         ///< CUDA
  DriverCall<int *> currentDevice;        ///< HIP
  DriverCall<int> setDevice;              ///< HIP
  DriverCall<void *, int> getProperties;  ///< HIP
  DriverCall<void **, const void *, unsigned, int *, void **>
      loadModuleEx;                             ///< CUDA
  DriverCall<void **, const void *> loadModule; ///< HIP
  DriverCall<void *> unloadModule;
  DriverCall<void **, void *, const char *> getFunction;
  DriverCall<void **, size_t> allocate;             ///< CUDA
  DriverCall<void **, size_t, unsigned> allocateEx; ///< HIP
  DriverCall<void *> free;
  DriverCall<void *, unsigned char, size_t, void *> fill;
  DriverCall<void *, const void *, size_t, void *> copy;        ///< CUDA
  DriverCall<void *, const void *, size_t, int, void *> copyEx; ///< HIP
  DriverCall<IpcMemory *, void *> exportMemory;
  DriverCall<void **, IpcMemory, unsigned> importMemory;
  DriverCall<void *> closeMemory;
  DriverCall<void *, size_t, unsigned> registerHost;
  DriverCall<void *> unregisterHost;
  DriverCall<void **, void *, unsigned> hostPointer;
  DriverCall<void *, int, const void *> pointerAttribute;
  DriverCall<int *, int, int> canAccessPeer;
  DriverCall<void *, unsigned> enablePeerContext; ///< CUDA
  DriverCall<int, unsigned> enablePeerDevice;     ///< HIP
  DriverCall<void **, unsigned> createStream;
  DriverCall<void *> destroyStream;
  DriverCall<void *> queryStream;
  DriverCall<void *> waitForStream;
  DriverCall<void **, unsigned> createEvent;
  DriverCall<void *> destroyEvent;
  DriverCall<void *, void *> recordEvent;
  DriverCall<void *> queryEvent;
  DriverCall<void *, void *, unsigned> waitForEvent;
  DriverCall<void *, int *, unsigned long long *> captureInfo;
  DriverCall<int *> exchangeCaptureMode;
  DriverCall<int *, void *, int, size_t> occupancy;
  DriverCall<void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
             unsigned, void *, void **>
      launch;
  // Of CUDA, all or none: memory that has no address by itself, as a number,
  // and switches, which are such numbers, too.
  DriverCall<uint64_t *, size_t, const void *, unsigned long long> createMemory;
  DriverCall<uint64_t> releaseMemory;
  DriverCall<size_t *, const void *, int> memoryGranularity;
  DriverCall<uint64_t *, size_t, size_t, uint64_t, unsigned long long>
      reserveAddress;
  DriverCall<uint64_t, size_t> freeAddress;
  DriverCall<uint64_t, size_t, size_t, uint64_t, unsigned long long> mapMemory;
  DriverCall<uint64_t, size_t> unmapMemory;
  DriverCall<uint64_t, size_t, const void *, size_t> setAccess;
  DriverCall<void *, uint64_t, int, unsigned long long> exportDescriptor;
  DriverCall<uint64_t *, void *, int> importDescriptor;
  DriverCall<uint64_t *, const void *> createSwitch;
  DriverCall<size_t *, const void *, int> switchGranularity;
  DriverCall<uint64_t, int> addToSwitch;
  DriverCall<uint64_t, size_t, uint64_t, size_t, size_t, unsigned long long>
      bindAtSwitch;
  DriverCall<uint64_t, int, size_t, size_t> unbindAtSwitch;
  bool hasSwitches = false;

  DriverCall<int, const char **> describeError; ///< CUDA
  const char *(*errorText)(int) = nullptr;      ///< HIP

  bool isCUDA() const { return bool(retainContext); }

  /// Calls the driver; an error names the call, the driver's text and number.
  template <typename... Parameters, typename... Arguments>
  Status call(const DriverCall<Parameters...> &entry,
              Arguments... arguments) const {
    int code = entry.function(arguments...);
    return code == 0 ? Status() : error(entry.name, code);
  }
  Status error(const char *call, int code) const;

  // Codes that both have.
  static constexpr int outOfMemory = 2, noDevice = 100, notReady = 600,
                       peerAlreadyEnabled = 704;
};

/// The driver for `kind`, loaded and initialized once per process. Fails with
/// scclErrorUnsupported if this machine has none or an older one.
Status loadGPUDriver(scclDeviceKind kind, const GPUDriver *&driver);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_DEVICES_GPUDRIVER_H
