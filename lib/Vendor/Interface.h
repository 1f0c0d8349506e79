//===- Interface.h - The interface of NCCL that programs use -*- C++ -* ---===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Written from NCCL's documentation of its API (2.18 to 2.28); no vendor's
// header is in the tree. RCCL has the same names and numbers.

#ifndef SCCL_LIB_VENDOR_INTERFACE_H
#define SCCL_LIB_VENDOR_INTERFACE_H

#include <cstddef>

#define SCCL_VENDOR_API extern "C" __attribute__((visibility("default")))

using ncclComm_t = void *;
using ncclStream_t = void *; ///< cudaStream_t or hipStream_t
using ncclConfig_t = void;

struct ncclUniqueId {
  char internal[128];
};

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

/// As scclDataType.
enum ncclDataType_t : int {};

/// Numbers of 5 and more are those of reductions that programs define.
enum ncclRedOp_t : int {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
};

#endif // SCCL_LIB_VENDOR_INTERFACE_H
