//===- Pruning.cpp - Removal of useless sends -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pruning.h"

#include <cassert>
#include <ranges>

using namespace sccl;

void sccl::dropUselessSends(const Collective &collective, Schedule &schedule) {
  assert(!collective.combining());

  // Forward: keep the first arrival only, so that each has one cause.
  RankChunkSet held = collective.pre();
  for (Step &step : schedule.steps)
    std::erase_if(step.sends, [&](const Send &send) {
      bool again = held.contains(send.dst, send.chunk);
      held.insert(send.dst, send.chunk);
      return again;
    });

  // Backward: an arrival is needed if it is asked for, or if a later send that
  // is needed starts from it.
  RankChunkSet needed = collective.post();
  for (Step &step : std::views::reverse(schedule.steps))
    std::erase_if(step.sends, [&](const Send &send) {
      if (!needed.contains(send.dst, send.chunk))
        return true;
      needed.insert(send.src, send.chunk);
      return false;
    });
}
