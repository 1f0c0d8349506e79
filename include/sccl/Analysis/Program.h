//===- Program.h - Reading a coll.program -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes and conversions need to know about a program: which locations an
// op reads and writes, how many signals a flag gets, and an order in which the
// whole program can run.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_PROGRAM_H
#define SCCL_ANALYSIS_PROGRAM_H

#include "sccl/Dialect/Coll/CollOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sccl::coll {

/// A range of slots in one buffer of one rank.
struct SlotRange {
  unsigned rank;
  Buffer buffer;
  unsigned slot;
  unsigned count;
};

/// What one transfer op does to memory.
struct Transfer {
  unsigned chunk;
  unsigned count;
  unsigned step;
  llvm::SmallVector<SlotRange, 2> reads;
  SlotRange write;
};

/// The transfer that `op` performs, or nothing if it is a signal or a wait.
std::optional<Transfer> getTransfer(mlir::Operation *op);

/// The rank that executes `channel`.
unsigned getRank(ChannelOp channel);

/// The number of arrivals that each channel signals in one launch.
class SignalCounts {
public:
  explicit SignalCounts(ProgramOp program);
  /// K of the flag that rank `src` sets in the memory of rank `dst`.
  unsigned arrivals(unsigned src, unsigned dst) const {
    return counts[src * numRanks + dst];
  }

private:
  unsigned numRanks;
  std::vector<unsigned> counts;
};

/// Calls `visit` on every op of every channel, in an order in which the program
/// can really execute: each wait after the signal it waits for. Emits an error
/// and fails if there is none: a wait for a signal that nobody gives (check D2)
/// or a cycle of waits (check D1). Flags only grow, so one order exists if and
/// only if no execution gets stuck.
llvm::LogicalResult walkInExecutionOrder(
    ProgramOp program,
    llvm::function_ref<void(ChannelOp, mlir::Operation *)> visit);

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_PROGRAM_H
