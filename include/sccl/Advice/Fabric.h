//===- Fabric.h - A machine as advice sees it -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ADVICE_FABRIC_H
#define SCCL_ADVICE_FABRIC_H

#include "sccl/Simulate/Simulator.h"

#include <memory>

namespace sccl {

struct MessageClock;

/// A machine as advice sees it.
struct Fabric {
  Topology topology;
  Timing timing;
  /// Microseconds of a byte at bandwidth 1.
  double unitTime = 0;
  /// What lets pass all that the machine does (Machine/BoundTopology.h), on the
  /// same ranks; null if this fabric does.
  std::shared_ptr<const Fabric> bounding = nullptr;
  /// If programs are those for messages on GPUs; null if ranks write to each
  /// other.
  std::shared_ptr<const MessageClock> messages = nullptr;

  /// The fabric whose bounds hold for the machine.
  const Fabric &forBounds() const { return bounding ? *bounding : *this; }
};

} // namespace sccl

#endif // SCCL_ADVICE_FABRIC_H
