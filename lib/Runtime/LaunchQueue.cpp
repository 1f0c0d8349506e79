//===- LaunchQueue.cpp - Launches by a thread of their own ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchQueue.h"

#include "QuietThread.h"

using namespace sccl;

Status LaunchQueue::start() {
  return startQuietThread(thread, [this] { run(); });
}

LaunchQueue::~LaunchQueue() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

void LaunchQueue::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || done < pushed; });
    if (done == pushed)
      return;
    Item item = items[done % items.size()];
    if (failure.ok()) {
      lock.unlock();
      Status status;
      try {
        status = body(*item.plan, item.request);
      } catch (const std::bad_alloc &) {
        status = {scclErrorOutOfMemory, "out of memory"};
      }
      lock.lock();
      if (!status.ok()) {
        failure = std::move(status);
        failedAt = done + 1;
      }
    }
    ++done;
    changed.notify_all();
  }
}

uint64_t LaunchQueue::push(CommPlan &plan, const LaunchRequest &request) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return pushed - done < items.size(); });
  items[pushed % items.size()] = {&plan, request};
  ++pushed;
  changed.notify_all();
  return pushed;
}

Status LaunchQueue::await(uint64_t number) {
  std::unique_lock lock(mutex);
  if (number > pushed)
    return invalid("ticket is " + std::to_string(number) + ", and there are " +
                   std::to_string(pushed));
  changed.wait(lock, [&] { return done >= number; });
  return number >= failedAt ? failure : Status();
}

void LaunchQueue::awaitAll() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return done == pushed; });
}
