//===- StepRounds.cpp - Rounds of the steps of trees ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRounds.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::trees;

std::vector<uint64_t>
trees::roundsPerStep(const Topology &topology, const LimitOrbits &orbits,
                     unsigned steps, const std::vector<ChunkTree> &trees) {
  std::vector<uint64_t> rounds(steps, 1);
  std::vector<unsigned __int128> loads(orbits.count() * steps);
  for (const ChunkTree &tree : trees)
    for (const TreeSend &send : tree.sends)
      orbits.visit(*topology.findLink(send.src, send.dst), [&](unsigned orbit) {
        loads[orbit * steps + send.step] += tree.count;
      });
  for (size_t i = 0; i < loads.size(); ++i) {
    uint64_t bandwidth = uint64_t(orbits.bandwidth(i / steps));
    uint64_t &most = rounds[i % steps];
    unsigned __int128 all = loads[i] * unsigned(orbits.imagesPerSend());
    most = std::max(most, uint64_t((all + bandwidth - 1) / bandwidth));
  }
  return rounds;
}

void trees::dropIdleSteps(TreeSchedule &schedule) {
  std::vector<bool> isUsed(schedule.rounds.size());
  for (const ChunkTree &tree : schedule.trees)
    for (const TreeSend &send : tree.sends)
      isUsed[send.step] = true;
  std::vector<uint32_t> number;
  std::vector<uint64_t> rounds;
  for (size_t step = 0; step < isUsed.size(); ++step) {
    number.push_back(uint32_t(rounds.size()));
    if (isUsed[step])
      rounds.push_back(schedule.rounds[step]);
  }
  schedule.rounds = std::move(rounds);
  for (ChunkTree &tree : schedule.trees)
    for (TreeSend &send : tree.sends)
      send.step = number[send.step];
}
