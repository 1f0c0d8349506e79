//===- TreeOrigin.cpp - Where trees start ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeOrigin.h"

#include "Solver/Constants.h"

#include "sccl/Model/Refinement.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

using namespace sccl;
using namespace sccl::trees;

std::vector<Permutation>
trees::spanningElements(const std::vector<Permutation> &group,
                        unsigned numRanks) {
  std::vector<Permutation> generators;
  std::vector<Permutation> spanned = {group.front()};
  // Each of them at least doubles what is spanned.
  for (const Permutation &element : group) {
    if (spanned.size() == group.size())
      break;
    if (std::ranges::find(spanned, element) != spanned.end())
      continue;
    generators.push_back(element);
    spanned = groupElements(generators, numRanks, group.size());
  }
  return generators;
}

void trees::chooseGroup(PackingProblem &problem) {
  unsigned ranks = problem.topology.numRanks();
  // Of fewer ranks all trees can be looked at, and fewer chunks will do.
  bool isRooted = problem.kind == CollectiveKind::Broadcast;
  std::vector<Permutation> symmetries;
  if (!isRooted)
    symmetries = automorphismGenerators(problem.topology);
  else if (ranks > tuned::fewRootedRanks())
    symmetries = automorphismGenerators(problem.topology, problem.root);
  problem.group = largeFreeSubgroup(
      isRooted ? std::vector<Permutation>() : symmetries, ranks);
  // What keeps a rank, as where a cable is lost, serves as well, with some
  // chunks for each element.
  if (problem.group.size() == 1 && ranks > tuned::fewRootedRanks())
    problem.group =
        smallSubgroup(symmetries, ranks, tuned::mostGroupElements());
  problem.generators = spanningElements(problem.group, ranks);
  problem.positions = twinPositions(symmetries, ranks);
}

/// Nothing if two of `ranks` are not joined.
static std::optional<Meeting> meetingOf(const Topology &topology,
                                        std::vector<unsigned> ranks) {
  std::ranges::sort(ranks);
  Meeting meeting{std::move(ranks), {}};
  for (unsigned src : meeting.ranks)
    for (unsigned dst : meeting.ranks) {
      if (src == dst)
        continue;
      std::optional<unsigned> link = topology.findLink(src, dst);
      if (!link)
        return std::nullopt;
      meeting.exchanges.push_back(*link);
    }
  return meeting;
}

std::vector<Meeting> trees::meetingsOf(const Topology &topology, unsigned rank,
                                       const std::vector<uint64_t> &limitKeys) {
  std::vector<uint64_t> keys(topology.numRanks());
  keys[rank] = 1;
  Refinement cells = refine(topology, keys, limitKeys);
  std::vector<std::vector<unsigned>> alike(cells.links.count());
  for (unsigned link = 0; link < topology.links().size(); ++link)
    if (topology.links()[link].src == rank)
      alike[cells.links.classOf[link]].push_back(topology.links()[link].dst);
  std::vector<Meeting> meetings = {{{rank}, {}}};
  for (const std::vector<unsigned> &others : alike)
    for (size_t count = 1; count <= others.size();) {
      std::vector<unsigned> ranks(others.begin(), others.begin() + count);
      ranks.push_back(rank);
      // Of more ranks that are not all joined, there are none either.
      std::optional<Meeting> meeting = meetingOf(topology, std::move(ranks));
      if (!meeting)
        break;
      meetings.push_back(std::move(*meeting));
      // 2, 4, 8, ... ranks, and all.
      size_t next = 2 * count + 1;
      count = count < others.size() ? std::min(next, others.size())
                                    : others.size() + 1;
    }
  return meetings;
}

/// The smallest cell of several ranks.
static std::optional<unsigned> smallestOfSeveral(const Classes &ranks) {
  std::optional<unsigned> best;
  for (unsigned cell = 0; cell < ranks.count(); ++cell)
    if (ranks.sizes[cell] > 1 &&
        (!best || ranks.sizes[cell] < ranks.sizes[*best]))
      best = cell;
  return best;
}

/// Those ranks of `cell` for which isApart(rank), asked in order, told apart
/// from the rest.
template <typename Predicate>
static Refinement split(const Topology &topology, const Refinement &cells,
                        unsigned cell, Predicate isApart) {
  std::vector<uint64_t> ranks,
      limits(cells.limits.classOf.begin(), cells.limits.classOf.end());
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    unsigned own = cells.ranks.classOf[rank];
    ranks.push_back(2 * uint64_t(own) + (own == cell && isApart(rank)));
  }
  return refine(topology, ranks, limits);
}

static Refinement halved(const Topology &topology, const Refinement &cells,
                         unsigned cell) {
  unsigned left = cells.ranks.sizes[cell] / 2;
  return split(topology, cells, cell, [&](unsigned) {
    bool isApart = left > 0;
    left -= isApart;
    return isApart;
  });
}

/// `cells` with those of one position told apart from the largest cell that has
/// several; nothing if there is no such cell. A rank of each box is told apart
/// so, where the ranks of a box are all alike.
static std::optional<Refinement>
cellsByPosition(const Topology &topology, const Refinement &cells,
                const std::vector<unsigned> &positions) {
  std::optional<unsigned> largest;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    unsigned cell = cells.ranks.classOf[rank];
    bool isMixed = positions[rank] != positions[cells.ranks.firsts[cell]];
    if (isMixed &&
        (!largest || cells.ranks.sizes[cell] > cells.ranks.sizes[*largest]))
      largest = cell;
  }
  if (!largest)
    return std::nullopt;
  unsigned position = positions[cells.ranks.firsts[*largest]];
  return split(topology, cells, *largest,
               [&](unsigned rank) { return positions[rank] == position; });
}

/// `cells` with one more rank told apart, of the smallest cell of several;
/// nothing if there is none. With `inHalves`, a large cell is halved in its
/// place: of very many ranks few could be told apart one by one, but in halves,
/// and halves of these, any number of boxes may get a chunk in a step.
static std::optional<Refinement>
finerCells(const Topology &topology, const Refinement &cells, bool inHalves) {
  std::optional<unsigned> cell = smallestOfSeveral(cells.ranks);
  if (!cell)
    return std::nullopt;
  if (inHalves && cells.ranks.sizes[*cell] > tuned::mostOneByOne())
    return halved(topology, cells, *cell);
  return refine(topology, cells, {cells.ranks.firsts[*cell]});
}

/// More cells than this are looked at only where each rank is one, or where
/// cells are halved.

TreeOrigin::TreeOrigin(const PackingProblem &problem,
                       const std::vector<uint64_t> &limitKeys, Meeting at,
                       unsigned demand, int64_t share)
    : at(std::move(at)), demand(demand), share(share), problem(problem),
      limitKeys(limitKeys) {
  addLevel();
}

/// The first cells to look at, or finer ones than the last. Nothing if there
/// are none.
std::optional<Refinement> TreeOrigin::nextCells() {
  const Topology &topology = problem.topology;
  if (outward.empty()) {
    std::vector<uint64_t> ranks(topology.numRanks());
    for (unsigned rank : at.ranks)
      ranks[rank] = 1;
    return refine(topology, ranks, limitKeys);
  }
  const Refinement &last = outward.back()->refinement();
  std::optional<Refinement> cells;
  for (const std::vector<unsigned> &positions : problem.positions)
    if (!cells)
      cells = cellsByPosition(topology, last, positions);
  if (!cells)
    cells = finerCells(topology, last, problem.inHalves);
  if (!cells ||
      cells->ranks.count() <=
          (problem.inHalves ? tuned::mostHalvedCells() : tuned::mostCells()))
    return cells;
  isFinest = true;
  if (problem.kind != CollectiveKind::Broadcast ||
      topology.numRanks() > tuned::mostSingleCells())
    return std::nullopt;
  std::vector<unsigned> all(topology.numRanks());
  std::iota(all.begin(), all.end(), 0u);
  return refine(topology, last, all);
}

bool TreeOrigin::addLevel() {
  std::optional<Refinement> cells;
  if (!isFinest)
    cells = nextCells();
  if (!cells) {
    isFinest = true;
    return false;
  }
  outward.push_back(std::make_unique<CellGraph>(problem.topology, *cells,
                                                at.ranks, Direction::Outward));
  spreads.emplace_back();
  gathers.emplace_back();
  if (problem.kind == CollectiveKind::AllReduce)
    addReductions(*cells);
  else
    addSpread();
  return true;
}

/// Searches for trees of all steps, from those of the level before.
void TreeOrigin::addSpread() {
  const CellGraph &graph = *outward.back();
  TreeSearch &search = spreads.back()
                           .try_emplace(problem.steps, graph, problem.steps)
                           .first->second;
  if (spreads.size() > 1)
    search.startFrom(spreads.end()[-2].begin()->second);
}

/// Searches for trees that gather in the first steps, and that spread in the
/// last, of each number of them.
void TreeOrigin::addReductions(const Refinement &cells) {
  inward.push_back(std::make_unique<CellGraph>(problem.topology, cells,
                                               at.ranks, Direction::Inward));
  const CellGraph &out = *outward.back(), &in = *inward.back();
  // No steps at all suffice where all ranks meet.
  for (unsigned steps = 0; steps < problem.steps; ++steps) {
    spreads.back().try_emplace(steps, out, steps);
    gathers.back().try_emplace(steps, in, steps);
  }
}
