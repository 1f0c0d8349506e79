//===- ScheduleChecking.h - What tests of the checker expect ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_CHECK_SCHEDULECHECKING_H
#define SCCL_TEST_CHECK_SCHEDULECHECKING_H

#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

namespace sccl {

using Kind = CollectiveKind;
using Rule = Violation::Rule;
constexpr SendAction copy = SendAction::Copy;
constexpr SendAction reduce = SendAction::Reduce;
constexpr SendPayload current = SendPayload::Current;
constexpr SendPayload input = SendPayload::Input;

inline Topology builtin(std::string_view spec) {
  return *makeBuiltinTopology(spec);
}

inline Collective make(Kind kind, unsigned numRanks, unsigned chunks,
                       unsigned root = 0) {
  return *Collective::make(kind, numRanks, chunks, root);
}

inline void expectAccepted(const Topology &t, const Collective &c,
                           const Schedule &s) {
  std::optional<Violation> found = checkSchedule(t, c, s);
  EXPECT_FALSE(found) << found->message;
}

/// The violation, which must be there.
inline Violation rejected(const Topology &t, const Collective &c,
                          const Schedule &s) {
  std::optional<Violation> found = checkSchedule(t, c, s);
  if (found)
    return *found;
  ADD_FAILURE() << "accepted";
  return Violation{};
}

/// What a violation says of one send.
inline void expectAt(const Violation &v, Rule rule, unsigned step, size_t send,
                     std::string_view message) {
  EXPECT_EQ(v.rule, rule) << v.message;
  EXPECT_EQ(v.step, step);
  EXPECT_EQ(v.send, send);
  EXPECT_EQ(v.message, message);
}

/// Dropping or repeating any one send of a schedule without waste
/// must be noticed.
inline void expectNoSendToSpare(const Topology &t, const Collective &c,
                                const Schedule &s) {
  expectAccepted(t, c, s);
  for (size_t step = 0; step < s.steps.size(); ++step)
    for (size_t i = 0; i < s.steps[step].sends.size(); ++i) {
      Schedule dropped = s, repeated = s;
      std::vector<Send> &sends = dropped.steps[step].sends;
      sends.erase(sends.begin() + i);
      EXPECT_TRUE(checkSchedule(t, c, dropped)) << step << " " << i;
      repeated.steps[step].sends.push_back(s.steps[step].sends[i]);
      repeated.steps[step].rounds = 100;
      Rule rule = rejected(t, c, repeated).rule;
      EXPECT_TRUE(rule == Rule::RedundantSend || rule == Rule::Contribution);
    }
}

} // namespace sccl

#endif // SCCL_TEST_CHECK_SCHEDULECHECKING_H
