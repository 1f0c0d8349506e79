//===- Allocation.cpp - A share of the limits for each link ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linear program: x(e) chunks over each link e for every chunk of a root, and
// the load, which is to be least. Limits say how much the links of a set may
// have together. Trees exist if and only if at least as much leaves each set of
// ranks as there are roots in it (Edmonds). There are too many sets to list;
// those that a solution violates are found by maximum flows, and added until it
// violates none.
//
// A vertex of the program has fractions with a small denominator more often
// than not. Where it has not, rounding up to a large one costs little.
//
//===----------------------------------------------------------------------===//

#include "Allocation.h"

#include "Model/FlowNetwork.h"
#include "Optimize/LinearProgram.h"
#include "Solver/Constants.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

using namespace sccl;
using namespace sccl::pipelined;

using Sense = LinearProgram::Sense;
using Term = LinearProgram::Term;

namespace {
/// The program, with one column for each orbit of links.
class Allocation {
public:
  Allocation(const Topology &topology, const std::vector<unsigned> &roots,
             const std::vector<Permutation> &symmetries,
             const Deadline &deadline)
      : topology(topology), roots(roots), deadline(deadline),
        network(topology.numRanks() + 1) {
    findOrbits(symmetries);
  }

  Result<CapacityGraph> run();

private:
  void findOrbits(const std::vector<Permutation> &symmetries);
  void buildProgram();
  void buildNetwork();
  bool addCuts(const std::vector<double> &shares);
  void addCut();
  CapacityGraph scaled(const std::vector<double> &shares) const;
  int64_t findDenominator(const std::vector<double> &shares) const;
  double shareOf(const std::vector<double> &values, unsigned link) const {
    return values[1 + orbitOf[link]];
  }

  /// Units of flow for a chunk, and how many of them are errors of the program.
  static constexpr int64_t unit = int64_t(1) << 24;
  static constexpr int64_t tolerance = int64_t(1) << 6;

  const Topology &topology;
  const std::vector<unsigned> &roots;
  const Deadline &deadline;
  std::vector<unsigned> orbitOf; ///< by link
  unsigned numOrbits = 0;
  LinearProgram program;
  FlowNetwork network;
};
} // namespace

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

void Allocation::findOrbits(const std::vector<Permutation> &symmetries) {
  const std::vector<Link> &links = topology.links();
  std::vector<unsigned> leader(links.size());
  std::iota(leader.begin(), leader.end(), 0u);
  auto find = [&leader](unsigned link) {
    while (leader[link] != link)
      link = leader[link] = leader[leader[link]];
    return link;
  };
  for (const Permutation &symmetry : symmetries)
    for (unsigned link = 0; link < links.size(); ++link)
      leader[find(link)] = find(*topology.findLink(symmetry[links[link].src],
                                                   symmetry[links[link].dst]));
  std::map<unsigned, unsigned> numbers;
  for (unsigned link = 0; link < links.size(); ++link)
    orbitOf.push_back(
        numbers.try_emplace(find(link), numbers.size()).first->second);
  numOrbits = numbers.size();
}

void Allocation::buildProgram() {
  unsigned load = program.addColumn(1);
  for (unsigned orbit = 0; orbit < numOrbits; ++orbit)
    program.addColumn(0);
  // Limits of one orbit make the same row.
  std::map<std::map<unsigned, int>, unsigned> rows;
  for (const BandwidthLimit &limit : topology.limits()) {
    std::map<unsigned, int> counts;
    for (unsigned link : limit.links)
      ++counts[1 + orbitOf[link]];
    auto [it, isNew] = rows.try_emplace(std::move(counts), limit.bandwidth);
    it->second = std::min(it->second, limit.bandwidth);
  }
  for (const auto &[counts, bandwidth] : rows) {
    std::vector<Term> terms = {{load, double(bandwidth)}};
    for (auto [column, count] : counts)
      terms.emplace_back(column, -count);
    program.addRow(Sense::AtLeast, 0, terms);
  }
}

void Allocation::buildNetwork() {
  for (auto [src, dst] : topology.links())
    network.addArc(src, dst, 0);
  for (unsigned root : roots)
    network.addArc(topology.numRanks(), root, unit);
}

/// Adds what `shares` violates; false if that is nothing.
bool Allocation::addCuts(const std::vector<double> &shares) {
  for (unsigned link = 0; link < topology.links().size(); ++link)
    network.setCapacity(link,
                        std::llround(shareOf(shares, link) * double(unit)));
  int64_t needed = unit * int64_t(roots.size()) - tolerance;
  bool isViolated = false;
  for (unsigned sink = 0; sink < topology.numRanks(); ++sink) {
    if (network.maximize(
            topology.numRanks(), sink, needed,
            [&](uint64_t units) { return deadline.tick(units); }) >= needed)
      continue;
    addCut();
    isViolated = true;
  }
  return isViolated;
}

/// The row of the cut that the network found.
void Allocation::addCut() {
  std::vector<Term> terms;
  for (unsigned link = 0; link < topology.links().size(); ++link)
    if (network.isCut(link))
      terms.emplace_back(1 + orbitOf[link], 1);
  double demand = 0;
  for (unsigned root : roots)
    demand += network.isOnSourceSide(root);
  program.addRow(Sense::AtLeast, demand, terms);
}

//===----------------------------------------------------------------------===//
// Whole numbers
//===----------------------------------------------------------------------===//

/// A number that makes all shares whole, the smallest if one is small.
int64_t Allocation::findDenominator(const std::vector<double> &shares) const {
  constexpr double error = 1e-6;
  for (int64_t candidate = 1; candidate < tuned::mostDenominator(); ++candidate)
    if (std::all_of(shares.begin() + 1, shares.end(), [&](double share) {
          double scaled = share * double(candidate);
          return std::abs(scaled - std::round(scaled)) <
                 error * double(candidate);
        }))
      return candidate;
  return tuned::mostDenominator();
}

CapacityGraph Allocation::scaled(const std::vector<double> &shares) const {
  int64_t factor = findDenominator(shares);
  CapacityGraph graph{topology.numRanks(), topology.numRanks(), {}, {}};
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    // Too much would be no harm but to the load; too little would be to trees.
    double share = shareOf(shares, link) * double(factor);
    int64_t capacity = std::llround(std::ceil(share - 1e-3));
    auto [src, dst] = topology.links()[link];
    if (capacity > 0)
      graph.arcs.push_back({src, dst, capacity});
  }
  return graph;
}

Result<CapacityGraph> Allocation::run() {
  std::vector<bool> isLimited(topology.links().size());
  for (const BandwidthLimit &limit : topology.limits())
    for (unsigned link : limit.links)
      isLimited[link] = true;
  if (std::find(isLimited.begin(), isLimited.end(), false) != isLimited.end())
    return Error{"a link without a limit has no share"};
  buildProgram();
  buildNetwork();
  // No share for any link: whom it cannot reach is found at once.
  std::vector<double> shares(1 + numOrbits);
  while (addCuts(shares)) {
    LPSolution solution = program.solve(deadline);
    if (deadline.expired())
      return Error{deadline.reason()};
    if (solution.status == LPStatus::Infeasible)
      return Error{"a rank cannot be reached from every root"};
    if (solution.status != LPStatus::Optimal)
      return Error{"the linear program of shares has no optimum, says Clp"};
    shares = std::move(solution.values);
  }
  if (deadline.expired())
    return Error{deadline.reason()};
  return scaled(shares);
}

Result<CapacityGraph> pipelined::allocateLimits(
    const Topology &topology, const std::vector<unsigned> &roots,
    const std::vector<Permutation> &symmetries, const Deadline &deadline) {
  return Allocation(topology, roots, symmetries, deadline).run();
}
