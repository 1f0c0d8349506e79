//===- OrderedSumEncoding.cpp - Sums by a tree as a CNF -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderedSumEncoding.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <set>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

OrderedSumEncoding::Tree OrderedSumEncoding::treeOf(const Instance &instance,
                                                    unsigned chunk) {
  std::vector<unsigned> ranks = instance.collective.pre().ranksOf(chunk);
  Result<SumTree> nodes = instance.order.treeOf(unsigned(ranks.size()));
  assert(nodes && "an instance has trees for all chunks");
  std::vector<std::vector<unsigned>> below(nodes->numNodes());
  for (uint32_t node = 0; node < below.size(); ++node) {
    if (nodes->isLeaf(node))
      below[node] = {ranks[node]};
    else
      std::ranges::merge(below[nodes->left(node)], below[nodes->right(node)],
                         std::back_inserter(below[node]));
  }
  return {std::move(*nodes), std::move(ranks), std::move(below)};
}

bool OrderedSumEncoding::preserves(const std::vector<Permutation> &group,
                                   const Instance &instance) {
  Tree tree = treeOf(instance, 0);
  std::set<std::vector<unsigned>> nodes(tree.ranksBelow.begin(),
                                        tree.ranksBelow.end());
  for (const Permutation &element : group)
    for (std::vector<unsigned> image : nodes) {
      for (unsigned &rank : image)
        rank = element[rank];
      std::ranges::sort(image);
      if (!nodes.contains(image))
        return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// The formula
//===----------------------------------------------------------------------===//

uint64_t OrderedSumEncoding::numVariables(const Instance &instance,
                                          size_t groupOrder) {
  uint64_t chunks = instance.collective.numChunks(), nodes = 0;
  for (unsigned chunk = 0; chunk < chunks; ++chunk)
    nodes = std::max<uint64_t>(
        nodes, 2 * instance.collective.pre().ranksOf(chunk).size());
  uint64_t searched = chunks / groupOrder + chunks % groupOrder;
  return searched * instance.steps * nodes *
         (instance.topology.links().size() + 2 * instance.topology.numRanks());
}

void OrderedSumEncoding::encodeOrbit(Orbit &orbit) {
  Tree tree = treeOf(instance, orbit.chunk);
  Holdings holdings(tree.nodes.numNodes(),
                    std::vector<int>(topology.numRanks(), never));
  for (uint32_t leaf = 0; leaf < tree.contributors.size(); ++leaf) {
    int own = holdings[leaf][tree.contributors[leaf]] = cnf.newVariable();
    cnf.clause({own});
  }
  for (unsigned step = 0; step < instance.steps; ++step) {
    Phase &phase = orbit.phases.emplace_back();
    encodeSends(tree, holdings, phase);
    holdings = encodeHoldings(tree, holdings, phase);
  }
  for (unsigned rank : instance.collective.post().ranksOf(orbit.chunk)) {
    int whole = holdings[tree.nodes.root()][rank];
    if (whole == never)
      cnf.never();
    else
      cnf.clause({whole});
  }
}

/// The transfers of all nodes over all links, node after node.
void OrderedSumEncoding::encodeSends(const Tree &tree, const Holdings &before,
                                     Phase &phase) {
  for (uint32_t node = 0; node < tree.nodes.numNodes(); ++node) {
    const std::vector<unsigned> &ranks = tree.ranksBelow[node];
    bool isWhole = node == tree.nodes.root();
    for (const Link &link : topology.links()) {
      Transfer &transfer = phase.transfers.emplace_back();
      bool isOwn = std::ranges::binary_search(ranks, link.dst);
      // Nobody needs to be sent the own input.
      if (before[node][link.src] == never ||
          (isOwn && (ranks.size() == 1 || (keepsOwn && !isWhole))))
        continue;
      transfer.current = cnf.newVariable();
      cnf.clause({-transfer.current, before[node][link.src]});
    }
  }
}

/// What ranks have after `phase`. Children come before their parents.
OrderedSumEncoding::Holdings
OrderedSumEncoding::encodeHoldings(const Tree &tree, const Holdings &before,
                                   const Phase &phase) {
  Holdings after = before;
  for (uint32_t node = 0; node < tree.nodes.numNodes(); ++node)
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
      Literals reasons;
      if (before[node][rank] != never)
        reasons.push_back(before[node][rank]);
      for (unsigned link : topology.inLinks(rank))
        if (int send =
                phase.transfers[node * topology.links().size() + link].current;
            send != never)
          reasons.push_back(send);
      if (!tree.nodes.isLeaf(node)) {
        int left = after[tree.nodes.left(node)][rank];
        int right = after[tree.nodes.right(node)][rank];
        if (left != never && right != never) {
          reasons.push_back(cnf.newVariable());
          cnf.clause({-reasons.back(), left});
          cnf.clause({-reasons.back(), right});
        }
      }
      if (reasons.empty())
        continue;
      after[node][rank] = reasons.front();
      if (reasons.size() == 1)
        continue;
      after[node][rank] = cnf.newVariable();
      reasons.push_back(-after[node][rank]);
      cnf.clause(reasons);
    }
  return after;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

namespace {
/// Of what a rank adds up a node.
class PartsOfNode {
public:
  PartsOfNode(const SumTree &tree, uint32_t own,
              const std::map<uint32_t, size_t> &arrived)
      : tree(tree), own(own), arrived(arrived) {}

  /// With the rank's own input where it can be, as a schedule says it more
  /// easily. `node` must be there.
  PartialSum of(uint32_t node) const {
    PartialSum sum;
    if (!collect(node, /*usesOwn=*/true, sum)) {
      sum = {};
      [[maybe_unused]] bool isThere = collect(node, /*usesOwn=*/false, sum);
      assert(isThere && "a model with a sum of nothing");
    }
    std::ranges::sort(sum.parts);
    return sum;
  }

private:
  bool hasOwn(uint32_t node) const {
    uint32_t at = own;
    while (at != SumTree::none && at < node)
      at = tree.parent(at);
    return at == node;
  }
  bool collect(uint32_t node, bool usesOwn, PartialSum &sum) const {
    auto part = arrived.find(node);
    if (part != arrived.end() && !(usesOwn && hasOwn(node))) {
      sum.parts.push_back(part->second);
      return true;
    }
    if (tree.isLeaf(node)) {
      sum.own |= node == own;
      return node == own;
    }
    return collect(tree.left(node), usesOwn, sum) &&
           collect(tree.right(node), usesOwn, sum);
  }

  const SumTree &tree;
  const uint32_t own; ///< leaf of the rank, or none
  const std::map<uint32_t, size_t> &arrived;
};
} // namespace

/// The sends of `orbit` that are of use; nothing if no schedule can say them.
std::optional<std::vector<OrderedSumEncoding::SendOver>>
OrderedSumEncoding::read(const Orbit &orbit) const {
  Tree tree = treeOf(instance, orbit.chunk);
  std::vector<Arrivals> arrived(topology.numRanks());
  auto partsAt = [&](unsigned rank, uint32_t node) {
    auto leaf = std::ranges::lower_bound(tree.contributors, rank);
    bool contributes = leaf != tree.contributors.end() && *leaf == rank;
    uint32_t own = contributes ? uint32_t(leaf - tree.contributors.begin())
                               : SumTree::none;
    return PartsOfNode(tree.nodes, own, arrived[rank]).of(node);
  };
  std::vector<SumMessage> messages;
  std::vector<unsigned> links;
  for (unsigned step = 0; step < instance.steps; ++step) {
    const std::vector<Transfer> &transfers = orbit.phases[step].transfers;
    std::vector<std::pair<unsigned, uint32_t>> news; // by message of the step
    size_t first = messages.size();
    for (size_t i = 0; i < transfers.size(); ++i) {
      if (!isTrue(transfers[i].current))
        continue;
      links.push_back(unsigned(i % topology.links().size()));
      auto node = uint32_t(i / topology.links().size());
      const Link &link = topology.links()[links.back()];
      messages.push_back(
          {step, orbit.chunk, link.src, link.dst, partsAt(link.src, node)});
      news.emplace_back(link.dst, node);
    }
    for (size_t i = 0; i < news.size(); ++i)
      arrived[news[i].first].try_emplace(news[i].second, first + i);
  }
  std::vector<SumResult> results;
  for (unsigned rank : instance.collective.post().ranksOf(orbit.chunk))
    results.push_back({rank, orbit.chunk, partsAt(rank, tree.nodes.root())});
  auto sends = writePartialSums(instance.collective, messages, results);
  if (!sends)
    return std::nullopt;
  std::vector<SendOver> useful;
  for (size_t i = 0; i < sends->size(); ++i)
    if ((*sends)[i])
      useful.push_back({messages[i].step, links[i], *(*sends)[i]});
  return useful;
}

bool OrderedSumEncoding::isDecodable() const {
  return std::ranges::all_of(
      orbits, [&](const Orbit &orbit) { return read(orbit).has_value(); });
}

void OrderedSumEncoding::decodeOrbit(const Orbit &orbit,
                                     std::vector<Step> &steps) const {
  std::optional<std::vector<SendOver>> sends = read(orbit);
  assert(sends && "asked for a schedule that cannot be written");
  for (const SendOver &over : *sends)
    addImages(orbit, over.link, over.send, steps[over.step]);
}

//===----------------------------------------------------------------------===//
// Choice of the formula
//===----------------------------------------------------------------------===//

std::unique_ptr<ContributionEncoding> sccl::createContributionEncoding(
    const Instance &instance, std::vector<Permutation> group,
    ClauseSolver &solver, std::optional<PartialSumEncoding::Form> form) {
  if (instance.hasOrder())
    return std::make_unique<OrderedSumEncoding>(
        instance, std::move(group), solver, form && form->isWritable);
  if (form)
    return std::make_unique<PartialSumEncoding>(instance, std::move(group),
                                                solver, *form);
  return std::make_unique<ContributionEncoding>(instance, std::move(group),
                                                solver);
}

uint64_t sccl::numVariables(const Instance &instance, size_t groupOrder,
                            std::optional<PartialSumEncoding::Form> form) {
  if (instance.hasOrder())
    return OrderedSumEncoding::numVariables(instance, groupOrder);
  return form ? PartialSumEncoding::numVariables(instance, groupOrder, *form)
              : ContributionEncoding::numVariables(instance, groupOrder);
}
