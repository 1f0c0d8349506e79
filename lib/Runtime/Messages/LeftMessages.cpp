//===- LeftMessages.cpp - What launches leave under way -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeftMessages.h"

#include "Runtime/Quiet.h"

using namespace sccl;

Status LeftMessages::start() {
  return startQuietThread(thread, [this] { run(); });
}

LeftMessages::~LeftMessages() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  thread.join();
}

void LeftMessages::move() {
  if (!thread.joinable() || engine.hasSettled() || group.isPoisoned())
    return;
  {
    std::lock_guard lock(mutex);
    isWanted = true;
  }
  changed.notify_all();
}

void LeftMessages::rest() {
  std::lock_guard lock(mutex);
  isWanted = false;
}

void LeftMessages::run() {
  constexpr std::chrono::milliseconds nap(1);
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return isWanted || isEnding; });
    if (isEnding)
      return;
    // A launch moves them itself.
    if (group.enterBeside()) {
      // What a launch that has failed has left may write to the caller's
      // memory.
      Status status = group.poison();
      if (status.ok())
        status = attempt([&] { return engine.look(); });
      if (!status.ok() && !group.isPoisoned())
        group.raise(status);
      isWanted = status.ok() && !engine.hasSettled();
      group.leave();
    }
    changed.wait_for(lock, nap, [this] { return isEnding; });
  }
}
