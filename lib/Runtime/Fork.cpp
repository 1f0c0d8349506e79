//===- Fork.cpp - Noticing that this is another process -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fork.h"

#include <atomic>
#include <pthread.h>

using namespace sccl;

static std::atomic<unsigned> forks = 0;

static std::mutex forking;

static void beforeFork() { forking.lock(); }
static void afterFork() { forking.unlock(); }
static void inChild() {
  forks.fetch_add(1, std::memory_order_relaxed);
  forking.unlock();
}

Status sccl::watchForks() {
  static const int error = pthread_atfork(beforeFork, afterFork, inChild);
  if (error == 0)
    return {};
  return {scclErrorOutOfMemory, "cannot watch for forks: out of memory"};
}

std::unique_lock<std::mutex> sccl::keepFromForking() {
  return std::unique_lock(forking);
}

unsigned sccl::forkCount() { return forks.load(std::memory_order_relaxed); }
