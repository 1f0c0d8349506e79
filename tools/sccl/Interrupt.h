//===- Interrupt.h - Ctrl-C ends the search, not the process ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_INTERRUPT_H
#define SCCL_TOOLS_SCCL_INTERRUPT_H

#include "sccl/Model/Threads.h"

#include <atomic>
#include <csignal>

namespace sccl::driver {

/// While this object lives, Ctrl-C (SIGINT) or SIGTERM sets `flag()`; another
/// one while it is set, later than `sameRequestSeconds`, ends the process.
/// Where one search follows another, resume() clears the flag for the next;
/// then two signals within `impatientSeconds` end the process.
///
/// A thread of its own takes the signals, and all others block them: Clp puts
/// a handler of its own in the place of ours while it solves, which would take
/// the signal for one linear program. Construct it before the threads that
/// search, for they inherit what is blocked.
class InterruptScope {
public:
  /// `timeout -s INT` sends its signal to the process and to its group, so that
  /// one request arrives as two signals.
  static constexpr double sameRequestSeconds = 0.2, impatientSeconds = 1;

  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  InterruptScope &operator=(const InterruptScope &) = delete;
  const std::atomic<bool> *flag() const { return &interrupted; }
  /// True after SIGTERM, which asks for the end of all searches.
  bool isTerminated() const { return terminated; }
  /// What came so far was for searches that are over.
  void resume() { interrupted = false; }

private:
  void takeSignals();

  std::atomic<bool> interrupted = false, terminated = false;
  std::atomic<bool> stopping = false;
  sigset_t signals;
  sigset_t blockedBefore;
  struct sigaction onInterrupt, onTerminate; ///< before
  Thread taker; ///< not running if none can be had: signals do what they did
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_INTERRUPT_H
