//===- ScheduleTesting.cpp - Schedules for tests --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"

#include "sccl/Check/ScheduleChecker.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sccl;

Collective sccl::make(CollectiveKind kind, unsigned numRanks, unsigned chunks,
                      unsigned root) {
  Result<Collective> collective =
      Collective::make(kind, numRanks, chunks, root);
  EXPECT_TRUE(collective) << collective.error();
  return *collective;
}

Topology sccl::oneWay(unsigned numRanks) {
  Topology topology("one_way", numRanks);
  for (unsigned rank = 0; rank < numRanks; ++rank)
    EXPECT_TRUE(topology.addLink(rank, (rank + 1) % numRanks, 1 + rank % 2));
  for (unsigned rank = 0; rank + 2 < numRanks; rank += 3)
    EXPECT_TRUE(topology.addLink(rank, rank + 2, 1));
  return topology;
}

void sccl::expectValid(const Topology &topology,
                       const Implementation &implementation) {
  auto violation = checkSchedule(topology, implementation.collective,
                                 implementation.schedule);
  EXPECT_FALSE(violation) << implementation.collective.name() << ": "
                          << violation->message;
}

Implementation sccl::flood(std::mt19937 &random, const Topology &topology,
                           Collective collective) {
  RankChunkSet held = collective.pre();
  auto isDone = [&] {
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
      for (unsigned chunk : collective.post().chunksOf(rank))
        if (!held.contains(rank, chunk))
          return false;
    return true;
  };
  Schedule schedule;
  while (!isDone()) {
    Step &step = schedule.steps.emplace_back();
    step.rounds = 1 + random() % 2;
    RankChunkSet before = held;
    for (unsigned index = 0; index < topology.links().size(); ++index) {
      auto [src, dst] = topology.links()[index];
      std::vector<unsigned> chunks = before.chunksOf(src);
      std::shuffle(chunks.begin(), chunks.end(), random);
      unsigned space = topology.capacity(index) * step.rounds;
      for (unsigned chunk : chunks)
        if (space > 0 && !held.contains(dst, chunk)) {
          held.insert(dst, chunk);
          step.sends.push_back({chunk, src, dst});
          --space;
        }
    }
  }
  return {std::move(collective), std::move(schedule)};
}
