//===- TokenFlow.h - Paths of the units of a flow ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A flow says how many chunks cross a link in a step. Moving tokens as it says,
// first in first out, gives each chunk a path; its name is given afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_FLOW_TOKENFLOW_H
#define SCCL_LIB_SOLVER_FLOW_TOKENFLOW_H

#include "sccl/Model/Topology.h"

#include <cstdint>
#include <functional>

namespace sccl {

/// The way of one unit of a flow.
struct TokenPath {
  struct Hop {
    unsigned link;
    unsigned step; ///< counted from 1
  };
  unsigned start, end;
  std::vector<Hop> hops;
};

/// Follows the tokens of which `atStart[rank]` start at each rank. `flow(link,
/// step)` tokens leave over a link in a step; there must be as many.
std::vector<TokenPath>
followTokens(const Topology &topology, unsigned steps,
             const std::vector<unsigned> &atStart,
             const std::function<int64_t(unsigned, unsigned)> &flow);

} // namespace sccl

#endif // SCCL_LIB_SOLVER_FLOW_TOKENFLOW_H
