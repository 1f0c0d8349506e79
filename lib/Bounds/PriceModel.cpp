//===- PriceModel.cpp - The linear program of a problem -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Let rho(t) be the rounds of step t over C. The program minimises the sum of
// rho(t) over all ways to spread each tree and each unicast over links and
// steps in fractions, so that no limit carries more than bandwidth * rho(t) in
// step t. Every schedule is such a way, whatever its k, R and C. For pipelined
// schedules there is one rho, and the row of a limit is about all steps.
//
// The mean of a solution over a group of symmetries is again a solution, so one
// column stands for each orbit of columns, and one row for each orbit of rows.
// The multiplier of a row is then shared out evenly over its orbit.
//
//===----------------------------------------------------------------------===//

#include "PriceModel.h"

#include "Bounds/Constants.h"
#include "PriceTables.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::bounds;

using Sense = LinearProgram::Sense;
using Term = LinearProgram::Term;

namespace {
/// Builds the program and reads its dual solution. Steps count from 0 here.
class PriceModel {
public:
  PriceModel(const Problem &problem, TreeRules rules);

  void build();
  size_t countColumns() const;
  Result<PriceDuals> solve(const Deadline &deadline) const;

private:
  void listFlows();
  void findOrbits();
  void addColumns();
  void addArrivalRows();
  void addRelayRows();
  void addFlowRows();
  void addBalance(size_t flow, size_t rank, unsigned layer,
                  std::vector<Term> &terms, double &needed) const;
  void addPathRows();
  void addSharedLoadRows();
  void addCapacityRows();

  bool linkInTree(const Tree &tree, unsigned link, unsigned step) const;
  bool nodeInFlow(const Flow &flow, unsigned rank, unsigned layer) const;
  bool linkInFlow(const Flow &flow, unsigned link, unsigned step) const;
  /// True if the load of a commodity is more than its only tree.
  bool hasSharedLoad(unsigned commodity) const {
    return problem.commodities[commodity].gossipSends != 0;
  }
  void addLoads(std::vector<Term> &terms, unsigned link, unsigned step) const;
  void readTree(const std::vector<double> &duals, unsigned tree,
                TreeDuals &result) const;

  const Problem &problem;
  const std::vector<Link> &links;
  unsigned ranks, steps;
  bool withPaths;
  /// The unicasts of the problem, then the paths of its trees.
  std::vector<Flow> flows;
  /// The first path of each tree among the flows.
  std::vector<unsigned> firstPath;

  Orbits limits, commodityOrbits;
  PairOrbits treeLinks, treeRanks, flowLinks, flowRanks, loadLinks;
  LinearProgram program;
  std::vector<unsigned> rounds;
  StepTable treeColumns, flowColumns, storeColumns, loadColumns;
  StepTable capacityRows, relayRows, pathRows;
  std::vector<unsigned> arrivalRows, gossipRows;
};
} // namespace

//===----------------------------------------------------------------------===//
// Orbits
//===----------------------------------------------------------------------===//

PriceModel::PriceModel(const Problem &problem, TreeRules rules)
    : problem(problem), links(problem.topology.links()),
      ranks(problem.topology.numRanks()), steps(problem.steps),
      withPaths(rules == TreeRules::WithPaths) {
  listFlows();
  findOrbits();
}

void PriceModel::listFlows() {
  flows = problem.unicasts;
  if (!withPaths)
    return;
  // To each rank, when it is needed first.
  std::vector<std::vector<unsigned>> hopsTo(ranks);
  for (unsigned t = 0; t < problem.trees.size(); ++t) {
    const Tree &tree = problem.trees[t];
    firstPath.push_back(flows.size());
    for (unsigned target : tree.targets) {
      Flow flow;
      flow.supply.resize(ranks);
      flow.demand.resize(ranks);
      for (unsigned root : tree.roots)
        flow.supply[root] = 1;
      flow.demand[target] = 1;
      flow.hopsFrom = tree.hops;
      if (hopsTo[target].empty())
        hopsTo[target] = problem.topology.distancesTo({target});
      flow.hopsTo = hopsTo[target];
      flow.tree = t;
      flow.target = target;
      flows.push_back(std::move(flow));
    }
  }
}

void PriceModel::findOrbits() {
  const std::vector<Symmetry> &group = problem.symmetries;
  auto pairs = [&](size_t count, size_t width, auto imageOfFirst,
                   Permutation Symmetry::*second) {
    // Some millions, so nothing is divided or called for each.
    auto fill = [&](size_t m, std::vector<unsigned> &images) {
      const Permutation &imageOfSecond = group[m].*second;
      auto next = images.begin();
      for (size_t first = 0; first < count; ++first) {
        size_t base = imageOfFirst(m, first) * width;
        for (unsigned image : imageOfSecond)
          *next++ = unsigned(base + image);
      }
    };
    return PairOrbits{width, orbitsUnder(count * width, group.size(), fill)};
  };
  auto treeImage = [&](size_t m, size_t t) -> size_t {
    return group[m].trees[t];
  };
  auto loadImage = [&](size_t m, size_t k) -> size_t {
    return group[m].commodities[k];
  };
  auto flowImage = [&](size_t m, size_t f) -> size_t {
    if (!flows[f].tree)
      return group[m].unicasts[f];
    unsigned image = group[m].trees[*flows[f].tree];
    const std::vector<unsigned> &targets = problem.trees[image].targets;
    auto it = std::lower_bound(targets.begin(), targets.end(),
                               group[m].ranks[flows[f].target]);
    return firstPath[image] + (it - targets.begin());
  };
  limits = orbitsUnder(problem.limits.size(), group.size(),
                       [&](size_t m, std::vector<unsigned> &images) {
                         images = group[m].limits;
                       });
  commodityOrbits = orbitsUnder(problem.commodities.size(), group.size(),
                                [&](size_t m, std::vector<unsigned> &images) {
                                  images = group[m].commodities;
                                });
  size_t trees = problem.trees.size();
  treeLinks = pairs(trees, links.size(), treeImage, &Symmetry::links);
  treeRanks = pairs(trees, ranks, treeImage, &Symmetry::ranks);
  flowLinks = pairs(flows.size(), links.size(), flowImage, &Symmetry::links);
  flowRanks = pairs(flows.size(), ranks, flowImage, &Symmetry::ranks);
  // Commodities of a reduction to all are few; others have no load of their
  // own.
  bool anyShared = std::any_of(
      problem.commodities.begin(), problem.commodities.end(),
      [](const Commodity &commodity) { return commodity.gossipSends != 0; });
  loadLinks = pairs(anyShared ? problem.commodities.size() : 0, links.size(),
                    loadImage, &Symmetry::links);
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

bool PriceModel::linkInTree(const Tree &tree, unsigned link,
                            unsigned step) const {
  auto [src, dst] = links[link];
  return tree.hops[dst] != 0 && problem.isThere(tree.hops[src], step);
}

/// Layer t is the time before step t; layer `steps` is the end.
bool PriceModel::nodeInFlow(const Flow &flow, unsigned rank,
                            unsigned layer) const {
  return problem.isThere(flow.hopsFrom[rank], layer) &&
         problem.isThere(flow.hopsTo[rank], steps - layer);
}

bool PriceModel::linkInFlow(const Flow &flow, unsigned link,
                            unsigned step) const {
  return nodeInFlow(flow, links[link].src, step) &&
         nodeInFlow(flow, links[link].dst, step + 1);
}

size_t PriceModel::countColumns() const {
  return steps * (1 + treeLinks.numClasses() + flowLinks.numClasses() +
                  flowRanks.numClasses());
}

void PriceModel::addColumns() {
  for (unsigned step = 0; step < (problem.pipelined ? 1 : steps); ++step)
    rounds.push_back(program.addColumn(1));
  auto add = [&](StepTable &table, const PairOrbits &pairs, auto isWanted) {
    table.resize(pairs.numClasses(), steps);
    pairs.visitFirsts([&](size_t i, size_t x) {
      for (unsigned step = 0; step < steps; ++step)
        if (isWanted(i, x, step))
          table.at(pairs.classOf(i, x), step) = program.addColumn(0);
    });
  };
  add(treeColumns, treeLinks, [&](size_t t, size_t link, unsigned step) {
    return linkInTree(problem.trees[t], link, step);
  });
  add(loadColumns, loadLinks,
      [&](size_t k, size_t, unsigned) { return hasSharedLoad(k); });
  add(flowColumns, flowLinks, [&](size_t f, size_t link, unsigned step) {
    return linkInFlow(flows[f], link, step);
  });
  add(storeColumns, flowRanks, [&](size_t f, size_t rank, unsigned step) {
    return !problem.anySteps && nodeInFlow(flows[f], rank, step) &&
           nodeInFlow(flows[f], rank, step + 1);
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static void addTerm(std::vector<Term> &terms, unsigned column, double value) {
  if (column != none)
    terms.emplace_back(column, value);
}

/// Rule (i).
void PriceModel::addArrivalRows() {
  arrivalRows.assign(treeRanks.numClasses(), none);
  treeRanks.visitFirsts([&](size_t t, size_t rank) {
    const Tree &tree = problem.trees[t];
    if (tree.hops[rank] == 0)
      return;
    std::vector<Term> terms;
    for (unsigned link : problem.topology.inLinks(rank))
      for (unsigned step = 0; step < steps; ++step)
        addTerm(terms, treeColumns.at(treeLinks.classOf(t, link), step), 1);
    bool isTarget = std::binary_search(tree.targets.begin(), tree.targets.end(),
                                       unsigned(rank));
    arrivalRows[treeRanks.classOf(t, rank)] =
        program.addRow(isTarget ? Sense::Equal : Sense::AtMost, 1, terms);
  });
}

/// Rule (ii).
void PriceModel::addRelayRows() {
  relayRows.resize(treeLinks.numClasses(), steps);
  if (problem.anySteps)
    return;
  treeLinks.visitFirsts([&](size_t t, size_t link) {
    auto [relaying, next] = links[link];
    unsigned cls = treeLinks.classOf(t, link);
    if (problem.trees[t].hops[relaying] == 0)
      return;
    for (unsigned step = 0; step < steps; ++step) {
      if (treeColumns.at(cls, step) == none)
        continue;
      std::vector<Term> terms;
      for (unsigned entry : problem.topology.inLinks(relaying))
        for (unsigned s = 0; s < step; ++s)
          addTerm(terms, treeColumns.at(treeLinks.classOf(t, entry), s), 1);
      for (unsigned s = 0; s <= step; ++s)
        addTerm(terms, treeColumns.at(cls, s), -1);
      relayRows.at(cls, step) = program.addRow(Sense::AtLeast, 0, terms);
    }
  });
}

/// What leaves a rank, or stays, was there before. Without steps all layers of
/// a rank are one.
void PriceModel::addFlowRows() {
  flowRanks.visitFirsts([&](size_t f, size_t rank) {
    std::vector<Term> terms;
    double needed = 0;
    for (unsigned layer = 0; layer <= steps; ++layer) {
      if (!nodeInFlow(flows[f], rank, layer))
        continue;
      addBalance(f, rank, layer, terms, needed);
      if (problem.anySteps && layer < steps)
        continue;
      program.addRow(Sense::AtLeast, needed, terms);
      terms.clear();
      needed = 0;
    }
  });
}

void PriceModel::addBalance(size_t f, size_t rank, unsigned layer,
                            std::vector<Term> &terms, double &needed) const {
  unsigned cls = flowRanks.classOf(f, rank);
  if (layer == 0) {
    needed -= flows[f].supply[rank];
  } else {
    addTerm(terms, storeColumns.at(cls, layer - 1), 1);
    for (unsigned link : problem.topology.inLinks(rank))
      addTerm(terms, flowColumns.at(flowLinks.classOf(f, link), layer - 1), 1);
  }
  if (layer == steps) {
    needed += flows[f].demand[rank];
  } else {
    addTerm(terms, storeColumns.at(cls, layer), -1);
    for (unsigned link : problem.topology.outLinks(rank))
      addTerm(terms, flowColumns.at(flowLinks.classOf(f, link), layer), -1);
  }
}

/// Rule (iii): paths run within their tree.
void PriceModel::addPathRows() {
  pathRows.resize(flowLinks.numClasses(), steps);
  flowLinks.visitFirsts([&](size_t f, size_t link) {
    if (!flows[f].tree)
      return;
    unsigned cls = flowLinks.classOf(f, link);
    unsigned treeClass = treeLinks.classOf(*flows[f].tree, link);
    for (unsigned step = 0; step < steps; ++step) {
      unsigned path = flowColumns.at(cls, step);
      unsigned tree = treeColumns.at(treeClass, step);
      // No path enters a root.
      if (path != none && tree != none)
        pathRows.at(cls, step) =
            program.addRow(Sense::AtLeast, 0, {{tree, 1}, {path, -1}});
    }
  });
}

/// Several trees of one commodity run within the same sends, whose number has a
/// bound of its own.
void PriceModel::addSharedLoadRows() {
  treeLinks.visitFirsts([&](size_t t, size_t link) {
    unsigned k = problem.trees[t].commodity;
    for (unsigned step = 0; hasSharedLoad(k) && step < steps; ++step) {
      unsigned tree = treeColumns.at(treeLinks.classOf(t, link), step);
      unsigned load = loadColumns.at(loadLinks.classOf(k, link), step);
      if (tree != none)
        program.addRow(Sense::AtLeast, 0, {{load, 1}, {tree, -1}});
    }
  });
  gossipRows.assign(commodityOrbits.sizes.size(), none);
  for (unsigned k : commodityOrbits.representatives) {
    if (!hasSharedLoad(k))
      continue;
    std::vector<Term> terms;
    for (unsigned link = 0; link < links.size(); ++link)
      for (unsigned step = 0; step < steps; ++step)
        addTerm(terms, loadColumns.at(loadLinks.classOf(k, link), step), 1);
    gossipRows[commodityOrbits.classOf[k]] = program.addRow(
        Sense::AtLeast, problem.commodities[k].gossipSends, terms);
  }
}

/// Subtracts all that `link` carries in `step`.
void PriceModel::addLoads(std::vector<Term> &terms, unsigned link,
                          unsigned step) const {
  for (unsigned k = 0; k < problem.commodities.size(); ++k)
    if (hasSharedLoad(k))
      addTerm(terms, loadColumns.at(loadLinks.classOf(k, link), step),
              -problem.commodities[k].weight);
  for (unsigned t = 0; t < problem.trees.size(); ++t) {
    unsigned k = problem.trees[t].commodity;
    if (!hasSharedLoad(k))
      addTerm(terms, treeColumns.at(treeLinks.classOf(t, link), step),
              -problem.commodities[k].weight);
  }
  for (unsigned f = 0; f < problem.unicasts.size(); ++f)
    addTerm(terms, flowColumns.at(flowLinks.classOf(f, link), step), -1);
}

void PriceModel::addCapacityRows() {
  capacityRows.resize(limits.sizes.size(), steps);
  for (unsigned first : limits.representatives) {
    const BandwidthLimit &limit = problem.limits[first];
    std::vector<Term> terms;
    for (unsigned step = 0; step < steps; ++step) {
      for (unsigned link : limit.links)
        addLoads(terms, link, step);
      if (problem.pipelined && step + 1 < steps)
        continue;
      terms.emplace_back(rounds[problem.pipelined ? 0 : step],
                         double(limit.bandwidth));
      unsigned row = program.addRow(Sense::AtLeast, 0, terms);
      terms.clear();
      unsigned cls = limits.classOf[first];
      for (unsigned s = problem.pipelined ? 0 : step; s <= step; ++s)
        capacityRows.at(cls, s) = row;
    }
  }
}

void PriceModel::build() {
  addColumns();
  addArrivalRows();
  addRelayRows();
  addFlowRows();
  addPathRows();
  addSharedLoadRows();
  addCapacityRows();
}

//===----------------------------------------------------------------------===//
// Dual solution
//===----------------------------------------------------------------------===//

void PriceModel::readTree(const std::vector<double> &duals, unsigned t,
                          TreeDuals &result) const {
  const Tree &tree = problem.trees[t];
  double weight = problem.commodities[tree.commodity].weight;
  auto share = [&](unsigned row, unsigned size) {
    return row == none ? 0 : duals[row] / (weight * size);
  };
  for (unsigned rank = 0; rank < ranks; ++rank)
    result.arrivals.push_back(share(arrivalRows[treeRanks.classOf(t, rank)],
                                    treeRanks.sizeOf(t, rank)));
  auto readTable = [&](const PairOrbits &pairs, size_t i,
                       const StepTable &rows) {
    LinkTable table{steps, {}};
    for (unsigned link = 0; link < links.size(); ++link)
      for (unsigned step = 0; step < steps; ++step)
        table.values.push_back(share(rows.at(pairs.classOf(i, link), step),
                                     pairs.sizeOf(i, link)));
    return table;
  };
  result.relays = readTable(treeLinks, t, relayRows);
  for (size_t i = 0; withPaths && i < tree.targets.size(); ++i)
    result.paths.push_back(readTable(flowLinks, firstPath[t] + i, pathRows));
}

Result<PriceDuals> PriceModel::solve(const Deadline &deadline) const {
  LPSolution solution = program.solve(deadline);
  if (solution.status != LPStatus::Optimal)
    return Error{"the linear program of " + std::to_string(program.numRows()) +
                 " rows and " + std::to_string(program.numColumns()) +
                 " columns " +
                 (deadline.expired() ? "was stopped: " + deadline.reason()
                                     : "has no optimum, says Clp")};
  const std::vector<double> &duals = solution.multipliers;
  PriceDuals result{solution.optimum, {steps, {}}, {}, {}, {}};
  for (unsigned limit = 0; limit < problem.limits.size(); ++limit) {
    unsigned cls = limits.classOf[limit];
    for (unsigned step = 0; step < steps; ++step)
      result.prices.values.push_back(duals[capacityRows.at(cls, step)] /
                                     limits.sizes[cls]);
  }
  for (unsigned k : commodityOrbits.representatives) {
    std::vector<TreeDuals> trees;
    for (unsigned t = 0; t < problem.trees.size(); ++t)
      if (problem.trees[t].commodity == k)
        readTree(duals, t, trees.emplace_back());
    if (trees.empty())
      continue;
    unsigned cls = commodityOrbits.classOf[k];
    unsigned row = gossipRows[cls];
    result.commodities.push_back(k);
    result.gossip.push_back(row == none
                                ? 0
                                : duals[row] / (commodityOrbits.sizes[cls] *
                                                problem.commodities[k].weight));
    result.trees.push_back(std::move(trees));
  }
  return result;
}

/// Pairs of something that moves and a link or rank, before symmetry.
static uint64_t countParts(const Problem &problem, TreeRules rules) {
  uint64_t moving = problem.trees.size() + problem.unicasts.size();
  for (const Tree &tree : problem.trees)
    if (rules == TreeRules::WithPaths)
      moving += tree.targets.size();
  return moving *
         (problem.topology.links().size() + problem.topology.numRanks());
}

Result<PriceDuals> bounds::solvePrices(const Problem &problem, TreeRules rules,
                                       size_t maxColumns,
                                       const Deadline &deadline) {
  if (countParts(problem, rules) > tuned::mostParts())
    return Error{"the linear program would have " +
                 std::to_string(countParts(problem, rules)) +
                 " parts, the limit is " + std::to_string(tuned::mostParts())};
  PriceModel model(problem, rules);
  if (model.countColumns() > maxColumns)
    return Error{"the linear program would have " +
                 std::to_string(model.countColumns()) +
                 " columns, the limit is " + std::to_string(maxColumns)};
  model.build();
  return model.solve(deadline);
}
