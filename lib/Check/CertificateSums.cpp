//===- CertificateSums.cpp - Ways to add up by a tree, at prices ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CertificateGraph.h"

#include <algorithm>
#include <map>

using namespace sccl;
using namespace sccl::certificate;

namespace {
/// The least price of each sum at each rank, as steps go by.
class SumTable {
public:
  SumTable(const Graph &graph, const SumTree &tree,
           const std::vector<unsigned> &sources)
      : graph(graph), tree(tree),
        cost(size_t(tree.numNodes()) * graph.ranks, outOfReach) {
    for (uint32_t leaf = 0; leaf < tree.numLeaves(); ++leaf)
      at(leaf, sources[leaf]) = 0;
  }

  Wide &at(uint32_t node, unsigned rank) {
    return cost[size_t(node) * graph.ranks + rank];
  }

  /// The operands are both at the rank where their sum is made.
  void add(uint32_t node) {
    for (unsigned rank = 0; !tree.isLeaf(node) && rank < graph.ranks; ++rank)
      at(node, rank) = std::min(at(node, rank), at(tree.left(node), rank) +
                                                    at(tree.right(node), rank));
  }

  /// What was somewhere before `column` is a link further after it. Returns
  /// whether anything became cheaper.
  bool move(uint32_t node, unsigned column, const Wide *prices) {
    std::vector<Wide> before(&at(node, 0), &at(node, 0) + graph.ranks);
    bool isCheaper = false;
    for (size_t link = 0; link < graph.links.size(); ++link) {
      auto [src, dst] = graph.links[link];
      Wide price = before[src] + prices[graph.at(link, column)];
      isCheaper |= price < at(node, dst);
      at(node, dst) = std::min(at(node, dst), price);
    }
    return isCheaper;
  }

private:
  const Graph &graph;
  const SumTree &tree;
  std::vector<Wide> cost;
};
} // namespace

std::vector<Wide>
certificate::cheapestSums(const Graph &graph, const SumTree &tree,
                          const std::vector<unsigned> &sources,
                          const std::vector<Wide> &prices) {
  SumTable table(graph, tree, sources);
  // Prices of all nodes, or of each.
  size_t perNode =
      prices.size() == graph.prices.size() ? 0 : graph.prices.size();
  auto pricesOf = [&](uint32_t node) { return &prices[node * perNode]; };
  for (uint32_t node = 0; node < tree.numNodes(); ++node) {
    table.add(node);
    while (graph.anySteps && table.move(node, 0, pricesOf(node)))
      ;
  }
  for (unsigned column = 0; !graph.anySteps && column < graph.columns; ++column)
    for (uint32_t node = 0; node < tree.numNodes(); ++node) {
      table.move(node, column, pricesOf(node));
      table.add(node);
    }
  std::vector<Wide> result;
  for (unsigned rank = 0; rank < graph.ranks; ++rank)
    result.push_back(std::min(table.at(tree.root(), rank), outOfReach));
  return result;
}

Failure certificate::spendOnSums(const Graph &graph, const SumTree &tree,
                                 size_t times, uint64_t &work) {
  constexpr uint64_t most = uint64_t(1) << 33, mostPlaces = most >> 8;
  uint64_t nodes = tree.numNodes();
  if (nodes * graph.ranks > mostPlaces)
    return "the sums have more places than are looked at";
  uint64_t each = nodes * std::max<uint64_t>(graph.prices.size(), 1);
  // Without steps, most sweeps over the links find nothing cheaper.
  if (graph.anySteps)
    each *= graph.ranks;
  if (each > (most - work) / std::max<size_t>(times, 1))
    return "the sums take more work than is done for a certificate";
  work += each * times;
  return std::nullopt;
}

/// The nodes of `tree` by the least of `sources`, which ascend, below each, and
/// how many are.
static std::map<std::pair<unsigned, unsigned>, uint32_t>
nodesByRanks(const SumTree &tree, const std::vector<unsigned> &sources) {
  std::map<std::pair<unsigned, unsigned>, uint32_t> nodes;
  for (uint32_t node = 0; node < tree.numNodes(); ++node)
    nodes.emplace(std::pair(sources[tree.least(node)], tree.size(node)), node);
  return nodes;
}

static std::string shareText(const SumShare &share) {
  return "a share of rank " + std::to_string(share.target) + " on " +
         linkText(share.link);
}

Result<Wide> certificate::valueOfShares(const Topology &topology,
                                        const Graph &graph, const SumTree &tree,
                                        const CommodityProof &proof,
                                        uint64_t &work) {
  auto nodes = nodesByRanks(tree, proof.pre);
  size_t perNode = graph.prices.size();
  if (Failure failure = spendOnSums(graph, tree, proof.post.size(), work))
    return Error{*failure};
  if (perNode > (uint64_t(1) << 26) / tree.numNodes())
    return Error{"the sums have more shares than are looked at"};
  std::map<unsigned, std::vector<const SumShare *>> sharesOf;
  std::vector<Wide> taken(perNode * tree.numNodes());
  auto visit = [&](const SumShare &share, auto add) {
    size_t begin =
        nodes.at({share.first, share.count}) * perNode +
        graph.at(*topology.findLink(share.link.src, share.link.dst), 0);
    for (unsigned column = 0; column < graph.columns; ++column)
      add(begin + column, share.values[column]);
  };
  for (const SumShare &share : proof.shares) {
    if (!std::ranges::binary_search(proof.post, share.target))
      return Error{shareText(share) + " is of no target"};
    if (!nodes.contains({share.first, share.count}))
      return Error{shareText(share) + " is of a sum that is not in the tree"};
    if (!topology.findLink(share.link.src, share.link.dst))
      return Error{shareText(share) + " is on no link of the topology"};
    if (Failure failure =
            checkValues(share.values, graph.columns, shareText(share)))
      return Error{*failure};
    sharesOf[share.target].push_back(&share);
    visit(share, [&](size_t at, int64_t value) { taken[at] += value; });
  }
  for (size_t at = 0; at < taken.size(); ++at)
    if (taken[at] > graph.prices[at % perNode])
      return Error{"the shares of a sum on " +
                   linkText(graph.links[at % perNode / graph.columns]) +
                   " in step " + std::to_string(at % graph.columns + 1) +
                   " are more than its price"};
  Wide value = 0;
  for (const auto &[target, shares] : sharesOf) {
    std::vector<Wide> prices(taken.size());
    for (const SumShare *share : shares)
      visit(*share, [&](size_t at, int64_t added) { prices[at] += added; });
    Wide cheapest = cheapestSums(graph, tree, proof.pre, prices)[target];
    if (cheapest == outOfReach)
      return Error{"a sum cannot be had in so many steps"};
    value += cheapest;
  }
  return value;
}
