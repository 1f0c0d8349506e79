//===- BlockShare.h - Some of the blocks of a channel -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_BLOCKSHARE_H
#define SCCL_ABI_BLOCKSHARE_H

#include <cstdint>

namespace sccl {

/// The blocks from `begin` on and before `end`, in 256ths of those that a
/// launch has for a channel; at least one.
struct BlockShare {
  static constexpr unsigned units = 256, bits = 16, endShift = 8;

  unsigned begin = 0; ///< below 256
  unsigned end = units;

  /// As programs have it: `begin`, and above `endShift` how much `end` is below
  /// 256. 0 is all blocks.
  uint32_t word() const { return begin | (units - end) << endShift; }
};

} // namespace sccl

#endif // SCCL_ABI_BLOCKSHARE_H
