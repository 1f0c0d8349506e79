//===- VectorClock.h - What has happened before what ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Happens-before in one launch of a program: program order within a channel,
// signal before wait, and barriers. Each channel counts its transfers, and its
// first op, whatever it is; a clock holds, for each channel, how many of these
// are known to be done.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_VECTORCLOCK_H
#define SCCL_ANALYSIS_VECTORCLOCK_H

#include "sccl/Analysis/Program.h"

#include "llvm/ADT/DenseMap.h"

namespace sccl::coll {

/// For each channel of a program, how much of it has happened before.
class VectorClock {
public:
  explicit VectorClock(size_t channels = 0) : counts(channels, 0) {}
  uint32_t operator[](size_t channel) const { return counts[channel]; }
  void tick(size_t channel) { ++counts[channel]; }
  void join(const VectorClock &other) {
    for (size_t i = 0; i < counts.size(); ++i)
      counts[i] = std::max(counts[i], other.counts[i]);
  }
  /// True if all that `this` knows, `other` knows as well.
  bool isWithin(const VectorClock &other) const {
    for (size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > other.counts[i])
        return false;
    return true;
  }

private:
  std::vector<uint32_t> counts;
};

/// The clocks of all channels of a program while walkInExecutionOrder() goes
/// through it.
class ProgramClocks {
public:
  explicit ProgramClocks(ProgramOp program);

  size_t index(ChannelOp channel) const { return channels.at(channel); }
  const VectorClock &at(ChannelOp channel) const {
    return clocks[index(channel)];
  }
  /// Executes `op`, the next one of `channel`.
  void advance(ChannelOp channel, mlir::Operation *op);
  /// What `wait` tells a channel: the clock of its signal, which must have been
  /// executed.
  const VectorClock &signalled(WaitOp wait) const {
    return signals.at({getFlag(wait), wait.getValue()});
  }
  /// True if the channel knows that the launch of `rank` has begun: something
  /// that `rank` did in it happened before.
  bool knowsLaunch(ChannelOp channel, unsigned rank) const {
    return knowsLaunch(at(channel), rank);
  }
  bool knowsLaunch(const VectorClock &clock, unsigned rank) const;
  /// What is known when all channels of `rank` are where they are now.
  VectorClock endOf(RankOp rank) const;

private:
  void joinAll();

  llvm::DenseMap<mlir::Operation *, size_t> channels; // looked up, not iterated
  std::vector<unsigned> ranks;                        ///< of each channel
  std::vector<unsigned> barriers;                     ///< passed by each
  unsigned barriersJoined = 0;
  std::vector<VectorClock> clocks;
  std::map<std::pair<FlagId, unsigned>, VectorClock> signals;
};

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_VECTORCLOCK_H
