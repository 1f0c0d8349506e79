//===- Transfer.h - Slots, transfers and flags of programs ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the op interfaces of programs speak of.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_TRANSFER_H
#define SCCL_DIALECT_COLL_TRANSFER_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

#include "sccl/Dialect/Coll/CollEnums.h.inc"

namespace sccl::coll {

/// Slots in one buffer of one rank: `count` side by side from `slot` on, and
/// that `times` times, each time `stride` slots further on. The verifier keeps
/// the number of slots in 32 bits.
struct SlotRange {
  unsigned rank;
  Buffer buffer;
  unsigned slot;
  unsigned count;
  unsigned times = 1;
  unsigned stride = 0;

  /// The number of slots.
  unsigned size() const { return count * times; }
  /// The `i`-th slot.
  unsigned operator[](unsigned i) const {
    return i < count ? slot + i : slot + i / count * stride + i % count;
  }
  /// True if one of the slots is not below `begin`, but below `end`.
  bool touches(int64_t begin, int64_t end) const {
    // The first repetition that does not end below `begin`.
    int64_t gap = begin - slot - count;
    int64_t time = gap < 0 ? 0 : times > 1 ? gap / stride + 1 : 1;
    return time < times && slot + time * stride < end;
  }
  bool operator==(const SlotRange &) const = default;
};

/// What one transfer op does to memory. It moves size() chunks; number i is
/// chunkAt(i) and lies in slot [i] of each range.
struct Transfer {
  unsigned chunk;
  unsigned count;
  unsigned step;
  llvm::SmallVector<SlotRange, 2> reads; ///< two and more if it reduces
  SlotRange write;
  bool isFinal = false; ///< of a reduction, see coll.local_reduce
  unsigned times = 1;
  unsigned chunkStride = 0;
  bool bySwitch = false; ///< coll.multicast or coll.load_reduce

  bool reduces() const { return reads.size() > 1; }
  unsigned size() const { return count * times; }
  unsigned chunkAt(unsigned i) const {
    return i < count ? chunk + i : chunk + i / count * chunkStride + i % count;
  }
  /// The repetition number `i`, from 0, as a transfer that is not repeated.
  Transfer repetition(unsigned i) const;
  /// Chunk number `i` of each repetition.
  Transfer column(unsigned i) const;
};

/// A word in the memory of rank `dst` that only the channel of rank `src` to
/// rank `channel` writes.
struct FlagId {
  Flag kind;
  unsigned src;
  unsigned channel;
  unsigned dst;
  auto operator<=>(const FlagId &) const = default;
};

} // namespace sccl::coll

#endif // SCCL_DIALECT_COLL_TRANSFER_H
