//===- Deadline.cpp - Polled limits of a search ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Optimize/Deadline.h"

#include <chrono>
#include <cstdio>

using namespace sccl;

static std::atomic<double> clockRate = 1;

double sccl::steadySeconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count() *
         clockRate.load(std::memory_order_relaxed);
}

ScopedClockRate::ScopedClockRate(double rate)
    : previous(clockRate.exchange(rate)) {}

ScopedClockRate::~ScopedClockRate() { clockRate = previous; }

std::string Deadline::reason() const {
  if (isInterrupted())
    return "interrupted";
  char text[64];
  if (isOver())
    std::snprintf(text, sizeof text, "timeout after %g s",
                  limits.timeoutSeconds);
  else
    std::snprintf(text, sizeof text, "gave up after %llu units of work",
                  static_cast<unsigned long long>(limits.maxWork));
  return text;
}
