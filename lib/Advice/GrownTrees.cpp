//===- GrownTrees.cpp - Schedules of trees that grow ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GrownTrees.h"

#include "Latencies.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Composition.h"
#include "sccl/Model/RanksByChunk.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

using namespace sccl;
using namespace sccl::advice;

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

namespace {
/// What one chunk takes: links in the order in which they were taken, each from
/// a rank that has the chunk by then.
using Tree = std::vector<unsigned>;

/// Grows trees beside those that there are.
class Grower {
public:
  /// `ofLatency` is what a latency of the slowest link is worth, beside a chunk
  /// more on a limit of bandwidth 1 that is the fullest.
  Grower(const Topology &topology, const Timing &timing, double ofLatency);

  /// A tree from `sources` to all of `needed`, which must ascend; nothing if
  /// some cannot be reached. Its loads are added to those of the others.
  std::optional<Tree> grow(const std::vector<unsigned> &sources,
                           const std::vector<unsigned> &needed);
  void add(const Tree &tree) { addLoads(tree, 1); }
  void remove(const Tree &tree) { addLoads(tree, -1); }
  /// For others of the same limits, which carry both.
  void takeLoads(const Grower &other) { loads = other.loads; }
  /// Links that were looked at so far.
  uint64_t work() const { return looked; }
  /// Rounds of the fullest limit.
  double peak() const { return loads.empty() ? 0 : std::ranges::max(loads); }

private:
  struct Branch {
    double price;
    unsigned link;
    auto operator<=>(const Branch &) const = default;
  };

  double priceOf(unsigned link) const;
  /// Of latency, beside the slope of the fullest limit.
  double priceOf(double latency) const {
    return ofLatency * 4 * highest * highest * highest * latency;
  }
  void enter(unsigned rank, double latency, double price);
  std::optional<unsigned> takeCheapest();
  void addLoads(const Tree &tree, double chunks);
  Tree pruned(const Tree &tree, const std::vector<unsigned> &needed) const;

  const Topology &topology;
  const Timing &timing;
  const double ofLatency;
  std::vector<std::vector<unsigned>> limitsOf; ///< by link
  std::vector<double> loads;                   ///< of limits, in rounds
  double highest = 1; ///< of all loads that there have been
  uint64_t looked = 0;
  // Of the tree that grows.
  bool isSpreading = false; ///< to all ranks, so that all links stay
  std::vector<bool> isReached;
  std::vector<double> latencies, prices; ///< of ranks that are reached
  std::priority_queue<Branch, std::vector<Branch>, std::greater<>> branches;
};
} // namespace

Grower::Grower(const Topology &topology, const Timing &timing, double ofLatency)
    : topology(topology), timing(timing),
      ofLatency(ofLatency / std::max(longestLatency(timing), 1e-9)),
      limitsOf(topology.links().size()), loads(topology.limits().size()) {
  for (unsigned i = 0; i < topology.limits().size(); ++i)
    for (unsigned link : topology.limits()[i].links)
      limitsOf[link].push_back(i);
}

/// What a chunk over `link` adds; where few ranks need it, with what it adds on
/// its way to the link.
double Grower::priceOf(unsigned link) const {
  auto fourth = [](double load) { return load * load * load * load; };
  unsigned src = topology.links()[link].src;
  double added = isSpreading ? 0 : prices[src];
  for (unsigned limit : limitsOf[link])
    added += fourth(loads[limit] + 1.0 / topology.limits()[limit].bandwidth) -
             fourth(loads[limit]);
  return added + priceOf(latencies[src] + timing.latencies[link]);
}

void Grower::enter(unsigned rank, double latency, double price) {
  isReached[rank] = true;
  latencies[rank] = latency;
  prices[rank] = price;
  looked += topology.outLinks(rank).size();
  for (unsigned link : topology.outLinks(rank))
    if (!isReached[topology.links()[link].dst])
      branches.push({priceOf(link), link});
}

/// The cheapest link to a rank that is not reached, which it then is. Prices
/// only rise while a tree grows.
std::optional<unsigned> Grower::takeCheapest() {
  while (!branches.empty()) {
    auto [price, link] = branches.top();
    branches.pop();
    auto [src, dst] = topology.links()[link];
    if (isReached[dst])
      continue;
    double now = priceOf(link);
    if (now > price) {
      branches.push({now, link});
      continue;
    }
    double latency = latencies[src] + timing.latencies[link];
    double ofLoads = now - priceOf(latency);
    if (isSpreading)
      addLoads({link}, 1);
    enter(dst, latency, ofLoads);
    return link;
  }
  return std::nullopt;
}

void Grower::addLoads(const Tree &tree, double chunks) {
  for (unsigned link : tree)
    for (unsigned limit : limitsOf[link]) {
      loads[limit] += chunks / topology.limits()[limit].bandwidth;
      highest = std::max(highest, loads[limit]);
    }
}

/// Without links that lead to nobody who needs the chunk.
Tree Grower::pruned(const Tree &tree,
                    const std::vector<unsigned> &needed) const {
  std::vector<bool> isNeeded(topology.numRanks());
  for (unsigned rank : needed)
    isNeeded[rank] = true;
  Tree result;
  for (auto it = tree.rbegin(); it != tree.rend(); ++it)
    if (isNeeded[topology.links()[*it].dst]) {
      isNeeded[topology.links()[*it].src] = true;
      result.push_back(*it);
    }
  std::ranges::reverse(result);
  return result;
}

std::optional<Tree> Grower::grow(const std::vector<unsigned> &sources,
                                 const std::vector<unsigned> &needed) {
  unsigned ranks = topology.numRanks();
  isSpreading = needed.size() == ranks;
  isReached.assign(ranks, false);
  latencies.assign(ranks, 0);
  prices.assign(ranks, 0);
  branches = {};
  // Links between sources are of no use.
  for (unsigned source : sources)
    isReached[source] = true;
  for (unsigned source : sources)
    enter(source, 0, 0);
  size_t missing = std::ranges::count_if(
      needed, [&](unsigned rank) { return !isReached[rank]; });
  Tree tree;
  while (missing > 0) {
    std::optional<unsigned> link = takeCheapest();
    if (!link)
      return std::nullopt;
    tree.push_back(*link);
    missing -= std::ranges::binary_search(needed, topology.links()[*link].dst);
  }
  if (isSpreading)
    return tree;
  tree = pruned(tree, needed);
  addLoads(tree, 1);
  return tree;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {
/// The trees of all chunks of a collective that sums nothing.
class Forest {
public:
  Forest(const Topology &topology, const Collective &collective);

  /// Grows all trees, and then again as long as `grower` has looked at fewer
  /// than `work` links. False if that is not possible.
  bool grow(Grower &grower, uint64_t work, const Deadline &deadline);
  Schedule schedule() const;

private:
  std::optional<Tree> growOne(Grower &grower, unsigned chunk) const;
  bool growAll(Grower &grower, const Deadline &deadline);
  void improve(Grower &grower, uint64_t work, const Deadline &deadline);

  const Topology &topology;
  const RanksByChunk sources, needed;
  std::vector<unsigned> order; ///< of chunks
  std::vector<Tree> trees;     ///< by chunk
};
} // namespace

/// Chunks of different ranks take turns.
Forest::Forest(const Topology &topology, const Collective &collective)
    : topology(topology), sources(collective.pre()), needed(collective.post()),
      order(collective.numChunks()), trees(collective.numChunks()) {
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(
      order, {}, [&](unsigned chunk) { return chunk % collective.chunks(); });
}

std::optional<Tree> Forest::growOne(Grower &grower, unsigned chunk) const {
  return grower.grow(sources[chunk], needed[chunk]);
}

bool Forest::growAll(Grower &grower, const Deadline &deadline) {
  for (unsigned chunk : order) {
    std::optional<Tree> tree;
    if (!deadline.isOver())
      tree = growOne(grower, chunk);
    if (!tree)
      return false;
    trees[chunk] = std::move(*tree);
  }
  return true;
}

/// Takes one tree after the other away and grows it again, as long as the
/// fullest limit gets less full.
void Forest::improve(Grower &grower, uint64_t work, const Deadline &deadline) {
  constexpr unsigned patience = 3;
  constexpr double less = 1e-9;
  std::vector<Tree> best = trees;
  double least = grower.peak();
  for (unsigned idle = 0; idle < patience && grower.work() < work; ++idle) {
    for (unsigned chunk : order) {
      if (deadline.isOver())
        break;
      grower.remove(trees[chunk]);
      trees[chunk] = *growOne(grower, chunk);
    }
    if (grower.peak() < least - less) {
      least = grower.peak();
      best = trees;
      idle = 0;
    }
  }
  for (const Tree &tree : trees)
    grower.remove(tree);
  trees = std::move(best);
  for (const Tree &tree : trees)
    grower.add(tree);
}

bool Forest::grow(Grower &grower, uint64_t work, const Deadline &deadline) {
  if (!growAll(grower, deadline))
    return false;
  improve(grower, work, deadline);
  return true;
}

/// Each send in the first step in which its source has the chunk.
Schedule Forest::schedule() const {
  Schedule schedule;
  std::vector<unsigned> depth(topology.numRanks());
  for (unsigned chunk = 0; chunk < trees.size(); ++chunk) {
    for (unsigned rank : sources[chunk])
      depth[rank] = 0;
    for (unsigned link : trees[chunk]) {
      auto [src, dst] = topology.links()[link];
      depth[dst] = depth[src] + 1;
      if (depth[src] >= schedule.steps.size())
        schedule.steps.resize(depth[src] + 1);
      schedule.steps[depth[src]].sends.push_back({chunk, src, dst});
    }
  }
  schedule.normalize();
  fitRounds(schedule, topology);
  return schedule;
}

namespace {
/// All that is grown for one collective.
class GrownSchedules {
public:
  GrownSchedules(const Fabric &fabric, const CollectiveFamily &family,
                 const Deadline &deadline)
      : topology(fabric.topology), reversed(topology.reversed()),
        timing(fabric.timing), family(family), deadline(deadline) {}

  std::vector<Implementation> take();

private:
  /// What is grown: C over the least, and what latencies are worth.
  struct Wish {
    unsigned chunks;
    double ofLatency;
  };

  void add(const Wish &wish);
  std::optional<Implementation>
  spread(const Topology &on, const Collective &collective, Grower &grower);
  std::optional<Implementation> allReduce(const Wish &wish);
  std::optional<Implementation> make(const Wish &wish);

  const Topology &topology;
  const Topology reversed;
  const Timing &timing;
  const CollectiveFamily &family;
  const Deadline &deadline;
  uint64_t work = 0; ///< links that were looked at
  std::vector<Implementation> found;
};
} // namespace

std::optional<Implementation>
GrownSchedules::spread(const Topology &on, const Collective &collective,
                       Grower &grower) {
  constexpr uint64_t workOfOne = 2'000'000;
  Forest forest(on, collective);
  bool isWhole = forest.grow(grower, workOfOne, deadline);
  work += grower.work();
  if (!isWhole)
    return std::nullopt;
  return Implementation{collective, forest.schedule()};
}

/// The sums first, then an all_gather beside their loads, since pieces of both
/// are under way at once.
std::optional<Implementation> GrownSchedules::allReduce(const Wish &wish) {
  Result<Collective> gather = Collective::make(
      CollectiveKind::AllGather, topology.numRanks(), wish.chunks);
  if (!gather)
    return std::nullopt;
  Grower back(reversed, timing, wish.ofLatency);
  std::optional<Implementation> sums = spread(reversed, *gather, back);
  Grower forth(topology, timing, wish.ofLatency);
  forth.takeLoads(back);
  std::optional<Implementation> whole;
  if (sums)
    whole = spread(topology, *gather, forth);
  if (!whole)
    return std::nullopt;
  Result<Implementation> joined = composeAllReduce(*sums, *whole);
  return joined ? std::optional(std::move(*joined)) : std::nullopt;
}

/// Sums flow where chunks spread, the other way round.
std::optional<Implementation> GrownSchedules::make(const Wish &wish) {
  unsigned ranks = topology.numRanks();
  if (family.isPlain() && family.kind == CollectiveKind::AllReduce)
    return allReduce(wish);
  Result<Collective> collective =
      family.make(ranks, unsigned(wish.chunks * family.unit(ranks)));
  if (!collective)
    return std::nullopt;
  if (!collective->combining()) {
    Grower grower(topology, timing, wish.ofLatency);
    return spread(topology, *collective, grower);
  }
  Result<Collective> inverse = inverseOf(*collective);
  if (!inverse)
    return std::nullopt;
  Grower grower(reversed, timing, wish.ofLatency);
  std::optional<Implementation> turned = spread(reversed, *inverse, grower);
  if (!turned)
    return std::nullopt;
  Result<Implementation> sums = invert(*turned);
  if (!sums)
    return std::nullopt;
  // Under the name that was asked for.
  return Implementation{std::move(*collective), std::move(sums->schedule)};
}

void GrownSchedules::add(const Wish &wish) {
  std::optional<Implementation> made = make(wish);
  if (!made)
    return;
  fitRounds(made->schedule, topology);
  if (!checkSchedule(topology, made->collective, made->schedule))
    found.push_back(std::move(*made));
}

/// Those without which there may be none come first.
std::vector<Implementation> GrownSchedules::take() {
  constexpr uint64_t most = 8'000'000;
  constexpr double all = 1e3, much = 1, some = 0.3, little = 0.1;
  for (const Wish &wish : std::initializer_list<Wish>{{1, some},
                                                      {1, all},
                                                      {1, much},
                                                      {2, some},
                                                      {4, some},
                                                      {3, some},
                                                      {2, little},
                                                      {4, much},
                                                      {8, some},
                                                      {8, little},
                                                      {8, much}})
    if (work <= most && !deadline.isOver())
      add(wish);
  return std::move(found);
}

std::vector<Implementation>
advice::grownSchedules(const Fabric &fabric, const CollectiveFamily &family,
                       const Deadline &deadline) {
  if (fabric.topology.links().empty() || !isAsked(Maker::grown))
    return {};
  return GrownSchedules(fabric, family, deadline).take();
}
