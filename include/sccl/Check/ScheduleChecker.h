//===- ScheduleChecker.h - Independent check of a schedule ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replays a schedule from the definitions alone. Depends on the Model only and
// shares no code with any solver, so that a common mistake cannot approve
// itself (check A1).
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CHECK_SCHEDULECHECKER_H
#define SCCL_CHECK_SCHEDULECHECKER_H

#include "sccl/Model/Schedule.h"

#include <optional>
#include <string>

namespace sccl {

/// The first rule that a schedule breaks. Fields that do not apply are empty.
struct Violation {
  enum class Rule {
    MalformedSend, ///< rank or chunk number out of range
    AbsentLink,    ///< the topology has no such link, or no such switch
    ZeroRounds,    ///< a step of no rounds
    ChunkNotHeld,  ///< the sender does not hold, or has not kept, what it sends
    RedundantSend, ///< the receiver already holds it, or gets it twice
    Contribution,  ///< a contribution would be counted twice
    WrongAction,   ///< a reduce or keep where the collective does not combine
    Bandwidth,     ///< a limit is exceeded in a step, or in a period
    Postcondition, ///< a rank lacks a chunk, or part of it, at the end
  };
  Rule rule;
  std::string message;
  std::optional<unsigned> step;
  std::optional<unsigned> rank;
  std::optional<unsigned> chunk;
  std::optional<Link> link;
  /// Index into the step's sends, where the rule concerns one send.
  std::optional<size_t> send;
};

/// Returns the first violation in step order, or nothing if `schedule`
/// implements `collective` on `topology`:
///  - every send uses a link of the topology and a chunk that its source holds
///    before the step (paper, section 3.3); where it sends a sum of what it has
///    kept, each of that is there and no contribution twice;
///  - no rank receives what it already holds;
///  - in a step of r rounds the links of a limit with bandwidth b carry at most
///    b * r chunks;
///  - if it is pipelined with period p, at most b * p in all steps together, so
///    that steps of different pieces have room at the same time;
///  - at the end every rank holds the chunks of its postcondition; in combining
///    collectives with the contribution of every rank exactly once.
/// Time is linear in the sends (times the ranks / 64 if combining).
std::optional<Violation> checkSchedule(const Topology &topology,
                                       const Collective &collective,
                                       const Schedule &schedule);

} // namespace sccl

#endif // SCCL_CHECK_SCHEDULECHECKER_H
