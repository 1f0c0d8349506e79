//===- GatherBoard.cpp - An all-gather in shared memory -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GatherBoard.h"

#include "Runtime/Devices/Device.h"
#include "TimeLimit.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using namespace sccl;

Status GatherBoard::create() { return own.create(sizeof(Page)); }

Status GatherBoard::open(unsigned ownRank,
                         const std::vector<SharedMemoryHandle> &handles,
                         std::vector<ProcessId> ids, double limit) {
  rank = ownRank;
  processes = std::move(ids);
  limitSeconds = limit;
  others.resize(handles.size());
  for (unsigned other = 0; other < handles.size(); ++other)
    if (other != rank)
      if (Status status = others[other].open(handles[other]); !status.ok())
        return status;
  return {};
}

GatherBoard::Page &GatherBoard::page(unsigned other) const {
  const SharedMemory &memory = other == rank ? own : others[other];
  return *reinterpret_cast<Page *>(memory.data());
}

/// True if nobody is to gather any more; `failure` says why.
bool GatherBoard::isBroken() {
  uint64_t cause =
      watched ? watched->abortWord().load(std::memory_order_relaxed) : 0;
  for (unsigned other = 0; other < others.size() && cause == 0; ++other)
    if (isMapped(other))
      cause = page(other).cause.load(std::memory_order_relaxed);
  if (cause != 0)
    failure = AbortCause::decode(cause);
  return failure.code != scclSuccess;
}

/// Returns false.
bool GatherBoard::giveUp(scclResult code, unsigned culprit) {
  failure = {code, culprit, rank};
  failure.isElsewhere = true;
  page(rank).cause.store(failure.encode(), std::memory_order_relaxed);
  if (plane)
    plane->raise(failure);
  return false;
}

/// Waits until `other` has written the present gather.
bool GatherBoard::await(unsigned other) {
  // The others learn of it from what this rank has said.
  if (!isMapped(other)) {
    failure = {scclErrorSystem, rank, rank};
    return false;
  }
  const std::atomic<uint64_t> &number = page(other).number;
  TimeLimit limit(limitSeconds);
  while (number.load(std::memory_order_acquire) < gathers) {
    if (isBroken())
      return false;
    if (!processes[other].isAlive())
      return giveUp(scclErrorRankLost, other);
    if (limit.isOver())
      return giveUp(scclErrorTimeout, other);
    Patience::askSometimes();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

bool GatherBoard::gatherSlice(const char *mine, char *all, size_t stride,
                              size_t bytes) {
  ++gathers;
  std::memcpy(page(rank).slots[gathers & 1], mine, bytes);
  page(rank).number.store(gathers, std::memory_order_release);
  for (unsigned other = 0; other < others.size(); ++other) {
    if (!await(other))
      return false;
    std::memcpy(all + other * stride, page(other).slots[gathers & 1], bytes);
  }
  return true;
}

int GatherBoard::allGather(void *board, const void *mine, void *all,
                           size_t bytes) {
  auto &self = *static_cast<GatherBoard *>(board);
  for (size_t at = 0; at < bytes; at += slotBytes)
    if (self.isBroken() ||
        !self.gatherSlice(static_cast<const char *>(mine) + at,
                          static_cast<char *>(all) + at, bytes,
                          std::min(slotBytes, bytes - at)))
      return 1;
  return 0;
}

Status GatherBoard::explain(void *board) {
  auto &self = *static_cast<GatherBoard *>(board);
  return self.failure.describe(self.limitSeconds, /*note=*/"");
}
