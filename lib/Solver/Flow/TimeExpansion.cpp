//===- TimeExpansion.cpp - Chunks as a flow through time ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimeExpansion.h"

#include "Solver/Constants.h"
#include "Solver/Quotient.h"

#include <algorithm>
#include <map>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

FlowProblem sccl::flowOf(const Collective &collective) {
  bool isGather = collective.kind() == CollectiveKind::Gather;
  // The segment that each other rank sends, or gets.
  int64_t amount = collective.chunksPerSegment();
  FlowProblem problem;
  FlowTerminal root{{collective.root()}, 0};
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    if (rank != collective.root()) {
      (isGather ? problem.supplies : problem.demands)
          .push_back({{rank}, amount});
      root.amount += amount;
    }
  (isGather ? problem.demands : problem.supplies).push_back(root);
  return problem;
}

FlowProblem sccl::flowInto(const Collective &collective, unsigned rank) {
  std::map<std::vector<unsigned>, int64_t> amounts;
  int64_t total = 0;
  for (unsigned chunk : collective.post().chunksOf(rank))
    if (!collective.pre().contains(rank, chunk)) {
      ++amounts[collective.pre().ranksOf(chunk)];
      ++total;
    }
  FlowProblem problem;
  for (auto &[ranks, amount] : amounts)
    problem.supplies.push_back({ranks, amount});
  problem.demands.push_back({{rank}, total});
  return problem;
}

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

static bool isPort(const BandwidthLimit &limit,
                   const std::vector<unsigned> &port) {
  return limit.links == port; // both ascending
}

bool TimeExpansion::isExactFor(const Topology &topology) {
  return std::all_of(topology.limits().begin(), topology.limits().end(),
                     [&](const BandwidthLimit &limit) {
                       const Link &link = topology.links()[limit.links.front()];
                       return limit.links.size() == 1 ||
                              isPort(limit, topology.outLinks(link.src)) ||
                              isPort(limit, topology.inLinks(link.dst));
                     });
}

TimeExpansion::TimeExpansion(const Topology &topology, unsigned steps,
                             const FlowProblem &problem)
    : topology(topology), steps(steps),
      network(topology.numRanks() * (steps + 1)), source(network.addNode()),
      sink(network.addNode()) {
  network.reserveArcs(size_t(steps) *
                      (topology.links().size() + 3 * topology.numRanks()));
  addTerminals(problem);
  findBandwidths();
  for (unsigned step = 1; step <= steps; ++step)
    addStep(step);
}

void TimeExpansion::addTerminals(const FlowProblem &problem) {
  auto addLimited = [&](unsigned from, unsigned to, int64_t amount) {
    terminalArcs.push_back(network.addArc(from, to, amount));
    terminalAmounts.push_back(amount);
  };
  for (const FlowTerminal &supply : problem.supplies) {
    total += supply.amount;
    unsigned node = supply.ranks.size() == 1 ? nodeOf(supply.ranks.front(), 0)
                                             : network.addNode();
    addLimited(source, node, supply.amount);
    if (supply.ranks.size() > 1)
      for (unsigned rank : supply.ranks)
        network.addArc(node, nodeOf(rank, 0), supply.amount);
  }
  for (const FlowTerminal &demand : problem.demands)
    addLimited(nodeOf(demand.ranks.front(), steps), sink, demand.amount);
}

void TimeExpansion::findBandwidths() {
  linkBandwidth.assign(topology.links().size(), unlimited);
  outputBandwidth.assign(topology.numRanks(), unlimited);
  inputBandwidth.assign(topology.numRanks(), unlimited);
  auto lower = [](int64_t &bound, int64_t value) {
    bound = bound == unlimited ? value : std::min(bound, value);
  };
  for (const BandwidthLimit &limit : topology.limits()) {
    const Link &link = topology.links()[limit.links.front()];
    if (limit.links.size() > 1 && isPort(limit, topology.outLinks(link.src)))
      lower(outputBandwidth[link.src], limit.bandwidth);
    else if (limit.links.size() > 1 &&
             isPort(limit, topology.inLinks(link.dst)))
      lower(inputBandwidth[link.dst], limit.bandwidth);
    else // a set of links bounds each of them, too
      for (unsigned index : limit.links)
        lower(linkBandwidth[index], limit.bandwidth);
  }
}

/// Puts a node before or behind `node` for the limit of a port, if it has one.
unsigned TimeExpansion::addPort(unsigned node, unsigned step, int64_t bandwidth,
                                bool isOutput) {
  if (bandwidth == unlimited)
    return node;
  unsigned port = network.addNode();
  unsigned arc =
      isOutput ? network.addArc(node, port, 0) : network.addArc(port, node, 0);
  limited.push_back({arc, step, bandwidth});
  return port;
}

void TimeExpansion::addStep(unsigned step) {
  std::vector<unsigned> from, to;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    unsigned before = nodeOf(rank, step - 1), after = nodeOf(rank, step);
    network.addArc(before, after, total); // stays
    from.push_back(addPort(before, step, outputBandwidth[rank], true));
    to.push_back(addPort(after, step, inputBandwidth[rank], false));
  }
  std::vector<unsigned> &arcs = linkArcs.emplace_back();
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    const Link &ends = topology.links()[link];
    arcs.push_back(network.addArc(from[ends.src], to[ends.dst], total));
    if (linkBandwidth[link] != unlimited)
      limited.push_back({arcs.back(), step, linkBandwidth[link]});
  }
}

bool TimeExpansion::isFeasible(const std::vector<unsigned> &rounds,
                               const Deadline &deadline) {
  for (const LimitedArc &arc : limited)
    network.setCapacity(arc.arc, arc.bandwidth * rounds[arc.step - 1]);
  return network.maximize(source, sink, FlowNetwork::most, [&](uint64_t units) {
    return deadline.tick(units);
  }) == total;
}

RoundCut TimeExpansion::cut() const {
  // Some chunks must cross; what is not accounted for by the ends of the flow
  // crosses in a step.
  RoundCut cut{std::vector<int64_t>(steps), total};
  for (size_t i = 0; i < terminalArcs.size(); ++i)
    if (network.isCut(terminalArcs[i]))
      cut.least -= terminalAmounts[i];
  for (const LimitedArc &arc : limited)
    if (network.isCut(arc.arc))
      cut.weight[arc.step - 1] += arc.bandwidth;
  return cut;
}

//===----------------------------------------------------------------------===//
// Relaxation
//===----------------------------------------------------------------------===//

/// One rank of each orbit of those that leave the instance as it is.
static std::vector<unsigned> differentRanks(const Instance &instance) {
  const Collective &collective = instance.collective;
  std::vector<Permutation> generators;
  if (Quotient::actsOn(collective))
    generators = automorphismGenerators(instance.topology);
  else if (isRooted(collective.kind()))
    generators = automorphismGenerators(instance.topology, collective.root());
  std::vector<unsigned> orbits = rankOrbits(generators, collective.numRanks());
  std::vector<unsigned> result;
  for (unsigned rank = 0; rank < orbits.size(); ++rank)
    if (orbits[rank] == rank)
      result.push_back(rank);
  return result;
}

RoundCandidates::RoundCandidates(const Instance &instance, unsigned steps)
    : search(steps, instance.rounds) {
  // Leaving flows out is no mistake, as they only refute.
  uint64_t arcs = 0;
  for (unsigned rank : differentRanks(instance)) {
    arcs += uint64_t(steps) * (instance.topology.links().size() +
                               3 * instance.topology.numRanks());
    if (arcs > tuned::mostRoundArcs())
      break;
    flows.emplace_back(instance.topology, steps,
                       flowInto(instance.collective, rank));
  }
}

std::optional<std::vector<unsigned>>
RoundCandidates::next(const Deadline &deadline) {
  while (std::optional<std::vector<unsigned>> rounds = search.next(deadline)) {
    size_t cutsBefore = search.numCuts();
    for (TimeExpansion &flow : flows)
      if (!flow.isFeasible(*rounds, deadline) && !deadline.expired())
        search.require(flow.cut());
    if (deadline.expired())
      return std::nullopt;
    if (search.numCuts() == cutsBefore) {
      search.skip();
      return rounds;
    }
  }
  return std::nullopt;
}
