//===- CheapMulticasts.cpp - Cheap trees to some of the ranks -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheapMulticasts.h"

#include "Solver/Constants.h"
#include "sccl/Model/RanksByChunk.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace sccl;
using namespace sccl::trees;

/// `targetsOf` makes the targets of a chunk from the ranks that have it before
/// and after.
template <typename Function>
static std::vector<Multicast> groupChunks(const Collective &collective,
                                          Function targetsOf) {
  using Ranks = std::vector<unsigned>;
  std::map<std::pair<Ranks, Ranks>, size_t> numbers;
  std::vector<Multicast> result;
  RanksByChunk before(collective.pre()), after(collective.post());
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    Ranks sources = before[chunk], targets = targetsOf(sources, after[chunk]);
    if (targets.empty())
      continue;
    auto [at, isNew] = numbers.try_emplace(
        {std::move(sources), std::move(targets)}, result.size());
    if (isNew)
      result.push_back({at->first.first, at->first.second, {}});
    result[at->second].chunks.push_back(chunk);
  }
  return result;
}

std::vector<Multicast> trees::multicastsOf(const Collective &collective) {
  return groupChunks(collective, [](const auto &before, const auto &after) {
    std::vector<unsigned> targets;
    std::ranges::set_difference(after, before, std::back_inserter(targets));
    return targets;
  });
}

std::vector<Multicast> trees::sumsOf(const Collective &collective) {
  return groupChunks(collective, [](const auto &before, const auto &after) {
    bool isThere = before.size() == 1 && before == after;
    return isThere ? std::vector<unsigned>() : after;
  });
}

namespace {
constexpr double unreached = std::numeric_limits<double>::infinity();
constexpr unsigned none = ~0u, never = ~0u;

/// A tree that grows, and the search for paths to it.
class GrowingMulticast {
public:
  GrowingMulticast(const Topology &topology, const Multicast &multicast,
                   const SendPrices &prices)
      : topology(topology), multicast(multicast), prices(&prices),
        steps(prices.steps), readyAt(topology.numRanks(), never),
        entry(topology.numRanks(), none) {
    for (unsigned rank : multicast.sources)
      readyAt[rank] = 0;
  }

  void usePrices(const SendPrices &other) { prices = &other; }
  void joinAny(std::mt19937 &random);
  bool joinCheapestFirst();
  bool joinInOrder(const std::vector<unsigned> &targets);
  bool rejoin();
  MulticastTree finish();

private:
  void search();
  bool join(unsigned rank, unsigned by);
  void prune();
  double entryPrice(unsigned rank) const {
    return prices->at(entry[rank], readyAt[rank] - 1);
  }
  double price() const;
  std::vector<bool> subtreeOf(unsigned rank) const;

  const Topology &topology;
  const Multicast &multicast;
  const SendPrices *prices;
  const unsigned steps;
  std::vector<unsigned> readyAt; ///< number of steps after which it is there
  std::vector<unsigned> entry;   ///< the link into each rank of the tree
  /// Of the last search, after each number of steps: what a path to each rank
  /// costs, and its last link if it moves in that step.
  std::vector<std::vector<double>> cost;
  std::vector<std::vector<unsigned>> last;
};
} // namespace

/// Finds the cheapest paths from the tree to all ranks, for any number of
/// steps.
void GrowingMulticast::search() {
  unsigned ranks = topology.numRanks();
  cost.assign(1, std::vector<double>(ranks, unreached));
  last.assign(1, {});
  for (unsigned rank = 0; rank < ranks; ++rank)
    if (readyAt[rank] == 0)
      cost[0][rank] = 0;
  const std::vector<Link> &links = topology.links();
  for (unsigned step = 0; step < steps; ++step) {
    std::vector<double> next = cost[step];
    std::vector<unsigned> by(ranks, none);
    for (unsigned link = 0; link < links.size(); ++link) {
      double through = cost[step][links[link].src] + prices->at(link, step);
      if (through < next[links[link].dst]) {
        next[links[link].dst] = through;
        by[links[link].dst] = link;
      }
    }
    for (unsigned rank = 0; rank < ranks; ++rank)
      if (readyAt[rank] == step + 1) {
        next[rank] = 0;
        by[rank] = none;
      }
    cost.push_back(std::move(next));
    last.push_back(std::move(by));
  }
}

/// Joins `rank` by the path of the last search that gets there within `by`
/// steps.
bool GrowingMulticast::join(unsigned rank, unsigned by) {
  if (cost[by][rank] == unreached)
    return false;
  for (unsigned step = by; step > 0 && cost[step][rank] > 0; --step) {
    unsigned link = last[step][rank];
    if (link == none)
      continue;
    entry[rank] = link;
    readyAt[rank] = step;
    rank = topology.links()[link].src;
  }
  return true;
}

/// Some rank at some time, which may turn out to be a good relay.
void GrowingMulticast::joinAny(std::mt19937 &random) {
  unsigned rank = unsigned(random() % readyAt.size());
  unsigned by = unsigned(1 + random() % steps);
  if (readyAt[rank] != never)
    return;
  search();
  join(rank, by);
}

/// Each time the target that costs least.
bool GrowingMulticast::joinCheapestFirst() {
  std::vector<unsigned> missing = multicast.targets;
  while (!missing.empty()) {
    search();
    auto next = std::ranges::min_element(
        missing, {}, [&](unsigned rank) { return cost[steps][rank]; });
    if (!join(*next, steps))
      return false;
    missing.erase(next);
    std::erase_if(missing,
                  [&](unsigned rank) { return readyAt[rank] != never; });
  }
  return true;
}

bool GrowingMulticast::joinInOrder(const std::vector<unsigned> &targets) {
  for (unsigned rank : targets) {
    if (readyAt[rank] != never)
      continue;
    search();
    if (!join(rank, steps))
      return false;
  }
  return true;
}

/// Removes ranks that neither need the chunk nor pass it on.
void GrowingMulticast::prune() {
  std::vector<unsigned> uses(topology.numRanks());
  for (unsigned rank : multicast.targets)
    ++uses[rank];
  for (unsigned link : entry)
    if (link != none)
      ++uses[topology.links()[link].src];
  std::vector<unsigned> useless;
  for (unsigned rank = 0; rank < entry.size(); ++rank)
    if (entry[rank] != none && uses[rank] == 0)
      useless.push_back(rank);
  while (!useless.empty()) {
    unsigned rank = useless.back();
    useless.pop_back();
    unsigned parent = topology.links()[entry[rank]].src;
    entry[rank] = none;
    readyAt[rank] = never;
    if (--uses[parent] == 0 && entry[parent] != none)
      useless.push_back(parent);
  }
}

double GrowingMulticast::price() const {
  double sum = 0;
  for (unsigned rank = 0; rank < entry.size(); ++rank)
    if (entry[rank] != none)
      sum += entryPrice(rank);
  return sum;
}

/// The ranks that have the chunk by way of `top`, and that one.
std::vector<bool> GrowingMulticast::subtreeOf(unsigned top) const {
  std::vector<unsigned> byTime;
  for (unsigned rank = 0; rank < entry.size(); ++rank)
    if (entry[rank] != none)
      byTime.push_back(rank);
  std::ranges::sort(byTime, {}, [&](unsigned rank) { return readyAt[rank]; });
  std::vector<bool> below(entry.size());
  below[top] = true;
  for (unsigned rank : byTime)
    if (below[topology.links()[entry[rank]].src])
      below[rank] = true;
  return below;
}

/// Joins each rank anew, with all that depends on it, where another path is
/// cheaper. Returns whether there was one.
bool GrowingMulticast::rejoin() {
  constexpr double tolerance = 1e-12;
  prune();
  double before = price();
  for (unsigned rank = 0; rank < entry.size(); ++rank) {
    if (entry[rank] == none)
      continue;
    std::vector<unsigned> oldEntry = entry, oldReady = readyAt;
    double old = price();
    unsigned by = readyAt[rank];
    std::vector<bool> below = subtreeOf(rank);
    // Paths must come from the rest of the tree.
    for (unsigned other = 0; other < entry.size(); ++other)
      if (below[other])
        readyAt[other] = never;
    entry[rank] = none;
    search();
    for (unsigned other = 0; other < entry.size(); ++other)
      if (below[other] && other != rank)
        readyAt[other] = oldReady[other];
    // A path through the subtree may take links that come later there.
    bool joined = join(rank, by);
    prune();
    if (joined && price() < old - tolerance)
      continue;
    entry = std::move(oldEntry);
    readyAt = std::move(oldReady);
  }
  return price() < before - tolerance;
}

MulticastTree GrowingMulticast::finish() {
  prune();
  MulticastTree result{price(), {}};
  for (unsigned rank = 0; rank < entry.size(); ++rank)
    if (entry[rank] != none)
      result.sends.push_back(
          {readyAt[rank] - 1, topology.links()[entry[rank]].src, rank});
  std::ranges::sort(result.sends);
  return result;
}

SendPrices trees::disturbed(SendPrices prices, std::mt19937 &random) {
  for (double &value : prices.values)
    value *= 1 + double(random() % 1024) / 1024;
  return prices;
}

std::vector<MulticastTree> trees::cheapTrees(const Topology &topology,
                                             const Multicast &multicast,
                                             const SendPrices &prices,
                                             unsigned tries,
                                             const Deadline &deadline) {
  std::mt19937 random(tries);
  std::vector<MulticastTree> result;
  std::vector<unsigned> targets = multicast.targets;
  size_t effort = 1 + prices.values.size() / 256;
  for (unsigned attempt = 0; attempt < tries; ++attempt) {
    bool isByPrice = attempt % 2 == 0;
    SendPrices wrong = isByPrice ? prices : disturbed(prices, random);
    GrowingMulticast tree(topology, multicast, wrong);
    for (unsigned i = 0; i < attempt % 8 / 2; ++i)
      tree.joinAny(random);
    bool isDone =
        isByPrice ? tree.joinCheapestFirst() : tree.joinInOrder(targets);
    deadline.charge(effort * targets.size());
    if (!isDone)
      return {};
    tree.usePrices(prices);
    // The only path there is, is the cheapest.
    while (targets.size() > 1 && !deadline.tick(effort * targets.size()) &&
           tree.rejoin())
      ;
    result.push_back(tree.finish());
    if (targets.size() == 1 || deadline.expired())
      break;
    // std::shuffle is not the same everywhere.
    for (size_t i = targets.size(); i > 1; --i)
      std::swap(targets[i - 1], targets[random() % i]);
  }
  std::ranges::stable_sort(result, {}, &MulticastTree::price);
  auto same = std::ranges::unique(result, {}, &MulticastTree::sends);
  result.erase(same.begin(), same.end());
  result.resize(std::min(result.size(), tuned::mostCheapTrees()));
  return result;
}
