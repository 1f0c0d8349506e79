//===- MessageTraffic.h - What GPUs of several hosts send -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program for messages is executed on GPUs round by round, in a stream of
// each: kernels for what the rank copies and adds up, one that writes to GPUs
// of its host and waits for what they write, and a group of messages of NCCL or
// RCCL for what crosses hosts (docs/Rationale/Messages.md). The simulator
// executes the same, with pauses where kernels and groups begin.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ADVICE_MESSAGETRAFFIC_H
#define SCCL_ADVICE_MESSAGETRAFFIC_H

#include "sccl/Simulate/Simulator.h"

#include "mlir/Support/LLVM.h"

#include <vector>

namespace sccl {

class Collective;
struct RankMessages;

namespace coll {
class ProgramOp;
} // namespace coll

/// Microseconds of a group of messages beside the latency and the bytes of the
/// longest: assumed, the larger of those that NCCL's own tuner has for a call.
inline constexpr double assumedGroupTime = 14;

/// What messages on GPUs need to know beside a Timing.
struct MessageClock {
  /// The ranks of each host, which write to each other; empty if all do.
  std::vector<std::vector<unsigned>> hosts;
  double kernelTime = 0; ///< from a kernel's turn in its stream to its begin
  double groupTime = assumedGroupTime; ///< the same of a group
};

/// What the streams do in one launch.
struct MessageTraffic {
  Traffic inTurn;        ///< of a round writes come before messages
  Traffic beside;        ///< both at once, in two streams
  double mostChunks = 0; ///< of a message

  /// As libsccl has it for chunks of so many bytes.
  const Traffic &of(double chunkBytes) const;
};

/// What `program` does for chunks of one byte, in `pieces` pieces. Emits an
/// error and fails as makeMessages does (Conversion/Messages.h), or if a
/// message goes between ranks that no link of `topology` joins.
mlir::FailureOr<MessageTraffic> messageTrafficOf(coll::ProgramOp program,
                                                 const Collective &collective,
                                                 const Topology &topology,
                                                 const MessageClock &clock,
                                                 unsigned pieces);

} // namespace sccl

#endif // SCCL_ADVICE_MESSAGETRAFFIC_H
