//===- StepSplitting.cpp - More steps with fewer rounds -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSplitting.h"

#include <algorithm>
#include <cassert>

using namespace sccl;

/// Cuts `step` into parts of the given rounds, whose sum is that of the step.
/// Each link fills the parts from the first on.
static std::vector<Step> split(const Topology &topology, const Step &step,
                               const std::vector<unsigned> &roundsOfPart) {
  std::vector<Step> parts;
  for (unsigned rounds : roundsOfPart)
    parts.push_back({rounds, {}});
  struct Progress {
    unsigned part = 0;
    uint64_t sends = 0; // in that part
  };
  std::vector<Progress> progress(topology.links().size());
  for (const Send &send : step.sends) {
    unsigned link = *topology.findLink(send.src, send.dst);
    auto &[part, sends] = progress[link];
    if (sends == uint64_t(topology.capacity(link)) * roundsOfPart[part]) {
      ++part;
      sends = 0;
      assert(part < parts.size() && "the step exceeds a limit");
    }
    ++sends;
    parts[part].sends.push_back(send);
  }
  return parts;
}

Schedule sccl::splitSteps(const Topology &topology, Schedule schedule,
                          unsigned steps, unsigned rounds) {
  assert(topology.isPointToPoint() && !schedule.steps.empty());
  assert(schedule.steps.size() <= steps && schedule.rounds() <= rounds &&
         steps <= rounds);
  schedule.steps.back().rounds += rounds - schedule.rounds();
  unsigned missing = steps - static_cast<unsigned>(schedule.steps.size());
  Schedule result;
  for (Step &step : schedule.steps) {
    unsigned parts = 1 + std::min(missing, step.rounds - 1);
    missing -= parts - 1;
    if (parts == 1) {
      result.steps.push_back(std::move(step));
      continue;
    }
    // Parts of equal length, the longer ones first, so that no part has rounds
    // but no sends if that can be.
    std::vector<unsigned> roundsOfPart(parts, step.rounds / parts);
    for (unsigned i = 0; i < step.rounds % parts; ++i)
      ++roundsOfPart[i];
    for (Step &part : split(topology, step, roundsOfPart))
      result.steps.push_back(std::move(part));
  }
  return result;
}
