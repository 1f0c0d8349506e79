//===- PriceChecker.cpp - What chunks cost at prices ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PriceChecker.h"

#include "sccl/Model/RanksByChunk.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::certificate;

/// Whether the sends of a chunk must hold a tree with these roots.
static Failure checkRoots(const TreeProof &tree, const Commodity &commodity,
                          bool combining) {
  const std::vector<unsigned> &from =
      tree.backward ? commodity.post : commodity.pre;
  if (!combining) {
    if (!tree.backward && tree.roots == from)
      return std::nullopt;
    return "a tree without reductions must lead from all of the precondition";
  }
  if (tree.roots.size() == 1 &&
      std::binary_search(from.begin(), from.end(), tree.roots[0]))
    return std::nullopt;
  return "a tree of reductions must have one root, in the " +
         std::string(tree.backward ? "postcondition" : "precondition");
}

void PriceChecker::groupChunks() {
  RanksByChunk before(collective.pre()), after(collective.post());
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    Route route(before[chunk], after[chunk]);
    Commodity &commodity = commodities[route];
    if (commodity.count++ == 0)
      std::tie(commodity.pre, commodity.post) = std::move(route);
  }
}

Result<Wide> PriceChecker::valueOf(const SearchProof &proof,
                                   const Commodity &commodity) {
  if (graph.anySteps)
    return Error{"a search is for a number of steps"};
  ChunkQuestion question{
      graph.ranks,    graph.columns,          graph.links, {}, commodity.pre,
      commodity.post, collective.combining(), proof.value};
  for (Wide price : graph.prices)
    question.prices.push_back(int64_t(std::min<Wide>(price, maxProofValue)));
  if (Failure failure = checkSearch(question, proof.steps, searchLimits))
    return Error{*failure};
  return Wide(proof.value);
}

Result<Wide> PriceChecker::valueOfShares(const CommodityProof &proof) {
  Result<SumTree> tree = order.treeOf(unsigned(proof.pre.size()));
  if (!tree)
    return Error{tree.error()};
  return certificate::valueOfShares(topology, graph, *tree, proof, sumWork);
}

Result<Wide> PriceChecker::valueOf(const CommodityProof &proof,
                                   const Commodity &commodity) {
  if (proof.search)
    return valueOf(*proof.search, commodity);
  if (!proof.shares.empty())
    return valueOfShares(proof);
  bool combining = collective.combining();
  if (proof.gossip < 0 || proof.gossip > maxProofValue)
    return Error{"the gossip value " + std::to_string(proof.gossip) +
                 " is out of range"};
  if (proof.gossip != 0 && (!combining || commodity.post.empty()))
    return Error{"a gossip value needs a reduction"};
  Result<std::vector<unsigned>> blockOf = findBlocks(proof.blocks, graph.ranks);
  if (!blockOf)
    return Error{blockOf.error()};
  size_t ends = countBlocks(commodity.pre, *blockOf) +
                countBlocks(commodity.post, *blockOf);
  Wide value = proof.gossip == 0 ? 0 : Wide(proof.gossip) * Wide(ends - 2);
  std::vector<Wide> load(graph.prices.size());
  for (size_t link = 0; link < graph.links.size(); ++link)
    if ((*blockOf)[graph.links[link].src] != (*blockOf)[graph.links[link].dst])
      std::fill_n(load.begin() + graph.at(link, 0), graph.columns,
                  proof.gossip);
  for (const TreeProof &tree : proof.trees) {
    if (Failure failure = checkRoots(tree, commodity, combining))
      return Error{*failure};
    std::vector<Wide> treeLoad(load.size());
    if (Failure failure = addTree(
            topology, tree.backward ? graph.reversed() : graph, tree,
            tree.backward ? commodity.pre : commodity.post, treeLoad, value))
      return Error{*failure};
    for (size_t link = 0; link < graph.links.size(); ++link)
      for (unsigned column = 0; column < graph.columns; ++column) {
        unsigned own = tree.backward ? graph.columns - 1 - column : column;
        load[graph.at(link, own)] += treeLoad[graph.at(link, column)];
      }
  }
  for (size_t i = 0; i < load.size(); ++i)
    if (load[i] > graph.prices[i])
      return Error{
          "the proof of a commodity takes more than the price of link " +
          linkText(graph.links[i / graph.columns]) + " in step " +
          std::to_string(i % graph.columns + 1)};
  return value;
}

Failure
PriceChecker::addCommodities(const std::vector<CommodityProof> &proofs) {
  groupChunks();
  for (const CommodityProof &proof : proofs) {
    auto found = commodities.find({proof.pre, proof.post});
    if (found == commodities.end())
      return "no chunk has the pre- and postcondition of a commodity of the "
             "proof";
    Result<Wide> value = valueOf(proof, found->second);
    if (!value)
      return value.error();
    found->second.value = *value;
  }
  return std::nullopt;
}

static std::vector<unsigned> imageOf(const std::vector<unsigned> &symmetry,
                                     const std::vector<unsigned> &set) {
  std::vector<unsigned> image;
  for (unsigned rank : set)
    image.push_back(symmetry[rank]);
  std::sort(image.begin(), image.end());
  return image;
}

/// Whether a renumbering maps links to links of the same prices.
static Failure checkSymmetry(const std::vector<unsigned> &symmetry,
                             const Topology &topology, const Graph &graph) {
  if (Failure failure = checkRanks(symmetry, graph.ranks))
    return failure;
  std::vector<bool> hit = toFlags(symmetry, graph.ranks);
  if (symmetry.size() != graph.ranks ||
      std::find(hit.begin(), hit.end(), false) != hit.end())
    return "a symmetry is not a renumbering of the ranks";
  for (size_t link = 0; link < graph.links.size(); ++link) {
    auto [src, dst] = graph.links[link];
    Link to{symmetry[src], symmetry[dst]};
    std::optional<unsigned> image = topology.findLink(to.src, to.dst);
    if (!image)
      return "a symmetry maps link " + linkText(graph.links[link]) + " to " +
             linkText(to) + ", which the topology does not have";
    for (unsigned column = 0; column < graph.columns; ++column)
      if (graph.prices[graph.at(link, column)] !=
          graph.prices[graph.at(*image, column)])
        return "a symmetry maps link " + linkText(graph.links[link]) + " to " +
               linkText(to) + ", which has another price";
  }
  return std::nullopt;
}

Failure
PriceChecker::addSymmetries(const std::vector<std::vector<unsigned>> &list) {
  for (const std::vector<unsigned> &symmetry : list)
    if (Failure failure = checkSymmetry(symmetry, topology, graph))
      return failure;
  // A renumbering has a finite order, so following images reaches the whole
  // orbit.
  std::vector<const Commodity *> pending;
  for (const auto &[route, commodity] : commodities)
    if (commodity.value)
      pending.push_back(&commodity);
  while (!pending.empty()) {
    const Commodity *from = pending.back();
    pending.pop_back();
    for (const std::vector<unsigned> &symmetry : list) {
      auto found = commodities.find(
          {imageOf(symmetry, from->pre), imageOf(symmetry, from->post)});
      if (found == commodities.end() ||
          (found->second.value && *found->second.value >= *from->value))
        continue;
      found->second.value = from->value;
      pending.push_back(&found->second);
    }
  }
  return std::nullopt;
}

Wide PriceChecker::dearestPath(const std::vector<unsigned> &roots,
                               const std::vector<unsigned> &targets) {
  auto [it, isNew] = pathsFrom.try_emplace(roots);
  if (isNew)
    it->second = cheapestPaths(graph, roots);
  Wide dearest = 0;
  for (unsigned target : targets)
    dearest = std::max(dearest, it->second[target]);
  return dearest;
}

Wide PriceChecker::dearestPath(const Commodity &commodity) {
  if (!collective.combining())
    return dearestPath(commodity.pre, commodity.post);
  Wide dearest = 0;
  for (unsigned source : commodity.pre)
    dearest = std::max(dearest, dearestPath({source}, commodity.post));
  return dearest;
}

Result<Wide> PriceChecker::dearestSum(const Commodity &commodity) {
  auto [it, isNew] = sumsOf.try_emplace(commodity.pre);
  if (isNew) {
    Result<SumTree> tree = order.treeOf(unsigned(commodity.pre.size()));
    if (!tree)
      return Error{tree.error()};
    if (Failure failure = spendOnSums(graph, *tree, 1, sumWork))
      return Error{*failure};
    it->second = cheapestSums(graph, *tree, commodity.pre, graph.prices);
  }
  Wide dearest = 0;
  for (unsigned target : commodity.post)
    dearest = std::max(dearest, it->second[target]);
  return dearest;
}

Result<Wide> PriceChecker::dearestWay(const Commodity &commodity) {
  return order.isTree() && !commodity.pre.empty() ? dearestSum(commodity)
                                                  : dearestPath(commodity);
}

Result<Wide> PriceChecker::total() {
  Wide sum = 0;
  for (auto &[route, commodity] : commodities) {
    Result<Wide> value =
        commodity.value ? *commodity.value : dearestWay(commodity);
    if (!value)
      return value;
    if (*value == outOfReach)
      return Error{"a chunk cannot get everywhere it must in so many steps"};
    sum += commodity.count * *value;
  }
  return sum;
}
