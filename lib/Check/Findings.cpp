//===- Findings.cpp - What a check of a schedule found --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Findings.h"

using namespace sccl;
using namespace sccl::checker;

Violation checker::makeViolation(Rule rule, std::string message,
                                 std::optional<unsigned> step,
                                 std::optional<unsigned> rank,
                                 std::optional<unsigned> chunk,
                                 std::optional<Link> link,
                                 std::optional<size_t> send) {
  return Violation{rule, std::move(message), step, rank, chunk, link, send};
}

Finding checker::sendFinding(Rule rule, Position at, const Send &send,
                             std::optional<unsigned> rank,
                             std::string message) {
  return Finding{at,
                 makeViolation(rule, std::move(message), at.step, rank,
                               send.chunk, Link{send.src, send.dst}, at.send)};
}

Finding checker::notHeld(Position at, const Send &send) {
  bool input = send.payload == SendPayload::Input;
  return sendFinding(
      Rule::ChunkNotHeld, at, send, send.src,
      text("rank ", send.src,
           (input ? " has no input for chunk " : " does not hold chunk "),
           send.chunk, (input ? " to send in step " : " before step "),
           at.step));
}

Finding checker::alreadyHeld(Position at, const Send &send) {
  return sendFinding(Rule::RedundantSend, at, send, send.dst,
                     text("rank ", send.dst, " already holds chunk ",
                          send.chunk, " before step ", at.step));
}

Finding checker::receivedTwice(Position at, const Send &send) {
  return sendFinding(Rule::RedundantSend, at, send, send.dst,
                     text("rank ", send.dst, " receives chunk ", send.chunk,
                          " twice in step ", at.step));
}

Finding checker::notKept(Position at, const Send &send, unsigned number) {
  return sendFinding(Rule::ChunkNotHeld, at, send, send.src,
                     text("rank ", send.src, " has kept nothing of chunk ",
                          send.chunk, " as number ", number, " before step ",
                          at.step));
}

Finding checker::keptTwice(Position at, const Send &send) {
  return sendFinding(Rule::RedundantSend, at, send, send.dst,
                     text("rank ", send.dst, " keeps two arrivals of chunk ",
                          send.chunk, " as number ", unsigned(send.keep),
                          " in step ", at.step));
}

Finding checker::countedTwice(Position at, const Send &send, unsigned rank,
                              unsigned contributor) {
  return sendFinding(
      Rule::Contribution, at, send, rank,
      text("rank ", rank, " would count the contribution of rank ", contributor,
           " to chunk ", send.chunk, " twice in step ", at.step));
}

Violation checker::lacking(size_t numSteps, unsigned rank, unsigned chunk,
                           const std::string &what) {
  std::optional<unsigned> last;
  if (numSteps != 0)
    last = numSteps - 1;
  return makeViolation(Rule::Postcondition,
                       text("rank ", rank, " lacks ", what, "chunk ", chunk,
                            " after ", last ? text("step ", *last) : "0 steps"),
                       last, rank, chunk);
}

uint32_t checker::sendsBefore(const Schedule &schedule, uint32_t step,
                              Position end) {
  return step < end.step
             ? static_cast<uint32_t>(schedule.steps[step].sends.size())
             : end.send;
}
