//===- CheapTrees.cpp - Cheap trees at given prices -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheapTrees.h"

#include "Solver/Constants.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

using namespace sccl;
using namespace sccl::trees;

CellGraph::CellGraph(const Topology &topology, Refinement refinement,
                     const std::vector<unsigned> &sources, Direction direction)
    : topology(topology), cells(std::move(refinement)), theDirection(direction),
      sourceCells(cells.ranks.count()), in(cells.ranks.count()),
      out(cells.ranks.count()), members(cells.links.count()) {
  for (unsigned link = 0; link < topology.links().size(); ++link)
    members[cells.links.classOf[link]].push_back(link);
  for (unsigned source : sources)
    sourceCells[cells.ranks.classOf[source]] = true;
  for (unsigned cls = 0; cls < cells.links.count(); ++cls) {
    auto [src, dst] = topology.links()[cells.links.firsts[cls]];
    unsigned from = cells.ranks.classOf[src], to = cells.ranks.classOf[dst];
    if (direction == Direction::Inward)
      std::swap(from, to);
    // The first rank of a cell that has the chunk has it from elsewhere.
    if (from == to || sourceCells[to])
      continue;
    in[to].push_back(unsigned(allEdges.size()));
    out[from].push_back(unsigned(allEdges.size()));
    allEdges.push_back({from, to, cls});
  }
}

std::vector<unsigned> CellGraph::linksOf(unsigned edge) const {
  auto [from, to, cls] = allEdges[edge];
  std::vector<unsigned> result;
  std::vector<bool> reached(topology.numRanks());
  for (unsigned link : members[cls]) {
    auto [src, dst] = topology.links()[link];
    unsigned rank = theDirection == Direction::Inward ? src : dst;
    if (!reached[rank])
      result.push_back(link);
    reached[rank] = true;
  }
  return result;
}

/// More than any tree costs.
static constexpr double outOfReach = 1e15;
static constexpr double tolerance = 1e-9;

/// The first step in which each cell can have the chunk; more than `steps` if
/// there is none.
static Arrivals earliestArrivals(const CellGraph &graph, unsigned steps) {
  Arrivals arrivals(graph.numCells(), UINT8_MAX);
  for (unsigned cell = 0; cell < graph.numCells(); ++cell)
    if (graph.isSource(cell))
      arrivals[cell] = 0;
  for (unsigned step = 1; step <= steps; ++step)
    for (const CellGraph::Edge &edge : graph.edges())
      if (arrivals[edge.from] < step)
        arrivals[edge.to] = std::min(arrivals[edge.to], uint8_t(step));
  return arrivals;
}

TreeSearch::TreeSearch(const CellGraph &graph, unsigned steps)
    : graph(graph), steps(steps) {
  Arrivals earliest = earliestArrivals(graph, steps);
  possible = std::ranges::all_of(earliest,
                                 [&](uint8_t hops) { return hops <= steps; });
  if (!possible)
    return;
  for (unsigned cell = 0; cell < graph.numCells(); ++cell) {
    std::vector<unsigned> &cells = affected.emplace_back(1, cell);
    for (unsigned edge : graph.outOf(cell))
      cells.push_back(graph.edges()[edge].to);
    std::ranges::sort(cells);
    auto repeated = std::ranges::unique(cells);
    cells.erase(repeated.begin(), repeated.end());
  }
  // As early, and as late, as can be, and in between.
  unsigned depth = std::ranges::max(earliest);
  for (unsigned delay = 0; delay + depth <= steps; ++delay) {
    Arrivals later = earliest;
    for (uint8_t &arrival : later)
      arrival += arrival > 0 ? delay : 0;
    pool.push_back(later);
    for (uint8_t &arrival : later)
      arrival = arrival == depth + delay ? steps : arrival;
    pool.push_back(std::move(later));
  }
}

void TreeSearch::startFrom(const TreeSearch &coarser) {
  const Classes &ranks = graph.refinement().ranks;
  const Classes &before = coarser.graph.refinement().ranks;
  for (const Arrivals &known : coarser.pool) {
    Arrivals arrivals(graph.numCells());
    for (unsigned cell = 0; cell < graph.numCells(); ++cell)
      arrivals[cell] = known[before.classOf[ranks.firsts[cell]]];
    remember(arrivals);
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

double TreeSearch::costOf(unsigned cell, const Arrivals &arrivals) const {
  unsigned arrival = arrivals[cell];
  if (arrival == 0)
    return 0;
  double least = outOfReach;
  for (unsigned edge : graph.into(cell)) {
    const CellGraph::Edge &e = graph.edges()[edge];
    if (arrivals[e.from] < arrival)
      least = std::min(least, prices->at(e.linkClass, arrival));
  }
  return least * graph.sizeOf(cell);
}

double TreeSearch::priceOf(const Arrivals &arrivals) const {
  double sum = 0;
  for (unsigned cell = 0; cell < graph.numCells(); ++cell)
    sum += costOf(cell, arrivals);
  return sum;
}

std::vector<unsigned> TreeSearch::edgesOf(const Arrivals &arrivals,
                                          const EdgePrices &at) const {
  std::vector<unsigned> result(graph.numCells(), none);
  for (unsigned cell = 0; cell < graph.numCells(); ++cell)
    for (unsigned edge : graph.into(cell)) {
      const CellGraph::Edge &e = graph.edges()[edge];
      unsigned &best = result[cell];
      if (arrivals[e.from] < arrivals[cell] &&
          (best == none ||
           at.at(e.linkClass, arrivals[cell]) <
               at.at(graph.edges()[best].linkClass, arrivals[cell])))
        best = edge;
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// What `cell` and those that may get the chunk from it cost together, for each
/// step of `cell`. Writes to `room.all`.
void TreeSearch::costsOfSteps(unsigned cell, const Arrivals &arrivals,
                              StepCosts &room) const {
  std::vector<double> &costs = room.all;
  costs.assign(steps + 1, 0);
  for (unsigned other : affected[cell]) {
    unsigned arrival = arrivals[other];
    if (other == cell || arrival == 0)
      continue;
    double without = outOfReach, over = outOfReach;
    for (unsigned edge : graph.into(other)) {
      const CellGraph::Edge &e = graph.edges()[edge];
      double &least = e.from == cell ? over : without;
      if (e.from == cell || arrivals[e.from] < arrival)
        least = std::min(least, prices->at(e.linkClass, arrival));
    }
    double size = graph.sizeOf(other);
    for (unsigned step = 1; step <= steps; ++step)
      costs[step] +=
          size * (step < arrival ? std::min(over, without) : without);
  }
  std::vector<double> &least = room.own;
  least.assign(steps + 1, outOfReach);
  for (unsigned edge : graph.into(cell)) {
    const CellGraph::Edge &e = graph.edges()[edge];
    const double *at = prices->of(e.linkClass);
    for (unsigned step = arrivals[e.from] + 1u; step <= steps; ++step)
      least[step] = std::min(least[step], at[step]);
  }
  for (unsigned step = 1; step <= steps; ++step)
    costs[step] += least[step] * graph.sizeOf(cell);
}

/// Moves a cell to its best step. Returns whether that helped.
bool TreeSearch::settle(unsigned cell, Arrivals &arrivals,
                        StepCosts &room) const {
  if (graph.isSource(cell))
    return false;
  costsOfSteps(cell, arrivals, room);
  const std::vector<double> &costs = room.all;
  uint8_t best = arrivals[cell];
  double least = costs[best] - tolerance;
  for (unsigned step = 1; step <= steps; ++step)
    if (costs[step] < least) {
      least = costs[step] - tolerance;
      best = uint8_t(step);
    }
  return std::exchange(arrivals[cell], best) != best;
}

/// Moves each cell to its best step in turn. Returns whether that helped.
bool TreeSearch::moveOne(Arrivals &arrivals) const {
  bool helped = false;
  StepCosts room;
  for (unsigned cell = 0; cell < graph.numCells(); ++cell)
    helped |= settle(cell, arrivals, room);
  return helped;
}

/// Those that `a` and `b` are, and that may get the chunk from either.
static std::vector<unsigned> joined(const std::vector<unsigned> &a,
                                    const std::vector<unsigned> &b) {
  std::vector<unsigned> result;
  std::ranges::set_union(a, b, std::back_inserter(result));
  return result;
}

/// What `cell` costs, for each pair of steps of two other cells: that depends
/// on which of these have the chunk before it.
TreeSearch::PairCost TreeSearch::costBeside(unsigned cell, unsigned a,
                                            unsigned b,
                                            const Arrivals &arrivals) const {
  unsigned arrival = arrivals[cell];
  PairCost cost{arrival, {}};
  if (arrival == 0)
    return cost;
  double without = outOfReach, overA = outOfReach, overB = outOfReach;
  for (unsigned edge : graph.into(cell)) {
    const CellGraph::Edge &e = graph.edges()[edge];
    double &least = e.from == a ? overA : e.from == b ? overB : without;
    if (e.from == a || e.from == b || arrivals[e.from] < arrival)
      least = std::min(least, prices->at(e.linkClass, arrival));
  }
  double size = graph.sizeOf(cell);
  cost.values[0][0] = size * without;
  cost.values[1][0] = size * std::min(without, overA);
  cost.values[0][1] = size * std::min(without, overB);
  cost.values[1][1] = size * std::min({without, overA, overB});
  return cost;
}

/// What `cell` costs in each step: without `other`, and with its help.
std::vector<std::array<double, 2>>
TreeSearch::costsWith(unsigned cell, unsigned other,
                      const Arrivals &arrivals) const {
  std::vector<std::array<double, 2>> costs(steps + 1);
  double size = graph.sizeOf(cell);
  for (unsigned step = 1; step <= steps; ++step) {
    double without = outOfReach, over = outOfReach;
    for (unsigned edge : graph.into(cell)) {
      const CellGraph::Edge &e = graph.edges()[edge];
      double &least = e.from == other ? over : without;
      if (e.from == other || arrivals[e.from] < step)
        least = std::min(least, prices->at(e.linkClass, step));
    }
    costs[step] = {size * without, size * std::min(without, over)};
  }
  return costs;
}

/// Moves two cells to the first steps found that are better together. Returns
/// whether there are such.
bool TreeSearch::settleTwo(unsigned a, unsigned b, Arrivals &arrivals) const {
  std::vector<PairCost> around;
  for (unsigned cell : joined(affected[a], affected[b]))
    if (cell != a && cell != b)
      around.push_back(costBeside(cell, a, b, arrivals));
  auto costsOfA = costsWith(a, b, arrivals),
       costsOfB = costsWith(b, a, arrivals);
  auto together = [&](unsigned stepA, unsigned stepB) {
    double sum =
        costsOfA[stepA][stepB < stepA] + costsOfB[stepB][stepA < stepB];
    for (const PairCost &cost : around)
      sum += cost.values[stepA < cost.arrival][stepB < cost.arrival];
    return sum;
  };
  double least = together(arrivals[a], arrivals[b]) - tolerance;
  for (unsigned stepA = 1; stepA <= steps; ++stepA)
    for (unsigned stepB = 1; stepB <= steps; ++stepB)
      if (together(stepA, stepB) < least) {
        arrivals[a] = uint8_t(stepA);
        arrivals[b] = uint8_t(stepB);
        return true;
      }
  return false;
}

/// Moves two cells that an edge joins, at once: the one that waits for the
/// other with it.
bool TreeSearch::moveTwo(Arrivals &arrivals) const {
  return std::ranges::any_of(graph.edges(), [&](const CellGraph::Edge &edge) {
    return !graph.isSource(edge.from) &&
           settleTwo(edge.from, edge.to, arrivals);
  });
}

void TreeSearch::descend(Arrivals &arrivals, const Deadline &deadline) const {
  // Looks at two cells at once only where that is cheap.
  // Of one step there is nothing to choose.
  if (steps == 1)
    return;
  size_t effort = graph.edges().size() * steps;
  // What moves of all pairs look at: the edges into those around two cells.
  size_t degree = graph.edges().size() / graph.numCells() + 1;
  bool pairs =
      effort * steps <= tuned::mostEdgesOfPairs() &&
      effort * steps * 2 * degree * degree <= tuned::mostCostsOfPairs();
  do {
    while (moveOne(arrivals))
      if (deadline.tick(1 + effort / 64))
        return;
    if (deadline.tick(1 + effort / 16))
      return;
  } while (pairs && moveTwo(arrivals));
}

/// Some random changes, so that a search does not end where the last one did.
void TreeSearch::shake(Arrivals &arrivals) {
  for (unsigned i = 0; i < 1 + graph.numCells() / 6; ++i) {
    unsigned cell = random() % graph.numCells();
    if (graph.isSource(cell))
      continue;
    uint8_t was = arrivals[cell];
    arrivals[cell] = uint8_t(1 + random() % steps);
    if (priceOf(arrivals) >= outOfReach)
      arrivals[cell] = was;
  }
}

void TreeSearch::remember(const Arrivals &arrivals) {
  std::erase(pool, arrivals);
  pool.push_back(arrivals);
  if (pool.size() > tuned::mostRemembered())
    pool.erase(pool.begin());
}

std::vector<CellTree> TreeSearch::find(const EdgePrices &at, double limit,
                                       const Deadline &deadline) {
  std::vector<CellTree> found;
  if (!possible)
    return found;
  prices = &at;
  std::vector<CellTree> known;
  for (const Arrivals &arrivals : pool)
    known.push_back({priceOf(arrivals), arrivals});
  deadline.charge(1 + pool.size() * graph.edges().size() / 128);
  std::ranges::stable_sort(known, {}, &CellTree::price);
  known.resize(std::min(known.size(), tuned::mostCheapTrees()));
  if (!known.empty())
    for (size_t i = 0; i < tuned::treeKicks(); ++i) {
      Arrivals shaken = known.front().arrivals;
      shake(shaken);
      known.push_back({0, std::move(shaken)});
    }
  for (CellTree &tree : known) {
    descend(tree.arrivals, deadline);
    tree.price = priceOf(tree.arrivals);
    if (tree.price < limit)
      found.push_back(tree);
  }
  std::ranges::stable_sort(found, {}, &CellTree::price);
  auto same = std::ranges::unique(found, {}, &CellTree::arrivals);
  found.erase(same.begin(), same.end());
  found.resize(std::min(found.size(), tuned::mostCheapTrees()));
  for (size_t i = found.size(); i-- > 0;)
    remember(found[i].arrivals);
  return found;
}
