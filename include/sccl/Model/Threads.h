//===- Threads.h - Threads that may not be had ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// std::thread and std::async throw where the system has no thread left, and
// most of this project is built without exceptions: nobody would catch it.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_THREADS_H
#define SCCL_MODEL_THREADS_H

#include <functional>
#include <optional>

#include <pthread.h>

namespace sccl {

/// A thread, joined at the end.
class Thread {
public:
  Thread() = default;
  Thread(const Thread &) = delete;
  Thread &operator=(const Thread &) = delete;
  ~Thread() { join(); }

  /// Lets a thread execute `work`. Returns false, and does nothing, if none can
  /// be started. Once for each object.
  bool start(std::function<void()> work);
  /// Waits for its end, if it has started.
  void join();
  bool isRunning() const { return handle.has_value(); }
  /// Of a running one.
  pthread_t native() const { return *handle; }

private:
  std::function<void()> work;
  std::optional<pthread_t> handle;
};

/// What some work returns, which is done while others go on.
template <typename T> class Beside {
public:
  /// Begins `work` in a thread of its own if `isApart`. Without, or if none can
  /// be started, `get` does it. What nobody gets may not be done.
  explicit Beside(std::function<T()> work, bool isApart = true)
      : work(std::move(work)) {
    if (isApart)
      thread.start([this] { result = this->work(); });
  }

  /// Ends the work. The result lives as long as this.
  T &get() {
    thread.join();
    if (!result)
      result = work();
    return *result;
  }

private:
  std::function<T()> work;
  std::optional<T> result;
  Thread thread; ///< the first to end
};

/// True if `count` threads more can run now. LLVM's pools of threads end the
/// process where one cannot be started.
bool canStartThreads(unsigned count);

} // namespace sccl

#endif // SCCL_MODEL_THREADS_H
