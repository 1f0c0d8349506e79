//===- Interrupt.cpp - Ctrl-C ends the search, not the process ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"

#include "sccl/Optimize/Deadline.h"

#include <ctime>
#include <optional>
#include <pthread.h>

using namespace sccl::driver;

InterruptScope::InterruptScope() {
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaction(SIGINT, nullptr, &onInterrupt);
  sigaction(SIGTERM, nullptr, &onTerminate);
  pthread_sigmask(SIG_BLOCK, &signals, &blockedBefore);
  if (!taker.start([this] { takeSignals(); }))
    pthread_sigmask(SIG_SETMASK, &blockedBefore, nullptr);
}

InterruptScope::~InterruptScope() {
  if (!taker.isRunning())
    return;
  stopping = true;
  pthread_kill(taker.native(), SIGTERM);
  taker.join();
  // What came meanwhile asked for the end of what has just ended.
  timespec atOnce = {};
  while (sigtimedwait(&signals, nullptr, &atOnce) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &blockedBefore, nullptr);
}

void InterruptScope::takeSignals() {
  std::optional<double> first; // of the request that came last
  while (true) {
    int number;
    sigwait(&signals, &number);
    if (stopping)
      return;
    terminated = terminated || number == SIGTERM;
    double now = steadySeconds();
    if (first && now - *first <= sameRequestSeconds)
      continue;
    if (!first || (!interrupted && now - *first > impatientSeconds)) {
      first = now;
      interrupted = true;
      continue;
    }
    // The handler of before removes half-written files.
    sigaction(number, number == SIGINT ? &onInterrupt : &onTerminate, nullptr);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    std::raise(number);
  }
}
