//===- ExchangeTesting.h - What tests of formats share ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EXCHANGE_EXCHANGETESTING_H
#define SCCL_TEST_EXCHANGE_EXCHANGETESTING_H

#include "sccl/Exchange/Msccl.h"

#include <set>
#include <string>

namespace sccl::exchange::testing {

/// What is sent, whenever.
inline std::multiset<Send> sendsOf(const Schedule &schedule) {
  std::multiset<Send> sends;
  for (const Step &step : schedule.steps)
    sends.insert(step.sends.begin(), step.sends.end());
  return sends;
}

/// What is wrong with a file, a line each.
inline std::string linesOf(const Findings &findings) {
  std::string all;
  for (const Finding &finding : findings.first())
    all += std::to_string(finding.place.line) + ": " + finding.message + "\n";
  return all;
}

} // namespace sccl::exchange::testing

#endif // SCCL_TEST_EXCHANGE_EXCHANGETESTING_H
