//===- ExchangeRounds.h - A program in rounds of messages -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that can only send and receive, and add up what they have. Whatever a
// program sums up into another rank's memory is first summed up in scratch
// memory of its own.
//
// All ranks number their rounds alike: a message is in the same round at both
// ends, after the round of whatever it reads or overwrites was read or written.
// A rank that goes through its rounds in order, and has all messages of a round
// under way before it waits for one, so never waits in a circle.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_EXCHANGEROUNDS_H
#define SCCL_LIB_EXCHANGE_EXCHANGEROUNDS_H

#include "sccl/Exchange/Buffer.h"
#include "sccl/Model/Schedule.h"

#include <vector>

namespace sccl::exchange {

/// The first of some chunks that are neighbours.
struct RunStart {
  Buffer buffer;
  uint32_t slot;
};

/// What happens to neighbouring chunks, of which the first is number `position`
/// of its segment. Two and more reads are summed up in their order.
struct RoundAction {
  enum Kind { Send, Receive, Local } kind;
  uint32_t position, count;
  std::vector<RunStart> places; ///< of a local one first what is written
  uint32_t peer = 0;            ///< of a message
  /// Of a sum, as AverageWord has them: by which powers of two an average
  /// divides the first and the other operands, and the number of contributions
  /// if it has all of them, else 0.
  uint32_t leftShift = 0, rightShift = 0, divisor = 0;
};

struct ExchangeRound {
  uint32_t number;
  std::vector<RoundAction> messages, locals;
};

struct ExchangeRounds {
  uint32_t chunksPerSegment;
  std::vector<uint32_t> scratch;                 ///< slots, by rank
  std::vector<std::vector<ExchangeRound>> ranks; ///< those with something to do
};

/// `program`, which `schedule` of `collective` has become, in rounds. Messages
/// of one link are in one round if they are of one step and piece, and else in
/// their order.
ExchangeRounds toRounds(const Collective &collective, const Schedule &schedule,
                        const Program &program);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_EXCHANGEROUNDS_H
