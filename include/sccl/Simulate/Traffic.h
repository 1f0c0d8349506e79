//===- Traffic.h - What a coll.program sends --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SIMULATE_TRAFFIC_H
#define SCCL_SIMULATE_TRAFFIC_H

#include "sccl/Simulate/Simulator.h"

#include "sccl/Dialect/Coll/CollOps.h"

namespace sccl::coll {

/// The ranks that a transfer of `rank` reads from and writes to; the same of
/// what it moves within its own memory.
std::pair<unsigned, unsigned> endsOf(unsigned rank, const Transfer &transfer);

/// What a transfer of `rank` in `program` does with chunks of `chunkBytes`
/// bytes, without its link.
Action actionOf(ProgramOp program, unsigned rank, const Transfer &transfer,
                double chunkBytes);

/// What the channels of `program` do for chunks of `chunkBytes` bytes. LL words
/// take twice their bytes, and what reads them waits for each as for a flag.
/// Emits an error and fails if a transfer goes between ranks that no link of
/// `topology` joins.
mlir::FailureOr<Traffic> trafficOf(ProgramOp program, const Topology &topology,
                                   double chunkBytes);

} // namespace sccl::coll

#endif // SCCL_SIMULATE_TRAFFIC_H
