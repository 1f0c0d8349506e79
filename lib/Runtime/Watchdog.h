//===- Watchdog.h - Giving up launches that do not end ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_WATCHDOG_H
#define SCCL_LIB_RUNTIME_WATCHDOG_H

#include "ControlPlane.h"
#include "TimeLimit.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sccl {

/// A thread that looks at a rank's state now and then. If no rank gets on
/// for longer than the limit, a rank's process has ended meanwhile, or a rank
/// has called for something else, it aborts the communicator. A launch itself
/// pays nothing for this.
class Watchdog {
public:
  ~Watchdog();
  /// `processes` are those of all ranks.
  Status start(const ControlPlane &plane, std::vector<ProcessId> processes,
               double limitSeconds);
  void stop();

private:
  void run();
  void inspect();
  void raiseTimeout(llvm::function_ref<uint64_t(unsigned)> launchOf);
  void findOtherCall();
  void inspectLanes();

  const ControlPlane *plane = nullptr;
  std::vector<ProcessId> processes;
  std::chrono::duration<double> tick{};
  uint64_t seenState = 0, seenProgress = 0;
  uint64_t seenLanes = 0; ///< what all lanes of all ranks came to
  TimeLimit launchLimit, laneLimit;

  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  std::thread thread;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_WATCHDOG_H
