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
// LL words order less than flags do: no thread waits for another one of its
// block, so the word that a thread reads says only what its writer had to know
// in order to write that word. A transfer knows what its channel knows by flags
// and what the very LL words that it reads tell; the next transfer of the
// channel does not know the latter. When the rank ends, all its threads are
// done, and it knows everything.
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
  /// Forgets what `other` does not know.
  void meet(const VectorClock &other) {
    for (size_t i = 0; i < counts.size(); ++i)
      counts[i] = std::min(counts[i], other.counts[i]);
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
  /// What is known where the last op of `channel` executes: what the channel
  /// knows, and what the LL words tell that the op reads.
  const VectorClock &during(ChannelOp channel) const {
    return hasLL ? inTransfer[index(channel)] : at(channel);
  }
  /// Likewise, but only what is known wherever the op writes: each chunk's
  /// LL words tell something else.
  const VectorClock &throughout(ChannelOp channel) const {
    return hasLL ? inEveryChunk[index(channel)] : at(channel);
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
  /// True if `rank`, by its end, has heard of the launch of `peer`, whenever
  /// the chunks at `position` of a segment have bytes. Those at lower positions
  /// have some then, too; a chunk without bytes has no LL words, which tell
  /// nothing.
  bool hearsOf(RankOp rank, unsigned peer, unsigned position) const;
  /// As far as the clocks know it: 1 in programs without LL words.
  unsigned chunksPerSegment() const { return perSegment; }
  /// What is known when all channels of `rank` are where they are now.
  VectorClock endOf(RankOp rank) const;

private:
  void joinAll();
  void advanceWithLL(size_t self, mlir::Operation *op);
  void hear(size_t self, const VectorClock &clock, unsigned position);

  bool hasLL;
  unsigned perSegment = 1;
  std::vector<VectorClock> inTransfer, inEveryChunk, ends; ///< by channel
  /// By rank and slot of scratch: what its LL words tell.
  std::map<std::pair<unsigned, unsigned>, VectorClock> ll;
  /// By rank and peer: the lowest position of a chunk that tells of the peer.
  std::map<std::pair<unsigned, unsigned>, unsigned> heard;
  llvm::DenseMap<mlir::Operation *, size_t> channels; // looked up, not iterated
  std::vector<unsigned> ranks;                        ///< of each channel
  std::vector<unsigned> barriers;                     ///< passed by each
  unsigned barriersJoined = 0;
  std::vector<VectorClock> clocks;
  std::map<std::pair<FlagId, unsigned>, VectorClock> signals;
};

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_VECTORCLOCK_H
