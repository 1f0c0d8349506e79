//===- SearchWatchdog.cpp - Limits and interruption of a solver
//-----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchWatchdog.h"

#include <chrono>
#include <cstdio>

using namespace sccl;

std::string sccl::outOfMemoryReason(unsigned memoryMiB) {
  if (!memoryMiB)
    return "out of memory (no limit set)";
  return "out of memory (limit " + std::to_string(memoryMiB) + " MiB)";
}

SearchWatchdog::SearchWatchdog(const SearchLimits &limits, unsigned memoryMiB,
                               std::function<uint64_t()> allocated,
                               std::function<void()> onExpire)
    : limits(limits), memoryMiB(memoryMiB), allocated(std::move(allocated)),
      onExpire(std::move(onExpire)) {
  // A flag that is already set must count even if the thread starts late.
  poll();
  bool hasLimits = limits.timeoutSeconds > 0 || limits.interrupt ||
                   (memoryMiB && this->allocated);
  if (hasLimits && !thread.start([this] { watch(); }) && !expired())
    cause = Cause::NoThread;
}

SearchWatchdog::~SearchWatchdog() {
  if (!thread.isRunning())
    return;
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  wakeUp.notify_one();
  thread.join();
}

std::string SearchWatchdog::reason() const {
  switch (cause.load()) {
  case Cause::None:
    return "";
  case Cause::Interrupt:
    return "interrupted";
  case Cause::Memory:
    return outOfMemoryReason(memoryMiB);
  case Cause::NoThread:
    return "no thread can be started that watches the limits";
  case Cause::Timeout:
    break;
  }
  char text[64];
  std::snprintf(text, sizeof text, "timeout after %g s", limits.timeoutSeconds);
  return text;
}

SearchWatchdog::Cause SearchWatchdog::look() const {
  if (limits.interrupt && limits.interrupt->load())
    return Cause::Interrupt;
  if (deadline.isOver())
    return Cause::Timeout;
  if (memoryMiB && allocated && allocated() >> 20 >= memoryMiB)
    return Cause::Memory;
  return Cause::None;
}

bool SearchWatchdog::poll() {
  // The first cause stays, whichever thread saw it.
  Cause none = Cause::None;
  if (!expired())
    cause.compare_exchange_strong(none, look());
  return expired();
}

void SearchWatchdog::watch() {
  constexpr std::chrono::milliseconds period(20);
  std::unique_lock lock(mutex);
  // One interruption is not enough: z3 forgets those that arrive between two of
  // its phases.
  while (!done) {
    if (poll())
      onExpire();
    wakeUp.wait_for(lock, period, [this] { return done; });
  }
}
