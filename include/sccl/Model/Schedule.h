//===- Schedule.h - Steps of sends ------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is the algorithm (Q, T) of the SCCL paper, section 3.3: per step
// the number of rounds and the sends. All sends of a step read the state before
// the step.
//
// A schedule may also be *pipelined*: every chunk is cut into m pieces, and
// piece p is in step s while piece p + 1 is in step s - 1, so that all steps
// are under way at once, each for another piece. What limits it is then not the
// sum of the rounds, but the *period*: the rounds that the fullest limit needs
// for the sends of all steps together. Pieces enter at such a distance, and all
// is over after (m + S - 1) of them: the time of one period is alpha + (P/C) *
// L * beta / m. P/C is called the *load*. Pipelining within a step-by-step
// schedule is old (van de Geijn; Jia et al.); the load is what throughput-
// optimal trees minimise (Zhao et al., "ForestColl", arXiv:2402.06787).
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SCHEDULE_H
#define SCCL_MODEL_SCHEDULE_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Rational.h"
#include "sccl/Model/Topology.h"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace sccl {

/// What a send does at its destination.
enum class SendAction : uint8_t {
  Copy,   ///< the destination's value of the chunk becomes the sent one
  Reduce, ///< the sent value is combined into the destination's value
  Keep,   ///< the destination's value stays; what is sent is only kept
};

/// What a send carries. Differs only in combining collectives.
enum class SendPayload : uint8_t {
  Current, ///< the sender's value of the chunk before the step
  Input,   ///< the sender's own untouched input, and what `kept` names
  Kept,    ///< what `kept` names, and nothing else
};

/// Who moves the chunk. Changes nothing about what arrives.
enum class SendTransport : uint8_t {
  Any,  ///< not said
  Push, ///< the sender's threads write
  Pull, ///< the receiver's threads read
  DMA,  ///< a copy engine
  /// The sender writes once, and a switch copies. All sends of a step that
  /// carry the same from one rank through one switch are one.
  Multicast,
  /// The receiver reads once, and a switch reduces what it gets for it. All
  /// sends of a step that reduce one chunk into one rank through one switch are
  /// one.
  LoadReduce,
};

/// True for transports that need a `Switch` of the topology.
constexpr bool isInNetwork(SendTransport transport) {
  return transport == SendTransport::Multicast ||
         transport == SendTransport::LoadReduce;
}

/// What moves the chunk where the send is turned round.
constexpr SendTransport turnedRound(SendTransport transport) {
  if (transport == SendTransport::Multicast)
    return SendTransport::LoadReduce;
  return transport == SendTransport::LoadReduce ? SendTransport::Multicast
                                                : transport;
}

/// One chunk over one link in one step.
///
/// In a combining collective a rank may hold several partial sums of a chunk:
/// its value, the running sum of its input and of what is combined into it, and
/// beside that what it has kept of single arrivals, by numbers. Each send
/// carries the value, or the sum of kept arrivals with or without the input. So
/// every schedule can be written whose sends carry partial sums of one chunk.
struct Send {
  /// Largest number of arrivals of one chunk that a rank keeps at a time.
  static constexpr unsigned maxKept = 32;

  uint32_t chunk;
  uint32_t src;
  uint32_t dst;
  SendAction action = SendAction::Copy;
  SendPayload payload = SendPayload::Current;
  SendTransport transport = SendTransport::Any;
  /// The number under which the destination keeps what arrives, from 1 on,
  /// until it keeps something else under it; 0 if it does not keep it.
  uint8_t keep = 0;
  /// Of what the sender has kept before the step, what is sent: bit k - 1 for
  /// number k. 0 if the payload is the current value.
  uint32_t kept = 0;
  auto operator<=>(const Send &) const = default;

  bool carriesInputOnly() const {
    return payload == SendPayload::Input && kept == 0;
  }
  /// Calls `visit` with the number of each kept arrival that is sent.
  template <typename Visit> void forEachKept(Visit visit) const {
    for (uint32_t left = kept; left != 0; left &= left - 1)
      visit(unsigned(std::countr_zero(left)) + 1);
  }
};

/// Chunks at equal distances: `first`, `first + stride`, and so on.
struct ChunkRange {
  uint32_t first;
  uint32_t count = 1;
  uint32_t stride = 1;

  uint32_t operator[](uint32_t i) const { return first + i * stride; }
  bool operator==(const ChunkRange &) const = default;
};

/// Covers `chunks`, which must ascend, from the left: each range is as long as
/// it can be, but pairs of chunks that are not neighbours stay apart.
std::vector<ChunkRange> toRanges(const std::vector<uint32_t> &chunks);

/// One synchronous phase.
struct Step {
  unsigned rounds = 1;
  std::vector<Send> sends;
  bool operator==(const Step &) const = default;
};

/// Steps that implement a collective on a topology.
struct Schedule {
  /// Largest number of sends accepted anywhere; it bounds the memory that an
  /// input file can make us use.
  static constexpr uint64_t maxSends = uint64_t(1) << 26;

  std::vector<Step> steps;
  /// P, if pieces follow each other: a limit of bandwidth b carries at most
  /// b * period chunks in all steps together. 0 if they do not.
  unsigned period = 0;

  bool isPipelined() const { return period != 0; }
  /// R, the sum of the rounds of all steps.
  unsigned rounds() const;
  /// The number of sends of all steps.
  size_t numSends() const;
  /// True if some rank keeps arrivals apart from its value.
  bool keepsArrivals() const;
  /// Sorts the sends of each step by (chunk, src, dst), so that equal schedules
  /// print alike.
  void normalize();
  bool operator==(const Schedule &) const = default;
};

/// What a schedule costs in the alpha-beta model: steps * alpha +
/// bandwidth * L * beta, with L the bytes of one send buffer (paper, section
/// 3.4).
struct Cost {
  unsigned steps;     ///< S
  Rational bandwidth; ///< R / C
  bool operator==(const Cost &) const = default;
};

/// What a pipelined schedule costs: (m + steps - 1) * (alpha + load * L * beta
/// / m) for m pieces.
struct PipelinedCost {
  unsigned steps; ///< S, also called depth
  Rational load;  ///< P / C
  bool operator==(const PipelinedCost &) const = default;
};

/// The least period of `schedule`: the rounds that its fullest limit on
/// `topology` needs for all steps together, at least 1. Every send must be over
/// a link of the topology.
unsigned leastPeriod(const Schedule &schedule, const Topology &topology);

/// The same, but not rounded up to whole rounds: what counts where pieces are
/// bytes.
double exactPeriod(const Schedule &schedule, const Topology &topology);

/// Gives each step the fewest rounds, at least 1, that the limits allow. Every
/// send must be over a link of the topology.
void fitRounds(Schedule &schedule, const Topology &topology);

/// The cost of `schedule`, which must be pipelined.
PipelinedCost pipelinedCostOf(const Schedule &schedule,
                              const Collective &collective);

/// The cost of `schedule` as an implementation of `collective`, step by step.
Cost costOf(const Schedule &schedule, const Collective &collective);

/// A table "step x link" of the chunks sent, for people.
std::string toTable(const Schedule &schedule, const Topology &topology);

} // namespace sccl

#endif // SCCL_MODEL_SCHEDULE_H
