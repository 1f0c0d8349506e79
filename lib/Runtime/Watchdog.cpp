//===- Watchdog.cpp - Giving up launches that do not end ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Watchdog.h"

#include "Quiet.h"

#include <algorithm>

using namespace sccl;

Watchdog::~Watchdog() { stop(); }

Status Watchdog::start(const ControlPlane &controlPlane,
                       std::vector<ProcessId> ids, double limitSeconds) {
  plane = &controlPlane;
  processes = std::move(ids);
  launchLimit = laneLimit = TimeLimit(limitSeconds);
  tick =
      std::chrono::duration<double>(std::clamp(limitSeconds / 20, 1e-3, 50e-3));
  return startQuietThread(thread, [this] { run(); });
}

void Watchdog::stop() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_one();
  thread.join();
}

void Watchdog::run() {
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, tick, [this] { return stopping; }))
    inspect(), inspectLanes();
}

void Watchdog::inspect() {
  uint64_t state = plane->state(plane->rank()).load();
  uint64_t done = 0;
  for (unsigned rank = 0; rank < plane->numRanks(); ++rank)
    done += plane->progress(rank).load(std::memory_order_relaxed);
  bool isNew = state != seenState || done != seenProgress;
  seenState = state;
  seenProgress = done;
  findOtherCall();
  if (state % 2 == 0)
    return;
  if (isNew)
    launchLimit.restart();
  // A rank that has finished this launch may leave.
  for (unsigned rank = 0; rank < processes.size(); ++rank)
    if (rank != plane->rank() && plane->state(rank).load() <= state &&
        !processes[rank].isAlive())
      return plane->raise({scclErrorRankLost, rank, plane->rank()});
  if (launchLimit.isOver())
    raiseTimeout([this](unsigned rank) { return plane->state(rank).load(); });
}

/// Blames the rank that is furthest behind. If several are, within one launch,
/// one of them keeps the others waiting: one whose process is stopped, if there
/// is. `launchOf` is as ControlPlane::state.
void Watchdog::raiseTimeout(llvm::function_ref<uint64_t(unsigned)> launchOf) {
  unsigned own = plane->rank();
  std::vector<uint64_t> launches;
  for (unsigned rank = 0; rank < plane->numRanks(); ++rank)
    launches.push_back(launchOf(rank));
  uint64_t last = *std::min_element(launches.begin(), launches.end());
  unsigned late = AbortCause::noRank, numLast = 0;
  bool isStopped = false;
  for (unsigned rank = 0; rank < launches.size() && !isStopped; ++rank) {
    if (launches[rank] != last)
      continue;
    isStopped = processes[rank].isStopped();
    if (isStopped || ++numLast == 1)
      late = rank;
  }
  bool isBehind = last < launches[own];
  if (!isStopped && (!isBehind || (last % 2 != 0 && numLast > 1)))
    late = AbortCause::noRank;
  plane->raise({scclErrorTimeout, late, own, 0, isStopped && !isBehind});
}

/// Ranks may have called for something else and ended.
void Watchdog::findOtherCall() {
  for (unsigned rank = 0; rank < plane->numRanks(); ++rank)
    if (plane->raiseOtherCalls(rank))
      return;
}

/// The same as `inspect` for what streams execute.
void Watchdog::inspectLanes() {
  uint64_t seen = 0;
  unsigned busy = ControlPlane::numLanes;
  for (unsigned index = 0; index < ControlPlane::numLanes; ++index) {
    if (busy == ControlPlane::numLanes &&
        plane->lane(plane->rank(), index).isInFlight())
      busy = index;
    for (unsigned rank = 0; rank < plane->numRanks(); ++rank) {
      const ControlPlane::Lane &lane = plane->lane(rank, index);
      seen += lane.count() + lane.ended.load();
    }
  }
  if (seen != seenLanes || busy == ControlPlane::numLanes)
    laneLimit.restart();
  seenLanes = seen;
  if (busy == ControlPlane::numLanes)
    return;
  // A rank that has ended this launch may leave.
  uint64_t begun = plane->lane(plane->rank(), busy).begun.load();
  for (unsigned rank = 0; rank < processes.size(); ++rank)
    if (rank != plane->rank() &&
        plane->lane(rank, busy).ended.load() <= begun &&
        !processes[rank].isAlive())
      return plane->raise({scclErrorRankLost, rank, plane->rank()});
  if (laneLimit.isOver())
    raiseTimeout([&](unsigned rank) {
      const ControlPlane::Lane &lane = plane->lane(rank, busy);
      return 2 * lane.count() - lane.isInFlight();
    });
}
