//===- CertificateChecker.cpp - Exact check of lower bounds ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Works out what a proof establishes, by the rules at the head of Certificate.h
// and in their notation. Commodities are counted from the sets of the
// collective itself, and paths are searched here, so nothing is taken from the
// code that found the numbers.
//
//===----------------------------------------------------------------------===//

#include "PriceChecker.h"

#include "sccl/Model/Instance.h"
#include "sccl/Model/SwitchGraph.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace sccl;
using namespace sccl::certificate;

namespace {
/// A graph with D, the price of what all limits let pass in one round; in the
/// dearest step, or with pipelining at the highest price of each limit.
struct PricedTopology {
  Graph graph;
  Wide scale;
};
} // namespace

//===----------------------------------------------------------------------===//
// Numbers of the proof
//===----------------------------------------------------------------------===//

/// The indices of `links` in the topology, ascending; nothing if one is absent.
static std::optional<std::vector<unsigned>>
findLinks(const Topology &topology, const std::vector<Link> &links) {
  std::vector<unsigned> set;
  for (const Link &link : links) {
    std::optional<unsigned> index = topology.findLink(link.src, link.dst);
    if (!index)
      return std::nullopt;
    set.push_back(*index);
  }
  std::sort(set.begin(), set.end());
  return set;
}

/// A claim may name any number of steps, in a few bytes; what it takes to check
/// it is bounded: 1 GiB of prices.
static Failure checkSize(const Topology &topology, unsigned columns) {
  constexpr uint64_t most = (uint64_t(1) << 30) / sizeof(Wide);
  if (uint64_t links = topology.links().size(); links * columns > most)
    return std::to_string(columns) + " steps on " + std::to_string(links) +
           " links have more prices than the " + std::to_string(most) +
           " that are checked";
  return std::nullopt;
}

/// Prices in `columns` steps.
static Result<PricedTopology> loadPrices(const Topology &topology,
                                         const std::vector<LimitPrices> &list,
                                         const Certificate &claim,
                                         unsigned columns) {
  if (Failure failure = checkSize(topology, columns))
    return Error{*failure};
  Graph graph{topology.numRanks(), columns, !claim.steps, topology.links(), {}};
  graph.prices.resize(graph.links.size() * columns);
  std::map<std::vector<unsigned>, unsigned> bandwidths;
  for (const BandwidthLimit &limit : topology.limits()) {
    auto [it, isNew] = bandwidths.try_emplace(limit.links, limit.bandwidth);
    if (!isNew)
      it->second = std::min(it->second, limit.bandwidth);
  }
  std::vector<Wide> perStep(columns);
  Wide inAll = 0;
  for (const LimitPrices &price : list) {
    std::string what =
        "the price on " +
        (price.links.empty() ? "no link" : linkText(price.links[0]));
    std::optional<std::vector<unsigned>> set = findLinks(topology, price.links);
    auto limit = set ? bandwidths.find(*set) : bandwidths.end();
    if (limit == bandwidths.end())
      return Error{what + " and " + std::to_string(price.links.size()) +
                   " links in all is on no limit of the topology"};
    if (Failure failure = checkValues(price.values, columns, what))
      return Error{*failure};
    inAll += Wide(*std::max_element(price.values.begin(), price.values.end())) *
             limit->second;
    for (unsigned column = 0; column < columns; ++column) {
      perStep[column] += Wide(price.values[column]) * limit->second;
      for (unsigned link : *set)
        graph.prices[graph.at(link, column)] += price.values[column];
    }
  }
  Wide scale = claim.pipelined || claim.vertices != 0
                   ? inAll
                   : *std::max_element(perStep.begin(), perStep.end());
  if (scale == 0)
    return Error{"all prices are 0"};
  return PricedTopology{std::move(graph), scale};
}

//===----------------------------------------------------------------------===//
// Kinds of proof
//===----------------------------------------------------------------------===//

static Result<Wide> totalOf(const PriceProof &proof, const Topology &topology,
                            const Collective &collective, const Graph &graph,
                            const SumOrder &order) {
  if (order.isTree() && !proof.symmetries.empty())
    return Error{"a claim about an order of additions has no symmetries"};
  PriceChecker checker(topology, collective, graph, order);
  if (Failure failure = checker.addCommodities(proof.commodities))
    return Error{*failure};
  if (Failure failure = checker.addSymmetries(proof.symmetries))
    return Error{*failure};
  return checker.total();
}

/// Whether a chunk must get from `inside` to its complement.
static bool mustCross(const Collective &collective, unsigned chunk,
                      const std::vector<bool> &inside) {
  bool anyInside = false, anyOutside = false, wantedOutside = false;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    if (collective.pre().contains(rank, chunk))
      (inside[rank] ? anyInside : anyOutside) = true;
    if (!inside[rank] && collective.post().contains(rank, chunk))
      wantedOutside = true;
  }
  return wantedOutside && anyInside && (collective.combining() || !anyOutside);
}

static Result<Wide> totalOf(const CutProof &proof, const Topology &,
                            const Collective &collective, const Graph &graph) {
  if (!graph.anySteps)
    return Error{"a cut is for any number of steps"};
  if (Failure failure = checkRanks(proof.side, graph.ranks))
    return Error{*failure};
  std::vector<bool> inside = toFlags(proof.side, graph.ranks);
  Wide cheapest = outOfReach;
  for (size_t link = 0; link < graph.links.size(); ++link)
    if (inside[graph.links[link].src] && !inside[graph.links[link].dst])
      cheapest = std::min(cheapest, graph.prices[link]);
  if (cheapest == outOfReach)
    return Error{"no link leaves the side of the cut"};
  Wide crossing = 0;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    crossing += mustCross(collective, chunk, inside);
  return crossing * cheapest;
}

static Failure checkDistance(const DistanceProof &proof, unsigned steps,
                             const Topology &topology,
                             const Collective &collective) {
  unsigned ranks = topology.numRanks();
  if (Failure failure = checkRanks({proof.src, proof.dst}, ranks))
    return failure;
  Graph graph{ranks, 1, true, topology.links(), {}};
  graph.prices.resize(graph.links.size());
  std::vector<unsigned> hops = countHops(graph.reversed(), {proof.dst});
  auto isFar = [&](unsigned rank) {
    return hops[rank] > steps || hops[rank] == ranks;
  };
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    if (!collective.pre().contains(proof.src, chunk) ||
        !collective.post().contains(proof.dst, chunk))
      continue;
    std::vector<unsigned> from = {proof.src};
    if (!collective.combining())
      from = collective.pre().ranksOf(chunk);
    if (std::all_of(from.begin(), from.end(), isFar))
      return std::nullopt;
  }
  return "no chunk must get from rank " + std::to_string(proof.src) +
         " to rank " + std::to_string(proof.dst) + " over more than " +
         std::to_string(steps) + " links";
}

//===----------------------------------------------------------------------===//
// Claims
//===----------------------------------------------------------------------===//

/// Whether the claim is about this topology and collective at all.
static Failure checkSubject(const Certificate &certificate,
                            const Topology &topology,
                            const Collective &collective) {
  Certificate expected = makeClaim(topology, collective, certificate.steps);
  if (topology.numRanks() != collective.numRanks() ||
      certificate.numRanks != expected.numRanks)
    return "the claim is for " + std::to_string(certificate.numRanks) +
           " ranks, the topology has " + std::to_string(topology.numRanks()) +
           " and the collective " + std::to_string(collective.numRanks());
  if (certificate.kind != expected.kind || certificate.root != expected.root ||
      certificate.collectivePrint != expected.collectivePrint)
    return "the claim is for another collective";
  if (certificate.topologyPrint != expected.topologyPrint)
    return "the claim is for another topology";
  if (certificate.steps && *certificate.steps == 0)
    return "the claim is for 0 steps";
  if (certificate.order.isTree() && !collective.combining())
    return "the claim names an order of additions, and nothing is added up";
  return std::nullopt;
}

/// sum / scale as a 64-bit fraction, rounded down where it has no such form.
static Rational roundDown(Wide sum, Wide scale) {
  Wide a = sum, b = scale;
  while (b != 0)
    std::tie(a, b) = std::pair(b, a % b);
  sum /= a;
  scale /= a;
  constexpr Wide most = std::numeric_limits<int64_t>::max();
  while (sum > most || scale > most) {
    sum /= 2;
    scale = scale / 2 + scale % 2;
  }
  return Rational(int64_t(sum), int64_t(scale));
}

/// What the proof gives on `topology`, or on its graph, in `columns` steps.
static Result<Rational> provenOn(const Certificate &certificate,
                                 const Topology &topology,
                                 const Collective &collective,
                                 unsigned columns) {
  const auto *prices = std::get_if<PriceProof>(&certificate.proof);
  const auto *cut = std::get_if<CutProof>(&certificate.proof);
  if (!prices && !cut)
    return Error{"a distance proves no bound"};
  Result<PricedTopology> priced = loadPrices(
      topology, prices ? prices->prices : cut->prices, certificate, columns);
  if (!priced)
    return Error{priced.error()};
  Result<Wide> sum = prices
                         ? totalOf(*prices, topology, collective, priced->graph,
                                   certificate.order)
                         : totalOf(*cut, topology, collective, priced->graph);
  if (!sum)
    return Error{sum.error()};
  if (*sum < 0)
    return Error{"the proof adds up to less than 0"};
  return roundDown(*sum, priced->scale * Wide(collective.chunks()));
}

/// The same where switches copy or reduce.
static Result<Rational> provenOnGraph(const Certificate &certificate,
                                      const Topology &topology,
                                      const Collective &collective) {
  if (certificate.order.isTree())
    return Error{"where switches copy or reduce, no claim names an order of "
                 "additions"};
  Result<SwitchGraph> graph = switchGraphOf(topology, collective.combining());
  if (!graph)
    return Error{graph.error()};
  unsigned vertices = graph->graph.numRanks();
  if (certificate.vertices != vertices)
    return Error{"the proof is about " + std::to_string(certificate.vertices) +
                 " vertices, the topology with its switches has " +
                 std::to_string(vertices)};
  if (certificate.steps.value_or(0) > Instance::maxRounds)
    return Error{"the claim is for more than " +
                 std::to_string(Instance::maxRounds) + " steps"};
  Result<Collective> moved = onVertices(collective, vertices);
  if (!moved)
    return Error{moved.error()};
  return provenOn(certificate, graph->graph, *moved,
                  certificate.steps ? 2 * *certificate.steps : 1);
}

Result<Rational> sccl::provenBound(const Certificate &certificate,
                                   const Topology &topology,
                                   const Collective &collective) {
  if (Failure failure = checkSubject(certificate, topology, collective))
    return Error{*failure};
  if (!topology.switches().empty())
    return provenOnGraph(certificate, topology, collective);
  if (certificate.vertices != 0)
    return Error{"the proof is about switches, the topology has none that copy "
                 "or reduce"};
  return provenOn(certificate, topology, collective,
                  certificate.steps.value_or(1));
}

std::optional<std::string>
sccl::checkCertificate(const Certificate &certificate, const Topology &topology,
                       const Collective &collective) {
  const auto *distance = std::get_if<DistanceProof>(&certificate.proof);
  if (!certificate.bound || distance) {
    if (certificate.bound || !distance || !certificate.steps)
      return "only a distance and a number of steps prove that there is no "
             "schedule, and nothing else";
    if (Failure failure = checkSubject(certificate, topology, collective))
      return failure;
    return checkDistance(*distance, *certificate.steps, topology, collective);
  }
  Result<Rational> proven = provenBound(certificate, topology, collective);
  if (!proven)
    return proven.error();
  if (*certificate.bound > *proven)
    return "the claim is a bound of " + certificate.bound->str() +
           ", the proof gives " + proven->str() + " only";
  return std::nullopt;
}
