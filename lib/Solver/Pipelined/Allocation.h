//===- Allocation.h - A share of the limits for each link -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_PIPELINED_ALLOCATION_H
#define SCCL_LIB_SOLVER_PIPELINED_ALLOCATION_H

#include "sccl/Model/CapacityGraph.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Optimize/Deadline.h"

#include <vector>

namespace sccl::pipelined {

/// A graph without switches: for each link of `topology` that is of use a share
/// of its limits, whatever sets of links these are on, so that trees from each
/// of `roots` have the least load there is, or as good as. Links that
/// `symmetries` map to each other, which must keep `roots`, get equal shares.
/// Fails if a root does not reach a rank, a link has no limit, or `deadline`
/// expires.
Result<CapacityGraph> allocateLimits(const Topology &topology,
                                     const std::vector<unsigned> &roots,
                                     const std::vector<Permutation> &symmetries,
                                     const Deadline &deadline);

} // namespace sccl::pipelined

#endif // SCCL_LIB_SOLVER_PIPELINED_ALLOCATION_H
