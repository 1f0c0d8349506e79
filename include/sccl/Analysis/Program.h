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

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sccl::coll {

/// The transfer that `op` performs, or nothing if it is no transfer.
std::optional<Transfer> getTransfer(mlir::Operation *op);

/// True if `range` holds LL words: a transfer that reads it waits for the one
/// that writes it.
inline bool holdsLL(ProgramOp program, const SlotRange &range) {
  return program.getLl() && range.buffer == Buffer::Scratch;
}

/// True if `range` holds f32 where other elements are smaller.
inline bool isWide(RankOp owner, const SlotRange &range) {
  return range.buffer == Buffer::Scratch && range.slot < owner.getWide();
}

/// Where slot `slot` of a rank's scratch begins, and with all of its slots how
/// many bytes it has, in bytes of a chunk of elements.
inline unsigned scratchChunks(ProgramOp program, RankOp owner, unsigned slot) {
  unsigned wide = std::min<unsigned>(slot, owner.getWide());
  return program.getLl() ? 2 * slot : slot + (program.getSumWidth() - 1) * wide;
}

/// The ranks of `program`, by number.
llvm::SmallVector<RankOp, 0> ranksOf(ProgramOp program);

/// Calls `visit` on every channel, in the order of the text. MLIR's own walk
/// also looks at each op within, of which there may be millions.
template <typename Visit> void forEachChannel(ProgramOp program, Visit visit) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      visit(channel);
}

/// Calls `visit` on the ops of all channels that are of type `OpTy`, in the
/// order of the text.
template <typename OpTy, typename Visit>
void forEachOp(ProgramOp program, Visit visit) {
  forEachChannel(program, [&](ChannelOp channel) {
    for (OpTy op : channel.getBody().getOps<OpTy>())
      visit(op);
  });
}

/// Calls `visit` on every rank, on threads of the context where it has some.
/// What happens for different ranks must not interfere.
void forEachRankApart(ProgramOp program,
                      llvm::function_ref<void(RankOp)> visit);

/// The number of ranks of `program`.
size_t countRanks(ProgramOp program);

/// True if `program` has a signal, a wait or a barrier.
bool isSynchronized(ProgramOp program);

/// The rank that executes `channel`.
unsigned getRank(ChannelOp channel);

/// The flag that an op sets or polls.
inline FlagId getFlag(FlagOpInterface op) { return op.getFlagId(); }

/// A flag as the key of a hash table.
using FlagKey = std::pair<uint64_t, uint64_t>;
inline FlagKey keyOf(const FlagId &flag) {
  return {uint64_t(flag.src) << 32 | flag.channel,
          uint64_t(flag.dst) << 1 | uint64_t(flag.kind)};
}
/// And one value of it.
inline FlagKey keyOf(const FlagId &flag, unsigned value) {
  FlagKey key = keyOf(flag);
  return {key.first, key.second << 32 | value};
}

/// How many times the blocks of a program execute all channels of `rank`.
uint64_t countSpread(RankOp rank);

/// All flags of a program.
class FlagTable {
public:
  explicit FlagTable(ProgramOp program);
  /// The number of signals on a flag in one launch, K of the epoch protocol; 0
  /// if there are none.
  unsigned signals(const FlagId &flag) const;
  /// The number of a flag of the program among those in the memory of its
  /// `dst`. Flags that one channel polls have neighbouring numbers; one of a
  /// channel that is spread has as many, of which this is the first.
  unsigned index(const FlagId &flag) const;
  /// The number of flags in the memory of `rank`.
  unsigned numFlags(unsigned rank) const;
  /// Of the channel that sets `flag`.
  unsigned spread(const FlagId &flag) const;

private:
  struct Entry {
    unsigned index = 0;
    unsigned signals = 0;
  };
  llvm::DenseMap<FlagKey, Entry> flags; ///< only looked up
  /// By rank and peer, of channels that are spread; only looked up.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> spreads;
  std::vector<unsigned> flagsOfRank;
};

/// Calls `visit` on every op of every channel, until it interrupts, in an order
/// in which the program can really execute: each wait after the signal it waits
/// for, and each transfer that reads LL words after those that write them.
/// Emits an error and fails if there is none: a wait for a signal that nobody
/// gives or LL words that nobody sends (check D2), or a cycle of waits (check
/// D1). Flags only grow, and LL words stay, so one order exists if and only if
/// no execution gets stuck. With `isQuiet` it fails without an error.
llvm::LogicalResult walkInExecutionOrder(
    ProgramOp program,
    llvm::function_ref<mlir::WalkResult(ChannelOp, mlir::Operation *)> visit,
    bool isQuiet = false);

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_PROGRAM_H
