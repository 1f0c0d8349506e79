//===- MulticastPacking.cpp - Trees for any chunks that move --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MulticastPacking.h"

#include "CheapMulticasts.h"
#include "Solver/Constants.h"
#include "TreePacking.h"
#include "WholeChunks.h"

#include "sccl/Model/SumTree.h"
#include "sccl/Model/Symmetry.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

using namespace sccl;
using namespace sccl::trees;

// The ranks below each node are marked by limits on all links from them and to
// them, so that the search for symmetries keeps these sets, and with them the
// trees: a tree is the family of its sets of leaves.

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

/// All elements, the identity first, of a large free group of symmetries of
/// `topology` and `collective` that map each node of `trees`, for the sources
/// of `sums` one by one, to a node of one of them.
static std::vector<Permutation>
symmetriesOfSums(const Topology &topology, const Collective &collective,
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

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

static std::vector<unsigned> imageOf(const Permutation &element,
                                     const std::vector<unsigned> &ranks) {
  std::vector<unsigned> image;
  for (unsigned rank : ranks)
    image.push_back(element[rank]);
  std::ranges::sort(image);
  return image;
}

MulticastProblem::MulticastProblem(const Topology &topology,
                                   const Collective &collective)
    : topology(topology), collective(collective),
      multicasts(multicastsOf(collective)) {
  useGroup(largeFreeSubgroup(automorphismGenerators(topology, collective),
                             topology.numRanks()));
}

MulticastProblem::MulticastProblem(const Topology &topology,
                                   const Collective &collective,
                                   const SumOrder &order)
    : topology(topology), collective(collective),
      multicasts(sumsOf(collective)) {
  for (const Multicast &sum : multicasts)
    sums.push_back(*order.treeOf(unsigned(sum.sources.size())));
  useGroup(symmetriesOfSums(topology, collective, multicasts, sums));
}

bool MulticastProblem::isExact() const {
  return !sums.empty() && std::ranges::all_of(multicasts, [](const auto &sum) {
    return sum.targets.size() == 1;
  });
}

void MulticastProblem::useGroup(std::vector<Permutation> symmetries) {
  group = std::move(symmetries);
  generators = spanningElements(group, topology.numRanks());
  std::map<std::pair<std::vector<unsigned>, std::vector<unsigned>>, unsigned>
      numbers;
  for (unsigned i = 0; i < multicasts.size(); ++i)
    numbers[{multicasts[i].sources, multicasts[i].targets}] = i;
  firsts.resize(multicasts.size());
  std::iota(firsts.begin(), firsts.end(), 0u);
  for (const Permutation &element : group) {
    std::vector<unsigned> &image = images.emplace_back();
    for (unsigned i = 0; i < multicasts.size(); ++i) {
      image.push_back(numbers.at({imageOf(element, multicasts[i].sources),
                                  imageOf(element, multicasts[i].targets)}));
      firsts[i] = std::min(firsts[i], image.back());
    }
  }
}

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

MulticastPacking::MulticastPacking(const MulticastProblem &problem,
                                   unsigned steps, Rounds rounds)
    : problem(problem), steps(steps), kind(rounds),
      orbits(problem.topology, problem.generators, problem.group.size()) {
  for (unsigned i = 0; i < problem.multicasts.size(); ++i)
    if (problem.firsts[i] == i)
      wanted.push_back(i);
  program = std::make_unique<TreeProgram>(problem.topology, orbits, steps,
                                          rounds, wanted.size());
  for (unsigned demand = 0; demand < wanted.size(); ++demand)
    program->setAmount(demand, int64_t(multicastOf(demand).chunks.size()));
}

/// How often images of a tree under the group serve one multicast.
int64_t MulticastPacking::shareOf(unsigned demand) const {
  unsigned number = wanted[demand];
  return std::ranges::count_if(problem.images, [&](const auto &image) {
    return image[number] == number;
  });
}

SendPrices MulticastPacking::pricesFor(const TreePrices &prices) const {
  // Of equal ways the one with the fewest sends.
  constexpr double perSend = 1e-9;
  size_t links = problem.topology.links().size();
  SendPrices result{steps, std::vector<double>(links * steps, perSend)};
  for (unsigned link = 0; link < links; ++link)
    orbits.visit(link, [&](unsigned orbit) {
      for (unsigned step = 0; step < steps; ++step)
        result.values[size_t(link) * steps + step] +=
            prices.values[program->rowOf(orbit, step)];
    });
  return result;
}

/// Adds trees that cost less than they are worth. Returns whether there were
/// new ones.
bool MulticastPacking::price(unsigned demand, const SendPrices &sends,
                             double worth, unsigned tries,
                             const Deadline &deadline) {
  constexpr double tolerance = 1e-7;
  const Multicast &multicast = multicastOf(demand);
  double limit = worth - tolerance * std::max(1.0, std::abs(worth));
  bool added = false;
  std::vector<MulticastTree> found =
      problem.sums.empty()
          ? cheapTrees(problem.topology, multicast, sends, tries, deadline)
          : cheapSums(problem.topology, problem.collective, multicast,
                      problem.sums[wanted[demand]], sends, tries, deadline);
  for (MulticastTree &tree : found)
    if (tree.price < limit &&
        program->add(demand, shareOf(demand),
                     {multicast.sources.front(), 1, tree.sends})) {
      if (problem.sums.empty())
        for (const TreeSend &send : tree.sends)
          tree.written.push_back({0, send.src, send.dst});
      written.push_back(std::move(tree.written));
      added = true;
    }
  return added;
}

std::optional<double> MulticastPacking::generate(const Deadline &deadline) {
  TreePrices prices;
  prices.values.assign(program->numRows(), 1.0);
  prices.worth.assign(program->numDemands(), 1e12);
  // Where few tries give nothing, more may.
  unsigned tries = tuned::fewTries();
  std::vector<double> values;
  if (program->isTooLarge())
    return std::nullopt;
  while (!deadline.expired()) {
    SendPrices sends = pricesFor(prices);
    bool added = false;
    for (unsigned demand = 0; demand < wanted.size(); ++demand)
      added |=
          price(demand, sends, prices.worth[demand] * double(shareOf(demand)),
                tries, deadline);
    if (!added && (tries >= tuned::mostTries() || problem.isExact()))
      break;
    tries = added ? tuned::fewTries() : tries * tuned::turnGrowth();
    if (!added)
      continue;
    value = problem.sums.empty() ? program->solve(deadline)
                                 : program->solveOn(deadline);
    if (!value)
      break;
    prices = lastPrices = program->prices();
    // Sums for many targets never stop to become a little cheaper.
    values.push_back(*value);
    size_t turns = values.size(), few = tuned::slowRounds();
    if (!problem.sums.empty() && !problem.isExact() && turns > few &&
        values[turns - 1 - few] <= *value * (1 + tuned::slowSumGain()))
      break;
  }
  return value;
}

std::vector<double> MulticastPacking::limitPrices() const {
  std::vector<double> result;
  if (lastPrices.values.empty() || kind != Rounds::PerStep)
    return result;
  for (unsigned limit = 0; limit < problem.topology.limits().size(); ++limit)
    for (unsigned step = 0; step < steps; ++step)
      result.push_back(
          lastPrices.values[program->rowOf(orbits.orbitOf(limit), step)]);
  return result;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Piece p of chunk c of the collective has the number c * pieces + p.
MulticastSchedule
MulticastPacking::decode(unsigned pieces, const std::vector<uint64_t> &rounds,
                         const std::vector<int64_t> &counts) const {
  MulticastSchedule result{pieces, {}};
  result.schedule.steps.resize(steps);
  for (size_t step = 0; kind == Rounds::PerStep && step < steps; ++step)
    result.schedule.steps[step].rounds = unsigned(rounds[step]);
  std::vector<uint64_t> next(problem.multicasts.size());
  for (size_t i = 0; i < counts.size(); ++i)
    for (size_t element = 0; element < problem.group.size(); ++element) {
      const Permutation &ranks = problem.group[element];
      unsigned image = problem.images[element][wanted[program->demandOf(i)]];
      const std::vector<unsigned> &chunks = problem.multicasts[image].chunks;
      for (int64_t n = 0; n < counts[i]; ++n) {
        uint64_t place = next[image]++;
        uint32_t chunk = uint32_t(chunks[place / pieces] * uint64_t(pieces) +
                                  place % pieces);
        for (size_t j = 0; j < written[i].size(); ++j) {
          Send send = written[i][j];
          send.chunk = chunk;
          send.src = ranks[send.src];
          send.dst = ranks[send.dst];
          result.schedule.steps[program->tree(i).sends[j].step].sends.push_back(
              send);
        }
      }
    }
  if (kind == Rounds::InAll) {
    fitRounds(result.schedule, problem.topology);
    result.schedule.period = unsigned(rounds.front());
  }
  result.schedule.normalize();
  return result;
}

std::optional<MulticastSchedule>
MulticastPacking::round(unsigned pieces, const Deadline &deadline) const {
  if (!value)
    return std::nullopt;
  std::optional<WholeSolution> whole =
      wholeChunks(*program, program->numDemands(), pieces, deadline);
  if (!whole)
    return std::nullopt;
  return decode(pieces, whole->rounds, whole->counts);
}

std::optional<MulticastSchedule>
MulticastPacking::exact(unsigned maxPieces, const Deadline &deadline) const {
  if (!value)
    return std::nullopt;
  std::optional<FractionList> fractions = program->exact(deadline);
  if (!fractions || fractions->denominator > maxPieces)
    return std::nullopt;
  auto counts = fractions->numerators.begin() + program->numSlots();
  std::vector<uint64_t> rounds(fractions->numerators.begin(), counts);
  // Steps in which nothing happens have a round each all the same.
  for (uint64_t &count : rounds)
    count = std::max<uint64_t>(count, 1);
  return decode(unsigned(fractions->denominator), rounds,
                {counts, fractions->numerators.end()});
}
