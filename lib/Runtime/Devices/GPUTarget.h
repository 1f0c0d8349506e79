//===- GPUTarget.h - What code a GPU runs -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_DEVICES_GPUTARGET_H
#define SCCL_LIB_RUNTIME_DEVICES_GPUTARGET_H

#include "Runtime/Status.h"

#include "sccl/Plan/Plan.h"

namespace sccl {

/// The architecture of a GPU.
struct GPUTarget {
  std::string name;              ///< "sm_90" or "gfx942"
  unsigned major = 0, minor = 0; ///< compute capability; NVIDIA
  bool isCUDA = false;
  bool wantsUncached = false; ///< for memory that peers write; AMD

  static GPUTarget fromCapability(unsigned major, unsigned minor);
  /// From the bytes of a hipDeviceProp_t, which begins with a name of 256 bytes
  /// and has the architecture somewhere after it.
  static Status fromProperties(llvm::StringRef properties, GPUTarget &target);

  /// As Device::suitability. Machine code for NVIDIA GPUs runs on its major
  /// version from its minor version on, PTX on everything later; names with a
  /// letter ("sm_90a") on exactly that version. AMD's runs on its own only.
  unsigned suitability(const plan::KernelInfo &kernel) const;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_DEVICES_GPUTARGET_H
