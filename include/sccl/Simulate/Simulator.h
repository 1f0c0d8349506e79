//===- Simulator.h - How long a program takes -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A discrete-event simulation of what the channels of a program do. Channels
// run at once; each executes its actions in order. A transfer is a flow of
// bytes over a link. Flows that run at the same time share the bandwidth of
// limits fairly (max-min: nobody's rate can grow but at the cost of somebody
// who has no more), and keep their rates until a flow begins or ends. Steps and
// rounds play no part: a channel goes on as soon as the flags that it waits for
// have come. A thread block keeps so many bytes in flight, which limits a flow
// beside what it goes through. So the time may be less than S * alpha + (R/C) *
// L * beta, where steps overlap, and it may be more, where a channel waits in
// vain.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SIMULATE_SIMULATOR_H
#define SCCL_SIMULATE_SIMULATOR_H

#include "sccl/Model/Topology.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace sccl {

/// How fast the parts of a machine are. Times are in microseconds, rates in
/// bytes per microsecond, which are MB/s.
struct Timing {
  std::vector<double> latencies; ///< of links, by their indices
  std::vector<double> rates;     ///< of limits, by their indices
  /// Of a rank within its memory, where a copy reads and writes each byte once;
  /// 0: no time.
  double copyRate = 0;
  /// What a thread block loads from the memory of its rank, and what it sends
  /// over a link or gets; 0: no limit.
  double loadRate = 0, sendRate = 0;
  double wordRate = 0; ///< the same of LL words, which it polls
  /// Of a load until what it loads is there: a transfer takes as long, and one
  /// that adds up several as many times as their loads wait for each other.
  double accessTime = 0;
  double startTime = 0;   ///< from a transfer's turn to its first byte
  double barrierTime = 0; ///< from the last to come to the first to go on
  /// From the turn of a signal until the flag leaves: what a channel has
  /// written before must be there. Signals that follow each other wait
  /// together. One warp of a block does so, while the others go on with a
  /// transfer, or one of them polls a flag; after that they meet.
  double signalTime = 0;
  /// From the arrival of a flag until the threads of the block go on. Waits
  /// that follow each other end together.
  double waitTime = 0;
  double launchTime = 0; ///< of the whole, before the first channel begins

  /// What a flag takes beside its latency.
  double flagTime() const { return signalTime + waitTime; }
  /// What the shortest transfer takes beside the latency of its link.
  double leastTime() const { return startTime + accessTime; }
  /// The same, with `hopTime` more for each latency.
  Timing withHops(double hopTime) const;

  /// Links of one `latency`, and limits of `unitRate` for each unit of their
  /// bandwidth.
  static Timing uniform(const Topology &topology, double latency,
                        double unitRate);
};

/// What a channel does next.
struct Action {
  enum class Kind : uint8_t {
    Push,    ///< bytes over `link`
    Pull,    ///< the same, but it is the receiver's channel that asks for them:
             ///< a latency before the first byte, and one after the last
    Copy,    ///< bytes within the channel's rank
    Signal,  ///< makes `flag` at least `value`, after the latency of `link`
    Wait,    ///< until `flag` is at least `value`
    Barrier, ///< until all channels are at this barrier
    Pause,   ///< `pause` microseconds
  };
  /// Of a signal between channels of one rank: it arrives at once.
  static constexpr unsigned noLink = ~0u;

  Kind kind;
  unsigned link = noLink;
  /// Of what a switch copies or reduces: it takes from these limits, by their
  /// number in Traffic::switched, from 1; 0: from those of `link`, which only
  /// has its latency.
  unsigned switched = 0;
  unsigned flag = 0;
  unsigned value = 0;
  double bytes = 0;
  double inputs = 1;     ///< of a transfer: it loads so many times `bytes`
  unsigned accesses = 1; ///< of its loads, that wait for each other
  /// It moves so many slices, which are apart in memory, of which the teams of
  /// a block have one each.
  unsigned pieces = 1, teams = 1;
  /// Of LL words. They tell of themselves, so that a signal and a wait take no
  /// time of their own.
  bool isWords = false;
  /// Where `share` of the channel's blocks can have all of it under way at
  /// once, its loads are waited for together with those of the transfer before.
  bool isBeside = false;
  double share = 1;
  double pause = 0;

  /// Makes a transfer of `bytes` of data one of so many operands (0 is 1). LL
  /// words have twice the bytes of their data, whether they are read or
  /// written, and teams copy them.
  void setOperands(unsigned operands, bool readsWords, bool writesWords);
  /// Of a transfer that has its operands: some are of f32 beside smaller
  /// elements. It then has `moved` times its bytes, and loads `loaded` times
  /// what it had of one operand.
  void setWidths(double moved, double loaded);

  /// What one thread block moves of this in a microsecond, at most; infinity if
  /// `timing` does not say.
  double blockRate(const Timing &timing) const;
};

/// What the channels of all ranks do in one launch.
struct Traffic {
  struct Channel {
    unsigned rank;
    std::vector<Action> actions = {};
    unsigned spread = 1; ///< it has so many times `blocks`
  };
  std::vector<Channel> channels;
  unsigned numFlags = 0;
  unsigned blocks = 1;                              ///< thread blocks
  std::vector<std::vector<unsigned>> switched = {}; ///< limits, ascending
};

struct SimulationResult {
  /// From the launch until all channels have come to their ends.
  double microseconds = 0;
  /// That went through each limit, by their indices.
  std::vector<double> bytesOfLimit;
  /// What was looked at: beginnings and ends of transfers, and flags that
  /// arrived.
  uint64_t events = 0;
};

struct SimulationOptions {
  /// What the bytes of all transfers are multiplied by.
  double scale = 1;
  /// Asked now and then whether to give up, if there is somebody to ask.
  std::function<bool()> isOver = {};
  /// Told of each action that a channel has done, by their numbers, with the
  /// microseconds from when to when, if there is somebody to tell.
  std::function<void(unsigned channel, size_t action, double begin, double end)>
      watch = {};
};

/// Runs `traffic` once on `topology`. Fails if the channels get stuck, or if it
/// has to give up. Linear in the actions, but for the flows that share limits
/// with one that begins or ends.
Result<SimulationResult> simulate(const Topology &topology,
                                  const Traffic &traffic, const Timing &timing,
                                  const SimulationOptions &options = {});

} // namespace sccl

#endif // SCCL_SIMULATE_SIMULATOR_H
