//===- LaunchQueue.cpp - Launches by a thread of their own ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchQueue.h"

#include "Quiet.h"
#include "Runtime/Devices/Device.h"

using namespace sccl;

Status LaunchQueue::start() {
  return startQuietThread(thread, [this] { run(); });
}

LaunchQueue::~LaunchQueue() {
  if (!thread.joinable()) {
    awaitAll();
    return;
  }
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
    runNext(lock);
  }
}

/// Executes the first launch that is left; there is one.
void LaunchQueue::runNext(std::unique_lock<std::mutex> &lock) {
  Item item = items[done % items.size()];
  if (failure.ok()) {
    isRunning = true;
    lock.unlock();
    Status status;
    try {
      status = body(*item.plan, item.request);
    } catch (const std::bad_alloc &) {
      status = {scclErrorOutOfMemory, "out of memory"};
    }
    lock.lock();
    isRunning = false;
    if (!status.ok()) {
      failure = std::move(status);
      failedAt = done + 1;
    }
  }
  ++done;
  changed.notify_all();
}

/// Returns when launch `number` is done.
void LaunchQueue::awaitDone(std::unique_lock<std::mutex> &lock,
                            uint64_t number) {
  while (done < number)
    if (!thread.joinable() && !isRunning) {
      runNext(lock);
    } else if (changed.wait_for(lock, Patience::questionInterval) ==
               std::cv_status::timeout) {
      lock.unlock();
      Patience::askSometimes();
      lock.lock();
    }
}

uint64_t LaunchQueue::push(JoinedPlan &plan, const LaunchRequest &request) {
  std::unique_lock lock(mutex);
  while (pushed - done == items.size())
    awaitDone(lock, done + 1);
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
  awaitDone(lock, number);
  return number >= failedAt ? failure : Status();
}

void LaunchQueue::awaitAll() {
  std::unique_lock lock(mutex);
  awaitDone(lock, pushed);
}
