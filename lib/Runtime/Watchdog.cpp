//===- Watchdog.cpp - Giving up launches that do not end ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Watchdog.h"

#include "QuietThread.h"

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

/// Blames the rank that is furthest behind. If this one is, it waits for others
/// that are in the same launch: for one whose process is stopped, if there is.
void Watchdog::raiseTimeout(llvm::function_ref<uint64_t(unsigned)> launchOf) {
  unsigned own = plane->rank(), late = own;
  for (unsigned rank = 0; rank < plane->numRanks(); ++rank)
    if (launchOf(rank) < launchOf(late))
      late = rank;
  uint64_t last = launchOf(late);
  unsigned stopped = 0;
  while (stopped < plane->numRanks() &&
         !(launchOf(stopped) == last && processes[stopped].isStopped()))
    ++stopped;
  bool isStopped = stopped < plane->numRanks();
  if (isStopped)
    late = stopped;
  // A stopped rank may be late as others are.
  bool isWithin = last >= launchOf(own);
  if (isWithin && !isStopped)
    late = AbortCause::noRank;
  plane->raise({scclErrorTimeout, late, own, 0, isWithin && isStopped});
}

/// Ranks may have called for something else and ended.
void Watchdog::findOtherCall() {
  for (unsigned rank = 0; rank < plane->numRanks(); ++rank)
    if (unsigned differences = plane->compareCalls(rank))
      return plane->raise(
          {scclErrorMismatch, rank, plane->rank(), differences});
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
    raiseTimeout(
        [&](unsigned rank) { return plane->lane(rank, busy).count(); });
}
