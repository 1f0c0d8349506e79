//===- SumBound.cpp - Bounds where the order of additions is given --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A game of two: prices and shares want the cheapest ways to all results to be
// dear, and ways avoid what is dear. What the ways of a turn use becomes dearer
// by a factor, and less so from turn to turn (Freund, Schapire: Adaptive game
// playing using multiplicative weights). All prices on the way are bounds.
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/SumBound.h"

#include "Bounds/Constants.h"
#include "Certify.h"
#include "PriceList.h"
#include "Rounding.h"

#include "sccl/Model/RanksByChunk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace sccl;
using namespace sccl::bounds;

namespace {
constexpr double noWay = std::numeric_limits<double>::infinity();

/// Chunks that are added up alike.
struct Sum {
  double shareOf(size_t target, size_t place) const {
    return shares.empty() ? 1 : shares[target][place];
  }

  std::vector<unsigned> sources, targets;
  double amount; ///< chunks of C
  SumTree tree;
  /// By target, and by node, link and step: weights, and their parts of the sum
  /// over all targets, which are the shares. Empty for one target.
  std::vector<std::vector<double>> weights, shares;
  std::vector<std::vector<size_t>> ways; ///< entries of it, by target
};

/// The cheapest ways to a sum at one rank.
class CheapestWay {
public:
  /// Of any number of steps, there is one column of prices.
  CheapestWay(const Topology &topology, std::optional<unsigned> steps)
      : topology(topology), anySteps(!steps), times(steps.value_or(0) + 1) {}

  /// priceOf(node, link, step).
  template <typename Price>
  double find(const Sum &sum, unsigned target, Price priceOf);
  /// Calls use(node, link, step) for each send of the way that was found.
  template <typename Use> void visit(const Sum &sum, unsigned target, Use use);

private:
  enum : unsigned { given = ~0u, byAdding = ~1u, waits = ~2u };
  size_t at(unsigned time, uint32_t node, unsigned rank) const {
    return (size_t(time) * nodes + node) * topology.numRanks() + rank;
  }
  void add(const SumTree &tree, unsigned time, uint32_t node);
  template <typename Price>
  bool move(unsigned before, unsigned after, uint32_t node, Price priceOf);

  const Topology &topology;
  const bool anySteps;
  const unsigned times; ///< before the first step, and after each
  uint32_t nodes = 0;
  std::vector<double> cost;
  std::vector<unsigned> from; ///< the link, or one of the above
};

/// Prices and shares, and what they prove.
class SumPrices {
public:
  SumPrices(const Topology &topology, const Collective &collective,
            std::optional<unsigned> steps, const std::vector<double> &prices);

  bool add(const ChunkEnds &ends, unsigned count, const SumOrder &order);
  bool isExact() const;
  /// The work of a turn.
  uint64_t effort() const;
  /// What is proved, up to rounding. Remembers the cheapest ways.
  double price();
  /// Makes what these use dearer.
  void raise();
  /// The numbers as they are, times `factor`.
  PriceProof proof(double factor) const;
  std::vector<double> limitPrices() const;

private:
  size_t column(size_t link, unsigned step) const {
    return link * steps + step;
  }
  std::vector<SumShare> sharesOf(const Sum &sum,
                                 const std::vector<int64_t> &onLinks) const;
  void findLinkPrices();
  void raisePrices();
  void raiseShares(Sum &sum) const;

  const Topology &topology;
  const Collective &collective;
  const unsigned steps; ///< with prices of their own
  std::vector<Sum> sums;
  /// By limit and step: what all that it lets pass in a round costs; 1 in each
  /// step.
  std::vector<double> worth;
  std::vector<double> linkPrices; ///< by link and step
  std::vector<double> used;       ///< by the cheapest ways, likewise
  CheapestWay way;
  unsigned turns = 0;
};
} // namespace

/// What is made of both operands at one rank.
void CheapestWay::add(const SumTree &tree, unsigned time, uint32_t node) {
  for (unsigned rank = 0; !tree.isLeaf(node) && rank < topology.numRanks();
       ++rank) {
    double both = cost[at(time, tree.left(node), rank)] +
                  cost[at(time, tree.right(node), rank)];
    if (both < cost[at(time, node, rank)]) {
      cost[at(time, node, rank)] = both;
      from[at(time, node, rank)] = byAdding;
    }
  }
}

/// What comes over a link. Returns whether that made anything cheaper.
template <typename Price>
bool CheapestWay::move(unsigned before, unsigned after, uint32_t node,
                       Price priceOf) {
  bool isCheaper = false;
  const std::vector<Link> &links = topology.links();
  for (unsigned link = 0; link < links.size(); ++link) {
    double price =
        cost[at(before, node, links[link].src)] + priceOf(node, link, before);
    size_t there = at(after, node, links[link].dst);
    if (price < cost[there]) {
      cost[there] = price;
      from[there] = link;
      isCheaper = true;
    }
  }
  return isCheaper;
}

template <typename Price>
double CheapestWay::find(const Sum &sum, unsigned target, Price priceOf) {
  nodes = sum.tree.numNodes();
  cost.assign(at(times, 0, 0), noWay);
  from.assign(cost.size(), waits);
  for (uint32_t leaf = 0; leaf < sum.tree.numLeaves(); ++leaf) {
    cost[at(0, leaf, sum.sources[leaf])] = 0;
    from[at(0, leaf, sum.sources[leaf])] = given;
  }
  for (uint32_t node = 0; node < nodes; ++node) {
    add(sum.tree, 0, node);
    while (anySteps && move(0, 0, node, priceOf))
      ;
  }
  for (unsigned time = 1; time < times; ++time)
    for (uint32_t node = 0; node < nodes; ++node) {
      for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
        cost[at(time, node, rank)] = cost[at(time - 1, node, rank)];
      move(time - 1, time, node, priceOf);
      add(sum.tree, time, node);
    }
  return cost[at(times - 1, sum.tree.root(), target)];
}

template <typename Use>
void CheapestWay::visit(const Sum &sum, unsigned target, Use use) {
  struct Place {
    uint32_t node;
    unsigned rank, time;
  };
  std::vector<Place> open = {{sum.tree.root(), target, times - 1}};
  while (!open.empty()) {
    auto [node, rank, time] = open.back();
    open.pop_back();
    while (time > 0 && from[at(time, node, rank)] == waits)
      --time;
    unsigned by = from[at(time, node, rank)];
    if (by == byAdding) {
      open.push_back({sum.tree.left(node), rank, time});
      open.push_back({sum.tree.right(node), rank, time});
    } else if (by != given) {
      unsigned before = anySteps ? 0 : time - 1;
      use(node, by, before);
      open.push_back({node, topology.links()[by].src, before});
    }
  }
}

//===----------------------------------------------------------------------===//
// Prices and shares
//===----------------------------------------------------------------------===//

SumPrices::SumPrices(const Topology &topology, const Collective &collective,
                     std::optional<unsigned> numSteps,
                     const std::vector<double> &prices)
    : topology(topology), collective(collective), steps(numSteps.value_or(1)),
      worth(prices), linkPrices(topology.links().size() * steps),
      used(linkPrices.size()), way(topology, numSteps) {
  const std::vector<BandwidthLimit> &limits = topology.limits();
  for (unsigned step = 0; step < steps; ++step) {
    double total = 0;
    for (size_t limit = 0; limit < limits.size(); ++limit)
      total += worth[column(limit, step)] *= limits[limit].bandwidth;
    for (size_t limit = 0; limit < limits.size(); ++limit)
      worth[column(limit, step)] = total > 0
                                       ? worth[column(limit, step)] / total
                                       : 1.0 / double(limits.size());
  }
  findLinkPrices();
}

bool SumPrices::add(const ChunkEnds &ends, unsigned count,
                    const SumOrder &order) {
  // What the checker then looks at takes half a second.
  constexpr size_t mostPrices = size_t(1) << 27, mostWeights = size_t(1) << 19;
  const auto &[sources, targets] = ends;
  Result<SumTree> tree = order.treeOf(unsigned(sources.size()));
  if (!tree)
    return false;
  Sum sum{sources,
          targets,
          double(count) / collective.chunks(),
          std::move(*tree),
          {},
          {},
          {}};
  size_t each = sum.tree.numNodes() * linkPrices.size();
  if (each > mostPrices ||
      (targets.size() > 1 && each * targets.size() > mostWeights))
    return false;
  if (targets.size() > 1) {
    sum.weights.assign(targets.size(), std::vector<double>(each, 1.0));
    sum.shares.assign(targets.size(),
                      std::vector<double>(each, 1.0 / double(targets.size())));
    sum.ways.resize(targets.size());
  }
  sums.push_back(std::move(sum));
  return true;
}

bool SumPrices::isExact() const {
  return std::ranges::all_of(
      sums, [](const Sum &sum) { return sum.targets.size() == 1; });
}

uint64_t SumPrices::effort() const {
  uint64_t visits = 0;
  for (const Sum &sum : sums)
    visits += sum.tree.numNodes() * linkPrices.size() * sum.targets.size();
  return 1 + visits / 512;
}

void SumPrices::findLinkPrices() {
  std::ranges::fill(linkPrices, 0.0);
  const std::vector<BandwidthLimit> &limits = topology.limits();
  for (size_t limit = 0; limit < limits.size(); ++limit)
    for (unsigned link : limits[limit].links)
      for (unsigned step = 0; step < steps; ++step)
        linkPrices[column(link, step)] +=
            worth[column(limit, step)] / limits[limit].bandwidth;
}

void SumPrices::raisePrices() {
  const std::vector<BandwidthLimit> &limits = topology.limits();
  std::vector<double> gains(worth.size());
  for (size_t limit = 0; limit < limits.size(); ++limit)
    for (unsigned link : limits[limit].links)
      for (unsigned step = 0; step < steps; ++step)
        gains[column(limit, step)] +=
            used[column(link, step)] / limits[limit].bandwidth;
  double mean = std::reduce(gains.begin(), gains.end()) / double(gains.size());
  if (mean <= 0)
    return;
  double rate = tuned::sumPriceRate() / std::sqrt(turns) / mean;
  double least = 1e-6 / double(limits.size());
  for (unsigned step = 0; step < steps; ++step) {
    double total = 0;
    for (size_t limit = 0; limit < limits.size(); ++limit) {
      double &value = worth[column(limit, step)];
      value = std::max(value, least) *
              std::exp(std::min(rate * gains[column(limit, step)], 4.0));
      total += value;
    }
    for (size_t limit = 0; limit < limits.size(); ++limit)
      worth[column(limit, step)] /= total;
  }
  findLinkPrices();
}

double SumPrices::price() {
  double bound = 0;
  std::ranges::fill(used, 0.0);
  for (Sum &sum : sums)
    for (size_t i = 0; i < sum.targets.size(); ++i) {
      auto placeOf = [&](uint32_t node, size_t link, unsigned step) {
        return node * linkPrices.size() + column(link, step);
      };
      auto priceOf = [&](uint32_t node, size_t link, unsigned step) {
        return linkPrices[column(link, step)] *
               sum.shareOf(i, placeOf(node, link, step));
      };
      bound += sum.amount * way.find(sum, sum.targets[i], priceOf);
      if (!sum.weights.empty())
        sum.ways[i].clear();
      way.visit(
          sum, sum.targets[i], [&](uint32_t node, size_t link, unsigned step) {
            size_t place = placeOf(node, link, step);
            used[column(link, step)] += sum.amount * sum.shareOf(i, place);
            if (!sum.weights.empty())
              sum.ways[i].push_back(place);
          });
    }
  return bound;
}

/// Gives the targets whose ways have a send more of its price.
void SumPrices::raiseShares(Sum &sum) const {
  constexpr double most = 1e200;
  double factor = std::exp(tuned::sumShareRate() / std::sqrt(turns));
  auto shareAll = [&](size_t place) {
    double all = 0;
    for (const std::vector<double> &weights : sum.weights)
      all += weights[place];
    for (size_t i = 0; i < sum.shares.size(); ++i)
      sum.shares[i][place] = sum.weights[i][place] / all;
  };
  for (size_t i = 0; i < sum.weights.size(); ++i)
    for (size_t place : sum.ways[i]) {
      sum.weights[i][place] *= factor;
      if (sum.weights[i][place] > most)
        for (std::vector<double> &weights : sum.weights)
          weights[place] /= most;
    }
  for (const std::vector<size_t> &way : sum.ways)
    std::ranges::for_each(way, shareAll);
}

void SumPrices::raise() {
  ++turns;
  for (Sum &sum : sums)
    raiseShares(sum);
  raisePrices();
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

std::vector<double> SumPrices::limitPrices() const {
  std::vector<double> prices = worth;
  for (size_t at = 0; at < prices.size(); ++at)
    prices[at] /= topology.limits()[at / steps].bandwidth;
  return prices;
}

/// Several limits of the same links are one.
static void joinEqual(std::vector<LimitPrices> &prices) {
  std::vector<LimitPrices> joined;
  for (LimitPrices &price : prices)
    if (!joined.empty() && joined.back().links == price.links)
      std::ranges::transform(price.values, joined.back().values,
                             joined.back().values.begin(), std::plus());
    else
      joined.push_back(std::move(price));
  prices = std::move(joined);
}

PriceProof SumPrices::proof(double factor) const {
  PriceProof proof;
  std::vector<double> prices = limitPrices();
  std::vector<int64_t> onLinks(linkPrices.size());
  for (size_t limit = 0; limit < topology.limits().size(); ++limit) {
    StepValues values;
    for (unsigned step = 0; step < steps; ++step)
      values.push_back(std::llround(prices[column(limit, step)] * factor));
    for (unsigned link : topology.limits()[limit].links)
      for (unsigned step = 0; step < steps; ++step)
        onLinks[column(link, step)] += values[step];
    if (std::ranges::any_of(values, [](int64_t value) { return value > 0; }))
      proof.prices.push_back(
          pricesOn(topology, topology.limits()[limit], std::move(values)));
  }
  sortByLinks(proof.prices);
  joinEqual(proof.prices);
  for (const Sum &sum : sums)
    if (!sum.weights.empty())
      proof.commodities.push_back(
          {sum.sources, sum.targets, 0, {}, {}, {}, sharesOf(sum, onLinks)});
  return proof;
}

std::vector<SumShare>
SumPrices::sharesOf(const Sum &sum, const std::vector<int64_t> &onLinks) const {
  std::vector<SumShare> shares;
  for (uint32_t node = 0; node < sum.tree.numNodes(); ++node)
    for (size_t link = 0; link < topology.links().size(); ++link) {
      StepValues rest(&onLinks[link * steps], &onLinks[link * steps] + steps);
      for (size_t i = 0; i < sum.targets.size(); ++i) {
        StepValues values;
        for (unsigned step = 0; step < steps; ++step) {
          size_t at = column(link, step);
          double share = sum.shareOf(i, node * onLinks.size() + at);
          values.push_back(std::min<int64_t>(
              std::llround(share * double(onLinks[at])), rest[step]));
          rest[step] -= values.back();
        }
        if (std::ranges::any_of(values, [](int64_t v) { return v > 0; }))
          shares.push_back({sum.targets[i], sum.sources[sum.tree.least(node)],
                            sum.tree.size(node), topology.links()[link],
                            std::move(values)});
      }
    }
  std::ranges::sort(shares, {}, [](const SumShare &share) {
    return std::tuple(share.target, share.first, share.count, share.link.src,
                      share.link.dst);
  });
  return shares;
}

Result<LowerBound>
sccl::sumBound(const Topology &topology, const Collective &collective,
               const SumOrder &order, std::optional<unsigned> steps,
               const std::vector<double> &prices, const Rational &target,
               const SearchLimits &limits) {
  if (!collective.combining() ||
      prices.size() != topology.limits().size() * steps.value_or(1))
    return Error{"there is nothing to add up, or no price"};
  if (!topology.switches().empty())
    return Error{"what switches reduce has no order of additions"};
  Certificate claim = makeClaim(topology, collective, steps);
  claim.order = order;
  SumPrices search(topology, collective, steps, prices);
  for (const auto &[ends, count] : countByEnds(collective))
    if (!search.add(ends, count, order))
      return Error{"there is no tree for these sums, or there are too many"};
  std::optional<LowerBound> best;
  std::string why;
  auto offer = [&](const SumPrices &prices, double factor) {
    claim.proof = prices.proof(factor);
    Result<LowerBound> found = finish(claim, topology, collective);
    if (!found)
      why = found.error();
    else if (!best || *best->value < *found->value)
      best = std::move(*found);
  };
  constexpr int64_t largest = 1 << 20;
  if (search.isExact())
    if (auto common = findCommonDenominator(search.limitPrices(), largest))
      offer(search, double(*common));
  Deadline deadline(limits);
  std::optional<SumPrices> dearest;
  double found = 0;
  auto isMet = [&] { return best && *best->value >= target; };
  // What is best for one rank was known before.
  bool isKnown = search.isExact() && steps;
  while (!isMet() && !isKnown && !deadline.tick(search.effort())) {
    // To keep each that is a little better would take as long as to find it.
    if (double value = search.price(); value > found * (1 + 1e-4)) {
      dearest.emplace(search);
      found = value;
    }
    search.raise();
  }
  const SumPrices &last = dearest ? *dearest : search;
  if (!isMet())
    offer(last, largest);
  // Those of an optimum are often small multiples of one another.
  size_t most = std::min<size_t>(256, (limits.maxWork >> 4) / search.effort());
  for (size_t factor = 1; factor <= most && !isMet(); ++factor)
    offer(last, double(factor));
  if (!best)
    return Error{why};
  return std::move(*best);
}
