//===- SimplexGuard.h - Limits of a simplex run -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_SIMPLEXGUARD_H
#define SCCL_LIB_OPTIMIZE_SIMPLEXGUARD_H

#include "sccl/Optimize/Deadline.h"

#include <ClpEventHandler.hpp>

namespace sccl {

/// Stops a simplex run when the time is up.
class SimplexGuard final : public ClpEventHandler {
public:
  explicit SimplexGuard(const Deadline &deadline) : deadline(deadline) {}
  int event(Event event) override {
    constexpr int goOn = -1, stop = 5;
    bool isTick = event == endOfIteration || event == endOfFactorization;
    return isTick && deadline.expired() ? stop : goOn;
  }
  ClpEventHandler *clone() const override { return new SimplexGuard(*this); }

private:
  const Deadline &deadline;
};

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_SIMPLEXGUARD_H
