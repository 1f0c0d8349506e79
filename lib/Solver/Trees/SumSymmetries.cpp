//===- SumSymmetries.cpp - Symmetries that keep trees of sums -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks below each node are marked by limits on all links from them and to
// them, so that the search for symmetries keeps these sets, and with them the
// trees: a tree is the family of its sets of leaves.
//
//===----------------------------------------------------------------------===//

#include "SumSymmetries.h"

#include <algorithm>
#include <set>

using namespace sccl;
using namespace sccl::trees;

using RankSet = std::vector<unsigned>; ///< ascending

/// Those of all nodes but the leaves, which say nothing. Roots of equal sets
/// tell which sets are of one tree.
static std::set<RankSet> nodeSets(const std::vector<Multicast> &sums,
                                  const std::vector<SumTree> &trees) {
  std::set<RankSet> sets, roots;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!roots.insert(sums[i].sources).second)
      continue;
    std::vector<RankSet> below(trees[i].numNodes());
    for (uint32_t node = 0; node < below.size(); ++node) {
      if (trees[i].isLeaf(node)) {
        below[node] = {sums[i].sources[node]};
        continue;
      }
      std::ranges::merge(below[trees[i].left(node)],
                         below[trees[i].right(node)],
                         std::back_inserter(below[node]));
      sets.insert(below[node]);
    }
  }
  return sets;
}

/// `topology` with the marks; nothing if they would be too many.
static std::optional<Topology> marked(const Topology &topology,
                                      const std::set<RankSet> &sets) {
  constexpr size_t mostLinks = size_t(1) << 22;
  Topology result = topology;
  size_t links = 0;
  for (const RankSet &set : sets)
    for (bool isOut : {false, true}) {
      std::vector<unsigned> mark;
      for (unsigned rank : set) {
        const auto &of =
            isOut ? topology.outLinks(rank) : topology.inLinks(rank);
        mark.insert(mark.end(), of.begin(), of.end());
      }
      std::ranges::sort(mark);
      links += mark.size();
      if (links > mostLinks)
        return std::nullopt;
      if (!mark.empty() &&
          !result.addLimit(std::move(mark), Topology::maxBandwidth - 1))
        return std::nullopt;
    }
  return result;
}

static bool keeps(const Permutation &element, const std::set<RankSet> &sets) {
  return std::ranges::all_of(sets, [&](const RankSet &set) {
    RankSet image;
    for (unsigned rank : set)
      image.push_back(element[rank]);
    std::ranges::sort(image);
    return sets.contains(image);
  });
}

std::vector<Permutation>
trees::symmetriesOfSums(const Topology &topology, const Collective &collective,
                        const std::vector<Multicast> &sums,
                        const std::vector<SumTree> &trees) {
  std::set<RankSet> sets = nodeSets(sums, trees);
  std::optional<Topology> withMarks = marked(topology, sets);
  std::vector<Permutation> generators;
  if (withMarks)
    generators = automorphismGenerators(*withMarks, collective);
  // A limit of the topology may look like a mark.
  std::erase_if(generators, [&](const Permutation &element) {
    return !keeps(element, sets);
  });
  return largeFreeSubgroup(generators, topology.numRanks());
}
