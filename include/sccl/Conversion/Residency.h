//===- Residency.h - How many blocks run at once ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_RESIDENCY_H
#define SCCL_CONVERSION_RESIDENCY_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace sccl::coll {

/// A product that programs for a chip are checked against.
struct ReferenceProduct {
  llvm::StringRef name;
  /// Its multiprocessors (compute units). Each holds one block at least,
  /// whatever registers that takes: so many blocks are resident together.
  unsigned blocks;
};

/// The product for `chip`, or nothing if none is known. It is the smallest that
/// we know to be sold for machines with several GPUs, but neither the smallest
/// with this chip nor sure to be whole: an A30 is an sm_80 with 56, and parts
/// of a divided GPU have fewer. libsccl asks the driver before it launches.
std::optional<ReferenceProduct> referenceProduct(llvm::StringRef chip);

} // namespace sccl::coll

#endif // SCCL_CONVERSION_RESIDENCY_H
