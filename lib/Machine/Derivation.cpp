//===- Derivation.cpp - From a machine to a topology ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Derivation.h"

#include "Quantum.h"
#include "Routes.h"

#include "sccl/Machine/Units.h"

#include <algorithm>
#include <map>

using namespace sccl;

namespace {
/// What edges allow a set of links: the narrowest of those that carry it.
struct SetLimit {
  std::vector<unsigned> links;
  Rational bandwidth;
};
} // namespace

static Error wrongNumberOfGpus(const Machine &machine) {
  return Error{"machine '" + machine.name() + "' has " +
               std::to_string(machine.gpus().size()) +
               " GPUs, a topology needs at least 1 and at most " +
               std::to_string(Topology::maxRanks)};
}

/// Says which GPUs cannot reach each other, if any.
static std::optional<Error> checkConnected(const Machine &machine,
                                           const Topology &topology) {
  Topology reversed = topology.reversed();
  for (const Topology *graph :
       std::initializer_list<const Topology *>{&topology, &reversed}) {
    std::vector<unsigned> distance = graph->distancesFrom(0);
    auto lost =
        std::find(distance.begin(), distance.end(), Topology::unreachable);
    if (lost == distance.end())
      continue;
    auto name = [&](unsigned rank) {
      return "'" + machine.vertices()[machine.gpus()[rank]].name + "'";
    };
    auto rank = static_cast<unsigned>(lost - distance.begin());
    unsigned from = graph == &topology ? 0 : rank;
    bool areBoxes = machine.numBoxes() > 1;
    return Error{"machine '" + machine.name() + "': no route leads from " +
                 name(from) + " to " + name(rank - from) +
                 (areBoxes ? "; say how boxes are joined, as with --nic-gbps "
                             "and --rails or --core"
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

/// The sets of links that edges carry, in order of the edges.
static std::vector<SetLimit> collectLimits(const Machine &machine,
                                           const std::vector<Route> &routes,
                                           std::vector<std::string> &notes) {
  std::vector<std::vector<unsigned>> links(machine.edges().size());
  std::vector<std::vector<Rational>> parts(machine.edges().size());
  for (unsigned link = 0; link < routes.size(); ++link)
    for (const Share &share : routes[link].shares) {
      links[share.edge].push_back(link);
      parts[share.edge].push_back(share.part);
    }
  std::vector<SetLimit> limits;
  std::map<std::vector<unsigned>, size_t> known;
  unsigned numUneven = 0;
  for (unsigned number = 0; number < links.size(); ++number) {
    if (links[number].empty())
      continue;
    Rational bandwidth =
        sharedBandwidth(machine.edges()[number], parts[number], numUneven);
    auto [it, isNew] = known.try_emplace(links[number], limits.size());
    if (isNew)
      limits.push_back({std::move(links[number]), bandwidth});
    else
      limits[it->second].bandwidth =
          std::min(limits[it->second].bandwidth, bandwidth);
  }
  if (numUneven)
    notes.push_back(
        std::to_string(numUneven) +
        " edges carry different parts of their links' traffic; the largest "
        "part counts for all, so schedules fit the machine, but bounds hold "
        "for the topology only");
  return limits;
}

/// Adds the limits in whole units, and says if they are not exact.
static std::optional<Error> addLimits(Derivation &derivation,
                                      std::vector<SetLimit> limits,
                                      const DerivationOptions &options) {
  if (limits.empty()) { // one rank: no link needs a unit
    derivation.quantum = options.quantum.value_or(1);
    return std::nullopt;
  }
  std::vector<Rational> bandwidths;
  for (const SetLimit &limit : limits)
    bandwidths.push_back(limit.bandwidth);
  Result<Units> units = chooseUnits(bandwidths, options);
  if (!units)
    return Error{"machine '" + derivation.topology.name() +
                 "': " + units.error()};
  derivation.quantum = units->quantum;
  derivation.error = units->error;
  for (size_t i = 0; i < limits.size(); ++i)
    if (Result<unsigned> limit = derivation.topology.addLimit(
            std::move(limits[i].links), units->units[i]);
        !limit)
      return Error{limit.error()};
  if (units->error != Rational(0)) {
    auto percent = product(units->error, 100);
    derivation.notes.push_back(
        "bandwidths are rounded to multiples of " +
        decimalText(units->quantum) + " GB/s, with an error of at most " +
        std::to_string(percent ? percent->toDouble()
                               : units->error.toDouble() * 100) +
        " %");
  }
  return std::nullopt;
}

Result<Derivation> sccl::deriveTopology(const Machine &machine,
                                        const DerivationOptions &options) {
  auto numRanks = static_cast<unsigned>(machine.gpus().size());
  if (numRanks < 1 || numRanks > Topology::maxRanks)
    return wrongNumberOfGpus(machine);
  std::vector<std::string> notes;
  Machine merged = mergeParallelSwitches(machine, notes);
  Result<std::vector<Route>> routes = findRoutes(merged);
  if (!routes)
    return Error{routes.error()};
  Derivation derivation = {Topology(machine.name(), numRanks),
                           0,
                           0,
                           std::move(merged),
                           {},
                           std::move(notes)};
  for (Route &route : *routes) {
    Result<unsigned> link = derivation.topology.addLink(route.src, route.dst);
    if (!link)
      return Error{link.error()};
    derivation.routes.push_back(std::move(route.path));
  }
  if (std::optional<Error> error = checkConnected(machine, derivation.topology))
    return *error;
  std::vector<SetLimit> limits =
      collectLimits(derivation.routed, *routes, derivation.notes);
  if (std::optional<Error> error =
          addLimits(derivation, std::move(limits), options))
    return *error;
  return derivation;
}
