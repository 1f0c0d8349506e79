//===- RingSchedules.h - The schedules everyone knows -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One way around a ring, right by construction, for any number of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_CHECK_RINGSCHEDULES_H
#define SCCL_TEST_CHECK_RINGSCHEDULES_H

#include "sccl/Model/Schedule.h"

namespace sccl {

/// Each rank passes on to the next what it got last: N - 1 steps.
inline Schedule ringAllGather(unsigned numRanks, unsigned chunks) {
  Schedule s;
  for (unsigned step = 0; step + 1 < numRanks; ++step) {
    Step &now = s.steps.emplace_back();
    now.rounds = chunks;
    for (unsigned rank = 0; rank < numRanks; ++rank)
      for (unsigned i = 0; i < chunks; ++i)
        now.sends.push_back({(rank + numRanks - step) % numRanks * chunks + i,
                             rank, (rank + 1) % numRanks});
  }
  return s;
}

/// Chunk c sets out at rank c + 1 and is complete when it comes to rank c.
inline Schedule ringReduceScatter(unsigned numRanks) {
  Schedule s;
  for (unsigned step = 0; step + 1 < numRanks; ++step) {
    Step &now = s.steps.emplace_back();
    for (unsigned rank = 0; rank < numRanks; ++rank)
      now.sends.push_back({(rank + 2 * numRanks - 1 - step) % numRanks, rank,
                           (rank + 1) % numRanks, SendAction::Reduce});
  }
  return s;
}

} // namespace sccl

#endif // SCCL_TEST_CHECK_RINGSCHEDULES_H
