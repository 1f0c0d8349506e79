//===- Chip.h - What sccl knows of GPU chips --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of chips. A new chip is one row in lib/Model/Chip.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_CHIP_H
#define SCCL_MODEL_CHIP_H

#include "sccl/Model/Result.h"

#include <span>
#include <string_view>

namespace sccl {

/// How a chip keeps memory coherent with its peers, and so what its flag
/// protocol looks like in assembly.
enum class MemoryModel {
  PTX,       ///< the PTX memory model: acquire and release at scope sys
  L1Only,    ///< gfx906: glc loads, buffer_wbinvl1_vol
  L2,        ///< gfx90a: and buffer_wbl2, buffer_invl2
  ScopeBits, ///< gfx942: sc0 sc1 on everything
};

/// Kernels are compiled for as few registers (128 on NVIDIA) as let a
/// multiprocessor of any chip hold 512 threads, or one block that is larger.
constexpr unsigned blocksPerMultiprocessor(unsigned blockSize) {
  constexpr unsigned threads = 512;
  return blockSize < threads ? threads / blockSize : 1;
}

/// A product that programs for a chip are checked against: the smallest that we
/// know to be sold for machines with several GPUs. It is neither the smallest
/// with the chip nor sure to be whole: an A30 is an sm_80 with 56, and parts of
/// a divided GPU have fewer. libsccl asks the driver before it launches.
struct ReferenceProduct {
  std::string_view name;    ///< with its article, "an A100"
  unsigned multiprocessors; ///< compute units
  /// The blocks of `blockSize` threads that are resident together.
  unsigned residentBlocks(unsigned blockSize) const {
    return multiprocessors * blocksPerMultiprocessor(blockSize);
  }
};

/// One row of the table.
struct Chip {
  enum class Vendor { NVIDIA, AMD };
  std::string_view name; ///< as LLVM has it: "sm_90", "gfx942"
  Vendor vendor;
  std::string_view products; ///< one line
  ReferenceProduct reference;
  MemoryModel memoryModel;
  /// Memory that peers write while kernels run must be uncached: a cache may
  /// hold stale lines even of fine-grained memory.
  bool wantsUncached = false;
  /// False if today's ptxas no longer assembles for it.
  bool hasAssembler = true;

  bool isNVIDIA() const { return vendor == Vendor::NVIDIA; }
};

/// All chips that sccl compiles for, in the order of messages.
std::span<const Chip> allChips();

/// The chip of this name. Fails with the list of names; LLVM's back end would
/// end the process.
Result<Chip> findChip(std::string_view name);

} // namespace sccl

#endif // SCCL_MODEL_CHIP_H
