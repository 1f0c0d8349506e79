//===- CapacityGraph.h - Ranks and switches with capacities -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where bandwidth is limited in ports and cables only, a topology is a graph:
// ranks, switches that pass on what they get, and arcs that each carry so many
// chunks per round. Algorithms that look at cuts work on this form.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_CAPACITYGRAPH_H
#define SCCL_MODEL_CAPACITYGRAPH_H

#include "sccl/Model/Topology.h"

#include <cstdint>
#include <vector>

namespace sccl {

/// Vertices 0..numRanks-1 are ranks, those from there to numVertices-1 are
/// switches, which neither keep nor copy chunks.
struct CapacityGraph {
  struct Arc {
    unsigned from, to;
    int64_t capacity; ///< chunks per round, at least 1
  };
  /// A way through a switch that does not exist.
  struct Turn {
    unsigned from, through, to;
  };
  unsigned numRanks;
  unsigned numVertices;
  std::vector<Arc> arcs;
  std::vector<Turn> missingTurns;

  bool isRank(unsigned vertex) const { return vertex < numRanks; }
};

/// `topology` as a graph. A limit on one link is an arc; one on links of the
/// same source, or the same destination, is an arc to, or from, a switch. Where
/// every such source is linked to every such destination, one switch stands
/// between all of them; so it does if a pair is linked in another way, and then
/// lacks a turn. Fails if there is a limit on links of several sources
/// and several destinations, a link with several limits of the same kind, or a
/// link without a limit.
Result<CapacityGraph> capacityGraphOf(const Topology &topology);

} // namespace sccl

#endif // SCCL_MODEL_CAPACITYGRAPH_H
