//===- ClockOffsets.cpp - Clocks of several hosts -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/ClockOffsets.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sccl;

namespace {
/// What ranks gather: when this one comes, and when it left the time before.
struct Visit {
  uint64_t comes, left;
};
} // namespace

/// Narrows the offset by an exchange to which rank 0 came when `first` says,
/// and the rank when `own` does. Neither has left it before the other came.
static void narrow(ClockOffset &offset, const Visit &first, const Visit &own) {
  offset.least = std::max(offset.least, int64_t(own.comes - first.left));
  offset.most = std::min(offset.most, int64_t(own.left - first.comes));
  offset.at = own.left;
}

std::vector<ClockOffset>
sccl::compareClocks(const RankEnd &end, llvm::function_ref<uint64_t()> clock) {
  constexpr unsigned exchanges = 64;
  using Limits = std::numeric_limits<int64_t>;
  std::vector<ClockOffset> offsets(end.numRanks,
                                   {Limits::min(), Limits::max()});
  std::vector<Visit> before, now;
  uint64_t left = 0;
  // When ranks have left an exchange they say in the next one.
  for (unsigned i = 0; i <= exchanges; ++i) {
    if (!end.gather(Visit{clock(), left}, now))
      return {};
    left = clock();
    for (unsigned rank = 0; i != 0 && rank < end.numRanks; ++rank)
      narrow(offsets[rank], {before[0].comes, now[0].left},
             {before[rank].comes, now[rank].left});
    before = now;
  }
  offsets[0].least = offsets[0].most = 0;
  return offsets;
}

uint64_t sccl::onFirstClock(uint64_t time, const ClockOffset &before,
                            const ClockOffset &after) {
  double passed = double(int64_t(time - before.at)) /
                  double(std::max<int64_t>(int64_t(after.at - before.at), 1));
  double growth = double(after.best() - before.best());
  return time - uint64_t(before.best() + std::llround(passed * growth));
}
