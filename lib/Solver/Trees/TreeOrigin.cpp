//===- TreeOrigin.cpp - Where trees start ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeOrigin.h"

#include "FinerCells.h"
#include "Solver/Constants.h"

#include <numeric>
#include <utility>

using namespace sccl;
using namespace sccl::trees;

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
