//===- ScheduleEdits.cpp - What inversion and composition share -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleEdits.h"

#include <algorithm>
#include <ranges>

using namespace sccl;

std::string sccl::quoted(const Collective &collective) {
  return "'" + collective.name() + "'";
}

std::optional<Error> sccl::checkNumbers(const Implementation &implementation) {
  const auto &[collective, schedule] = implementation;
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends) {
      for (unsigned rank : {send.src, send.dst})
        if (rank >= collective.numRanks())
          return Error{"rank " + std::to_string(rank) +
                       " of a send is out of range for " +
                       std::to_string(collective.numRanks()) + " ranks"};
      if (send.chunk >= collective.numChunks())
        return Error{"chunk " + std::to_string(send.chunk) +
                     " of a send is out of range for " +
                     std::to_string(collective.numChunks()) + " chunks"};
    }
  return std::nullopt;
}

std::vector<unsigned> sccl::ranksPerChunk(const RankChunkSet &set) {
  std::vector<unsigned> count(set.numChunks());
  for (unsigned rank = 0; rank < set.numRanks(); ++rank)
    for (unsigned chunk : set.chunksOf(rank))
      ++count[chunk];
  return count;
}

void sccl::keepUseful(Step &step, bool combining, RankChunkSet &held) {
  std::erase_if(step.sends, [&](const Send &send) {
    return !held.contains(send.src, send.chunk) ||
           (!combining && held.contains(send.dst, send.chunk));
  });
  // Of several sends that bring the same to a rank the first is enough.
  std::ranges::sort(step.sends);
  std::erase_if(step.sends, [&](const Send &send) {
    bool again = held.contains(send.dst, send.chunk);
    held.insert(send.dst, send.chunk);
    return again && !combining;
  });
}
