//===- CellPaths.cpp - Paths in trees of cells ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CellPaths.h"

#include <algorithm>
#include <numeric>

using namespace sccl;
using namespace sccl::bounds;

using Sense = LinearProgram::Sense;
using Term = LinearProgram::Term;

namespace {
/// Builds the columns and rows of a flow from source to target. Layer t is the
/// time before step t.
class PathBuilder {
public:
  PathBuilder(const Topology &topology, const CellTree &tree, unsigned cell,
              unsigned steps, LinearProgram &program);
  CellPaths build();

private:
  using Table = std::vector<std::vector<unsigned>>;
  bool isOnWay(unsigned cell, unsigned layer) const {
    return from[cell] <= layer && to[cell] <= steps - layer;
  }
  std::pair<unsigned, unsigned> cellsOf(unsigned cls) const {
    const Link &link = topology.links()[paths.cells.links.firsts[cls]];
    return {paths.cells.ranks.classOf[link.src],
            paths.cells.ranks.classOf[link.dst]};
  }
  void addColumns();
  void addBalanceRows();
  void addTreeRows();

  const Topology &topology;
  const CellTree &tree;
  const unsigned steps;
  LinearProgram &program;
  CellPaths paths;
  std::vector<unsigned> from, to; ///< hops of each cell
  Table sent, kept;               ///< by link class, or cell, and step
};
} // namespace

PathBuilder::PathBuilder(const Topology &topology, const CellTree &tree,
                         unsigned cell, unsigned steps, LinearProgram &program)
    : topology(topology), tree(tree), steps(steps), program(program) {
  paths.target = tree.cells.ranks.firsts[cell];
  paths.targets = tree.cells.ranks.sizes[cell];
  paths.cells = refine(topology, tree.cells, {paths.target});
  std::vector<unsigned> fromSource = topology.distancesFrom(tree.source);
  std::vector<unsigned> toTarget = topology.distancesTo({paths.target});
  for (unsigned first : paths.cells.ranks.firsts) {
    from.push_back(fromSource[first]);
    to.push_back(toTarget[first]);
  }
}

void PathBuilder::addColumns() {
  for (unsigned cls = 0; cls < paths.cells.links.count(); ++cls) {
    auto [src, dst] = cellsOf(cls);
    std::vector<unsigned> &columns = sent.emplace_back(steps, noEntry);
    for (unsigned step = 0; step < steps; ++step)
      if (isOnWay(src, step) && isOnWay(dst, step + 1) && from[dst] != 0)
        columns[step] = program.addColumn(0);
  }
  for (unsigned cell = 0; cell < paths.cells.ranks.count(); ++cell) {
    std::vector<unsigned> &columns = kept.emplace_back(steps, noEntry);
    for (unsigned step = 0; step < steps; ++step)
      if (isOnWay(cell, step) && isOnWay(cell, step + 1))
        columns[step] = program.addColumn(0);
  }
}

/// What leaves the ranks of a cell, or stays, was there before.
void PathBuilder::addBalanceRows() {
  unsigned target = paths.cells.ranks.classOf[paths.target];
  unsigned source = paths.cells.ranks.classOf[tree.source];
  for (unsigned cell = 0; cell < paths.cells.ranks.count(); ++cell)
    for (unsigned layer = 0; layer <= steps; ++layer) {
      if (!isOnWay(cell, layer))
        continue;
      std::vector<Term> terms;
      auto add = [&](unsigned column, double value) {
        if (column != noEntry)
          terms.emplace_back(column, value);
      };
      for (unsigned cls = 0; cls < sent.size(); ++cls) {
        auto [src, dst] = cellsOf(cls);
        if (dst == cell && layer > 0)
          add(sent[cls][layer - 1], 1);
        if (src == cell && layer < steps)
          add(sent[cls][layer], -1);
      }
      if (layer > 0)
        add(kept[cell][layer - 1], 1);
      if (layer < steps)
        add(kept[cell][layer], -1);
      double needed = (layer == steps && cell == target ? 1 : 0) -
                      (layer == 0 && cell == source ? 1 : 0);
      program.addRow(Sense::AtLeast, needed, terms);
    }
}

/// On a link no more than the tree has there.
void PathBuilder::addTreeRows() {
  for (unsigned cls = 0; cls < sent.size(); ++cls) {
    unsigned ofTree = tree.cells.links.classOf[paths.cells.links.firsts[cls]];
    int64_t mine = paths.cells.links.sizes[cls];
    int64_t all = tree.cells.links.sizes[ofTree];
    int64_t common = std::gcd(mine, all);
    paths.factors.push_back(all / common);
    std::vector<unsigned> &rows = paths.rows.emplace_back(steps, noEntry);
    for (unsigned step = 0; step < steps; ++step) {
      unsigned column = tree.columns[ofTree][step];
      if (sent[cls][step] != noEntry && column != noEntry)
        rows[step] = program.addRow(Sense::AtLeast, 0,
                                    {{column, double(mine / common)},
                                     {sent[cls][step], -double(all / common)}});
    }
  }
}

CellPaths PathBuilder::build() {
  addColumns();
  addBalanceRows();
  addTreeRows();
  return std::move(paths);
}

CellPaths bounds::addPaths(const Topology &topology, const CellTree &tree,
                           unsigned cell, unsigned steps,
                           LinearProgram &program) {
  return PathBuilder(topology, tree, cell, steps, program).build();
}

std::optional<std::vector<std::vector<std::pair<unsigned, StepValues>>>>
bounds::pricesToTargets(const Topology &topology, const CellPaths &paths,
                        const std::vector<int64_t> &duals, int64_t factor,
                        int64_t parts,
                        const std::vector<Permutation> &symmetries) {
  using List = std::vector<std::pair<unsigned, StepValues>>;
  std::vector<List> result(topology.numRanks());
  std::vector<bool> known(topology.numRanks());
  known[paths.target] = true;
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    unsigned cls = paths.cells.links.classOf[link];
    StepValues values;
    for (unsigned row : paths.rows[cls])
      values.push_back(
          row == noEntry
              ? 0
              : sharedOut(duals[row], paths.factors[cls] * factor, parts));
    if (std::ranges::any_of(values, [](int64_t value) { return value != 0; }))
      result[paths.target].emplace_back(link, std::move(values));
  }
  std::vector<unsigned> queue = {paths.target};
  for (size_t next = 0; next < queue.size(); ++next)
    for (const Permutation &symmetry : symmetries) {
      unsigned image = symmetry[queue[next]];
      if (known[image])
        continue;
      known[image] = true;
      queue.push_back(image);
      for (const auto &[link, values] : result[queue[next]]) {
        auto [src, dst] = topology.links()[link];
        result[image].emplace_back(
            *topology.findLink(symmetry[src], symmetry[dst]), values);
      }
    }
  if (queue.size() != size_t(paths.targets))
    return std::nullopt;
  return result;
}
