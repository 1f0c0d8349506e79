//===- VectorClock.h - All that a channel knows -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Happens-before by flags and barriers, as EventOrder.h defines it, with all
// that each channel knows at hand while the program is walked through. That is
// too much for programs on many ranks, so it has a limit. LL words, which tell
// more, are left out.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_VECTORCLOCK_H
#define SCCL_ANALYSIS_VECTORCLOCK_H

#include "sccl/Analysis/Program.h"

#include "llvm/ADT/DenseMap.h"

namespace sccl::coll {

/// How much of each channel of a program has happened before. Channels of which
/// nothing is known take no memory.
class VectorClock {
public:
  using Entry = std::pair<uint32_t, uint32_t>; ///< channel and time

  uint32_t operator[](uint32_t channel) const;
  void tick(uint32_t channel);
  void join(const VectorClock &other);
  llvm::ArrayRef<Entry> entries() const { return known; }
  size_t size() const { return known.size(); }

private:
  std::vector<Entry> known; ///< by channel
};

/// The clocks of all channels of a program while walkInExecutionOrder() goes
/// through it.
class ProgramClocks {
public:
  /// Clocks that know more than `limit` things together are given up.
  ProgramClocks(ProgramOp program, size_t limit);

  uint32_t index(ChannelOp channel) const { return channels.at(channel); }
  unsigned rankOf(uint32_t channel) const { return ranks[channel]; }
  const VectorClock &at(ChannelOp channel) const {
    return clocks[index(channel)];
  }
  /// Executes `op`, the next one of `channel`.
  void advance(ChannelOp channel, mlir::Operation *op);
  /// What `wait` tells a channel: the clock of its signal, which must have been
  /// executed.
  const VectorClock &signalled(WaitOp wait) const;
  /// What is known when all channels of `rank` are where they are now.
  VectorClock endOf(RankOp rank) const;
  /// True if the limit will be passed. Nothing else is right then.
  bool isExhausted() const { return committed > limit; }

private:
  void grow(uint32_t channel, size_t before);
  void joinAll();

  size_t limit;
  /// What is known, and what signals to come will tell at least: the clock of a
  /// channel never knows less again. That shows early whether the limit is
  /// enough.
  size_t committed = 0;
  llvm::DenseMap<mlir::Operation *, uint32_t> channels; // only looked up
  std::vector<unsigned> ranks;                          ///< of each channel
  std::vector<unsigned> barriers;                       ///< passed by each
  std::vector<unsigned> signalsLeft;                    ///< likewise
  unsigned barriersJoined = 0;
  std::vector<VectorClock> clocks;
  llvm::DenseMap<FlagKey, VectorClock> signals; // only looked up
};

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_VECTORCLOCK_H
