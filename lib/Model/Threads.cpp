//===- Threads.cpp - Threads that may not be had --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Threads.h"

#include <list>
#include <mutex>

using namespace sccl;

bool Thread::start(std::function<void()> body) {
  work = std::move(body);
  auto run = [](void *self) -> void * {
    static_cast<Thread *>(self)->work();
    return nullptr;
  };
  pthread_t started;
  if (pthread_create(&started, nullptr, run, this) != 0)
    return false;
  handle = started;
  return true;
}

void Thread::join() {
  if (handle)
    pthread_join(*handle, nullptr);
  handle.reset();
}

bool sccl::canStartThreads(unsigned count) {
  std::list<Thread> threads;
  std::mutex gate; // which all wait at, so that they are there at once
  std::unique_lock closed(gate);
  bool areStarted = true;
  for (unsigned i = 0; i < count && areStarted; ++i)
    areStarted = threads.emplace_back().start(
        [&gate] { std::lock_guard passing(gate); });
  closed.unlock();
  threads.clear();
  return areStarted;
}
