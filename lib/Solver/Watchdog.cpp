//===- Watchdog.cpp - Deadline and interruption of a solver ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Watchdog.h"

#include <cstdio>

using namespace sccl;

Watchdog::Watchdog(const SolverOptions &options, std::function<void()> onExpire)
    : limitSeconds(options.timeoutSeconds), interrupt(options.interrupt),
      onExpire(std::move(onExpire)) {
  // A flag that is already set must count even if the thread starts late.
  poll();
  if (limitSeconds > 0 || interrupt)
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
  case Cause::Timeout:
    break;
  }
  char text[64];
  std::snprintf(text, sizeof text, "timeout after %g s", limitSeconds);
  return text;
}

/// Returns true if expired. The first cause stays.
bool Watchdog::poll() {
  if (expired())
    return true;
  if (interrupt && interrupt->load())
    cause = Cause::Interrupt;
  else if (limitSeconds > 0 &&
           std::chrono::duration<double>(Clock::now() - start).count() >=
               limitSeconds)
    cause = Cause::Timeout;
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
