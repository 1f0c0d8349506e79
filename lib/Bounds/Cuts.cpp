//===- Cuts.cpp - The narrowest cut of a topology -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of all cuts between the sources and one sink, the one with the largest ratio
// of demand to capacity is found by Newton's method (also Dinkelbach's): guess
// a ratio p/q, look by a maximum flow for a cut with q * demand - p * capacity
// above 0, take its ratio for the next guess. The guess only grows, so it is
// kept from one sink to the next. And once no better cut leaves out a rank, all
// better cuts hold it, and so it may serve as a source for the sinks after it:
// most of these are then fed by their neighbours, and a search that begins at
// the sink is over before it has seen the rest of the network.
//
// A link from u to v becomes a path u -> out -> in -> v. If limits cover
// several links of one source, `out` is a node that they share and the first
// arc has the bandwidth of the limit; likewise `in` for links of one
// destination. So a cut pays for a port once, however many of its links are
// cut. Ports that several ranks share, as network cards, are passed between
// these two.
//
// Links from `out` to `in` nodes are replaced by hubs (Model/Hubs.h), which
// also let a rank send to itself: that changes no flow. A thousand ranks would
// be out of reach otherwise.
//
//===----------------------------------------------------------------------===//

#include "Cuts.h"

#include "PriceList.h"

#include "Model/FlowNetwork.h"
#include "Model/Hubs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

using namespace sccl;
using namespace sccl::bounds;

namespace {
/// In place of a limit or node that there is not.
constexpr unsigned noIndex = ~0u;
constexpr int64_t unlimited = int64_t(1) << 60;

/// The arcs of a topology and the search for cuts in it.
class CutFinder {
public:
  CutFinder(const Topology &topology, const CutQuestion &question);
  std::optional<CutProof> find(const Deadline &deadline);

private:
  /// An arc that stands for a limit.
  struct LimitArc {
    unsigned arc;
    unsigned limit;
    unsigned from, to;
  };
  struct Cut {
    std::vector<bool> side;
    std::vector<unsigned> limits;
    int64_t demand, capacity;
  };

  /// By `out` node, the `in` nodes that it has unlimited arcs to.
  using Ports = std::map<unsigned, SendingPort>;

  void chooseLimits();
  void addLinks();
  bool addShared(unsigned link, unsigned from, unsigned to,
                 std::vector<unsigned> &entries, std::vector<unsigned> &nodes);
  unsigned passLimit(unsigned limit, unsigned node, bool isOut,
                     std::vector<unsigned> &entries,
                     std::vector<unsigned> &nodes);
  void addFreeArc(unsigned from, unsigned to);
  unsigned addArc(unsigned from, unsigned to) {
    return network.addArc(to, from, 0);
  }
  bool isOnSourceSide(unsigned node) const {
    return !network.isOnSourceSide(node);
  }
  void addPorts(Ports ports, const std::vector<std::vector<unsigned>> &inNodes);
  void offer(unsigned &slot, unsigned limit) const;
  unsigned nodeOf(std::vector<unsigned> &nodes, unsigned limit, unsigned rank,
                  bool isOut);
  void setCapacities();
  int64_t sourceCapacity(unsigned rank) const;
  int64_t enoughFlow(unsigned sink) const;
  std::optional<Cut> improve(unsigned sink);

  const Topology &topology;
  const CutQuestion &question;
  /// For each link the tightest limit on it alone, on links of its source, and
  /// on links of its destination, and of those on links of several of either;
  /// `none` where there is none.
  std::vector<unsigned> own, out, in, sharedOut, sharedIn;
  /// With all arcs reversed: cuts are looked for from the sink, which is seldom
  /// far from them.
  FlowNetwork network;
  unsigned source;
  std::vector<LimitArc> limitArcs;
  std::vector<unsigned> freeArcs;
  std::set<std::pair<unsigned, unsigned>> joined; ///< by arcs of shared ports
  std::vector<unsigned> sourceArcs;               ///< one for each rank
  std::vector<bool> isSource;
  /// Ranks that all better cuts hold.
  std::vector<bool> isSettled;
  /// The best demand and capacity so far.
  int64_t bestDemand = 0, bestCapacity = 1;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arcs of the topology
//===----------------------------------------------------------------------===//

CutFinder::CutFinder(const Topology &topology, const CutQuestion &question)
    : topology(topology), question(question),
      own(topology.links().size(), noIndex), out(own), in(own), sharedOut(own),
      sharedIn(own), network(topology.numRanks()), source(network.addNode()),
      isSource(topology.numRanks()), isSettled(topology.numRanks()) {
  for (unsigned rank : question.sources)
    isSource[rank] = true;
  chooseLimits();
  addLinks();
  // Added last, they are what a search looks at first, as they end it.
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    sourceArcs.push_back(addArc(source, rank));
  setCapacities();
}

void CutFinder::offer(unsigned &slot, unsigned limit) const {
  const std::vector<BandwidthLimit> &limits = topology.limits();
  if (slot == noIndex || limits[limit].bandwidth < limits[slot].bandwidth)
    slot = limit;
}

void CutFinder::chooseLimits() {
  const std::vector<Link> &links = topology.links();
  for (unsigned limit = 0; limit < topology.limits().size(); ++limit) {
    const std::vector<unsigned> &set = topology.limits()[limit].links;
    std::set<unsigned> sources, destinations;
    for (unsigned link : set) {
      sources.insert(links[link].src);
      destinations.insert(links[link].dst);
    }
    // A port of some ranks leads to more.
    bool isOut = sources.size() <= destinations.size();
    for (unsigned link : set)
      if (set.size() == 1)
        offer(own[link], limit);
      else if (sources.size() == 1)
        offer(out[link], limit);
      else if (destinations.size() == 1)
        offer(in[link], limit);
      else
        offer(isOut ? sharedOut[link] : sharedIn[link], limit);
  }
}

/// The node behind (before) a shared limit; the rank itself without one.
unsigned CutFinder::nodeOf(std::vector<unsigned> &nodes, unsigned limit,
                           unsigned rank, bool isOut) {
  if (limit == noIndex)
    return rank;
  if (nodes[limit] == noIndex) {
    unsigned node = nodes[limit] = network.addNode();
    unsigned from = isOut ? rank : node, to = isOut ? node : rank;
    limitArcs.push_back({addArc(from, to), limit, from, to});
  }
  return nodes[limit];
}

void CutFinder::addFreeArc(unsigned from, unsigned to) {
  freeArcs.push_back(addArc(from, to));
}

/// The node behind (before) the arc of a limit that several ranks share, to
/// (from) which `node` leads.
unsigned CutFinder::passLimit(unsigned limit, unsigned node, bool isOut,
                              std::vector<unsigned> &entries,
                              std::vector<unsigned> &nodes) {
  if (limit == noIndex)
    return node;
  if (entries[limit] == noIndex) {
    entries[limit] = network.addNode();
    nodeOf(nodes, limit, entries[limit], isOut);
  }
  auto [from, to] =
      isOut ? std::pair(node, entries[limit]) : std::pair(entries[limit], node);
  if (joined.emplace(from, to).second)
    addFreeArc(from, to);
  return nodes[limit];
}

/// Adds the arc of a link between its nodes, if it passes a shared limit.
bool CutFinder::addShared(unsigned link, unsigned from, unsigned to,
                          std::vector<unsigned> &entries,
                          std::vector<unsigned> &nodes) {
  if (sharedOut[link] == noIndex && sharedIn[link] == noIndex)
    return false;
  from = passLimit(sharedOut[link], from, /*isOut=*/true, entries, nodes);
  to = passLimit(sharedIn[link], to, /*isOut=*/false, entries, nodes);
  if (own[link] != noIndex)
    limitArcs.push_back({addArc(from, to), own[link], from, to});
  else if (joined.emplace(from, to).second)
    addFreeArc(from, to);
  return true;
}

void CutFinder::addLinks() {
  std::vector<unsigned> nodes(topology.limits().size(), noIndex),
      entries = nodes;
  std::vector<std::vector<unsigned>> inNodes(topology.numRanks());
  Ports ports;
  for (unsigned link = 0; link < own.size(); ++link) {
    auto [src, dst] = topology.links()[link];
    unsigned from = nodeOf(nodes, out[link], src, /*isOut=*/true);
    unsigned to = nodeOf(nodes, in[link], dst, /*isOut=*/false);
    if (addShared(link, from, to, entries, nodes))
      continue;
    if (own[link] == noIndex && from != src && to != dst) {
      ports.try_emplace(from, SendingPort{src, {}})
          .first->second.targets.push_back(to);
      inNodes[dst].push_back(to);
      continue;
    }
    if (own[link] == noIndex)
      addFreeArc(from, to);
    else
      limitArcs.push_back({addArc(from, to), own[link], from, to});
  }
  for (std::vector<unsigned> &list : inNodes)
    sortAndDropCopies(list);
  addPorts(std::move(ports), inNodes);
}

/// Adds hubs in place of the arcs of `ports`. `inNodes` are the `in` nodes of
/// each rank.
void CutFinder::addPorts(Ports ports,
                         const std::vector<std::vector<unsigned>> &inNodes) {
  std::vector<unsigned> nodes;
  std::vector<SendingPort> list;
  for (auto &[node, port] : ports) {
    nodes.push_back(node);
    list.push_back(std::move(port));
  }
  std::map<std::vector<unsigned>, unsigned> hubs;
  size_t next = 0;
  for (const std::vector<unsigned> &set : hubsOf(std::move(list), inNodes)) {
    auto [hub, isNew] = hubs.try_emplace(set, noIndex);
    if (isNew) {
      hub->second = network.addNode();
      for (unsigned target : set)
        addFreeArc(hub->second, target);
    }
    addFreeArc(nodes[next++], hub->second);
  }
}

//===----------------------------------------------------------------------===//
// Newton's method
//===----------------------------------------------------------------------===//

int64_t CutFinder::sourceCapacity(unsigned rank) const {
  if (isSettled[rank])
    return unlimited;
  if (!isSource[rank])
    return 0;
  return question.demand == CutDemand::PerRank ? bestCapacity : unlimited;
}

void CutFinder::setCapacities() {
  bool perRank = question.demand == CutDemand::PerRank;
  for (const LimitArc &arc : limitArcs) {
    int64_t bandwidth = topology.limits()[arc.limit].bandwidth;
    network.setCapacity(arc.arc, perRank ? bestDemand * bandwidth : bandwidth);
  }
  for (unsigned arc : freeArcs)
    network.setCapacity(arc, unlimited);
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    network.setCapacity(sourceArcs[rank], sourceCapacity(rank));
}

/// A flow to `sink` of that amount shows that no better cut leaves it out.
int64_t CutFinder::enoughFlow(unsigned sink) const {
  if (question.demand == CutDemand::PerRank)
    return int64_t(question.sources.size() - isSource[sink]) * bestCapacity;
  if (bestDemand == 0)
    return unlimited;
  return (bestCapacity + bestDemand - 1) / bestDemand;
}

/// A better cut than the best one so far that leaves `sink` out, if any.
std::optional<CutFinder::Cut> CutFinder::improve(unsigned sink) {
  network.setCapacity(sourceArcs[sink], 0);
  int64_t enough = enoughFlow(sink);
  if (network.maximize(sink, source, enough) >= enough)
    return std::nullopt;
  Cut cut{std::vector<bool>(topology.numRanks()), {}, 0, 0};
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    cut.side[rank] = isOnSourceSide(rank);
  for (unsigned rank : question.sources)
    cut.demand += cut.side[rank];
  if (question.demand == CutDemand::Once)
    cut.demand = 1;
  for (const LimitArc &arc : limitArcs)
    if (isOnSourceSide(arc.from) && !isOnSourceSide(arc.to)) {
      cut.limits.push_back(arc.limit);
      cut.capacity += topology.limits()[arc.limit].bandwidth;
    }
  // Without a link that leaves it, the sink cannot be reached at all.
  if (cut.capacity == 0 ||
      cut.demand * bestCapacity <= bestDemand * cut.capacity)
    return std::nullopt;
  return cut;
}

static CutProof toProof(const Topology &topology, const std::vector<bool> &side,
                        const std::vector<unsigned> &limits) {
  CutProof proof;
  for (unsigned rank = 0; rank < side.size(); ++rank)
    if (side[rank])
      proof.side.push_back(rank);
  for (unsigned limit : limits)
    proof.prices.push_back(pricesOn(topology, topology.limits()[limit], {1}));
  sortByLinks(proof.prices);
  return proof;
}

std::optional<CutProof> CutFinder::find(const Deadline &deadline) {
  std::optional<Cut> best;
  for (unsigned sink : question.sinks) {
    if (deadline.expired())
      break;
    bool isOnlySource =
        question.sources.size() == 1 && question.sources[0] == sink;
    if (isOnlySource)
      continue;
    while (std::optional<Cut> cut = improve(sink)) {
      bestDemand = cut->demand;
      bestCapacity = cut->capacity;
      best = std::move(cut);
      setCapacities();
    }
    isSettled[sink] = true;
    network.setCapacity(sourceArcs[sink], sourceCapacity(sink));
  }
  if (!best)
    return std::nullopt;
  return toProof(topology, best->side, best->limits);
}

std::optional<CutProof> bounds::findNarrowestCut(const Topology &topology,
                                                 const CutQuestion &question,
                                                 const Deadline &deadline) {
  return CutFinder(topology, question).find(deadline);
}
