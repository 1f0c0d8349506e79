//===- TreeBaseline.cpp - Double binary trees over boxes ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPaths.h"

#include "sccl/Model/Baselines.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

/// The parents in a binary tree of the positions `first` to `first + count` - 1
/// whose even positions, counted from `first`, are leaves. Returns its root.
static unsigned addBinaryTree(unsigned first, unsigned count,
                              std::vector<unsigned> &parents) {
  unsigned left = std::bit_floor(count) - 1, right = count - left - 1;
  unsigned root = first + left;
  if (left > 0)
    parents[addBinaryTree(first, left, parents)] = root;
  if (right > 0)
    parents[addBinaryTree(root + 1, right, parents)] = root;
  parents[root] = root;
  return root;
}

/// Two trees over boxes: no box but one or two is inside of both, so that each
/// can carry half of the data.
static std::vector<std::vector<unsigned>> binaryTrees(unsigned boxes) {
  std::vector<unsigned> tree(boxes), other(boxes);
  addBinaryTree(0, boxes, tree);
  if (boxes == 1)
    return {tree};
  for (unsigned box = 0; box < boxes; ++box)
    other[(box + 1) % boxes] = (tree[box] + 1) % boxes;
  return {tree, other};
}

/// In each box a path from its rank number `channel` through all others.
static std::optional<std::vector<RankPath>>
findChains(RankPaths &paths, const RankGroups &boxes, unsigned channel) {
  uint64_t budget = uint64_t(1) << 22;
  std::vector<RankPath> chains;
  for (const std::vector<unsigned> &box : boxes) {
    auto chain =
        paths.take({box, box[channel], /*isClosed=*/false, /*onlyWidest=*/false,
                    /*random=*/nullptr},
                   budget);
    // Data comes down the way it went up.
    if (!chain || !paths.take({chain->rbegin(), chain->rend()}, false))
      return std::nullopt;
    chains.push_back(std::move(*chain));
  }
  return chains;
}

static RankTree joinChains(const std::vector<RankPath> &chains,
                           const std::vector<unsigned> &boxParents,
                           unsigned numRanks) {
  RankTree tree;
  tree.parents.resize(numRanks);
  for (unsigned box = 0; box < chains.size(); ++box) {
    const RankPath &chain = chains[box];
    tree.parents[chain[0]] = chains[boxParents[box]][0];
    if (boxParents[box] == box)
      tree.root = chain[0];
    for (size_t i = 1; i < chain.size(); ++i)
      tree.parents[chain[i]] = chain[i - 1];
  }
  return tree;
}

/// Why these are not the ranks of `topology` in boxes. A box may have one only.
static std::optional<Error> checkBoxes(const Topology &topology,
                                       const RankGroups &boxes) {
  std::set<unsigned> seen;
  size_t count = 0;
  for (const std::vector<unsigned> &box : boxes) {
    if (box.empty())
      return Error{"a box has no rank"};
    seen.insert(box.begin(), box.end());
    count += box.size();
  }
  if (count == seen.size() && count == topology.numRanks() &&
      *seen.rbegin() < count)
    return std::nullopt;
  return Error{"the boxes must have each of " +
               std::to_string(topology.numRanks()) + " ranks once"};
}

/// True if `tree` only goes where links are, in both directions.
static bool hasLinks(const Topology &topology, const RankTree &tree) {
  for (unsigned rank = 0; rank < tree.parents.size(); ++rank)
    if (unsigned parent = tree.parents[rank];
        rank != parent &&
        (!topology.findLink(rank, parent) || !topology.findLink(parent, rank)))
      return false;
  return true;
}

Result<std::vector<RankTree>> sccl::findTrees(const Topology &topology,
                                              const RankGroups &boxes) {
  if (topology.numRanks() < 2)
    return Error{"a tree algorithm needs at least 2 ranks, got " +
                 std::to_string(topology.numRanks())};
  if (std::optional<Error> error = checkBoxes(topology, boxes))
    return *error;
  size_t channels = std::numeric_limits<size_t>::max();
  for (const std::vector<unsigned> &box : boxes)
    channels = std::min({channels, box.size(), size_t(maxRings)});
  // Wide enough for all, so that loads are spread but nothing is refused.
  RankPaths paths(topology, 2 * unsigned(channels) * topology.numRanks());
  std::vector<RankTree> trees;
  for (unsigned channel = 0; channel < channels; ++channel)
    if (auto chains = findChains(paths, boxes, channel))
      for (const auto &boxParents : binaryTrees(boxes.size()))
        if (RankTree tree =
                joinChains(*chains, boxParents, topology.numRanks());
            hasLinks(topology, tree))
          trees.push_back(std::move(tree));
  if (trees.empty())
    return Error{"no tree of chains in " + std::to_string(boxes.size()) +
                 (boxes.size() == 1 ? " box" : " boxes") + " of topology '" +
                 topology.name() + "' was found"};
  return trees;
}

//===----------------------------------------------------------------------===//
// Algorithm
//===----------------------------------------------------------------------===//

/// How many hops each rank is from the root.
static Result<std::vector<unsigned>> depthsOf(const RankTree &tree) {
  size_t ranks = tree.parents.size();
  std::vector<unsigned> depths(ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    for (unsigned at = rank; at != tree.root; at = tree.parents[at])
      if (tree.parents[at] >= ranks || ++depths[rank] >= ranks)
        return Error{"the parents of rank " + std::to_string(rank) +
                     " do not lead to the root of its tree"};
  return depths;
}

/// Up to the root of a tree, and down again: chunks `first` to
/// `first + count` - 1, one step after the other.
static std::optional<Error> addChunks(Schedule &schedule, const RankTree &tree,
                                      unsigned first, unsigned count) {
  Result<std::vector<unsigned>> depths = depthsOf(tree);
  if (!depths)
    return Error{depths.error()};
  unsigned depth = *std::ranges::max_element(*depths);
  size_t steps = 2 * size_t(depth) + count - 1;
  schedule.steps.resize(std::max(schedule.steps.size(), steps));
  for (unsigned i = 0; i < count; ++i)
    for (unsigned rank = 0; rank < tree.parents.size(); ++rank) {
      if (rank == tree.root)
        continue;
      unsigned parent = tree.parents[rank], down = (*depths)[parent];
      schedule.steps[i + depth - (*depths)[rank]].sends.push_back(
          {first + i, rank, parent, SendAction::Reduce});
      schedule.steps[i + depth + down].sends.push_back(
          {first + i, parent, rank});
    }
  return std::nullopt;
}

Result<Implementation>
sccl::makeTreeBaseline(const Topology &topology,
                       const std::vector<RankTree> &trees,
                       unsigned chunksPerTree) {
  uint64_t chunks = uint64_t(trees.size()) * chunksPerTree;
  uint64_t sends = chunks * 2 * (topology.numRanks() - 1);
  if (trees.empty())
    return Error{"a tree algorithm needs at least 1 tree"};
  if (sends > Schedule::maxSends)
    return Error{std::to_string(chunks) + " chunks take " +
                 std::to_string(sends) + " sends, more than " +
                 std::to_string(Schedule::maxSends)};
  Result<Collective> collective = Collective::make(
      CollectiveKind::AllReduce, topology.numRanks(), unsigned(chunks));
  if (!collective)
    return Error{collective.error()};
  Schedule schedule;
  for (unsigned i = 0; i < trees.size(); ++i) {
    if (trees[i].parents.size() != topology.numRanks() ||
        !hasLinks(topology, trees[i]))
      return Error{"tree " + std::to_string(i) +
                   " needs a link that topology '" + topology.name() +
                   "' does not have"};
    if (auto error =
            addChunks(schedule, trees[i], i * chunksPerTree, chunksPerTree))
      return *error;
  }
  fitRounds(schedule, topology);
  schedule.normalize();
  return Implementation{std::move(*collective), std::move(schedule)};
}
