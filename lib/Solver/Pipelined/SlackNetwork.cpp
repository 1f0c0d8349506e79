//===- SlackNetwork.cpp - How much room cuts leave ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlackNetwork.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::pipelined;

SlackNetwork::SlackNetwork(const CapacityGraph &graph, const Deadline &deadline)
    : ranks(graph.numRanks), vertices(graph.numVertices), deadline(deadline),
      network(vertices + 2), source(vertices), sink(vertices + 1),
      capacities(size_t(vertices) * vertices),
      arcs(size_t(vertices) * vertices, none), supplies(vertices) {
  for (unsigned vertex = 0; vertex < vertices; ++vertex) {
    sourceArcs.push_back(network.addArc(source, vertex, 0));
    sinkArcs.push_back(network.addArc(vertex, sink, 0));
  }
  for (const CapacityGraph::Arc &arc : graph.arcs)
    widen(arc.from, arc.to, arc.capacity);
}

void SlackNetwork::widen(unsigned from, unsigned to, int64_t amount) {
  size_t pair = size_t(from) * vertices + to;
  capacities[pair] += amount;
  if (arcs[pair] == none)
    arcs[pair] = network.addArc(from, to, 0);
  network.setCapacity(arcs[pair], capacities[pair]);
}

/// The node of the tree number `index` of those with several ranks.
unsigned SlackNetwork::treeNode(size_t index) {
  if (index < treeNodes.size())
    return treeNodes[index];
  treeNodes.push_back(network.addNode());
  treeArcs.push_back(network.addArc(source, treeNodes[index], 0));
  std::vector<unsigned> &arcsOfTree = rankArcs.emplace_back();
  for (unsigned rank = 0; rank < ranks; ++rank)
    arcsOfTree.push_back(network.addArc(treeNodes[index], rank, 0));
  return treeNodes[index];
}

void SlackNetwork::setTrees(const GrowingTree *without, int64_t &demand) {
  std::fill(supplies.begin(), supplies.end(), 0);
  size_t index = 0;
  for (const GrowingTree *tree : trees) {
    if (tree == without)
      continue;
    demand += tree->copies;
    if (tree->members.size() == 1) {
      supplies[tree->root] += tree->copies;
      continue;
    }
    treeNode(index);
    network.setCapacity(treeArcs[index], tree->copies);
    for (unsigned rank = 0; rank < ranks; ++rank)
      network.setCapacity(rankArcs[index][rank],
                          tree->isMember[rank] ? unlimited : 0);
    ++index;
  }
  for (; index < treeNodes.size(); ++index)
    network.setCapacity(treeArcs[index], 0);
}

int64_t SlackNetwork::leastSlack(const Vertices &inside,
                                 const Vertices &outside, int64_t most,
                                 const GrowingTree *without) {
  // To ask for all links of a thousand ranks takes minutes, for nothing.
  if (deadline.expired())
    return 0;
  int64_t demand = 0;
  setTrees(without, demand);
  for (unsigned vertex : outside)
    supplies[vertex] = unlimited;
  for (unsigned vertex = 0; vertex < vertices; ++vertex) {
    network.setCapacity(sourceArcs[vertex], supplies[vertex]);
    network.setCapacity(sinkArcs[vertex], 0);
  }
  for (unsigned vertex : inside)
    network.setCapacity(sinkArcs[vertex], unlimited);
  int64_t flow =
      network.maximize(source, sink, demand + most,
                       [&](uint64_t units) { return deadline.tick(units); });
  if (deadline.expired())
    return 0;
  return std::min(flow - demand, most);
}
