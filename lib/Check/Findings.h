//===- Findings.h - What a check of a schedule found ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CHECK_FINDINGS_H
#define SCCL_LIB_CHECK_FINDINGS_H

#include "sccl/Check/ScheduleChecker.h"

#include <cstdint>
#include <sstream>

namespace sccl::checker {

using Rule = Violation::Rule;

/// A place in a schedule: before send number `send` of step `step`. In 32 bits,
/// because there may be one for every send; more sends do not fit in memory.
struct Position {
  uint32_t step, send;
  auto operator<=>(const Position &) const = default;
};

/// A violation and the place up to which the schedule is in order.
struct Finding {
  Position at;
  Violation violation;
};

/// The parts of a message in a row.
template <typename... Parts> std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// A violation of which only the fields that apply are given.
Violation makeViolation(Rule rule, std::string message,
                        std::optional<unsigned> step,
                        std::optional<unsigned> rank = {},
                        std::optional<unsigned> chunk = {},
                        std::optional<Link> link = {},
                        std::optional<size_t> send = {});

/// A violation by one well-formed send, seen at `rank`.
Finding sendFinding(Rule rule, Position at, const Send &send,
                    std::optional<unsigned> rank, std::string message);

// The violations by a send that a replay of who holds what can find.
Finding notHeld(Position at, const Send &send);
Finding alreadyHeld(Position at, const Send &send);
Finding receivedTwice(Position at, const Send &send);
Finding notKept(Position at, const Send &send, unsigned number);
Finding keptTwice(Position at, const Send &send);
Finding countedTwice(Position at, const Send &send, unsigned rank,
                     unsigned contributor);

/// The violation that `rank` ends without `what` it must have of `chunk`.
Violation lacking(size_t numSteps, unsigned rank, unsigned chunk,
                  const std::string &what);

/// How many sends of `step` lie before `end`.
uint32_t sendsBefore(const Schedule &schedule, uint32_t step, Position end);

/// The second pass for a combining collective: the first violation before
/// `end`, where the first pass found `first`, or else what is missing at last.
std::optional<Violation> checkCombining(const Collective &collective,
                                        const Schedule &schedule, Position end,
                                        std::optional<Finding> first);

} // namespace sccl::checker

#endif // SCCL_LIB_CHECK_FINDINGS_H
