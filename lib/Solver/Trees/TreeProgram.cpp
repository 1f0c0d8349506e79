//===- TreeProgram.cpp - Trees that share links best ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeProgram.h"

#include "sccl/Model/DisjointSets.h"

#include <algorithm>
#include <numeric>

using namespace sccl;
using namespace sccl::trees;

std::vector<uint64_t>
trees::roundsPerStep(const Topology &topology, const LimitOrbits &orbits,
                     unsigned steps, const std::vector<ChunkTree> &trees) {
  std::vector<uint64_t> rounds(steps, 1);
  std::vector<unsigned __int128> loads(orbits.count() * steps);
  for (const ChunkTree &tree : trees)
    for (const TreeSend &send : tree.sends)
      orbits.visit(*topology.findLink(send.src, send.dst), [&](unsigned orbit) {
        loads[orbit * steps + send.step] += tree.count;
      });
  for (size_t i = 0; i < loads.size(); ++i) {
    uint64_t bandwidth = uint64_t(orbits.bandwidth(i / steps));
    uint64_t &most = rounds[i % steps];
    unsigned __int128 all = loads[i] * unsigned(orbits.imagesPerSend());
    most = std::max(most, uint64_t((all + bandwidth - 1) / bandwidth));
  }
  return rounds;
}

void trees::dropIdleSteps(TreeSchedule &schedule) {
  std::vector<bool> isUsed(schedule.rounds.size());
  for (const ChunkTree &tree : schedule.trees)
    for (const TreeSend &send : tree.sends)
      isUsed[send.step] = true;
  std::vector<uint32_t> number;
  std::vector<uint64_t> rounds;
  for (size_t step = 0; step < isUsed.size(); ++step) {
    number.push_back(uint32_t(rounds.size()));
    if (isUsed[step])
      rounds.push_back(schedule.rounds[step]);
  }
  schedule.rounds = std::move(rounds);
  for (ChunkTree &tree : schedule.trees)
    for (TreeSend &send : tree.sends)
      send.step = number[send.step];
}

//===----------------------------------------------------------------------===//
// Orbits of limits
//===----------------------------------------------------------------------===//

/// For each limit, the number of its image.
static std::vector<unsigned>
limitImages(const Topology &topology, const Permutation &symmetry,
            const std::map<std::pair<std::vector<unsigned>, unsigned>,
                           std::vector<unsigned>> &numbers) {
  std::map<std::pair<std::vector<unsigned>, unsigned>, size_t> used;
  std::vector<unsigned> images;
  for (const BandwidthLimit &limit : topology.limits()) {
    std::vector<unsigned> links;
    for (unsigned link : limit.links) {
      auto [src, dst] = topology.links()[link];
      links.push_back(*topology.findLink(symmetry[src], symmetry[dst]));
    }
    std::ranges::sort(links);
    std::pair key(std::move(links), limit.bandwidth);
    const std::vector<unsigned> &same = numbers.at(key);
    // Equal limits may go to each other in any way.
    images.push_back(same[used[key]++ % same.size()]);
  }
  return images;
}

LimitOrbits::LimitOrbits(const Topology &topology,
                         const std::vector<Permutation> &generators,
                         size_t order)
    : order(order), orbitsOfLink(topology.links().size()) {
  std::map<std::pair<std::vector<unsigned>, unsigned>, std::vector<unsigned>>
      numbers;
  const std::vector<BandwidthLimit> &limits = topology.limits();
  for (unsigned i = 0; i < limits.size(); ++i)
    numbers[{limits[i].links, limits[i].bandwidth}].push_back(i);
  DisjointSets sets(limits.size());
  for (const Permutation &generator : generators) {
    std::vector<unsigned> images = limitImages(topology, generator, numbers);
    for (unsigned i = 0; i < images.size(); ++i)
      sets.join(i, images[i]);
  }
  std::vector<uint64_t> firsts;
  for (unsigned i = 0; i < limits.size(); ++i)
    firsts.push_back(sets.first(i));
  Classes classes(firsts);
  classOf = classes.classOf;
  bandwidths.resize(classes.count());
  for (unsigned i = 0; i < limits.size(); ++i) {
    bandwidths[classOf[i]] += limits[i].bandwidth;
    for (unsigned link : limits[i].links)
      orbitsOfLink[link].push_back(classOf[i]);
  }
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

bool TreeProgram::add(unsigned demand, int64_t share, ChunkTree tree) {
  std::vector<int64_t> loads(numRows());
  for (const TreeSend &send : tree.sends)
    orbits.visit(*topology.findLink(send.src, send.dst),
                 [&](unsigned orbit) { ++loads[rowOf(orbit, send.step)]; });
  if (!known.emplace(demand, loads).second)
    return false;
  columns.push_back({demand, share, std::move(tree), std::move(loads)});
  return true;
}

/// Columns: the rounds of each slot, then the trees. Rows: those of the limits,
/// then the demands. Coefficients are small whole numbers.
LinearProgram TreeProgram::build() const {
  LinearProgram program;
  for (size_t slot = 0; slot < numSlots(); ++slot)
    program.addColumn(1);
  for (size_t i = 0; i < columns.size(); ++i)
    program.addColumn(0);
  std::vector<std::vector<LinearProgram::Term>> rows(numRows() + demands);
  for (size_t orbit = 0; orbit < orbits.count(); ++orbit)
    for (size_t slot = 0; slot < numSlots(); ++slot)
      rows[orbit * numSlots() + slot].emplace_back(
          slot, double(orbits.bandwidth(orbit)) /
                    double(std::gcd(orbits.bandwidth(orbit),
                                    orbits.imagesPerSend())));
  for (unsigned i = 0; i < columns.size(); ++i) {
    const Column &column = columns[i];
    unsigned at = unsigned(numSlots()) + i;
    for (size_t row = 0; row < numRows(); ++row)
      if (column.loads[row] != 0) {
        int64_t bandwidth = orbits.bandwidth(row / numSlots());
        int64_t each = orbits.imagesPerSend() /
                       std::gcd(bandwidth, orbits.imagesPerSend());
        rows[row].emplace_back(at, -double(column.loads[row] * each));
      }
    rows[numRows() + column.demand].emplace_back(at, double(column.share));
  }
  for (size_t row = 0; row < rows.size(); ++row)
    program.addRow(row < numRows() ? LinearProgram::Sense::AtLeast
                                   : LinearProgram::Sense::Equal,
                   row < numRows() ? 0 : double(amounts[row - numRows()]),
                   rows[row]);
  return program;
}

void TreePrices::moveHalfwayTo(const TreePrices &others) {
  auto move = [](std::vector<double> &mine, const std::vector<double> &other) {
    mine.resize(other.size());
    for (size_t i = 0; i < mine.size(); ++i)
      mine[i] = (mine[i] + other[i]) / 2;
  };
  if (values.empty())
    *this = others;
  move(values, others.values);
  move(worth, others.worth);
}

std::optional<double> TreeProgram::take(LPSolution found) {
  if (found.status != LPStatus::Optimal)
    return std::nullopt;
  solution = std::move(found);
  return solution.optimum;
}

std::optional<double> TreeProgram::solve(const Deadline &deadline) {
  return take(build().solve(deadline));
}

std::optional<double> TreeProgram::solveOn(const Deadline &deadline) {
  if (!solution.values.empty())
    if (auto found = take(build().solveFrom(solution, deadline)))
      return found;
  return deadline.expired() ? std::nullopt : solve(deadline);
}

TreePrices TreeProgram::prices() const {
  TreePrices result;
  for (size_t row = 0; row < numRows(); ++row) {
    int64_t bandwidth = orbits.bandwidth(row / numSlots());
    double each = double(orbits.imagesPerSend() /
                         std::gcd(bandwidth, orbits.imagesPerSend()));
    result.values.push_back(std::max(solution.multipliers[row], 0.0) * each);
  }
  for (unsigned demand = 0; demand < demands; ++demand)
    result.worth.push_back(solution.multipliers[numRows() + demand]);
  return result;
}

std::optional<FractionList> TreeProgram::exact(const Deadline &deadline) const {
  // Trees that were added since are not used.
  LPSolution padded = solution;
  padded.values.resize(numSlots() + columns.size());
  padded.isBasicColumn.resize(padded.values.size());
  return exactValues(build(), padded, deadline);
}
