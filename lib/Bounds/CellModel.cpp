//===- CellModel.cpp - Bounds from ranks that look alike ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A column is what all links of a class carry together in a step, so that all
// coefficients are whole numbers. Steps count from 0 here, in the direction of
// the tree.
//
//===----------------------------------------------------------------------===//

#include "CellModel.h"

#include "Bounds/Constants.h"
#include "CellPaths.h"
#include "Optimize/ExactVertex.h"
#include "PriceList.h"
#include "Problem.h"

#include "sccl/Model/Refinement.h"

#include <algorithm>
#include <numeric>

using namespace sccl;
using namespace sccl::bounds;

using Sense = LinearProgram::Sense;
using Term = LinearProgram::Term;

bool bounds::hasCellModel(const Collective &collective) {
  return collective.kind() == CollectiveKind::AllGather ||
         collective.kind() == CollectiveKind::ReduceScatter;
}

RankSymmetry bounds::findRankSymmetry(const Topology &topology) {
  unsigned ranks = topology.numRanks();
  std::vector<Permutation> all = automorphismGenerators(topology);
  RankSymmetry result{{}, rankOrbits({}, ranks)};
  auto add = [&](const Permutation &element) {
    result.generators.push_back(element);
    std::vector<unsigned> firsts = rankOrbits(result.generators, ranks);
    if (firsts == result.firsts)
      result.generators.pop_back();
    else
      result.firsts = std::move(firsts);
  };
  // Of a regular group two or three elements do.
  for (const Permutation &element : largeFreeSubgroup(all, ranks)) {
    if (std::ranges::count(result.firsts, 0u) == ranks)
      break;
    add(element);
  }
  for (const Permutation &element : all)
    add(element);
  return result;
}

namespace {
class CellModel {
public:
  /// Lacks trees if the user's time is over.
  CellModel(const Topology &topology, const CellQuestion &question,
            RankSymmetry &symmetry, const Deadline &deadline);

  /// Columns, before any is left out.
  size_t countColumns() const;
  void build(bool withPaths);
  std::optional<PriceProof> solve(bool backward, const Deadline &deadline);

private:
  void addTree(unsigned source, int64_t sources, bool withPaths);
  void splitByOrbits(CellTree &tree, const std::vector<uint64_t> &limitKeys);
  const std::vector<Permutation> &keeping(unsigned rank) const;
  void addColumns(CellTree &tree);
  void addArrivalRows(CellTree &tree);
  void addRelayRows(CellTree &tree);
  void addLoads(unsigned limitClass, unsigned step,
                std::vector<Term> &terms) const;
  void addCapacityRows();
  std::pair<unsigned, unsigned> cellsOf(const CellTree &tree,
                                        unsigned cls) const;
  int64_t commonMultiple(const std::vector<int64_t> &duals) const;
  std::optional<PriceProof> writeProof(const std::vector<int64_t> &duals,
                                       int64_t common, bool backward) const;
  bool writePaths(size_t tree, const std::vector<int64_t> &duals,
                  int64_t factor, bool backward, TreeProof &proof) const;
  TreeProof writeTree(const CellTree &tree, const std::vector<int64_t> &duals,
                      int64_t factor, bool backward) const;
  Link linkOf(unsigned link, bool backward) const;
  StepValues inOrder(StepValues values, bool backward) const;

  const Topology &topology;
  const unsigned steps;
  const unsigned slots; ///< steps with rounds of their own
  RankSymmetry &symmetry;
  Classes limits;
  std::vector<std::vector<unsigned>> limitClassesOf; ///< per link
  std::vector<CellTree> trees;
  std::vector<std::vector<CellPaths>> paths; ///< of each tree
  LinearProgram program;
  std::vector<std::vector<unsigned>> capacityRows; ///< by limit class, slot
};
} // namespace

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

CellModel::CellModel(const Topology &topology, const CellQuestion &question,
                     RankSymmetry &symmetry, const Deadline &deadline)
    : topology(topology), steps(question.steps),
      slots(question.pipelined ? 1 : steps), symmetry(symmetry),
      limitClassesOf(topology.links().size()) {
  std::vector<uint64_t> keys(symmetry.firsts.begin(), symmetry.firsts.end());
  limits = refine(topology, keys).limits;
  for (unsigned i = 0; i < topology.limits().size(); ++i)
    for (unsigned link : topology.limits()[i].links)
      limitClassesOf[link].push_back(limits.classOf[i]);
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    if (symmetry.firsts[rank] == rank && !deadline.isOver())
      addTree(rank, std::ranges::count(symmetry.firsts, rank),
              question.withPaths);
}

/// Generators of the symmetries that keep `rank`.
const std::vector<Permutation> &CellModel::keeping(unsigned rank) const {
  auto [known, isNew] = symmetry.keeping.try_emplace(rank);
  if (isNew)
    known->second = automorphismGenerators(topology, rank);
  return known->second;
}

/// Prices to one target are mapped to the others of its cell. Their sum is the
/// same on all links of an orbit, but not of a class: two GPUs that share a
/// network card and two others of a box look alike.
void CellModel::splitByOrbits(CellTree &tree,
                              const std::vector<uint64_t> &limitKeys) {
  const std::vector<Permutation> &maps = keeping(tree.source);
  std::vector<unsigned> firsts = rankOrbits(maps, topology.numRanks());
  tree.cells = refine(topology, {firsts.begin(), firsts.end()}, limitKeys);
  Orbits orbits = orbitsUnder(
      topology.links().size(), maps.size(),
      [&](size_t m, std::vector<unsigned> &images) {
        images.clear();
        for (auto [src, dst] : topology.links())
          images.push_back(*topology.findLink(maps[m][src], maps[m][dst]));
      });
  tree.cells.links = Classes({orbits.classOf.begin(), orbits.classOf.end()});
}

void CellModel::addTree(unsigned source, int64_t sources, bool withPaths) {
  std::vector<uint64_t> keys(topology.numRanks()), limitKeys;
  keys[source] = 1;
  for (unsigned cls : limits.classOf)
    limitKeys.push_back(cls);
  CellTree &tree = trees.emplace_back();
  tree.source = source;
  tree.sources = sources;
  tree.cells = refine(topology, keys, limitKeys);
  if (withPaths)
    splitByOrbits(tree, limitKeys);
  std::vector<unsigned> hops = topology.distancesFrom(source);
  for (unsigned first : tree.cells.ranks.firsts)
    tree.hops.push_back(hops[first]);
  tree.in.resize(tree.cells.ranks.count());
  for (unsigned cls = 0; cls < tree.cells.links.count(); ++cls)
    tree.in[cellsOf(tree, cls).second].push_back(cls);
}

std::pair<unsigned, unsigned> CellModel::cellsOf(const CellTree &tree,
                                                 unsigned cls) const {
  const Link &link = topology.links()[tree.cells.links.firsts[cls]];
  return {tree.cells.ranks.classOf[link.src],
          tree.cells.ranks.classOf[link.dst]};
}

size_t CellModel::countColumns() const {
  size_t classes = 1;
  for (const CellTree &tree : trees)
    classes += tree.cells.links.count();
  return classes * steps;
}

void CellModel::addColumns(CellTree &tree) {
  for (unsigned cls = 0; cls < tree.cells.links.count(); ++cls) {
    auto [from, to] = cellsOf(tree, cls);
    std::vector<unsigned> &columns = tree.columns.emplace_back();
    for (unsigned step = 0; step < steps; ++step) {
      bool isWanted = tree.hops[to] != 0 && tree.hops[from] <= step;
      columns.push_back(isWanted ? program.addColumn(0) : noEntry);
    }
  }
}

/// Rule (i), for all ranks of a cell together.
void CellModel::addArrivalRows(CellTree &tree) {
  for (unsigned cell = 0; cell < tree.cells.ranks.count(); ++cell) {
    std::vector<Term> terms;
    for (unsigned cls : tree.in[cell])
      for (unsigned column : tree.columns[cls])
        if (column != noEntry)
          terms.emplace_back(column, 1);
    tree.arrivalRows.push_back(
        tree.hops[cell] == 0
            ? noEntry
            : program.addRow(Sense::Equal, tree.cells.ranks.sizes[cell],
                             terms));
  }
}

/// Rule (ii), for all links of a class together.
void CellModel::addRelayRows(CellTree &tree) {
  for (unsigned cls = 0; cls < tree.cells.links.count(); ++cls) {
    auto [from, to] = cellsOf(tree, cls);
    std::vector<unsigned> &rows = tree.relayRows.emplace_back(steps, noEntry);
    unsigned linksPerRank =
        tree.cells.links.sizes[cls] / tree.cells.ranks.sizes[from];
    for (unsigned step = 0; tree.hops[from] != 0 && step < steps; ++step) {
      if (tree.columns[cls][step] == noEntry)
        continue;
      std::vector<Term> terms;
      for (unsigned entry : tree.in[from])
        for (unsigned s = 0; s < step; ++s)
          if (tree.columns[entry][s] != noEntry)
            terms.emplace_back(tree.columns[entry][s], linksPerRank);
      for (unsigned s = 0; s <= step; ++s)
        if (tree.columns[cls][s] != noEntry)
          terms.emplace_back(tree.columns[cls][s], -1);
      rows[step] = program.addRow(Sense::AtLeast, 0, terms);
    }
  }
}

/// What all limits of a class carry in a step.
void CellModel::addLoads(unsigned limitClass, unsigned step,
                         std::vector<Term> &terms) const {
  for (const CellTree &tree : trees)
    for (unsigned links = 0; links < tree.columns.size(); ++links)
      if (unsigned column = tree.columns[links][step]; column != noEntry)
        for (unsigned limit : limitClassesOf[tree.cells.links.firsts[links]])
          if (limit == limitClass)
            terms.emplace_back(column, -double(tree.sources));
}

/// All limits of a class together. Columns 0 .. slots - 1 are the rounds.
void CellModel::addCapacityRows() {
  for (unsigned cls = 0; cls < limits.count(); ++cls) {
    double bandwidth = topology.limits()[limits.firsts[cls]].bandwidth;
    std::vector<unsigned> &rows = capacityRows.emplace_back();
    for (unsigned slot = 0; slot < slots; ++slot) {
      std::vector<Term> terms = {{slot, bandwidth * limits.sizes[cls]}};
      for (unsigned step = slot; step < steps; step += slots)
        addLoads(cls, step, terms);
      rows.push_back(program.addRow(Sense::AtLeast, 0, terms));
    }
  }
}

void CellModel::build(bool withPaths) {
  for (unsigned slot = 0; slot < slots; ++slot)
    program.addColumn(1);
  for (CellTree &tree : trees) {
    addColumns(tree);
    addArrivalRows(tree);
    addRelayRows(tree);
    auto &ofTree = paths.emplace_back();
    for (unsigned cell = 0; withPaths && cell < tree.hops.size(); ++cell)
      if (tree.hops[cell] != 0)
        ofTree.push_back(addPaths(topology, tree, cell, steps, program));
  }
  addCapacityRows();
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

Link CellModel::linkOf(unsigned link, bool backward) const {
  auto [src, dst] = topology.links()[link];
  return backward ? Link{dst, src} : Link{src, dst};
}

/// Steps as the certificate counts them.
StepValues CellModel::inOrder(StepValues values, bool backward) const {
  if (backward)
    std::ranges::reverse(values);
  return values;
}

/// Duals of rows for all ranks of a cell, or links of a class, are those of
/// each; only that they are for all sources of the orbit, and a proof for one.
TreeProof CellModel::writeTree(const CellTree &tree,
                               const std::vector<int64_t> &duals,
                               int64_t factor, bool backward) const {
  TreeProof proof{backward, {tree.source}, {}, {}, {}};
  for (unsigned cell : tree.cells.ranks.classOf) {
    unsigned row = tree.arrivalRows[cell];
    proof.arrivals.push_back(
        row == noEntry ? 0 : sharedOut(duals[row], factor, tree.sources));
  }
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    StepValues values;
    for (unsigned row : tree.relayRows[tree.cells.links.classOf[link]])
      values.push_back(
          row == noEntry ? 0 : sharedOut(duals[row], factor, tree.sources));
    if (std::ranges::any_of(values, [](int64_t value) { return value != 0; }))
      proof.relays.push_back(
          {linkOf(link, backward), inOrder(std::move(values), backward)});
  }
  std::ranges::sort(proof.relays,
                    [](const RelayValues &a, const RelayValues &b) {
                      return precedes(a.link, b.link);
                    });
  return proof;
}

/// Duals of rows for one target are those of all in its cell together.
bool CellModel::writePaths(size_t i, const std::vector<int64_t> &duals,
                           int64_t factor, bool backward,
                           TreeProof &proof) const {
  if (paths[i].empty())
    return true;
  const CellTree &tree = trees[i];
  const std::vector<Permutation> &maps = keeping(tree.source);
  // Each target is of one cell.
  using List = std::vector<std::pair<Link, StepValues>>;
  std::vector<List> toTarget(topology.numRanks());
  for (const CellPaths &toCell : paths[i]) {
    int64_t parts = tree.sources * toCell.targets;
    auto lists = pricesToTargets(topology, toCell, duals, factor, parts, maps);
    if (!lists)
      return false;
    for (unsigned target = 0; target < lists->size(); ++target)
      for (auto &[link, values] : (*lists)[target])
        toTarget[target].emplace_back(linkOf(link, backward),
                                      inOrder(std::move(values), backward));
  }
  for (unsigned target = 0; target < toTarget.size(); ++target) {
    std::ranges::sort(toTarget[target], precedes,
                      [](const auto &entry) { return entry.first; });
    for (auto &[link, values] : toTarget[target])
      proof.paths.push_back({target, link, std::move(values)});
  }
  return true;
}

std::optional<PriceProof>
CellModel::writeProof(const std::vector<int64_t> &duals, int64_t common,
                      bool backward) const {
  PriceProof proof;
  for (unsigned i = 0; i < topology.limits().size(); ++i) {
    StepValues values;
    const std::vector<unsigned> &rows = capacityRows[limits.classOf[i]];
    for (unsigned step = 0; step < steps; ++step)
      values.push_back(duals[rows[step % slots]] * common);
    if (std::ranges::all_of(values, [](int64_t value) { return value == 0; }))
      continue;
    std::vector<Link> links;
    for (unsigned link : topology.limits()[i].links)
      links.push_back(linkOf(link, backward));
    proof.prices.push_back(
        pricesOn(std::move(links), inOrder(std::move(values), backward)));
  }
  sortByLinks(proof.prices);
  proof.symmetries = symmetry.generators;
  std::ranges::sort(proof.symmetries);
  std::vector<unsigned> all(topology.numRanks());
  std::iota(all.begin(), all.end(), 0u);
  for (size_t i = 0; i < trees.size(); ++i) {
    CommodityProof commodity{{trees[i].source}, all, 0, {}};
    if (backward)
      std::swap(commodity.pre, commodity.post);
    commodity.trees.push_back(writeTree(trees[i], duals, common, backward));
    if (!writePaths(i, duals, common, backward, commodity.trees.back()))
      return std::nullopt;
    proof.commodities.push_back(std::move(commodity));
  }
  std::ranges::sort(proof.commodities,
                    [](const CommodityProof &a, const CommodityProof &b) {
                      return std::tie(a.pre, a.post) < std::tie(b.pre, b.post);
                    });
  return proof;
}

/// The least that all duals can be multiplied by, to be whole when shared out.
int64_t CellModel::commonMultiple(const std::vector<int64_t> &duals) const {
  int64_t common = 1;
  auto share = [&](unsigned row, int64_t times, int64_t parts) {
    if (row != noEntry && common <= maxProofValue)
      common = std::lcm(common, parts / std::gcd(parts, duals[row] % parts *
                                                            (times % parts)));
  };
  for (size_t i = 0; i < trees.size(); ++i) {
    const CellTree &tree = trees[i];
    for (unsigned row : tree.arrivalRows)
      share(row, 1, tree.sources);
    for (const std::vector<unsigned> &rows : tree.relayRows)
      for (unsigned row : rows)
        share(row, 1, tree.sources);
    for (const CellPaths &toCell : paths[i])
      for (size_t cls = 0; cls < toCell.rows.size(); ++cls)
        for (unsigned row : toCell.rows[cls])
          share(row, toCell.factors[cls], tree.sources * toCell.targets);
  }
  return common;
}

std::optional<PriceProof> CellModel::solve(bool backward,
                                           const Deadline &deadline) {
  LPSolution solution = program.solve(deadline);
  if (solution.status != LPStatus::Optimal)
    return std::nullopt;
  auto duals = exactMultipliers(program, solution, deadline);
  if (!duals)
    return std::nullopt;
  int64_t divisor = 0, most = 1;
  for (int64_t value : duals->numerators)
    divisor = std::gcd(divisor, value);
  for (int64_t &value : duals->numerators)
    value /= std::max<int64_t>(divisor, 1);
  for (const std::vector<unsigned> &rows : capacityRows)
    for (unsigned row : rows)
      most = std::max(most, std::abs(duals->numerators[row]));
  int64_t common = commonMultiple(duals->numerators);
  if (common > maxProofValue || most > maxProofValue / common)
    return std::nullopt;
  return writeProof(duals->numerators, common, backward);
}

bool bounds::hasEqualLimits(const Topology &topology) {
  std::vector<std::vector<unsigned>> sets;
  for (const BandwidthLimit &limit : topology.limits())
    sets.push_back(limit.links);
  std::ranges::sort(sets);
  return std::ranges::adjacent_find(sets) != sets.end();
}

/// Each for the ranks of an orbit.
static size_t countTrees(const RankSymmetry &symmetry) {
  size_t count = 0;
  for (unsigned rank = 0; rank < symmetry.firsts.size(); ++rank)
    count += symmetry.firsts[rank] == rank;
  return count;
}

std::optional<PriceProof> bounds::proveByCells(const Topology &topology,
                                               const Collective &collective,
                                               const CellQuestion &question,
                                               RankSymmetry &symmetry,
                                               const Deadline &deadline) {
  uint64_t checked = uint64_t(topology.links().size()) * topology.numRanks();
  if (question.withPaths && checked * question.steps > tuned::mostCellChecks())
    return std::nullopt;
  if (!hasCellModel(collective) || hasEqualLimits(topology))
    return std::nullopt;
  size_t maxColumns = std::min(question.withPaths ? tuned::mostCellColumns() / 8
                                                  : tuned::mostCellColumns(),
                               question.maxColumns);
  // Links into and out of the root of a tree are not alike.
  size_t trees = countTrees(symmetry);
  if (2 * trees * question.steps > maxColumns ||
      trees * topology.links().size() > tuned::mostClassified())
    return std::nullopt;
  bool backward = collective.combining();
  std::optional<Topology> reversed;
  if (backward)
    reversed = topology.reversed();
  CellModel model(backward ? *reversed : topology, question, symmetry,
                  deadline);
  if (deadline.isOver() || model.countColumns() > maxColumns)
    return std::nullopt;
  model.build(question.withPaths);
  return model.solve(backward, deadline);
}
