//===- SwitchBound.h - Bounds where switches copy or reduce -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bound on the graph of a topology whose switches are vertices holds for the
// topology: see SwitchGraph.h.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_SWITCHBOUND_H
#define SCCL_LIB_BOUNDS_SWITCHBOUND_H

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/SwitchGraph.h"

namespace sccl::bounds {

/// A question on the graph, and how its answers are those for the topology.
struct SwitchQuestion {
  Topology graph;
  Collective collective;

  /// What `options` ask for there.
  static LowerBoundOptions optionsFor(LowerBoundOptions options);
  /// `found` on the graph as a bound for `topology` and `given`, of `steps`
  /// steps there. Fails where the checker does not accept it.
  Result<LowerBound> boundFor(LowerBound found, const Topology &topology,
                              const Collective &given,
                              std::optional<unsigned> steps,
                              bool pipelined) const;
};

/// The question for a collective on a topology with switches. Fails if the
/// graph is too large.
Result<SwitchQuestion> questionOnGraph(const Topology &topology,
                                       const Collective &collective);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_SWITCHBOUND_H
