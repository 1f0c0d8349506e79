//===- Ways.h - What all ways from a GPU have in common ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MACHINE_WAYS_H
#define SCCL_LIB_MACHINE_WAYS_H

#include "sccl/Machine/Machine.h"

#include <map>

namespace sccl {

/// All ways over open edges from one GPU to others, through no third: the
/// dominator tree of what it reaches, with a node for each vertex and for each
/// edge.
class Ways {
public:
  /// Both must outlive this.
  Ways(const Machine &machine, const std::vector<bool> &isOpen);

  /// Finds the ways from the GPU `vertex`. Linear in the edges that it reaches,
  /// as a rule.
  void findFrom(unsigned vertex);
  /// The GPUs that they lead to, as vertices, with a node of the tree: what is
  /// above it is on all ways.
  const std::map<unsigned, unsigned> &targets() const { return meetings; }
  /// The edges that all ways to the GPU of this node take, the last one first.
  std::vector<unsigned> edgesAbove(unsigned node) const;
  /// True if there is one way only.
  bool isOnlyWay(unsigned node) const;

private:
  static constexpr unsigned none = ~0u;
  bool isGpu(unsigned vertex) const {
    return machine.vertices()[vertex].kind == VertexKind::Gpu;
  }
  bool isEdge(unsigned node) const { return node >= entry.size(); }
  const Edge &edgeOf(unsigned node) const {
    return machine.edges()[node - entry.size()];
  }
  unsigned nodeOf(unsigned edge) const { return entry.size() + edge; }
  unsigned above(unsigned node) const {
    return isEdge(node) ? edgeOf(node).src : entry[node];
  }
  unsigned place(unsigned node) const {
    return isEdge(node) ? place(edgeOf(node).src) + 1 : places[node];
  }
  void order();
  unsigned meet(unsigned a, unsigned b) const;
  unsigned entryOf(unsigned vertex) const;

  const Machine &machine;
  const std::vector<bool> &isOpen;
  std::vector<std::vector<unsigned>> into; ///< open edges, by vertex
  unsigned start = none;
  std::vector<unsigned> reached; ///< vertices that are passed, in an order in
                                 ///< which few edges lead back
  std::vector<unsigned> places;  ///< in that order, even numbers; or none
  std::vector<unsigned> entry;   ///< of vertices, the node above, or none
  std::map<unsigned, unsigned> meetings;
};

} // namespace sccl

#endif // SCCL_LIB_MACHINE_WAYS_H
