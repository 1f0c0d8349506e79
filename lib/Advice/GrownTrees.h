//===- GrownTrees.h - Schedules of trees that grow --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules for any machine without a search: the tree of each chunk grows by
// one link at a time, the one that costs least, and then, once all have grown,
// does so again beside the others. A link costs what it adds to a high power of
// the loads of its limits, a smooth stand-in for the fullest one, and a little
// for the latency from the chunk's source. That takes about as long as to write
// the schedule down, needs no symmetry and only one chunk or two for each rank,
// and so is there where searches find nothing in time, as on large machines
// that have lost a part.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_GROWNTREES_H
#define SCCL_LIB_ADVICE_GROWNTREES_H

#include "sccl/Advice/Advice.h"
#include "sccl/Optimize/Deadline.h"

#include <vector>

namespace sccl::advice {

/// Schedules for `family`, step by step, that the checker has accepted: those
/// of the least latency and those of small loads, of few chunks. Nothing for
/// collectives that are neither plain nor the spreading or the sum of single
/// chunks, nor where ranks cannot reach each other. Grows no more once
/// `deadline` is over, and returns what is whole by then, if anything.
std::vector<Implementation> grownSchedules(const Fabric &fabric,
                                           const CollectiveFamily &family,
                                           const Deadline &deadline);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_GROWNTREES_H
