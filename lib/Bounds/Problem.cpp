//===- Problem.cpp - What a bound must account for ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Symmetries are looked for on the topology and kept if they also map
// commodities to commodities of the same weight, which need not be a group of
// any particular kind: a mean over the group that the kept ones generate is
// again a solution.
//
//===----------------------------------------------------------------------===//

#include "Problem.h"

#include "sccl/Model/DisjointSets.h"
#include "sccl/Model/RanksByChunk.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::bounds;

using RankList = std::vector<unsigned>;

std::vector<unsigned> Problem::hopsFrom(const RankList &ranks) const {
  return topology.distancesFrom(ranks);
}

std::vector<unsigned> Problem::hopsTo(const RankList &ranks) const {
  return topology.distancesTo(ranks);
}

//===----------------------------------------------------------------------===//
// Commodities, trees and unicasts
//===----------------------------------------------------------------------===//

static RankList without(const RankList &ranks, const RankList &removed) {
  RankList rest;
  std::set_difference(ranks.begin(), ranks.end(), removed.begin(),
                      removed.end(), std::back_inserter(rest));
  return rest;
}

/// True if each chunk is reduced to one rank at most, so that the problem can
/// be turned round.
static bool reducesToOneRank(const Collective &collective) {
  if (!collective.combining())
    return false;
  auto groups = countByEnds(collective);
  return std::all_of(groups.begin(), groups.end(), [](const auto &group) {
    return group.first.second.size() <= 1;
  });
}

static void addTree(Problem &problem, unsigned commodity, RankList roots,
                    RankList targets) {
  std::vector<unsigned> hops = problem.hopsFrom(roots);
  problem.trees.push_back(
      {commodity, std::move(roots), std::move(targets), std::move(hops)});
}

/// One flow for all unicasts of the same supply (or demand) ranks.
static void addUnicasts(Problem &problem,
                        const std::vector<unsigned> &commodities,
                        bool bySource) {
  unsigned ranks = problem.topology.numRanks();
  std::map<RankList, std::vector<unsigned>> groups;
  for (unsigned k : commodities) {
    const Commodity &commodity = problem.commodities[k];
    groups[bySource ? commodity.pre : without(commodity.post, commodity.pre)]
        .push_back(k);
  }
  for (const auto &[key, members] : groups) {
    Flow flow;
    flow.supply.resize(ranks);
    flow.demand.resize(ranks);
    RankList from, to;
    for (unsigned k : members) {
      const Commodity &commodity = problem.commodities[k];
      unsigned target = without(commodity.post, commodity.pre)[0];
      // Any of several sources may give all of it.
      for (unsigned source : commodity.pre)
        flow.supply[source] += commodity.weight;
      flow.demand[target] += commodity.weight;
      from.insert(from.end(), commodity.pre.begin(), commodity.pre.end());
      to.push_back(target);
    }
    flow.hopsFrom = problem.hopsFrom(from);
    flow.hopsTo = problem.hopsTo(to);
    problem.unicasts.push_back(std::move(flow));
  }
}

static void addCommodities(Problem &problem, const Collective &collective) {
  bool gossips = collective.combining() && !problem.backward;
  std::vector<unsigned> unicasts;
  std::map<RankList, int> sources, targetsSeen;
  bool singleSources = true;
  for (auto [route, count] : countByEnds(collective)) {
    auto [pre, post] = route;
    if (post.empty())
      continue;
    if (problem.backward)
      std::swap(pre, post);
    unsigned k = problem.commodities.size();
    unsigned sends = gossips ? pre.size() + post.size() - 2 : 0;
    RankList targets = without(post, pre);
    double weight = double(count) / collective.chunks();
    problem.commodities.push_back({pre, post, weight, sends});
    if (gossips) {
      for (unsigned root : pre)
        if (RankList others = without(post, {root}); !others.empty())
          addTree(problem, k, {root}, others);
    } else if (targets.size() > 1) {
      addTree(problem, k, pre, targets);
    } else if (targets.size() == 1) {
      unicasts.push_back(k);
      ++sources[pre];
      ++targetsSeen[targets];
      singleSources &= pre.size() == 1;
    }
  }
  // By target only where a supply belongs to one commodity alone.
  addUnicasts(problem, unicasts,
              !singleSources || sources.size() <= targetsSeen.size());
}

size_t bounds::countMoving(const Collective &collective) {
  bool backward = reducesToOneRank(collective);
  size_t trees = 0;
  std::set<RankList> sources, targets;
  for (const auto &[route, count] : countByEnds(collective)) {
    if (route.second.empty())
      continue;
    const RankList &pre = backward ? route.second : route.first;
    const RankList &post = backward ? route.first : route.second;
    size_t others = without(post, pre).size();
    if (collective.combining() && !backward) {
      trees += pre.size();
    } else if (others > 1) {
      ++trees;
    } else if (others == 1) {
      sources.insert(pre);
      targets.insert(post);
    }
  }
  return trees + std::min(sources.size(), targets.size());
}

static void addLimits(Problem &problem) {
  std::map<RankList, unsigned> bandwidths;
  for (const BandwidthLimit &limit : problem.topology.limits()) {
    auto [it, isNew] = bandwidths.try_emplace(limit.links, limit.bandwidth);
    if (!isNew)
      it->second = std::min(it->second, limit.bandwidth);
  }
  for (const auto &[links, bandwidth] : bandwidths)
    problem.limits.push_back({links, bandwidth});
}

//===----------------------------------------------------------------------===//
// Symmetries
//===----------------------------------------------------------------------===//

namespace {
/// Finds the number of what a renumbering makes of a numbered thing.
template <typename Key> class ImageFinder {
public:
  void add(Key key) { numbers.try_emplace(std::move(key), numbers.size()); }
  /// Appends the number of `key`; false if there is no such thing.
  bool append(Permutation &images, const Key &key) const {
    auto it = numbers.find(key);
    if (it == numbers.end())
      return false;
    images.push_back(it->second);
    return true;
  }

private:
  std::map<Key, unsigned> numbers;
};

/// Extends renumberings of the ranks to all parts of a problem.
class SymmetryExtender {
public:
  explicit SymmetryExtender(const Problem &problem);
  /// Nothing if `ranks` does not keep the problem.
  std::optional<Symmetry> extend(const Permutation &ranks) const;

private:
  using TreeKey = std::pair<unsigned, RankList>;
  using FlowKey = std::pair<std::vector<double>, std::vector<double>>;
  using CommodityKey = std::tuple<RankList, RankList, double>;

  const Problem &problem;
  ImageFinder<std::pair<RankList, unsigned>> limits;
  ImageFinder<CommodityKey> commodities;
  ImageFinder<TreeKey> trees;
  ImageFinder<FlowKey> unicasts;
};
} // namespace

SymmetryExtender::SymmetryExtender(const Problem &problem) : problem(problem) {
  for (const BandwidthLimit &limit : problem.limits)
    limits.add({limit.links, limit.bandwidth});
  for (const Commodity &k : problem.commodities)
    commodities.add({k.pre, k.post, k.weight});
  for (const Tree &tree : problem.trees)
    trees.add({tree.commodity, tree.roots});
  for (const Flow &flow : problem.unicasts)
    unicasts.add({flow.supply, flow.demand});
}

static RankList imageOf(const Permutation &permutation, const RankList &set) {
  RankList image;
  for (unsigned member : set)
    image.push_back(permutation[member]);
  std::sort(image.begin(), image.end());
  return image;
}

static std::vector<double> permuted(const Permutation &permutation,
                                    const std::vector<double> &values) {
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    result[permutation[i]] = values[i];
  return result;
}

std::optional<Symmetry>
SymmetryExtender::extend(const Permutation &ranks) const {
  Symmetry result;
  result.ranks = ranks;
  for (const Link &link : problem.topology.links()) {
    auto image = problem.topology.findLink(ranks[link.src], ranks[link.dst]);
    if (!image)
      return std::nullopt;
    result.links.push_back(*image);
  }
  for (const BandwidthLimit &limit : problem.limits)
    if (!limits.append(result.limits,
                       {imageOf(result.links, limit.links), limit.bandwidth}))
      return std::nullopt;
  for (const Commodity &k : problem.commodities)
    if (!commodities.append(
            result.commodities,
            {imageOf(ranks, k.pre), imageOf(ranks, k.post), k.weight}))
      return std::nullopt;
  for (const Tree &tree : problem.trees)
    if (!trees.append(result.trees, {result.commodities[tree.commodity],
                                     imageOf(ranks, tree.roots)}))
      return std::nullopt;
  for (const Flow &flow : problem.unicasts)
    if (!unicasts.append(result.unicasts, {permuted(ranks, flow.supply),
                                           permuted(ranks, flow.demand)}))
      return std::nullopt;
  return result;
}

Problem bounds::makeProblem(const Topology &topology,
                            const Collective &collective,
                            std::optional<unsigned> steps,
                            const Deadline &deadline) {
  bool backward = reducesToOneRank(collective);
  Problem problem{.topology = backward ? topology.reversed() : topology,
                  .steps = steps.value_or(1),
                  .anySteps = !steps,
                  .backward = backward,
                  .limits = {},
                  .commodities = {},
                  .trees = {},
                  .unicasts = {},
                  .symmetries = {}};
  addLimits(problem);
  addCommodities(problem, collective);
  SymmetryExtender extender(problem);
  for (const Permutation &ranks :
       automorphismGenerators(topology, collective)) {
    if (deadline.isOver())
      break;
    if (std::optional<Symmetry> symmetry = extender.extend(ranks))
      problem.symmetries.push_back(std::move(*symmetry));
  }
  return problem;
}

Orbits bounds::orbitsUnder(
    size_t count, size_t numMaps,
    const std::function<void(size_t, std::vector<unsigned> &)> &fill) {
  DisjointSets sets(count);
  std::vector<unsigned> images(count);
  for (size_t map = 0; map < numMaps; ++map) {
    fill(map, images);
    for (size_t i = 0; i < count; ++i)
      if (images[i] != i)
        sets.join(i, images[i]);
  }
  Orbits orbits;
  orbits.classOf.resize(count);
  for (size_t i = 0; i < count; ++i) {
    unsigned root = sets.first(i);
    if (root == i) {
      orbits.classOf[i] = orbits.sizes.size();
      orbits.sizes.push_back(0);
      orbits.representatives.push_back(i);
    }
    orbits.classOf[i] = orbits.classOf[root];
    ++orbits.sizes[orbits.classOf[i]];
  }
  return orbits;
}

//===----------------------------------------------------------------------===//
// Distance
//===----------------------------------------------------------------------===//

/// True if each rank reaches each other by way of rank 0 in `steps` hops.
static bool isWithinReach(const Topology &topology, unsigned steps) {
  unsigned from = std::ranges::max(topology.distancesFrom(0));
  return from < steps &&
         std::ranges::max(topology.distancesTo({0})) <= steps - from;
}

std::optional<DistanceProof>
bounds::findTooDistant(const Topology &topology, const Collective &collective,
                       unsigned steps, const Deadline &deadline) {
  constexpr size_t maxKept = size_t(1) << 24;
  // To list the ends of all chunks takes long where there are many.
  if (isWithinReach(topology, steps))
    return std::nullopt;
  std::map<RankList, std::vector<unsigned>> searches;
  auto hopsFrom = [&](const RankList &ranks) -> const std::vector<unsigned> & {
    if (searches.size() * topology.numRanks() > maxKept)
      searches.clear();
    auto [it, isNew] = searches.try_emplace(ranks);
    if (isNew)
      it->second = topology.distancesFrom(ranks);
    return it->second;
  };
  for (const auto &[route, count] : countByEnds(collective)) {
    const auto &[pre, post] = route;
    // Without reductions the nearest holder counts, with them each contributor.
    std::vector<RankList> origins = {pre};
    if (collective.combining()) {
      origins.clear();
      for (unsigned rank : pre)
        origins.push_back({rank});
    }
    for (const RankList &origin : origins) {
      if (deadline.isOver())
        return std::nullopt;
      const std::vector<unsigned> &hops = hopsFrom(origin);
      for (unsigned rank : post)
        if (hops[rank] > steps)
          return DistanceProof{origin.front(), rank};
    }
  }
  return std::nullopt;
}
