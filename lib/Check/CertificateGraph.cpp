//===- CertificateGraph.cpp - Paths and trees at prices ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here knows commodities or claims: only what paths and trees cost.
//
//===----------------------------------------------------------------------===//

#include "CertificateGraph.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace sccl;
using namespace sccl::certificate;

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

Graph Graph::reversed() const {
  Graph result = *this;
  for (size_t link = 0; link < links.size(); ++link) {
    std::swap(result.links[link].src, result.links[link].dst);
    for (unsigned column = 0; column < columns; ++column)
      result.prices[at(link, columns - 1 - column)] = prices[at(link, column)];
  }
  return result;
}

std::vector<Wide>
certificate::cheapestPaths(const Graph &graph,
                           const std::vector<unsigned> &roots) {
  std::vector<Wide> cost(graph.ranks, outOfReach);
  for (unsigned root : roots)
    cost[root] = 0;
  // Without steps a cheapest path has fewer links than there are ranks.
  unsigned sweeps = graph.anySteps ? graph.ranks : graph.columns;
  for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
    unsigned column = graph.anySteps ? 0 : sweep;
    std::vector<Wide> next = cost;
    for (size_t link = 0; link < graph.links.size(); ++link) {
      auto [src, dst] = graph.links[link];
      if (cost[src] < outOfReach)
        next[dst] = std::min(next[dst],
                             cost[src] + graph.prices[graph.at(link, column)]);
    }
    if (graph.anySteps && next == cost)
      break;
    cost = std::move(next);
  }
  return cost;
}

std::vector<unsigned>
certificate::countHops(const Graph &graph, const std::vector<unsigned> &roots) {
  std::vector<unsigned> hops(graph.ranks, graph.ranks);
  for (unsigned root : roots)
    hops[root] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [src, dst] : graph.links)
      if (hops[src] + 1 < hops[dst]) {
        hops[dst] = hops[src] + 1;
        changed = true;
      }
  }
  return hops;
}

//===----------------------------------------------------------------------===//
// Numbers of the proof
//===----------------------------------------------------------------------===//

Failure certificate::checkValues(const StepValues &values, unsigned columns,
                                 const std::string &what) {
  if (values.size() != columns)
    return what + " has " + std::to_string(values.size()) +
           " values, expected " + std::to_string(columns);
  for (int64_t value : values)
    if (value < 0 || value > maxProofValue)
      return what + " has the value " + std::to_string(value) +
             ", the limits are 0 and " + std::to_string(maxProofValue);
  return std::nullopt;
}

Failure certificate::checkRanks(const std::vector<unsigned> &list,
                                unsigned ranks) {
  for (unsigned rank : list)
    if (rank >= ranks)
      return "rank " + std::to_string(rank) + " is out of range for " +
             std::to_string(ranks) + " ranks";
  return std::nullopt;
}

Result<std::vector<unsigned>>
certificate::findBlocks(const std::vector<std::vector<unsigned>> &blocks,
                        unsigned ranks) {
  std::vector<unsigned> blockOf(ranks);
  std::iota(blockOf.begin(), blockOf.end(), 0u);
  std::vector<bool> isTaken(ranks);
  for (const std::vector<unsigned> &block : blocks) {
    if (Failure failure = checkRanks(block, ranks))
      return Error{*failure};
    for (unsigned rank : block) {
      if (isTaken[rank])
        return Error{"rank " + std::to_string(rank) + " is in two blocks"};
      isTaken[rank] = true;
      blockOf[rank] = block[0];
    }
  }
  return blockOf;
}

size_t certificate::countBlocks(const std::vector<unsigned> &list,
                                const std::vector<unsigned> &blockOf) {
  std::set<unsigned> blocks;
  for (unsigned rank : list)
    blocks.insert(blockOf[rank]);
  return blocks.size();
}

std::vector<bool> certificate::toFlags(const std::vector<unsigned> &list,
                                       unsigned ranks) {
  std::vector<bool> flags(ranks);
  for (unsigned rank : list)
    flags[rank] = true;
  return flags;
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

namespace {
/// Cheapest paths to one target after the other, at prices of its own. Most of
/// them are 0, and so are most paths: a rank whose path costs nothing is not
/// looked at any more, nor one that no path reaches yet. In the last step only
/// the target is, and before it those with a link to the target.
class PathSearch {
public:
  PathSearch(const Graph &graph, const std::vector<unsigned> &roots)
      : graph(graph), roots(roots), hops(countHops(graph, roots)),
        in(graph.ranks), all(graph.ranks) {
    for (size_t link = 0; link < graph.links.size(); ++link)
      in[graph.links[link].dst].push_back(link);
    std::iota(all.begin(), all.end(), 0u);
  }
  /// At the prices of `priced`, whose links are those of the graph; none is
  /// negative.
  Wide cheapest(const Graph &priced, unsigned target) const;

private:
  Wide extended(const Graph &priced, unsigned rank, unsigned column,
                const std::vector<Wide> &cost) const;
  std::vector<unsigned> around(unsigned target) const;

  const Graph &graph;
  const std::vector<unsigned> &roots;
  const std::vector<unsigned> hops;    ///< from the roots
  std::vector<std::vector<size_t>> in; ///< links into each rank
  std::vector<unsigned> all;           ///< ranks
};
} // namespace

/// The cheapest path to `rank` by the end of step `column`, if paths before it
/// are `cost`.
Wide PathSearch::extended(const Graph &priced, unsigned rank, unsigned column,
                          const std::vector<Wide> &cost) const {
  Wide least = cost[rank];
  if (hops[rank] > column + 1)
    return least;
  for (size_t i = 0; least > 0 && i < in[rank].size(); ++i) {
    size_t link = in[rank][i];
    Wide before = cost[graph.links[link].src];
    if (before < least)
      least = std::min(least, before + priced.prices[graph.at(link, column)]);
  }
  return least;
}

/// `target`, and all ranks with a link to it.
std::vector<unsigned> PathSearch::around(unsigned target) const {
  std::vector<unsigned> ranks = {target};
  for (size_t link : in[target])
    ranks.push_back(graph.links[link].src);
  return ranks;
}

Wide PathSearch::cheapest(const Graph &priced, unsigned target) const {
  if (graph.anySteps)
    return cheapestPaths(priced, roots)[target];
  std::vector<Wide> cost(graph.ranks, outOfReach);
  for (unsigned root : roots)
    cost[root] = 0;
  const unsigned last = graph.columns - 1;
  for (unsigned column = 0; column < last; ++column) {
    std::vector<Wide> next(graph.ranks, outOfReach);
    for (unsigned rank : column + 1 == last ? around(target) : all)
      next[rank] = extended(priced, rank, column, cost);
    cost = std::move(next);
  }
  return extended(priced, target, last, cost);
}

namespace {
/// Adds up what the trees of one commodity establish.
class TreeProofChecker {
public:
  /// `graph` is read in the direction of the tree.
  TreeProofChecker(const Topology &topology, const Graph &graph,
                   const TreeProof &tree, const std::vector<unsigned> &targets)
      : topology(topology), graph(graph), tree(tree),
        isRoot(toFlags(tree.roots, graph.ranks)),
        isTarget(toFlags(targets, graph.ranks)), weights(graph.prices.size()) {
    for (unsigned root : tree.roots)
      isTarget[root] = false;
  }

  /// Adds max(0, w) to `load` and V to `value`.
  Failure run(std::vector<Wide> &load, Wide &value);

private:
  Failure addArrivals(Wide &value);
  Failure addRelays();
  Failure addPaths(Wide &value);
  void takeOver(std::vector<size_t> &lines, Graph &priced);
  /// The values of a line in the direction of the tree, with its link.
  Result<size_t> load(const Link &link, const StepValues &values,
                      std::vector<Wide> &oriented, const std::string &what);

  const Topology &topology;
  const Graph &graph;
  const TreeProof &tree;
  std::vector<bool> isRoot, isTarget;
  std::vector<Wide> weights;
};
} // namespace

Result<size_t> TreeProofChecker::load(const Link &link,
                                      const StepValues &values,
                                      std::vector<Wide> &oriented,
                                      const std::string &what) {
  std::string name = what + " on " + linkText(link);
  std::optional<unsigned> index = topology.findLink(link.src, link.dst);
  if (!index)
    return Error{name + " is on no link of the topology"};
  if (Failure failure = checkValues(values, graph.columns, name))
    return Error{*failure};
  oriented.assign(values.begin(), values.end());
  if (tree.backward)
    std::reverse(oriented.begin(), oriented.end());
  return size_t(*index);
}

/// Rule (i).
Failure TreeProofChecker::addArrivals(Wide &value) {
  if (tree.arrivals.size() != graph.ranks)
    return "a tree has " + std::to_string(tree.arrivals.size()) +
           " arrival values, expected " + std::to_string(graph.ranks);
  for (unsigned rank = 0; rank < graph.ranks; ++rank) {
    int64_t arrival = tree.arrivals[rank];
    std::string what = "the arrival value " + std::to_string(arrival) +
                       " of rank " + std::to_string(rank);
    if (arrival < -maxProofValue || arrival > maxProofValue)
      return what + " is larger than " + std::to_string(maxProofValue);
    if (isRoot[rank] && arrival != 0)
      return what + ", a root, is not 0";
    if (!isTarget[rank] && arrival > 0)
      return what + ", not a target, is positive";
    value += arrival;
  }
  for (size_t link = 0; link < graph.links.size(); ++link)
    for (unsigned column = 0; column < graph.columns; ++column)
      weights[graph.at(link, column)] += tree.arrivals[graph.links[link].dst];
  return std::nullopt;
}

/// Rule (ii).
Failure TreeProofChecker::addRelays() {
  if (graph.anySteps && !tree.relays.empty())
    return "relay values need a number of steps";
  // Of each rank and column: what its relays take in later columns.
  std::vector<Wide> allLater(size_t(graph.ranks) * graph.columns);
  std::vector<Wide> values;
  for (const RelayValues &relay : tree.relays) {
    Result<size_t> link =
        load(relay.link, relay.values, values, "a relay value");
    if (!link)
      return link.error();
    unsigned relaying = graph.links[*link].src;
    if (isRoot[relaying])
      return "a relay value on " + linkText(relay.link) + " is on a root";
    Wide later = 0;
    for (size_t column = graph.columns; column-- > 0;) {
      allLater[size_t(relaying) * graph.columns + column] += later;
      later += values[column];
      weights[graph.at(*link, column)] -= later;
    }
  }
  for (size_t link = 0; link < graph.links.size(); ++link)
    for (unsigned column = 0; column < graph.columns; ++column)
      weights[graph.at(link, column)] +=
          allLater[size_t(graph.links[link].dst) * graph.columns + column];
  return std::nullopt;
}

/// Rule (iii). Lines of one target are next to each other in a parsed proof;
/// where they are not, each group counts as a path of its own, which takes no
/// more than all of them together would give.
Failure TreeProofChecker::addPaths(Wide &value) {
  if (tree.paths.empty())
    return std::nullopt;
  Graph priced = graph.withPrices(std::vector<Wide>(graph.prices.size()));
  const PathSearch search(graph, tree.roots);
  std::vector<size_t> lines; // links of the target's lines
  std::vector<Wide> values;
  for (size_t i = 0; i < tree.paths.size(); ++i) {
    const PathPrices &path = tree.paths[i];
    std::string what = "a price to rank " + std::to_string(path.target);
    if (path.target >= graph.ranks || !isTarget[path.target])
      return what + " is of no target";
    Result<size_t> link = load(path.link, path.values, values, what);
    if (!link)
      return link.error();
    for (unsigned column = 0; column < graph.columns; ++column)
      priced.prices[graph.at(*link, column)] += values[column];
    lines.push_back(*link);
    bool isLast =
        i + 1 == tree.paths.size() || tree.paths[i + 1].target != path.target;
    if (!isLast)
      continue;
    Wide cheapest = search.cheapest(priced, path.target);
    if (cheapest == outOfReach)
      return "rank " + std::to_string(path.target) +
             " is out of reach of the roots";
    value += cheapest;
    takeOver(lines, priced);
  }
  return std::nullopt;
}

/// Moves the prices on `lines` into the weights.
void TreeProofChecker::takeOver(std::vector<size_t> &lines, Graph &priced) {
  for (size_t link : lines)
    for (unsigned column = 0; column < graph.columns; ++column) {
      Wide &price = priced.prices[graph.at(link, column)];
      weights[graph.at(link, column)] += price;
      price = 0;
    }
  lines.clear();
}

Failure TreeProofChecker::run(std::vector<Wide> &load, Wide &value) {
  if (Failure failure = addArrivals(value))
    return failure;
  if (Failure failure = addRelays())
    return failure;
  if (Failure failure = addPaths(value))
    return failure;
  std::vector<unsigned> hops = countHops(graph, tree.roots);
  for (size_t link = 0; link < graph.links.size(); ++link) {
    auto [src, dst] = graph.links[link];
    if (isRoot[dst] || hops[src] == graph.ranks)
      continue;
    unsigned first = graph.anySteps ? 0 : hops[src];
    for (unsigned column = first; column < graph.columns; ++column)
      load[graph.at(link, column)] +=
          std::max<Wide>(0, weights[graph.at(link, column)]);
  }
  return std::nullopt;
}

Failure certificate::addTree(const Topology &topology, const Graph &graph,
                             const TreeProof &tree,
                             const std::vector<unsigned> &targets,
                             std::vector<Wide> &load, Wide &value) {
  return TreeProofChecker(topology, graph, tree, targets).run(load, value);
}
