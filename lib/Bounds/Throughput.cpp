//===- Throughput.cpp - Bounds for any number of steps --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where one chunk goes to all ranks, or all chunks to one, the narrowest cut
// says it all (theorems of Edmonds, and of Ford and Fulkerson), and is found
// for a thousand ranks. Elsewhere, or where limits are shared in ways that a
// cut does not see, the linear program without steps helps if it is not too
// large; equal prices on all links, which are right for many regular
// topologies, always give something.
//
//===----------------------------------------------------------------------===//

#include "Bounds/Constants.h"
#include "CellModel.h"
#include "Certify.h"
#include "Cuts.h"
#include "PriceList.h"
#include "PriceModel.h"
#include "Problem.h"
#include "SwitchBound.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/Refinement.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>

using namespace sccl;
using namespace sccl::bounds;

namespace {
/// Keeps the best of several bounds.
class BestBound {
public:
  BestBound(const Topology &topology, const Collective &collective,
            const LowerBoundOptions &options)
      : topology(topology), collective(collective), deadline(options),
        claim(makeClaim(topology, collective, options.pipelined)) {}

  template <typename Proof> void add(Proof proof) {
    Certificate certificate = claim;
    certificate.proof = std::move(proof);
    add(finish(std::move(certificate), topology, collective));
  }
  void add(Result<LowerBound> bound) {
    if (!bound)
      why = bound.error();
    else if (!best || *bound->value > *best->value)
      best = std::move(*bound);
  }
  bool hasValue() const { return best.has_value(); }
  bool reaches(const std::optional<Rational> &target) const {
    return best && target && *best->value >= *target;
  }
  Result<LowerBound> take() {
    if (!best)
      return Error{why.empty() ? "no cut limits this collective" : why};
    return std::move(*best);
  }

  const Topology &topology;
  const Collective &collective;
  const Deadline deadline;
  const Certificate claim;

private:
  /// Without steps, what bounds R/C bounds the load as well.
  static Certificate makeClaim(const Topology &topology,
                               const Collective &collective, bool pipelined) {
    Certificate claim = sccl::makeClaim(topology, collective, std::nullopt);
    claim.pipelined = pipelined;
    return claim;
  }

  std::optional<LowerBound> best;
  std::string why;
};
} // namespace

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

static std::vector<unsigned> firstRanks(unsigned count) {
  std::vector<unsigned> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0u);
  return ranks;
}

static std::vector<unsigned> allRanks(const Topology &topology) {
  return firstRanks(topology.numRanks());
}

/// One rank of each orbit of the first `count`: cuts from the others would be
/// images of cuts from these. All where it is quicker to look at them than to
/// find orbits.
static std::vector<unsigned> sinksOf(const Topology &topology, unsigned count,
                                     std::optional<unsigned> root) {
  if (topology.links().size() > tuned::mostOrbitLinks())
    return firstRanks(count);
  std::vector<unsigned> orbits =
      rankOrbits(automorphismGenerators(topology, root), topology.numRanks());
  std::sort(orbits.begin(), orbits.end());
  orbits.erase(std::unique(orbits.begin(), orbits.end()), orbits.end());
  std::erase_if(orbits, [count](unsigned rank) { return rank >= count; });
  return orbits;
}

/// The same cut seen from the topology with all links turned round.
static CutProof reversed(const CutProof &cut, unsigned numRanks) {
  CutProof result;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    if (!std::binary_search(cut.side.begin(), cut.side.end(), rank))
      result.side.push_back(rank);
  for (LimitPrices price : cut.prices) {
    for (Link &link : price.links)
      std::swap(link.src, link.dst);
    result.prices.push_back(pricesOn(std::move(price.links), price.values));
  }
  sortByLinks(result.prices);
  return result;
}

static void addCut(BestBound &best, const CutQuestion &question,
                   bool backward) {
  if (best.deadline.expired())
    return;
  const Topology &topology = best.topology;
  auto cut = findNarrowestCut(backward ? topology.reversed() : topology,
                              question, best.deadline);
  if (cut)
    best.add(backward ? reversed(*cut, topology.numRanks()) : *cut);
}

/// Cuts for `asked`, whose ranks are the first of the topology.
static void addCuts(BestBound &best, const Collective &asked) {
  const Topology &topology = best.topology;
  unsigned root = asked.root(), ranks = asked.numRanks();
  std::vector<unsigned> all = firstRanks(ranks);
  switch (asked.kind()) {
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return addCut(
        best, {CutDemand::PerRank, all, sinksOf(topology, ranks, std::nullopt)},
        asked.combining());
  case CollectiveKind::Gather:
  case CollectiveKind::Scatter:
    return addCut(best, {CutDemand::PerRank, all, {root}},
                  asked.kind() == CollectiveKind::Scatter);
  case CollectiveKind::Broadcast:
  case CollectiveKind::Reduce:
    return addCut(best,
                  {CutDemand::Once, {root}, sinksOf(topology, ranks, root)},
                  asked.combining());
  case CollectiveKind::AllReduce:
    for (bool backward : {false, true})
      addCut(best, {CutDemand::Once, {0}, sinksOf(topology, ranks, 0)},
             backward);
    return;
  case CollectiveKind::AllToAll:
  case CollectiveKind::Custom:
    return;
  }
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// Limits that together cover every limited link that `isWanted`, those first
/// that cost least per such link.
static std::vector<unsigned>
coverLinks(const Topology &topology,
           const std::function<bool(unsigned)> &isWanted) {
  const std::vector<BandwidthLimit> &limits = topology.limits();
  std::vector<unsigned> order(limits.size());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<uint64_t> wanted;
  std::vector<bool> hasManySources;
  for (const BandwidthLimit &limit : limits) {
    wanted.push_back(
        std::count_if(limit.links.begin(), limit.links.end(), isWanted));
    hasManySources.push_back(
        std::any_of(limit.links.begin(), limit.links.end(), [&](unsigned link) {
          return topology.links()[link].src !=
                 topology.links()[limit.links[0]].src;
        }));
  }
  // Ports that send cover all that those that receive do: one kind will do.
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return std::pair(limits[a].bandwidth * wanted[b], hasManySources[a]) <
           std::pair(limits[b].bandwidth * wanted[a], hasManySources[b]);
  });
  std::vector<bool> covered(topology.links().size());
  std::vector<unsigned> cover;
  for (unsigned limit : order) {
    bool isUseful = false;
    for (unsigned link : limits[limit].links) {
      isUseful |= !covered[link] && isWanted(link);
      covered[link] = true;
    }
    if (isUseful)
      cover.push_back(limit);
  }
  return cover;
}

/// A price of 1 on all links, which says that distances cost, and that a
/// reduction to all ranks takes many sends.
static PriceProof equalPrices(const Topology &topology,
                              const Collective &collective) {
  PriceProof proof;
  for (unsigned limit : coverLinks(topology, [](unsigned) { return true; }))
    proof.prices.push_back(pricesOn(topology, topology.limits()[limit], {1}));
  sortByLinks(proof.prices);
  if (collective.kind() == CollectiveKind::AllReduce) {
    std::vector<unsigned> all = allRanks(topology);
    proof.commodities.push_back({all, all, 1, {}});
  }
  return proof;
}

/// The components of ranks that links of more than `bandwidth` join both ways
/// or one way, by the smallest rank of each.
static std::map<unsigned, std::vector<unsigned>>
componentsAbove(const Topology &topology, unsigned bandwidth) {
  std::vector<unsigned> leader = allRanks(topology);
  auto find = [&leader](unsigned rank) {
    while (leader[rank] != rank)
      rank = leader[rank] = leader[leader[rank]];
    return rank;
  };
  for (unsigned link = 0; link < topology.links().size(); ++link)
    if (topology.capacity(link) > bandwidth) {
      unsigned a = find(topology.links()[link].src);
      unsigned b = find(topology.links()[link].dst);
      leader[std::max(a, b)] = std::min(a, b);
    }
  std::map<unsigned, std::vector<unsigned>> components;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    components[find(rank)].push_back(rank);
  return components;
}

/// A price of 1 on all links between boxes, which says that a reduction to all
/// ranks takes many sends between boxes, too. What a box is, bandwidths say:
/// ranks joined by links of more than `bandwidth`. Nothing if that is none, or
/// all in one. `all` are those that take part.
static std::optional<PriceProof> gossipOfBoxes(const Topology &topology,
                                               const std::vector<unsigned> &all,
                                               unsigned bandwidth) {
  auto components = componentsAbove(topology, bandwidth);
  if (components.size() == 1 || components.size() == topology.numRanks())
    return std::nullopt;
  std::vector<unsigned> boxOf(topology.numRanks());
  PriceProof proof;
  CommodityProof commodity{all, all, 1, {}};
  for (const auto &[first, ranks] : components) {
    for (unsigned rank : ranks)
      boxOf[rank] = first;
    if (ranks.size() > 1)
      commodity.blocks.push_back(ranks);
  }
  proof.commodities.push_back(std::move(commodity));
  for (unsigned limit : coverLinks(topology, [&](unsigned link) {
         auto [src, dst] = topology.links()[link];
         return boxOf[src] != boxOf[dst];
       }))
    proof.prices.push_back(pricesOn(topology, topology.limits()[limit], {1}));
  sortByLinks(proof.prices);
  return proof;
}

/// What the links of all shortest ways between pairs of ranks cost, if each
/// limit in `limits` costs 1, over what these limits let pass in a round.
static double valueOfPairs(const Topology &topology, const Refinement &classes,
                           const std::vector<unsigned> &limits) {
  std::vector<unsigned> prices(topology.links().size());
  double scale = 0, sum = 0;
  for (unsigned limit : limits) {
    scale += topology.limits()[limit].bandwidth;
    for (unsigned link : topology.limits()[limit].links)
      ++prices[link];
  }
  using Entry = std::pair<unsigned, unsigned>; // price, rank
  for (unsigned cls = 0; cls < classes.ranks.count(); ++cls) {
    std::vector<bool> done(topology.numRanks());
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    queue.emplace(0, classes.ranks.firsts[cls]);
    while (!queue.empty()) {
      auto [price, rank] = queue.top();
      queue.pop();
      if (done[rank])
        continue;
      done[rank] = true;
      sum += double(price) * classes.ranks.sizes[cls];
      for (unsigned link : topology.outLinks(rank))
        if (unsigned dst = topology.links()[link].dst; !done[dst])
          queue.emplace(price + prices[link], dst);
    }
  }
  return sum / scale;
}

/// A price of 1 on limits that look alike, as on all network cards: on those
/// that make the ways between all pairs of ranks dearest.
static PriceProof pricesOnOneClass(const Topology &topology) {
  Refinement classes =
      refine(topology, std::vector<uint64_t>(topology.numRanks()));
  std::vector<std::vector<unsigned>> members(classes.limits.count());
  for (unsigned limit = 0; limit < topology.limits().size(); ++limit)
    members[classes.limits.classOf[limit]].push_back(limit);
  auto dearest = std::ranges::max_element(members, {}, [&](const auto &limits) {
    return valueOfPairs(topology, classes, limits);
  });
  PriceProof proof;
  for (unsigned limit : *dearest)
    proof.prices.push_back(pricesOn(topology, topology.limits()[limit], {1}));
  sortByLinks(proof.prices);
  return proof;
}

static void addGossipOfBoxes(BestBound &best,
                             const std::vector<unsigned> &all) {
  const Topology &topology = best.topology;
  std::set<unsigned> bandwidths;
  for (unsigned link = 0; link < topology.links().size(); ++link)
    bandwidths.insert(topology.capacity(link));
  for (unsigned bandwidth : bandwidths)
    if (auto proof = gossipOfBoxes(topology, all, bandwidth))
      best.add(std::move(*proof));
}

static void addProgram(BestBound &best) {
  Problem problem =
      makeProblem(best.topology, best.collective, std::nullopt, best.deadline);
  for (TreeRules rules : {TreeRules::WithPaths, TreeRules::ArrivalsOnly}) {
    if (best.deadline.isOver())
      return;
    auto duals = solvePrices(problem, rules, tuned::mostThroughputColumns(),
                             best.deadline);
    if (!duals)
      continue;
    best.add(
        certify(problem, *duals, best.claim, best.topology, best.collective));
    return;
  }
}

/// A size of proofs that treat each of `commodities` for itself, above which
/// they take longer than all the rest: seconds, for a thousand ranks.
static bool isTooLarge(const Topology &topology, unsigned commodities) {
  return uint64_t(topology.links().size()) * commodities > tuned::mostParts();
}

/// A number of classes of chunks with the same source and destination.
static unsigned countCommodities(const Collective &collective) {
  switch (collective.kind()) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::Broadcast:
  case CollectiveKind::Reduce:
    return 1;
  default:
    return collective.numRanks();
  }
}

/// True if the narrowest cut is the best bound there is.
static bool isDecidedByCuts(const Topology &topology, CollectiveKind kind) {
  return topology.isPointToPoint() && kind != CollectiveKind::AllToAll &&
         kind != CollectiveKind::AllReduce && kind != CollectiveKind::Custom;
}

static Result<LowerBound> bySwitches(const Topology &topology,
                                     const Collective &collective,
                                     const LowerBoundOptions &options) {
  Result<SwitchQuestion> question = questionOnGraph(topology, collective);
  if (!question)
    return Error{question.error()};
  LowerBoundOptions there = SwitchQuestion::optionsFor(options);
  BestBound best(question->graph, question->collective, there);
  addCuts(best, collective);
  if (collective.kind() == CollectiveKind::AllReduce)
    addGossipOfBoxes(best, firstRanks(collective.numRanks()));
  there.timeoutSeconds = best.deadline.remainingLimit();
  if (!best.reaches(options.target))
    best.add(throughputBound(question->graph, question->collective, there));
  Result<LowerBound> found = best.take();
  if (!found)
    return found;
  return question->boundFor(std::move(*found), topology, collective,
                            std::nullopt, options.pipelined);
}

Result<LowerBound> sccl::throughputBound(const Topology &topology,
                                         const Collective &collective,
                                         const LowerBoundOptions &options) {
  if (topology.numRanks() != collective.numRanks())
    return Error{"the topology has " + std::to_string(topology.numRanks()) +
                 " ranks, but the collective has " +
                 std::to_string(collective.numRanks())};
  if (topology.limits().empty())
    return Error{"a topology without limits has no bandwidth cost"};
  Deadline deadline(options);
  if (auto proof = findTooDistant(topology, collective,
                                  Topology::unreachable - 1, deadline))
    return Error{"there is no path from rank " + std::to_string(proof->src) +
                 " to rank " + std::to_string(proof->dst)};
  if (deadline.isOver())
    return Error{deadline.reason()};
  if (!topology.switches().empty())
    return bySwitches(topology, collective, options);
  BestBound best(topology, collective, options);
  addCuts(best, collective);
  if (!best.reaches(options.target) &&
      !isDecidedByCuts(topology, collective.kind())) {
    if (collective.kind() == CollectiveKind::AllReduce)
      addGossipOfBoxes(best, allRanks(topology));
    // Of hundreds of ranks; of few, the program says more.
    if (collective.kind() == CollectiveKind::AllToAll &&
        isTooLarge(topology, topology.numRanks()) && !hasEqualLimits(topology))
      best.add(pricesOnOneClass(topology));
    if (!best.hasValue() || !isTooLarge(topology, countCommodities(collective)))
      best.add(equalPrices(topology, collective));
    // It has paths to each rank, whatever the commodities are.
    if (!best.reaches(options.target) &&
        !isTooLarge(topology, topology.numRanks()) && !best.deadline.expired())
      addProgram(best);
  }
  return best.take();
}
