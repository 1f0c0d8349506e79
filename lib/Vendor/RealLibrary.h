//===- RealLibrary.h - The vendor's library -*- C++ -* --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_VENDOR_REALLIBRARY_H
#define SCCL_LIB_VENDOR_REALLIBRARY_H

#include "Interface.h"

#include <memory>
#include <string>

namespace sccl::vendor {

/// The function `name` of the vendor's library, which is loaded when it is
/// asked for first: the one that $SCCL_NCCL_LIBRARY names, where "none" is no
/// library, or, if that is not set, libnccl.so.2 or librccl.so.1, unless
/// buffers are in memory of the host. Null if there is no library, or no such
/// function.
void *realFunction(const char *name);
/// Why the library that $SCCL_NCCL_LIBRARY names cannot be used; empty if it
/// can, or none is named.
std::string libraryProblem();
/// True if $SCCL_NCCL_DEVICE is "cpu".
bool usesHostMemory();
/// True if there is a library.
bool hasRealLibrary();

/// Calls the vendor's function, or returns ncclInvalidUsage, with a message,
/// where there is none.
template <typename... Arguments>
ncclResult_t callReal(const char *name, Arguments... arguments);

/// A communicator of the vendor's, which goes with this, without a word that
/// would hide why.
struct DestroyReal {
  void operator()(ncclComm_t real) const;
};
using RealComm = std::unique_ptr<void, DestroyReal>;

/// True if GPUs are those of CUDA: its driver is there, and $SCCL_NCCL_DEVICE
/// is not "hip".
bool usesCUDA();
/// The same in the driver of the GPUs: libcuda.so.1 or libamdhip64.so.
void *driverFunction(const char *cuda, const char *hip);

/// Keeps what ncclGetLastError says on this thread, and returns `code`.
ncclResult_t failWith(ncclResult_t code, const char *message);
const char *lastMessage();
/// Waits until a communicator of the vendor's, which need not wait itself, is
/// done with what has returned `code`; returns how that ended.
ncclResult_t settleReal(ncclComm_t real, ncclResult_t code);
/// Keeps what the vendor's library says about its last failure.
ncclResult_t keepRealMessage(ncclResult_t code);

template <typename... Arguments>
ncclResult_t callReal(const char *name, Arguments... arguments) {
  using Function = ncclResult_t (*)(Arguments...);
  auto function = reinterpret_cast<Function>(realFunction(name));
  if (!function)
    return failWith(ncclInvalidUsage, name);
  return keepRealMessage(function(arguments...));
}

} // namespace sccl::vendor

#endif // SCCL_LIB_VENDOR_REALLIBRARY_H
