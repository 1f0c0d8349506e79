//===- CutBound.cpp - The narrowest cut of a graph ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Newton's method on the ratio p/q, as in lib/Bounds/Cuts.cpp, which has to
// find limits again and reads a topology; here the arcs are given.
//
//===----------------------------------------------------------------------===//

#include "sccl/Solver/SpanningTrees.h"

#include "Model/FlowNetwork.h"

using namespace sccl;

namespace {
/// Sources feed each root with q, arcs carry p * capacity. A flow to a rank of
/// less than q for each root means a cut with a larger ratio.
class CutSearch {
public:
  CutSearch(const CapacityGraph &graph, const std::vector<unsigned> &roots,
            const Deadline &deadline)
      : graph(graph), roots(roots), deadline(deadline),
        network(graph.numVertices + 1), source(graph.numVertices) {
    for (const CapacityGraph::Arc &arc : graph.arcs)
      network.addArc(arc.from, arc.to, 0);
    for (unsigned root : roots)
      network.addArc(source, root, 0);
  }

  Result<Rational> run() {
    setCapacities();
    for (unsigned sink = 0; sink < graph.numRanks; ++sink)
      while (widen(sink))
        if (capacity == 0)
          return Error{"rank " + std::to_string(sink) +
                       " cannot be reached from every root"};
    if (deadline.expired())
      return Error{deadline.reason()};
    return Rational(demand, capacity);
  }

private:
  void setCapacities() {
    unsigned arc = 0;
    for (; arc < graph.arcs.size(); ++arc)
      network.setCapacity(arc, demand * graph.arcs[arc].capacity);
    for (; arc < network.numArcs(); ++arc)
      network.setCapacity(arc, capacity);
  }
  /// Looks for a better cut before `sink`.
  bool widen(unsigned sink);

  const CapacityGraph &graph;
  const std::vector<unsigned> &roots;
  const Deadline &deadline;
  FlowNetwork network;
  const unsigned source;
  /// The ratio p/q so far: of no cut, but below that of any.
  int64_t demand = 0, capacity = 1;
};
} // namespace

bool CutSearch::widen(unsigned sink) {
  int64_t needed = capacity * int64_t(roots.size());
  if (network.maximize(source, sink, needed,
                       [&](uint64_t units) { return deadline.tick(units); }) >=
          needed ||
      deadline.expired())
    return false;
  int64_t newDemand = 0, newCapacity = 0;
  for (unsigned root : roots)
    newDemand += network.isOnSourceSide(root);
  for (const CapacityGraph::Arc &arc : graph.arcs)
    if (network.isOnSourceSide(arc.from) && !network.isOnSourceSide(arc.to))
      newCapacity += arc.capacity;
  demand = newDemand;
  capacity = newCapacity;
  setCapacities();
  return true;
}

Result<Rational> sccl::cutBoundOnLoad(const CapacityGraph &graph,
                                      const std::vector<unsigned> &roots,
                                      const Deadline &deadline) {
  return CutSearch(graph, roots, deadline).run();
}
