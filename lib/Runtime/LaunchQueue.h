//===- LaunchQueue.h - Launches by a thread of their own --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_LAUNCHQUEUE_H
#define SCCL_LIB_RUNTIME_LAUNCHQUEUE_H

#include "JoinedPlan.h"

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sccl {

/// Executes launches in the order in which they come, by one thread of its own,
/// or, unless it is started, by those that wait for them. After one that fails
/// no other is executed.
class LaunchQueue {
public:
  using Body = std::function<Status(JoinedPlan &, const LaunchRequest &)>;
  explicit LaunchQueue(Body body) : body(std::move(body)) {}
  ~LaunchQueue();
  Status start();

  /// Waits while the queue is full. Returns the number of the launch, from 1.
  uint64_t push(JoinedPlan &plan, const LaunchRequest &request);
  /// Waits until launch `number` is done, and returns how it, or one before it,
  /// has failed. Fails for numbers that were never given.
  Status await(uint64_t number);
  /// Waits until nothing is left to do.
  void awaitAll();

private:
  struct Item {
    JoinedPlan *plan;
    LaunchRequest request;
  };
  void run();
  void runNext(std::unique_lock<std::mutex> &lock);
  void awaitDone(std::unique_lock<std::mutex> &lock, uint64_t number);

  Body body;
  std::mutex mutex;
  std::condition_variable changed;
  std::array<Item, 64> items;
  uint64_t pushed = 0, done = 0;
  uint64_t failedAt = UINT64_MAX; ///< number of the launch
  Status failure;
  bool stopping = false, isRunning = false;
  std::thread thread;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_LAUNCHQUEUE_H
