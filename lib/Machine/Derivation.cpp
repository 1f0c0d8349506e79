//===- Derivation.cpp - From a machine to a topology ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Derivation.h"

#include "Quantum.h"
#include "Routes.h"
#include "SetLimits.h"

#include "sccl/Machine/Units.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;

// Two GPUs that share a switch of PCIe with no third have a way there of their
// own, beside the one over NVLink. Where nothing else passes that way, the link
// has h GB/s more than all limits say: let x be what it carries, then min(x, h)
// may pass the second way, and limits bound the rest. The rest of links P in a
// limit on L of c GB/s is at most c if and only if for each part A of P the
// links of A, and of L without P, carry at most c + h(A). So limits on sets of
// links say all that there is to say.

namespace {
/// A way over PCIe that only one link takes.
struct SecondWay {
  unsigned edges[2];
  Rational rate; ///< GB/s
};
} // namespace

/// Two edges of PCIe from GPU to GPU, if there are such.
static std::optional<SecondWay> overSwitch(const Machine &machine, unsigned src,
                                           unsigned dst) {
  for (unsigned first : machine.outEdges(src)) {
    const Edge &edge = machine.edges()[first];
    std::optional<unsigned> second = machine.findEdge(edge.dst, dst);
    if (!second || !isHostKind(edge.kind) ||
        !isHostKind(machine.edges()[*second].kind) ||
        machine.vertices()[edge.dst].kind != VertexKind::Switch)
      continue;
    return SecondWay{{first, *second},
                     std::min(edge.bandwidth.value,
                              machine.edges()[*second].bandwidth.value)};
  }
  return std::nullopt;
}

/// The second way of each of `routes`, by number, that has one. Counts in
/// `numShared` those that are not taken because something else passes there.
static std::map<unsigned, SecondWay>
findSecondWays(const Machine &machine, const std::vector<Route> &routes,
               unsigned &numShared) {
  std::map<unsigned, SecondWay> ways;
  std::vector<unsigned> uses(machine.edges().size());
  std::vector<unsigned> ends = machine.gpusAndMemories();
  for (unsigned number = 0; number < routes.size(); ++number) {
    const Route &route = routes[number];
    bool isFabric = true;
    for (const Share &share : route.shares) {
      ++uses[share.edge];
      isFabric &= !isHostKind(machine.edges()[share.edge].kind);
    }
    if (!isFabric)
      continue;
    if (auto way = overSwitch(machine, ends[route.src], ends[route.dst])) {
      for (unsigned edge : way->edges)
        ++uses[edge];
      ways.emplace(number, *way);
    }
  }
  numShared = unsigned(std::erase_if(ways, [&](const auto &way) {
    return std::ranges::any_of(way.second.edges,
                               [&](unsigned edge) { return uses[edge] > 1; });
  }));
  return ways;
}

/// `limits` for links that have these ways in addition. Fails where one limit
/// has too many of such links.
static Result<SetLimits>
withSecondWays(const SetLimits &limits,
               const std::map<unsigned, SecondWay> &ways) {
  constexpr size_t most = 12;
  SetLimits result;
  for (const SetLimit &limit : limits.all()) {
    std::vector<unsigned> with;
    for (unsigned link : limit.links)
      if (ways.contains(link))
        with.push_back(link);
    if (with.size() > most)
      return Error{std::to_string(with.size()) +
                   " links with PCIe beside them share one edge, the most is " +
                   std::to_string(most)};
    for (unsigned part = 0; part < 1u << with.size(); ++part) {
      SetLimit wider = limit;
      for (size_t i = 0; i < with.size(); ++i) {
        if (part >> i & 1) {
          auto total = sum(wider.bandwidth, ways.at(with[i]).rate);
          if (!total)
            return Error{"bandwidths are too fine to be added up"};
          wider.bandwidth = *total;
        } else {
          std::erase(wider.links, with[i]);
        }
      }
      if (!wider.links.empty())
        result.add(std::move(wider.links), wider.bandwidth);
    }
  }
  return result;
}

static Error wrongNumberOfGpus(const Machine &machine) {
  return Error{"machine '" + machine.name() + "' has " +
               std::to_string(machine.gpus().size()) +
               " GPUs, a topology needs at least 1 and at most " +
               std::to_string(Topology::maxRanks)};
}

/// Says which GPUs cannot reach each other, if any.
static std::optional<Error> checkConnected(const Machine &machine,
                                           const Topology &topology) {
  std::vector<unsigned> ends = machine.gpusAndMemories();
  Topology reversed = topology.reversed();
  for (const Topology *graph :
       std::initializer_list<const Topology *>{&topology, &reversed}) {
    std::vector<unsigned> distance = graph->distancesFrom(0);
    auto lost =
        std::find(distance.begin(), distance.end(), Topology::unreachable);
    if (lost == distance.end())
      continue;
    auto name = [&](unsigned rank) {
      return "'" + machine.vertices()[ends[rank]].name + "'";
    };
    auto rank = static_cast<unsigned>(lost - distance.begin());
    unsigned from = graph == &topology ? 0 : rank;
    bool areBoxes = machine.numBoxes() > 1;
    bool hasMemories = ends.size() > topology.numRanks();
    return Error{"machine '" + machine.name() + "': no route leads from " +
                 name(from) + " to " + name(rank - from) +
                 (areBoxes ? "; say how boxes are joined, as with --nic-gbps "
                             "and --rails or --core"
                  : hasMemories
                      ? "; --every-wire lets the memories of hosts pass it on"
                      : "")};
  }
  return std::nullopt;
}

/// The bandwidth that is left for links of which an edge carries `parts`.
/// Where the parts differ, the largest counts for all of them.
static Rational sharedBandwidth(const Edge &edge,
                                const std::vector<Rational> &parts,
                                unsigned &numUneven) {
  auto [least, most] = std::minmax_element(parts.begin(), parts.end());
  numUneven += *least != *most;
  return quotient(edge.bandwidth.value, *most).value_or(edge.bandwidth.value);
}

/// Adds where the topology is not the machine.
static void addDeviation(Derivation &derivation, std::string note) {
  derivation.notes.push_back(note);
  derivation.deviations.push_back(
      note + "; times, and bounds on them, are of the machine");
}

/// The topology of `routes` without limits.
static Result<Topology> linksOf(const Machine &machine,
                                const std::vector<Route> &routes,
                                unsigned numRanks) {
  Topology topology(machine.name(), numRanks);
  for (const Route &route : routes)
    if (Result<unsigned> link = topology.addLink(route.src, route.dst); !link)
      return Error{link.error()};
  return topology;
}

/// Leaves out routes from or to ranks outside of `groups` if an edge carries a
/// larger part of them than of any route between members, which would count for
/// these as well. Says how many.
static void leaveOutOthers(const RankGroups &groups, const Machine &machine,
                           std::vector<Route> &routes, Derivation &derivation) {
  std::vector<bool> isMember(derivation.topology.numRanks());
  for (const std::vector<unsigned> &group : groups)
    for (unsigned member : group)
      isMember[member] = true;
  auto isOfMembers = [&](const Route &route) {
    return isMember[route.src] && isMember[route.dst];
  };
  std::vector<Rational> most(derivation.routed.edges().size());
  for (const Route &route : routes)
    for (const Share &share : route.shares)
      if (isOfMembers(route))
        most[share.edge] = std::max(most[share.edge], share.part);
  size_t numLeftOut = std::erase_if(routes, [&](const Route &route) {
    return !isOfMembers(route) &&
           std::ranges::any_of(route.shares, [&](const Share &share) {
             return most[share.edge] > Rational(0) &&
                    share.part > most[share.edge];
           });
  });
  if (numLeftOut == 0)
    return;
  derivation.topology =
      *linksOf(machine, routes, derivation.topology.numRanks());
  addDeviation(derivation,
               std::to_string(numLeftOut) +
                   " links of GPUs outside of groups are left out, for which "
                   "edges would carry less of the links between members; R/C, "
                   "and bounds on it, are without them");
}

/// The sets of links that edges carry, in order of the edges.
static SetLimits collectLimits(const std::vector<Route> &routes,
                               Derivation &derivation) {
  const std::vector<Edge> &edges = derivation.routed.edges();
  std::vector<std::vector<unsigned>> links(edges.size());
  std::vector<std::vector<Rational>> parts(edges.size());
  for (unsigned link = 0; link < routes.size(); ++link)
    for (const Share &share : routes[link].shares) {
      links[share.edge].push_back(link);
      parts[share.edge].push_back(share.part);
    }
  SetLimits limits;
  unsigned numUneven = 0;
  for (unsigned number = 0; number < links.size(); ++number) {
    if (!links[number].empty())
      limits.add(std::move(links[number]),
                 sharedBandwidth(edges[number], parts[number], numUneven));
  }
  if (numUneven)
    addDeviation(
        derivation,
        std::to_string(numUneven) +
            " edges carry different parts of their links' traffic; the largest "
            "part counts for all, so schedules fit the machine, but bounds on "
            "R/C hold for the topology only, not for the machine");
  return limits;
}

/// Adds the limits in whole units, and says if they are not exact.
static std::optional<Error> addLimits(Derivation &derivation,
                                      const std::vector<SetLimit> &limits,
                                      const DerivationOptions &options) {
  if (limits.empty()) { // one rank: no link needs a unit
    derivation.quantum = options.quantum.value_or(1);
    return std::nullopt;
  }
  for (const SetLimit &limit : limits)
    derivation.rates.push_back(limit.bandwidth);
  Result<Units> units = chooseUnits(derivation.rates, options);
  if (!units)
    return Error{"machine '" + derivation.topology.name() +
                 "': " + units.error()};
  derivation.quantum = units->quantum;
  derivation.error = units->error;
  for (size_t i = 0; i < limits.size(); ++i)
    if (Result<unsigned> limit =
            derivation.topology.addLimit(limits[i].links, units->units[i]);
        !limit)
      return Error{limit.error()};
  if (units->error != Rational(0)) {
    auto percent = product(units->error, 100);
    addDeviation(derivation,
                 "bandwidths are rounded to multiples of " +
                     decimalText(units->quantum) +
                     " GB/s, with an error of at most " +
                     std::to_string(percent ? percent->toDouble()
                                            : units->error.toDouble() * 100) +
                     " %; R/C, and bounds on it, are of the rounded ones");
  }
  return std::nullopt;
}

/// Fails where a switch could multicast or reduce and no route passes it.
static std::optional<Error> checkPassed(const Derivation &derivation) {
  const Machine &machine = derivation.routed;
  std::vector<bool> isPassed(machine.vertices().size());
  for (unsigned edge = 0; edge < machine.edges().size(); ++edge)
    if (derivation.isUsed[edge])
      isPassed[machine.edges()[edge].dst] = true;
  for (unsigned number = 0; number < isPassed.size(); ++number) {
    const Vertex &vertex = machine.vertices()[number];
    if ((vertex.multicast || vertex.reduces) && !isPassed[number])
      return Error{"machine '" + machine.name() + "': switch '" + vertex.name +
                   "' " + (vertex.multicast ? "multicasts" : "reduces") +
                   ", and no route passes it"};
  }
  return std::nullopt;
}

/// Adds the switches that multicast or reduce, with the GPUs whose only way to
/// one another is through them.
static std::optional<Error> addSwitches(const std::vector<Route> &routes,
                                        bool ownCopies,
                                        Derivation &derivation) {
  std::map<unsigned, std::set<std::pair<unsigned, unsigned>>> pairsOf;
  for (const Route &route : routes)
    if (route.path.size() == 2 && route.shares.size() == 2)
      pairsOf[derivation.routed.edges()[route.path[0]].dst].insert(
          {route.src, route.dst});
  for (const auto &[vertex, pairs] : pairsOf) {
    const Vertex &found = derivation.routed.vertices()[vertex];
    std::set<unsigned> ranks;
    for (auto [src, dst] : pairs)
      ranks.insert({src, dst});
    bool joinsAll = pairs.size() == ranks.size() * (ranks.size() - 1);
    if ((!found.multicast && !found.reduces) || !joinsAll || ranks.size() < 3)
      continue;
    if (auto added =
            derivation.topology.addSwitch({{ranks.begin(), ranks.end()},
                                           found.multicast,
                                           found.reduces,
                                           ownCopies});
        !added)
      return Error{added.error()};
  }
  return std::nullopt;
}

/// Notes which ranks are memories. Fails where nothing reaches one.
static std::optional<Error> addMemories(Derivation &derivation) {
  const Machine &machine = derivation.routed;
  const Topology &topology = derivation.topology;
  std::vector<unsigned> ends = machine.gpusAndMemories();
  for (auto rank = unsigned(machine.gpus().size()); rank < ends.size();
       ++rank) {
    if (topology.inLinks(rank).empty() || topology.outLinks(rank).empty())
      return Error{"machine '" + machine.name() +
                   "': no route leads to memory '" +
                   machine.vertices()[ends[rank]].name + "' and from it"};
    derivation.memories.push_back(rank);
  }
  return std::nullopt;
}

using LinkWays = std::map<unsigned, SecondWay>;

/// The ways over PCIe beside other links, which count as used from now on.
static LinkWays addSecondWays(const std::vector<Route> &routes,
                              Derivation &derivation) {
  unsigned numShared = 0;
  LinkWays ways = findSecondWays(derivation.routed, routes, numShared);
  for (const auto &[link, way] : ways)
    for (unsigned edge : way.edges)
      derivation.isUsed[edge] = true;
  if (numShared)
    addDeviation(derivation, std::to_string(numShared) +
                                 " links have a way over PCIe that others "
                                 "share, which is left out");
  return ways;
}

/// The topology of `routes`, which has no limits yet.
static Result<Derivation> beginWith(Machine routed, MergeNotes notes,
                                    const std::vector<Route> &routes,
                                    unsigned numRanks) {
  Result<Topology> topology = linksOf(routed, routes, numRanks);
  if (!topology)
    return Error{topology.error()};
  Derivation derivation = {std::move(*topology),   0,  0,
                           std::move(routed),      {}, std::move(notes.all),
                           std::move(notes.uneven)};
  derivation.isUsed.resize(derivation.routed.edges().size());
  for (const Route &route : routes)
    for (const Share &share : route.shares)
      derivation.isUsed[share.edge] = true;
  if (numRanks > derivation.routed.gpus().size())
    if (std::optional<Error> error = addMemories(derivation))
      return *error;
  if (std::optional<Error> error =
          checkConnected(derivation.routed, derivation.topology))
    return *error;
  return derivation;
}

Result<Derivation> sccl::deriveTopology(const Machine &machine,
                                        const DerivationOptions &options) {
  bool every = options.everyWire;
  auto numRanks = unsigned(every ? machine.gpusAndMemories().size()
                                 : machine.gpus().size());
  if (machine.gpus().empty() || numRanks > Topology::maxRanks)
    return wrongNumberOfGpus(machine);
  MergeNotes notes;
  Machine merged = mergeParallelSwitches(machine, notes);
  Result<std::vector<Route>> routes = findRoutes(merged, every);
  if (!routes)
    return Error{routes.error()};
  Result<Derivation> derivation =
      beginWith(std::move(merged), std::move(notes), *routes, numRanks);
  if (!derivation)
    return derivation;
  if (!options.groups.empty())
    leaveOutOthers(options.groups, machine, *routes, *derivation);
  LinkWays ways;
  if (every)
    ways = addSecondWays(*routes, *derivation);
  std::optional<Error> error;
  if (options.inNetwork)
    error = checkPassed(*derivation);
  if (!error && options.inNetwork)
    error = addSwitches(*routes, options.ownCopies, *derivation);
  if (error)
    return *error;
  for (Route &route : *routes)
    derivation->routes.push_back(std::move(route.path));
  Result<SetLimits> limits = collectLimits(*routes, *derivation);
  if (!ways.empty())
    limits = withSecondWays(*limits, ways);
  if (!limits)
    return Error{limits.error()};
  error = addLimits(*derivation, limits->all(), options);
  return error ? Result<Derivation>(*error) : std::move(derivation);
}
