//===- ClockOffsets.h - Clocks of several hosts -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MEASURE_CLOCKOFFSETS_H
#define SCCL_MEASURE_CLOCKOFFSETS_H

#include "sccl/Measure/Ranks.h"

namespace sccl {

/// How far the clock of a rank is ahead of that of rank 0, in nanoseconds.
struct ClockOffset {
  int64_t least = 0, most = 0; ///< it is between these
  uint64_t at = 0;             ///< then, by the rank's own clock

  int64_t best() const { return least + (most - least) / 2; }
};

/// Collective. By rank, the offset of its clock; `clock` is that of this rank.
/// Nobody leaves an exchange before all have come to it, which bounds how far
/// clocks are apart; of several, the closest bounds count. Empty if a rank has
/// gone.
std::vector<ClockOffset> compareClocks(const RankEnd &end,
                                       llvm::function_ref<uint64_t()> clock);

/// `time` of a rank's clock as rank 0's would have it. Between the two
/// comparisons the offset has grown evenly.
uint64_t onFirstClock(uint64_t time, const ClockOffset &before,
                      const ClockOffset &after);

} // namespace sccl

#endif // SCCL_MEASURE_CLOCKOFFSETS_H
