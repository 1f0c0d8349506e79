//===- Program.h - Reading a coll.program -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes and conversions need to know about a program: which locations an
// op reads and writes, which flag it sets or polls, and an order in which the
// whole program can run.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_PROGRAM_H
#define SCCL_ANALYSIS_PROGRAM_H

#include "sccl/Dialect/Coll/CollOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

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
  bool operator==(const SlotRange &) const = default;
};

/// What one transfer op does to memory. It moves size() chunks; number i is
/// chunkAt(i) and lies in slot [i] of each range.
struct Transfer {
  unsigned chunk;
  unsigned count;
  unsigned step;
  llvm::SmallVector<SlotRange, 2> reads; ///< two if it combines
  SlotRange write;
  bool isFinal = false; ///< of a combine, see coll.local_reduce
  unsigned times = 1;
  unsigned chunkStride = 0;

  unsigned size() const { return count * times; }
  unsigned chunkAt(unsigned i) const {
    return i < count ? chunk + i : chunk + i / count * chunkStride + i % count;
  }
  /// The repetition number `i`, from 0, as a transfer that is not repeated.
  Transfer repetition(unsigned i) const;
};

/// The transfer that `op` performs, or nothing if it is no transfer.
std::optional<Transfer> getTransfer(mlir::Operation *op);

/// True if `range` holds LL words: a transfer that reads it waits for the one
/// that writes it.
inline bool holdsLL(ProgramOp program, const SlotRange &range) {
  return program.getLl() && range.buffer == Buffer::Scratch;
}

/// True if `program` has a signal, a wait or a barrier.
bool isSynchronized(ProgramOp program);

/// The rank that executes `channel`.
unsigned getRank(ChannelOp channel);

/// A word in the memory of rank `dst` that only the channel of rank `src` to
/// rank `channel` writes.
struct FlagId {
  Flag kind;
  unsigned src;
  unsigned channel;
  unsigned dst;
  auto operator<=>(const FlagId &) const = default;
};

/// The flag that an op sets or polls.
FlagId getFlag(SignalOp signal);
FlagId getFlag(WaitOp wait);

/// All flags of a program.
class FlagTable {
public:
  explicit FlagTable(ProgramOp program);
  /// The number of signals on a flag in one launch, K of the epoch protocol; 0
  /// if there are none.
  unsigned signals(const FlagId &flag) const;
  /// The number of a flag of the program among those in the memory of its
  /// `dst`. Flags that one channel polls have neighbouring numbers.
  unsigned index(const FlagId &flag) const;
  /// The number of flags in the memory of `rank`.
  unsigned numFlags(unsigned rank) const;

private:
  struct Entry {
    unsigned index = 0;
    unsigned signals = 0;
  };
  std::map<FlagId, Entry> flags;
  std::vector<unsigned> flagsOfRank;
};

/// Calls `visit` on every op of every channel, in an order in which the program
/// can really execute: each wait after the signal it waits for, and each
/// transfer that reads LL words after those that write them. Emits an error and
/// fails if there is none: a wait for a signal that nobody gives or LL words
/// that nobody sends (check D2), or a cycle of waits (check D1). Flags only
/// grow, and LL words stay, so one order exists if and only if no execution
/// gets stuck.
llvm::LogicalResult walkInExecutionOrder(
    ProgramOp program,
    llvm::function_ref<void(ChannelOp, mlir::Operation *)> visit);

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_PROGRAM_H
