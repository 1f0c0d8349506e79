//===- RandomSchedule.h - Schedules that are nearly right -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends drawn at random break a rule at once. These schedules are grown along
// the rules and then broken in one place, so that every rule gets its turn.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_CHECK_RANDOMSCHEDULE_H
#define SCCL_TEST_CHECK_RANDOMSCHEDULE_H

#include "SlowReplay.h"

#include <random>

namespace sccl {

/// Lets `send` keep what it brings, or carry what is kept, now and then.
inline void keepSome(std::mt19937 &random, Send &send) {
  auto below = [&](size_t end) { return unsigned(random() % end); };
  if (below(2))
    send.keep = 1 + below(3);
  if (send.keep != 0 && below(3) == 0)
    send.action = SendAction::Keep;
  if (below(2) == 0)
    return;
  send.kept = 1 + below(7);
  send.payload = below(3) ? SendPayload::Kept : SendPayload::Input;
}

/// Random sends; those that the slow replay refuses are mostly taken out again,
/// so that schedules get long and some get through.
inline Schedule randomSchedule(std::mt19937 &random, const Topology &t,
                               const Collective &c) {
  auto below = [&](size_t end) { return unsigned(random() % end); };
  Schedule s;
  bool keeps = c.combining() && below(2);
  for (unsigned step = 0, steps = 1 + below(5); step < steps; ++step) {
    s.steps.push_back({1 + below(2), {}});
    for (unsigned i = 0, tries = 4 + below(30); i < tries; ++i) {
      Link link = t.links()[below(t.links().size())];
      s.steps.back().sends.push_back(
          {below(c.numChunks()), link.src, link.dst,
           c.combining() && below(3) ? SendAction::Reduce : SendAction::Copy,
           below(8) ? SendPayload::Current : SendPayload::Input});
      if (keeps)
        keepSome(random, s.steps.back().sends.back());
      std::optional<Verdict> verdict = slowCheck(t, c, s);
      if (verdict && verdict->rule != Violation::Rule::Postcondition &&
          below(150))
        s.steps.back().sends.pop_back();
    }
  }
  return s;
}

/// Changes one send, one number of rounds, or nothing.
inline void mutate(std::mt19937 &random, const Topology &t, Schedule &s) {
  Step &step = s.steps[random() % s.steps.size()];
  if (step.sends.empty())
    return;
  Send &send = step.sends[random() % step.sends.size()];
  switch (random() % 8) {
  case 0:
    if (send.action != SendAction::Keep)
      send.action = send.action == SendAction::Copy ? SendAction::Reduce
                                                    : SendAction::Copy;
    return;
  case 1:
    send.dst = random() % t.numRanks();
    return;
  case 2:
    step.rounds = 0;
    return;
  case 3:
    send.chunk += 1;
    return;
  case 4:
    std::swap(send, step.sends.back());
    return;
  default:
    return;
  }
}

} // namespace sccl

#endif // SCCL_TEST_CHECK_RANDOMSCHEDULE_H
