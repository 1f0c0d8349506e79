//===- BoundTopology.cpp - What a machine lets pass at most ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/BoundTopology.h"

#include "Model/FlowNetwork.h"
#include "Quantum.h"
#include "SetLimits.h"
#include "Ways.h"

#include "sccl/Machine/Units.h"
#include "sccl/Model/DisjointSets.h"

#include <algorithm>
#include <set>

using namespace sccl;

namespace {
/// Ranks between which all transfers are limited together.
struct Ends {
  std::vector<unsigned> srcs, dsts; ///< ascending
  auto operator<=>(const Ends &) const = default;
};

class BoundBuilder {
public:
  explicit BoundBuilder(const Derivation &derivation)
      : derivation(derivation), machine(derivation.routed),
        isOpen(machine.edges().size()), unit(1),
        result(machine.name(), unsigned(machine.gpus().size())) {}

  Result<BoundTopology> build();

private:
  void openEdges();
  bool leavesOutHost() const;
  std::optional<Error> addLinks();
  void addSharedEdges();
  bool isCovered(const std::vector<unsigned> &links,
                 const Rational &rate) const;
  std::vector<unsigned> linksOf(const BandwidthLimit &limit) const;
  Ends endsOf(const std::vector<unsigned> &links) const;
  std::set<Ends> collectEnds() const;
  void chooseUnit();
  int64_t unitsOf(const Edge &edge) const;
  std::optional<Rational> flowBetween(const Ends &ends) const;
  void addFlows();
  Result<BoundTopology> finish();

  const Derivation &derivation;
  const Machine &machine;
  std::vector<bool> isOpen;
  Rational unit; ///< GB/s, of flows
  Topology result;
  /// By link, the edges that all of its ways take.
  std::vector<std::vector<unsigned>> common;
  std::vector<bool> hasManyWays; ///< by link
  SetLimits limits;
};
} // namespace

void BoundBuilder::openEdges() {
  for (unsigned edge = 0; edge < isOpen.size(); ++edge)
    isOpen[edge] =
        derivation.isUsed[edge] || !isHostKind(machine.edges()[edge].kind);
}

/// True if GPUs are joined by edges that are not open, through others than
/// GPUs.
bool BoundBuilder::leavesOutHost() const {
  constexpr unsigned none = ~0u;
  auto isGpu = [&](unsigned vertex) {
    return machine.vertices()[vertex].kind == VertexKind::Gpu;
  };
  DisjointSets sets(machine.vertices().size());
  std::vector<unsigned> gpuOf(machine.vertices().size(), none);
  for (bool joins : {true, false})
    for (unsigned number = 0; number < isOpen.size(); ++number) {
      auto [src, dst] =
          std::pair(machine.edges()[number].src, machine.edges()[number].dst);
      if (isOpen[number])
        continue;
      if (joins && !isGpu(src) && !isGpu(dst))
        sets.join(src, dst);
      if (joins || isGpu(src) == isGpu(dst))
        continue;
      unsigned gpu = isGpu(src) ? src : dst;
      unsigned &first = gpuOf[sets.first(src + dst - gpu)];
      if (first != none && first != gpu)
        return true;
      first = gpu;
    }
  return false;
}

std::optional<Error> BoundBuilder::addLinks() {
  std::vector<unsigned> rankOf(machine.vertices().size());
  for (unsigned rank = 0; rank < machine.gpus().size(); ++rank)
    rankOf[machine.gpus()[rank]] = rank;
  Ways ways(machine, isOpen);
  for (unsigned src = 0; src < machine.gpus().size(); ++src) {
    ways.findFrom(machine.gpus()[src]);
    // GPUs ascend as their ranks do.
    for (auto [gpu, node] : ways.targets()) {
      if (Result<unsigned> link = result.addLink(src, rankOf[gpu]); !link)
        return Error{link.error()};
      common.push_back(ways.edgesAbove(node));
      std::sort(common.back().begin(), common.back().end());
      hasManyWays.push_back(!ways.isOnlyWay(node));
    }
  }
  return std::nullopt;
}

/// Limits the links of which an edge carries all bytes, for each edge.
void BoundBuilder::addSharedEdges() {
  std::vector<std::vector<unsigned>> carried(machine.edges().size());
  for (unsigned link = 0; link < common.size(); ++link)
    for (unsigned edge : common[link])
      carried[edge].push_back(link);
  for (unsigned edge = 0; edge < carried.size(); ++edge)
    if (!carried[edge].empty())
      limits.add(std::move(carried[edge]),
                 machine.edges()[edge].bandwidth.value);
}

/// True if an edge of at most `rate` carries all bytes of these links.
bool BoundBuilder::isCovered(const std::vector<unsigned> &links,
                             const Rational &rate) const {
  return std::ranges::any_of(common[links.front()], [&](unsigned edge) {
    return machine.edges()[edge].bandwidth.value <= rate &&
           std::ranges::all_of(links, [&](unsigned link) {
             return std::ranges::binary_search(common[link], edge);
           });
  });
}

/// The links of a limit of the derived topology. Routes are ways, so there are
/// such links.
std::vector<unsigned> BoundBuilder::linksOf(const BandwidthLimit &limit) const {
  std::vector<unsigned> links;
  for (unsigned link : limit.links) {
    auto [src, dst] = derivation.topology.links()[link];
    links.push_back(*result.findLink(src, dst));
  }
  return links;
}

Ends BoundBuilder::endsOf(const std::vector<unsigned> &links) const {
  std::set<unsigned> srcs, dsts;
  for (unsigned link : links) {
    srcs.insert(result.links()[link].src);
    dsts.insert(result.links()[link].dst);
  }
  return {{srcs.begin(), srcs.end()}, {dsts.begin(), dsts.end()}};
}

/// Between which ranks flows say more than single edges do.
std::set<Ends> BoundBuilder::collectEnds() const {
  std::set<Ends> all;
  const std::vector<BandwidthLimit> &derived = derivation.topology.limits();
  for (unsigned i = 0; i < derived.size(); ++i)
    if (std::vector<unsigned> links = linksOf(derived[i]);
        !isCovered(links, derivation.rates[i]))
      all.insert(endsOf(links));
  auto parts = [&](unsigned link) { return hasManyWays[link]; };
  for (unsigned rank = 0; rank < result.numRanks(); ++rank)
    for (const std::vector<unsigned> *links :
         {&result.outLinks(rank), &result.inLinks(rank)})
      if (std::ranges::any_of(*links, parts))
        all.insert(endsOf(*links));
  return all;
}

/// The measure of all bandwidths; else a power of two that is small beside
/// them.
void BoundBuilder::chooseUnit() {
  constexpr int64_t most = int64_t(1) << 40;
  std::vector<Rational> bandwidths;
  for (unsigned edge = 0; edge < isOpen.size(); ++edge)
    if (isOpen[edge])
      bandwidths.push_back(machine.edges()[edge].bandwidth.value);
  unit = commonUnit(bandwidths, most);
}

int64_t BoundBuilder::unitsOf(const Edge &edge) const {
  return unitsRoundedUp(edge.bandwidth.value, unit);
}

/// GB/s from all of `ends.srcs` to all of `ends.dsts` together, through no
/// other GPU. Nothing if that does not fit.
std::optional<Rational> BoundBuilder::flowBetween(const Ends &ends) const {
  FlowNetwork network(machine.vertices().size());
  unsigned source = network.addNode(), sink = network.addNode();
  std::set<unsigned> from, to; // vertices
  for (unsigned rank : ends.srcs)
    from.insert(machine.gpus()[rank]);
  for (unsigned rank : ends.dsts)
    to.insert(machine.gpus()[rank]);
  auto isGpu = [&](unsigned vertex) {
    return machine.vertices()[vertex].kind == VertexKind::Gpu;
  };
  for (unsigned number = 0; number < isOpen.size(); ++number) {
    const Edge &edge = machine.edges()[number];
    bool isBegun = !isGpu(edge.src) || from.contains(edge.src);
    bool isEnded = !isGpu(edge.dst) || to.contains(edge.dst);
    if (isOpen[number] && isBegun && isEnded)
      network.addArc(isGpu(edge.src) ? source : edge.src,
                     isGpu(edge.dst) ? sink : edge.dst, unitsOf(edge));
  }
  return product(network.maximize(source, sink, FlowNetwork::most), unit);
}

/// Limits what flows say, as far as no other limit says as much.
void BoundBuilder::addFlows() {
  // Enough for boxes whose parts are wired in many ways; each takes a search.
  constexpr size_t most = 2000;
  std::set<Ends> all = collectEnds();
  if (all.empty() || all.size() > most)
    return;
  chooseUnit();
  for (const Ends &ends : all) {
    std::optional<Rational> rate = flowBetween(ends);
    std::vector<unsigned> links;
    for (unsigned src : ends.srcs)
      for (unsigned link : result.outLinks(src))
        if (std::ranges::binary_search(ends.dsts, result.links()[link].dst))
          links.push_back(link);
    std::ranges::sort(links);
    if (rate && !limits.areCovered(links, *rate))
      limits.add(std::move(links), *rate);
  }
}

Result<BoundTopology> BoundBuilder::finish() {
  std::vector<Rational> rates;
  for (const SetLimit &limit : limits.all())
    rates.push_back(limit.bandwidth);
  // The derived topology's own, if that is exact.
  Rational quantum = derivation.quantum;
  if (!areMultiples(rates, quantum, Topology::maxBandwidth))
    quantum = commonUnit(rates, Topology::maxBandwidth);
  for (const SetLimit &limit : limits.all())
    if (Result<unsigned> added = result.addLimit(
            limit.links, unitsRoundedUp(limit.bandwidth, quantum));
        !added)
      return Error{added.error()};
  for (const Switch &joined : derivation.topology.switches())
    if (Result<unsigned> added = result.addSwitch(joined); !added)
      return Error{added.error()};
  bool leavesOut = leavesOutHost();
  return BoundTopology{std::move(result), quantum, std::move(rates),
                       std::move(isOpen), leavesOut};
}

Result<BoundTopology> BoundBuilder::build() {
  openEdges();
  if (std::optional<Error> error = addLinks())
    return *error;
  addSharedEdges();
  addFlows();
  return finish();
}

Result<BoundTopology> sccl::boundTopology(const Derivation &derivation) {
  return BoundBuilder(derivation).build();
}
