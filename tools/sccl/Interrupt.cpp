//===- Interrupt.cpp - Ctrl-C ends the search, not the process ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"

#include <csignal>

using namespace sccl::driver;

static std::atomic<bool> interrupted = false;

static void onSignal(int number) {
  if (interrupted.exchange(true)) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

InterruptScope::InterruptScope() {
  interrupted = false;
  previousInterrupt = std::signal(SIGINT, onSignal);
  previousTerminate = std::signal(SIGTERM, onSignal);
}

InterruptScope::~InterruptScope() {
  std::signal(SIGINT, previousInterrupt);
  std::signal(SIGTERM, previousTerminate);
}

const std::atomic<bool> *InterruptScope::flag() const { return &interrupted; }
