//===- Scaling.h - The same problem in smaller numbers ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine whose bandwidths are 450 and 50 is one with 9 and 1, with chunks
// cut into 50 pieces: the answer must not depend on the unit. And a schedule
// for C chunks is one for any multiple of C.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SCALING_H
#define SCCL_MODEL_SCALING_H

#include "sccl/Model/Inversion.h"
#include "sccl/Model/Topology.h"

namespace sccl {

/// The greatest common divisor of all bandwidths; 1 without limits.
unsigned commonBandwidth(const Topology &topology);

/// The same links, with limits of 1/`divisor` of the bandwidth each, which must
/// divide all of them.
Topology dividedBy(const Topology &topology, unsigned divisor);

/// Each chunk of `schedule` cut into `pieces` that go the same way, with
/// `roundsFactor` times the rounds and the period. A schedule for `pieces`
/// times the chunks: of the same topology if both factors are the same; of
/// `pieces` times the bandwidth if `roundsFactor` is 1.
Schedule cutChunks(const Schedule &schedule, unsigned pieces,
                   unsigned roundsFactor);

/// `implementation` with C of `chunks`, at the same cost of R/C: each chunk,
/// the rounds and the period `chunks` / C times. Fails unless `chunks` is a
/// multiple of C, and if there would be more than `Collective::maxPairs` pairs
/// or `Schedule::maxSends` sends.
Result<Implementation> withChunks(const Implementation &implementation,
                                  uint64_t chunks);

} // namespace sccl

#endif // SCCL_MODEL_SCALING_H
