//===- Watchdog.cpp - Limits and interruption of a solver -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Watchdog.h"

#include <cstdio>

using namespace sccl;

std::string sccl::outOfMemoryReason(const SolverOptions &options) {
  if (!options.memoryMiB)
    return "out of memory (no limit set)";
  return "out of memory (limit " + std::to_string(options.memoryMiB) + " MiB)";
}

Watchdog::Watchdog(const SolverOptions &options,
                   std::function<uint64_t()> allocated,
                   std::function<void()> onExpire)
    : options(options), allocated(std::move(allocated)),
      onExpire(std::move(onExpire)) {
  // A flag that is already set must count even if the thread starts late.
  poll();
  if (options.timeoutSeconds > 0 || options.interrupt ||
      (options.memoryMiB && this->allocated))
    thread = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  wakeUp.notify_one();
  thread.join();
}

std::string Watchdog::reason() const {
  switch (cause.load()) {
  case Cause::None:
    return "";
  case Cause::Interrupt:
    return "interrupted";
  case Cause::Memory:
    return outOfMemoryReason(options);
  case Cause::Timeout:
    break;
  }
  char text[64];
  std::snprintf(text, sizeof text, "timeout after %g s",
                options.timeoutSeconds);
  return text;
}

Watchdog::Cause Watchdog::look() const {
  if (options.interrupt && options.interrupt->load())
    return Cause::Interrupt;
  std::chrono::duration<double> elapsed = Clock::now() - start;
  if (options.timeoutSeconds > 0 && elapsed.count() >= options.timeoutSeconds)
    return Cause::Timeout;
  if (options.memoryMiB && allocated && allocated() >> 20 >= options.memoryMiB)
    return Cause::Memory;
  return Cause::None;
}

bool Watchdog::poll() {
  // The first cause stays, whichever thread saw it.
  Cause none = Cause::None;
  if (!expired())
    cause.compare_exchange_strong(none, look());
  return expired();
}

void Watchdog::watch() {
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
