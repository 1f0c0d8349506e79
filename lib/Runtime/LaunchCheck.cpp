//===- LaunchCheck.cpp - Checking and choosing before a launch ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include <algorithm>

using namespace sccl;

/// Up to this size of all receive segments together, copies through own buffers
/// cost less than telling each other where buffers are, and than system calls.
static constexpr uint64_t smallBytes = 16 << 10;

bool CommPlan::isSmall(const Flight &flight) const {
  return std::max(mostInputSegments, mostOutputSegments) *
             flight.segmentBytes <=
         smallBytes;
}

/// From a program whose ranks access the caller's buffers to another one, or to
/// the communicator's buffers.
Status CommPlan::stepBack(Flight &flight) const {
  flight.choice.path = plan::Path::Staging;
  if (!flight.choice.aloof)
    return {};
  flight.choice.program = flight.choice.aloof;
  flight.choice.path = plan::Path::Direct;
  return findFunction(flight);
}

Status CommPlan::choose(Flight &flight) const {
  flight.choice = choices.forBytes(manifest.sendSegments * flight.segmentBytes);
  Choice &choice = flight.choice;
  if (choice.path == plan::Path::Auto) {
    choice.path = plan::Path::Direct;
    if (choice.program->touchesPeers() && isSmall(flight))
      if (Status status = stepBack(flight); !status.ok())
        return status;
  }
  return findFunction(flight);
}
