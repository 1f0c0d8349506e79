//===- Fork.cpp - Noticing that this is another process -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fork.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <pthread.h>

using namespace sccl;

static std::atomic<unsigned> forks = 0;

/// Taken while there are locks that nobody would give back in a child.
static std::timed_mutex forking;
/// By this thread, which may fork in a handler of signals.
static thread_local bool isKept = false;
static thread_local bool isForking = false;

/// Whoever waits for a lock of the dynamic linker, which the forking thread may
/// have, does not end before the fork: so not for ever.
static void beforeFork() {
  isForking = !isKept && forking.try_lock_for(std::chrono::seconds(1));
}
static void afterFork() {
  if (isForking)
    forking.unlock();
  isForking = false;
}
static void inChild() {
  forks.fetch_add(1, std::memory_order_relaxed);
  afterFork();
}

ForkLock::ForkLock() {
  forking.lock();
  isKept = true;
}

ForkLock::~ForkLock() {
  isKept = false;
  forking.unlock();
}

Status sccl::watchForks() {
  static const int error = pthread_atfork(beforeFork, afterFork, inChild);
  if (error == 0)
    return {};
  return {scclErrorOutOfMemory, "cannot watch for forks: out of memory"};
}

unsigned sccl::forkCount() { return forks.load(std::memory_order_relaxed); }
