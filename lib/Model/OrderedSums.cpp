//===- OrderedSums.cpp - Sums in one order on all ranks -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/OrderedSums.h"

#include "sccl/Model/RanksByChunk.h"

#include <map>
#include <numeric>

using namespace sccl;

OrderedSums::OrderedSums(const Collective &collective, const SumOrder &order,
                         bool oneRounding)
    : collective(&collective), leastSums(oneRounding ? 1 : 2) {
  if (order.isTree() && collective.combining())
    findTrees(order);
  if (order.isTree() || (order == SumOrder::Any && !oneRounding))
    return;
  size_t asked = 0;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    asked += collective.post().count(rank);
  bool areSingle = asked <= collective.numChunks() && !oneRounding;
  if (!collective.combining() || areSingle)
    return;
  endsInSum.resize(size_t(collective.numRanks()) * collective.numChunks());
  sumsOf.resize(collective.numChunks());
}

OrderedSums::OrderedSums(const Collective &collective, const Schedule &schedule,
                         const SumOrder &order, bool oneRounding)
    : OrderedSums(collective, order, oneRounding) {
  if (!isNeeded())
    return;
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends)
      enter(send);
  finish();
}

void OrderedSums::enter(const Send &send) {
  sendsKept |= send.kept != 0;
  if (send.action != SendAction::Keep && !endsInSum.empty())
    endsInSum[placeOf(send.dst, send.chunk)] =
        send.action == SendAction::Reduce;
}

void OrderedSums::finish() {
  for (unsigned rank = 0; rank < collective->numRanks(); ++rank)
    for (unsigned chunk = 0; chunk < sumsOf.size(); ++chunk) {
      // Only what a rank is asked for matters, or what it sums up for others,
      // to round it once; and only what it contributes to is there before all
      // has arrived.
      bool isSum = endsInSum[placeOf(rank, chunk)] &&
                   collective->pre().contains(rank, chunk) &&
                   (leastSums == 1 || collective->post().contains(rank, chunk));
      endsInSum[placeOf(rank, chunk)] = isSum;
      sumsOf[chunk] += isSum;
    }
}

void OrderedSums::findTrees(const SumOrder &order) {
  RanksByChunk contributors(collective->pre());
  std::map<std::vector<unsigned>, uint32_t> numbers;
  for (unsigned chunk = 0; chunk < collective->numChunks(); ++chunk) {
    const std::vector<unsigned> &ranks = contributors[chunk];
    auto [it, isNew] = numbers.try_emplace(ranks, lists.size());
    listOf.push_back(it->second);
    if (!isNew)
      continue;
    lists.push_back({ranks, std::nullopt});
    if (Result<SumTree> tree = order.treeOf(unsigned(ranks.size())))
      lists.back().tree = std::move(*tree);
  }
}

SumPart OrderedSums::inputOf(unsigned rank, uint32_t chunk) const {
  if (!treeOf(chunk))
    return {rank};
  const std::vector<unsigned> &ranks = lists[listOf[chunk]].ranks;
  return {rank,
          uint32_t(std::ranges::lower_bound(ranks, rank) - ranks.begin())};
}

SumPart OrderedSums::sumOf(uint32_t chunk, SumPart a, SumPart b) const {
  const SumTree *tree = treeOf(chunk);
  SumPart sum{std::min(a.first, b.first)};
  if (tree && a.node != SumTree::none && b.node != SumTree::none &&
      a.node != tree->root() && tree->sibling(a.node) == b.node)
    sum.node = tree->parent(a.node);
  return sum;
}

static SumChain inGivenOrder(size_t parts) {
  SumChain chain{std::vector<uint32_t>(parts), SumTree::none};
  std::iota(chain.terms.begin(), chain.terms.end(), 0);
  return chain;
}

std::vector<SumChain>
OrderedSums::chainsOf(uint32_t chunk, const std::vector<SumPart> &parts) const {
  const SumTree *tree = treeOf(chunk);
  bool areNodes = tree && std::ranges::all_of(parts, [](SumPart part) {
                    return part.node != SumTree::none;
                  });
  if (areNodes) {
    std::vector<uint32_t> nodes;
    for (SumPart part : parts)
      nodes.push_back(part.node);
    if (auto chains = tree->chainsOf(nodes))
      return std::move(*chains);
  }
  SumChain all = inGivenOrder(parts.size());
  std::ranges::stable_sort(all.terms, {},
                           [&](uint32_t part) { return parts[part].first; });
  return {all};
}

std::vector<SumChain>
OrderedSums::chainsOfKept(uint32_t chunk,
                          const std::vector<SumPart> &parts) const {
  return hasTree() ? chainsOf(chunk, parts)
                   : std::vector{inGivenOrder(parts.size())};
}

uint32_t OrderedSums::place(uint32_t chunk, SumPart part) const {
  const SumTree *tree = treeOf(chunk);
  if (!tree)
    return part.first;
  return part.node != SumTree::none ? tree->place(part.node)
                                    : tree->numPlaces() + part.first;
}

uint32_t OrderedSums::numPlaces(uint32_t chunk) const {
  const SumTree *tree = treeOf(chunk);
  return collective->numRanks() + (tree ? tree->numPlaces() : 0);
}
