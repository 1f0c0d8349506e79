//===- EventOrder.h - What has happened before what -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Happens-before in one launch of a program: program order within a channel,
// signal before wait, and barriers. Each channel counts its transfers, and its
// first op, whatever it is; this count is the time of an access.
//
// Whoever asks gets most answers at once, from direct evidence: an access is
// over if it was the channel's own, if the channel has waited for a signal that
// came after it, or if a barrier stands between. Vector clocks, which see what
// follows by way of other channels, would take memory for each pair of channels
// and signals. So questions that direct evidence leaves open are collected, and
// answered together in the end, by passes over the recorded program that
// follow a few components of the clocks each. The answers are exact.
//
// LL words order less than flags do: no thread waits for another one of its
// block, so the word that a thread reads says only what its writer had to know
// in order to write that word. A transfer knows what its channel knows by flags
// and what the very LL words that it reads tell; the next transfer of the
// channel does not know the latter. When the rank ends, all its threads are
// done, and it knows everything.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_EVENTORDER_H
#define SCCL_ANALYSIS_EVENTORDER_H

#include "sccl/Analysis/Program.h"

#include "llvm/ADT/DenseMap.h"

namespace sccl::coll {

/// A transfer as the others see it: the `time`-th op of a channel, after
/// `part` barriers.
struct Access {
  uint32_t channel;
  uint32_t time;
  uint32_t part;
};

/// Answers questions about one program. Expects advance() for each op in the
/// order of walkInExecutionOrder().
class EventOrder {
public:
  /// The number of a question, in the order of asking.
  using Question = uint32_t;
  /// The question that is answered with yes already.
  static constexpr Question yes = ~0u;

  /// The segments of `program` have `perSegment` chunks.
  EventOrder(ProgramOp program, unsigned perSegment);

  /// Executes `op`, the next one of `channel`.
  void advance(ChannelOp channel, mlir::Operation *op);
  uint32_t index(ChannelOp channel) const { return channels.at(channel); }
  /// The last op of `channel`.
  Access last(ChannelOp channel) const;

  /// Is `access` over before the op that was executed last?
  Question isBefore(const Access &access);
  /// Has the launch of `rank` begun before the op that was executed last,
  /// wherever it writes? With LL words each chunk tells something else.
  Question knowsLaunch(unsigned rank);

  // When the whole program has been executed:

  /// Is `access` over before `rank` ends?
  Question isBeforeEnd(const Access &access, unsigned rank);
  /// Has `rank`, by its end, heard of the launch of `peer`, whenever the chunks
  /// at `position` of a segment have bytes? Those at lower positions have some
  /// then, too; a chunk without bytes has no LL words, which tell nothing.
  Question hearsOf(unsigned rank, unsigned peer, unsigned position);

  /// Answers what has been asked so far.
  void answer();
  /// The answer to a question, after answer().
  bool isTrue(Question question) const {
    return question == yes || answers[question];
  }

private:
  /// One op, as far as clocks are concerned.
  struct Event {
    enum Kind : uint8_t { Other, Signal, Wait } kind;
    bool ticks;
    uint32_t channel;
    uint32_t number;   ///< of a signal, or of what a wait waits for
    uint32_t transfer; ///< in a program with LL words, or none
  };
  /// A component of a vector clock: the time of a channel, or whether the
  /// launch of a rank has begun.
  struct Component {
    bool isRank;
    uint32_t number;
    auto operator<=>(const Component &) const = default;
  };
  struct Asked {
    enum Kind : uint8_t { During, Throughout, End, Hears } kind;
    uint32_t event; ///< at which it was asked
    uint32_t rank;  ///< whose end it is about
    Component component;
    uint32_t least; ///< of the component, or a position
  };
  static constexpr uint32_t none = ~0u;

  class Pass; ///< over the events, for a few components

  Question ask(Asked question);
  void numberWords();
  void note(uint32_t channel, uint32_t signal);
  static uint64_t key(uint32_t a, uint32_t b) { return uint64_t(a) << 32 | b; }

  bool hasLL;
  unsigned perSegment;
  llvm::DenseMap<mlir::Operation *, uint32_t> channels; // only looked up
  std::vector<uint32_t> rankOf;                         ///< of each channel
  std::vector<uint32_t> times, parts;                   ///< of each channel
  std::vector<uint32_t> endParts;                       ///< of each rank

  /// Direct evidence, looked up only: by channel (or, for its end, rank) and
  /// other channel the time up to which the other is known; and the ranks of
  /// which it has heard.
  llvm::DenseMap<uint64_t, uint32_t> known, knownAtEnd;
  llvm::DenseMap<uint64_t, bool> heard, heardAtEnd;

  std::vector<Event> events;
  std::vector<Transfer> transfers; ///< in a program with LL words
  /// By rank and slot of scratch, a number among those that hold LL words.
  std::vector<std::vector<uint32_t>> wordNumbers;
  uint32_t numWords = 0;
  /// The channel and its time at each signal, by number.
  std::vector<std::pair<uint32_t, uint32_t>> signals;
  llvm::DenseMap<FlagKey, uint32_t> signalNumbers;

  std::vector<Asked> asked;
  std::vector<bool> answers;
};

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_EVENTORDER_H
