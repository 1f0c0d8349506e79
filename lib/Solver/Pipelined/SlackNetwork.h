//===- SlackNetwork.h - How much room cuts leave ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trees under construction can be finished if each set X of vertices with a
// rank is entered by as many arcs as there are trees that do not touch it yet
// (Bérczi and Frank, "Packing arborescences", 2010). What is more than that is
// the slack of X. The least slack of all sets that hold some vertices and lack
// others is a minimum cut, in the graph with an arc from a source to each tree,
// as wide as the tree has copies, and on to all of the tree's ranks.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_PIPELINED_SLACKNETWORK_H
#define SCCL_LIB_SOLVER_PIPELINED_SLACKNETWORK_H

#include "Model/FlowNetwork.h"

#include "sccl/Model/CapacityGraph.h"
#include "sccl/Optimize/Deadline.h"

#include <list>
#include <vector>

namespace sccl::pipelined {

/// Copies of one tree, as far as they have grown.
struct GrowingTree {
  unsigned root;
  int64_t copies;
  std::vector<Link> links;
  std::vector<unsigned> members; ///< in the order of arrival, the root first
  std::vector<bool> isMember;    ///< by rank
  /// Ranks that no link from this or that member may lead to any more.
  std::vector<std::vector<bool>> isBlocked;
};

/// The graph with what arcs can still carry, and the trees that are not
/// finished.
class SlackNetwork {
public:
  SlackNetwork(const CapacityGraph &graph, const Deadline &deadline);

  unsigned numRanks() const { return ranks; }
  unsigned numVertices() const { return vertices; }
  int64_t capacity(unsigned from, unsigned to) const {
    return capacities[size_t(from) * vertices + to];
  }
  /// Adds `amount`, which may be negative.
  void widen(unsigned from, unsigned to, int64_t amount);

  /// Trees that count from now on; they must outlive this, or be taken out.
  void addTree(const GrowingTree &tree) { trees.push_back(&tree); }
  void removeTree(const GrowingTree &tree) { trees.remove(&tree); }

  /// Vertices that a set holds or lacks.
  using Vertices = std::vector<unsigned>;
  /// The least slack of the sets that hold all of `inside`, one of them a rank,
  /// and lack all of `outside`; `most` if it is more than that. `without`, if
  /// given, is left out of account. 0 if the deadline has expired; below 0 only
  /// if the trees cannot be finished.
  int64_t leastSlack(const Vertices &inside, const Vertices &outside,
                     int64_t most, const GrowingTree *without = nullptr);
  /// After a slack below `most`: whether the set that has it holds `vertex`.
  bool isInSet(unsigned vertex) const {
    return !network.isOnSourceSide(vertex);
  }

private:
  static constexpr unsigned none = ~0u;
  static constexpr int64_t unlimited = int64_t(1) << 60;

  unsigned treeNode(size_t index);
  void setTrees(const GrowingTree *without, int64_t &demand);

  const unsigned ranks, vertices;
  const Deadline &deadline;
  FlowNetwork network;
  const unsigned source, sink;
  std::vector<int64_t> capacities;
  std::vector<unsigned> arcs; ///< by pair of vertices, `none` before its use
  std::vector<unsigned> sourceArcs, sinkArcs;  ///< by vertex
  std::vector<unsigned> treeNodes;             ///< of trees with many ranks
  std::vector<unsigned> treeArcs;              ///< likewise, from the source
  std::vector<std::vector<unsigned>> rankArcs; ///< likewise, by rank
  std::list<const GrowingTree *> trees;
  std::vector<int64_t> supplies; ///< by vertex
};

} // namespace sccl::pipelined

#endif // SCCL_LIB_SOLVER_PIPELINED_SLACKNETWORK_H
