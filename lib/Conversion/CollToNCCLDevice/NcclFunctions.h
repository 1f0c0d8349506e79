//===- NcclFunctions.h - NCCL's device functions ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C functions of libnccl_device.bc, which NCCL has since 2.29, as clang
// sees them for NVPTX: structures are passed by value in memory. Pointers are
// generic.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_NCCLFUNCTIONS_H
#define SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_NCCLFUNCTIONS_H

#include "../Common/CodeBuilder.h"

namespace sccl::coll {

/// Builds calls of NCCL's functions. Structures are operands by their address.
class NcclFunctions {
public:
  using Value = mlir::Value;

  explicit NcclFunctions(CodeBuilder &code);

  /// Calls a function, and declares it in the module if it is not yet.
  Value call(llvm::StringRef name, mlir::ValueRange operands);
  /// The generic address of what is at `address`, in global memory.
  Value generic(Value address);
  /// A field of 8 bytes of the record at `net`, an address.
  Value loadPointer(Value net, uint64_t offset);
  /// Memory of a thread, for one of NCCL's structures.
  Value allocate(uint64_t bytes);
  Value null();

  mlir::Type pointer; ///< generic

private:
  CodeBuilder &code;
};

/// The values of C++ that functions take.
struct NcclNumbers {
  // cuda::thread_scope
  static constexpr int systemScope = 0;
  // cuda::memory_order
  static constexpr int acquire = 2, acquireRelease = 4;
  // ncclGinSignalOp_t
  static constexpr int signalInc = 0;
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_NCCLFUNCTIONS_H
