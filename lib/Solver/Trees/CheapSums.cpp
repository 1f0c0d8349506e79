//===- CheapSums.cpp - Cheap ways to add up by a tree ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheapSums.h"

#include "Solver/Constants.h"
#include "sccl/Model/PartialSums.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace sccl;
using namespace sccl::trees;

namespace {
constexpr double noWay = std::numeric_limits<double>::infinity();
constexpr unsigned notThere = ~0u;
/// Where a sum comes from, if not over a link.
constexpr unsigned absent = ~0u;   ///< it is not there
constexpr unsigned given = ~1u;    ///< it is an input, or was chosen before
constexpr unsigned byAdding = ~2u; ///< of its operands, at the same rank
constexpr unsigned waits = ~3u;    ///< it was there a step before

/// Sums at ranks, by node and rank: from which step on, and by which link.
struct ChosenSums {
  std::vector<unsigned> readyAt, by;
};

class GrowingSum {
public:
  GrowingSum(const Topology &topology, const Multicast &sum,
             const SumTree &tree, const SendPrices &prices);

  void usePrices(const SendPrices &other) { prices = &other; }
  void joinAny(std::mt19937 &random);
  bool joinAll(std::vector<unsigned> targets, unsigned firstBy);
  bool rejoin();
  std::optional<MulticastTree> finish(const Collective &collective);

private:
  size_t at(uint32_t node, unsigned rank) const {
    return node * size_t(topology.numRanks()) + rank;
  }
  void search();
  void searchLinks(unsigned step, uint32_t node);
  bool join(uint32_t node, unsigned rank, unsigned by);
  void keepOnly(const std::vector<unsigned> &targets);
  double price() const;
  void addTo(PartialSum &sum, uint32_t node, unsigned rank,
             const std::vector<size_t> &messageOf) const;

  const Topology &topology;
  const Multicast &sum;
  const SumTree &tree;
  const SendPrices *prices;
  const unsigned steps;
  ChosenSums chosen;
  /// Of the last search, after each number of steps: the least price of each
  /// sum at each rank, and where it then comes from.
  std::vector<std::vector<double>> cost;
  std::vector<std::vector<unsigned>> from;
};
} // namespace

GrowingSum::GrowingSum(const Topology &topology, const Multicast &sum,
                       const SumTree &tree, const SendPrices &prices)
    : topology(topology), sum(sum), tree(tree), prices(&prices),
      steps(prices.steps) {
  size_t places = size_t(tree.numNodes()) * topology.numRanks();
  chosen = {std::vector<unsigned>(places, notThere),
            std::vector<unsigned>(places, absent)};
  for (uint32_t leaf = 0; leaf < tree.numLeaves(); ++leaf) {
    chosen.readyAt[at(leaf, sum.sources[leaf])] = 0;
    chosen.by[at(leaf, sum.sources[leaf])] = given;
  }
  cost.assign(steps + 1, std::vector<double>(places));
  from.assign(steps + 1, std::vector<unsigned>(places));
}

/// What comes over links in `step`.
void GrowingSum::searchLinks(unsigned step, uint32_t node) {
  const double *before = &cost[step][at(node, 0)];
  double *after = &cost[step + 1][at(node, 0)];
  unsigned *by = &from[step + 1][at(node, 0)];
  const std::vector<Link> &links = topology.links();
  for (unsigned link = 0; link < links.size(); ++link) {
    double through = before[links[link].src] + prices->at(link, step);
    if (through < after[links[link].dst]) {
      after[links[link].dst] = through;
      by[links[link].dst] = link;
    }
  }
}

/// Finds the cheapest way to each sum at each rank, within each number of
/// steps.
void GrowingSum::search() {
  unsigned ranks = topology.numRanks();
  for (unsigned time = 0; time <= steps; ++time)
    for (uint32_t node = 0; node < tree.numNodes(); ++node) {
      for (unsigned rank = 0; rank < ranks; ++rank) {
        size_t place = at(node, rank);
        bool isChosen = chosen.readyAt[place] <= time;
        cost[time][place] = isChosen    ? 0
                            : time == 0 ? noWay
                                        : cost[time - 1][place];
        from[time][place] = isChosen ? given : waits;
      }
      if (time > 0)
        searchLinks(time - 1, node);
      for (unsigned rank = 0; !tree.isLeaf(node) && rank < ranks; ++rank) {
        double both = cost[time][at(tree.left(node), rank)] +
                      cost[time][at(tree.right(node), rank)];
        if (both < cost[time][at(node, rank)]) {
          cost[time][at(node, rank)] = both;
          from[time][at(node, rank)] = byAdding;
        }
      }
    }
}

/// Chooses the cheapest way of the last search to the sum of `node` at `rank`
/// within `by` steps.
bool GrowingSum::join(uint32_t node, unsigned rank, unsigned by) {
  if (cost[by][at(node, rank)] == noWay)
    return false;
  struct Wanted {
    uint32_t node;
    unsigned rank, by;
  };
  std::vector<Wanted> wanted = {{node, rank, by}};
  while (!wanted.empty()) {
    Wanted next = wanted.back();
    wanted.pop_back();
    size_t place = at(next.node, next.rank);
    while (from[next.by][place] == waits)
      --next.by;
    unsigned way = from[next.by][place];
    if (way == given)
      continue;
    chosen.readyAt[place] = next.by;
    chosen.by[place] = way;
    if (way == byAdding)
      for (uint32_t child : {tree.left(next.node), tree.right(next.node)})
        wanted.push_back({child, next.rank, next.by});
    else
      wanted.push_back({next.node, topology.links()[way].src, next.by - 1});
  }
  return true;
}

/// Some sum at some rank at some time, which may turn out to be of use.
void GrowingSum::joinAny(std::mt19937 &random) {
  auto node = uint32_t(random() % tree.numNodes());
  auto rank = unsigned(random() % topology.numRanks());
  search();
  join(node, rank, unsigned(1 + random() % steps));
}

/// Each time the target that costs least; the first within `firstBy` steps, as
/// others may get the result from it.
bool GrowingSum::joinAll(std::vector<unsigned> targets, unsigned firstBy) {
  for (unsigned by = firstBy; !targets.empty(); by = steps) {
    search();
    auto next = std::ranges::min_element(targets, {}, [&](unsigned rank) {
      return cost[by][at(tree.root(), rank)];
    });
    if (!join(tree.root(), *next, by))
      return false;
    targets.erase(next);
  }
  return true;
}

/// Forgets sums that the results at `targets` do not need.
void GrowingSum::keepOnly(const std::vector<unsigned> &targets) {
  std::vector<bool> isNeeded(chosen.by.size());
  std::vector<std::pair<uint32_t, unsigned>> open;
  for (unsigned rank : targets)
    open.emplace_back(tree.root(), rank);
  while (!open.empty()) {
    auto [node, rank] = open.back();
    open.pop_back();
    size_t place = at(node, rank);
    if (isNeeded[place])
      continue;
    isNeeded[place] = true;
    if (chosen.by[place] == byAdding) {
      open.emplace_back(tree.left(node), rank);
      open.emplace_back(tree.right(node), rank);
    } else if (chosen.by[place] != given) {
      open.emplace_back(node, topology.links()[chosen.by[place]].src);
    }
  }
  for (size_t place = 0; place < isNeeded.size(); ++place)
    if (!isNeeded[place] && chosen.by[place] != given) {
      chosen.readyAt[place] = notThere;
      chosen.by[place] = absent;
    }
}

double GrowingSum::price() const {
  double total = 0;
  for (size_t place = 0; place < chosen.by.size(); ++place)
    if (chosen.by[place] < waits)
      total += prices->at(chosen.by[place], chosen.readyAt[place] - 1);
  return total;
}

/// Joins each target anew where another way is cheaper. Returns whether there
/// was one.
bool GrowingSum::rejoin() {
  constexpr double tolerance = 1e-12;
  keepOnly(sum.targets);
  double before = price();
  for (unsigned target : sum.targets) {
    ChosenSums old = chosen;
    double oldPrice = price();
    std::vector<unsigned> others = sum.targets;
    std::erase(others, target);
    keepOnly(others);
    search();
    join(tree.root(), target, steps);
    keepOnly(sum.targets);
    if (price() >= oldPrice - tolerance)
      chosen = std::move(old);
  }
  return price() < before - tolerance;
}

/// Adds what a sum at `rank` consists of there; `messageOf` is by place.
void GrowingSum::addTo(PartialSum &result, uint32_t node, unsigned rank,
                       const std::vector<size_t> &messageOf) const {
  size_t place = at(node, rank);
  if (chosen.by[place] == given) {
    result.own = true;
  } else if (chosen.by[place] == byAdding) {
    addTo(result, tree.left(node), rank, messageOf);
    addTo(result, tree.right(node), rank, messageOf);
  } else {
    result.parts.push_back(messageOf[place]);
    std::ranges::sort(result.parts);
  }
}

std::optional<MulticastTree> GrowingSum::finish(const Collective &collective) {
  keepOnly(sum.targets);
  struct Arrival {
    unsigned step, src, dst;
    uint32_t node;
    auto operator<=>(const Arrival &) const = default;
  };
  std::vector<Arrival> arrivals;
  for (uint32_t node = 0; node < tree.numNodes(); ++node)
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
      if (unsigned link = chosen.by[at(node, rank)]; link < waits)
        arrivals.push_back({chosen.readyAt[at(node, rank)] - 1,
                            topology.links()[link].src, rank, node});
  std::ranges::sort(arrivals);
  std::vector<size_t> messageOf(chosen.by.size());
  std::vector<SumMessage> messages;
  uint32_t chunk = sum.chunks.front();
  for (const Arrival &arrival : arrivals) {
    messageOf[at(arrival.node, arrival.dst)] = messages.size();
    messages.push_back({arrival.step, chunk, arrival.src, arrival.dst, {}});
    addTo(messages.back().sum, arrival.node, arrival.src, messageOf);
  }
  std::vector<SumResult> results;
  for (unsigned rank : sum.targets) {
    results.push_back({rank, chunk, {}});
    addTo(results.back().sum, tree.root(), rank, messageOf);
  }
  auto written = writePartialSums(collective, messages, results);
  if (!written)
    return std::nullopt;
  MulticastTree tree{price(), {}, {}};
  for (size_t i = 0; i < messages.size(); ++i)
    if ((*written)[i]) {
      tree.sends.push_back(
          {messages[i].step, messages[i].src, messages[i].dst});
      tree.written.push_back(*(*written)[i]);
    }
  return tree;
}

std::vector<MulticastTree>
trees::cheapSums(const Topology &topology, const Collective &collective,
                 const Multicast &sum, const SumTree &tree,
                 const SendPrices &prices, unsigned tries,
                 const Deadline &deadline) {
  std::mt19937 random(tries);
  std::vector<MulticastTree> result;
  size_t effort = 1 + prices.values.size() * tree.numNodes() / 512;
  bool isExact = sum.targets.size() == 1;
  for (unsigned attempt = 0; attempt < tries; ++attempt) {
    // The first result may be there at any time, later ones follow it.
    unsigned firstBy = isExact ? prices.steps : 1 + attempt % prices.steps;
    bool isByPrice = attempt < prices.steps;
    SendPrices wrong = isByPrice ? prices : disturbed(prices, random);
    GrowingSum growing(topology, sum, tree, wrong);
    for (unsigned i = 0; !isByPrice && i < attempt % 4; ++i)
      growing.joinAny(random);
    bool isDone = growing.joinAll(sum.targets, firstBy);
    if (deadline.tick(effort * sum.targets.size()))
      break;
    growing.usePrices(prices);
    while (isDone && !isExact && growing.rejoin() &&
           !deadline.tick(effort * sum.targets.size()))
      ;
    if (isDone)
      if (auto found = growing.finish(collective))
        result.push_back(std::move(*found));
    if (isExact)
      break;
  }
  std::ranges::stable_sort(result, {}, &MulticastTree::price);
  auto same = std::ranges::unique(result, {}, &MulticastTree::sends);
  result.erase(same.begin(), same.end());
  result.resize(std::min(result.size(), tuned::mostCheapTrees()));
  return result;
}
