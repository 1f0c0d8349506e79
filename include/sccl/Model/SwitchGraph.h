//===- SwitchGraph.h - Switches as vertices ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A topology whose switches copy and reduce as one without them, which bounds
// and makers of trees know how to deal with. For each switch that multicasts,
// each of its ranks has a vertex: a link from the rank to its vertex is in the
// limits that contain all links from the rank to the others, and one from there
// to each other rank is in what else limits the link between the two. For each
// switch that reduces, each rank has another vertex, to which the others lead.
// Where a switch has own copies, the link between a rank and its vertex is in
// the limits of the other way as well. Links through other switches are no
// links of this graph.
//
// Why bounds for the graph hold for the topology. Let every vertex keep all
// that it gets, and let a step of the topology be two of the graph: a multicast
// is a send to the vertex of its source and one from there to each destination;
// what is reduced by the switch is sent to the vertex of the destination, and
// as one sum from there; and any other send through a switch is a multicast to
// one, or a sum of one. In each limit this is what it is on the topology. So a
// schedule of S steps and R rounds is one of 2 S steps on the graph, whose
// limits carry no more than R rounds let pass in all steps together: the bound
// of pipelined schedules holds for R.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SWITCHGRAPH_H
#define SCCL_MODEL_SWITCHGRAPH_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/Topology.h"

#include <vector>

namespace sccl {

/// A topology with vertices for its switches, as ranks that take no part.
struct SwitchGraph {
  /// Ranks as they were, and then for each switch those of its ranks that
  /// multicast, and those that reduce.
  Topology graph;
  /// By vertex of the graph, the rank that it belongs to.
  std::vector<unsigned> rankOf;
};

/// The graph of `topology`, with what its switches reduce if `withSums`. Fails
/// if it has more ranks or links than topologies have.
Result<SwitchGraph> switchGraphOf(const Topology &topology,
                                  bool withSums = true);

/// `collective` among the first ranks of a graph of `vertices`.
Result<Collective> onVertices(const Collective &collective, unsigned vertices);

/// The schedule on `topology` that does what `onGraph` does, which copies on
/// a graph without sums, its switches named by the transport `Multicast`. Each
/// chunk is sent as soon as its rank has it; there are as many steps as that
/// takes.
Schedule withoutVertices(const SwitchGraph &graph, const Topology &topology,
                         const Schedule &onGraph);

} // namespace sccl

#endif // SCCL_MODEL_SWITCHGRAPH_H
