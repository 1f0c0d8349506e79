//===- CapacityGraph.cpp - Ranks and switches with capacities -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A link that shares limits goes from a port of its source to a port of its
// destination. Ports that are joined, directly or through others, are a
// component; if all its pairs of different ranks are links, it is a switch.
// GPUs of one box are linked by the switch of the box only, though the network
// that joins the boxes has ports for both: such a pair is a turn that the
// network lacks.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/CapacityGraph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

using namespace sccl;

namespace {
constexpr unsigned none = ~0u;

/// The limits that a link has of each kind, `none` where there is none.
struct LinkLimits {
  unsigned own = none, out = none, in = none;
};

/// One end of links that share a limit.
struct Port {
  unsigned rank;
  int64_t capacity;
  bool isOut;
};

/// Builds the graph of a topology.
class GraphBuilder {
public:
  explicit GraphBuilder(const Topology &topology)
      : topology(topology),
        limitsOf(topology.links().size()), graph{topology.numRanks(),
                                                 topology.numRanks(),
                                                 {},
                                                 {}} {}
  Result<CapacityGraph> build();

private:
  std::optional<Error> sortLimits();
  void dropRedundant(LinkLimits &limits) const;
  unsigned portOf(unsigned limit, unsigned link, bool isOut);
  void joinPorts();
  void addComponent(const std::vector<unsigned> &members);
  std::optional<std::vector<Link>>
  missingPairs(const std::vector<unsigned> &members) const;
  void addSwitch(const std::vector<unsigned> &members,
                 const std::vector<Link> &missing);
  unsigned bandwidth(unsigned limit) const {
    return topology.limits()[limit].bandwidth;
  }

  const Topology &topology;
  std::vector<LinkLimits> limitsOf;
  CapacityGraph graph;
  std::vector<Port> ports;
  std::map<unsigned, unsigned> portOfLimit;
  /// Ports that a link joins. What it carries is limited in the ports; if it
  /// has a limit of its own, too, they are no switch.
  struct Joint {
    unsigned out, in;
    std::optional<int64_t> own;
  };
  std::vector<Joint> joints;
};
} // namespace

std::optional<Error> GraphBuilder::sortLimits() {
  const std::vector<Link> &links = topology.links();
  for (unsigned i = 0; i < topology.limits().size(); ++i) {
    const std::vector<unsigned> &set = topology.limits()[i].links;
    bool oneSource = true, oneDestination = true;
    for (unsigned link : set) {
      oneSource &= links[link].src == links[set[0]].src;
      oneDestination &= links[link].dst == links[set[0]].dst;
    }
    if (!oneSource && !oneDestination)
      return Error{"limit " + std::to_string(i) + " is on links of several " +
                   "sources and several destinations"};
    for (unsigned link : set) {
      LinkLimits &limits = limitsOf[link];
      unsigned &slot = set.size() == 1 ? limits.own
                       : oneSource     ? limits.out
                                       : limits.in;
      if (slot != none && set.size() > 1)
        return Error{"link " + std::to_string(links[link].src) + " -> " +
                     std::to_string(links[link].dst) + " is in limits " +
                     std::to_string(slot) + " and " + std::to_string(i) +
                     ", which are of the same kind"};
      if (slot == none || bandwidth(i) < bandwidth(slot))
        slot = i;
    }
  }
  return std::nullopt;
}

/// Forgets a limit on a link alone that a shared one makes redundant.
void GraphBuilder::dropRedundant(LinkLimits &limits) const {
  for (unsigned shared : {limits.out, limits.in})
    if (limits.own != none && shared != none &&
        bandwidth(limits.own) >= bandwidth(shared))
      limits.own = none;
}

/// The port behind `limit`, or one for `link` alone if there is none.
unsigned GraphBuilder::portOf(unsigned limit, unsigned link, bool isOut) {
  const Link &ends = topology.links()[link];
  Port port{isOut ? ends.src : ends.dst, 0, isOut};
  if (limit == none) {
    const LinkLimits &limits = limitsOf[link];
    port.capacity = bandwidth(isOut ? limits.in : limits.out);
    ports.push_back(port);
    return ports.size() - 1;
  }
  auto [it, isNew] = portOfLimit.try_emplace(limit, ports.size());
  if (isNew) {
    port.capacity = bandwidth(limit);
    ports.push_back(port);
  }
  return it->second;
}

/// Splits the ports into components.
void GraphBuilder::joinPorts() {
  std::vector<unsigned> leader(ports.size());
  std::iota(leader.begin(), leader.end(), 0u);
  auto find = [&leader](unsigned port) {
    while (leader[port] != port)
      port = leader[port] = leader[leader[port]];
    return port;
  };
  for (const Joint &joint : joints)
    leader[find(joint.out)] = find(joint.in);
  std::map<unsigned, std::vector<unsigned>> components;
  for (unsigned port = 0; port < ports.size(); ++port)
    components[find(port)].push_back(port);
  for (const auto &[key, members] : components)
    addComponent(members);
}

/// The pairs of ranks that no link of the component joins, though it has ports
/// of both. Nothing if that makes it something else than a switch.
std::optional<std::vector<Link>>
GraphBuilder::missingPairs(const std::vector<unsigned> &members) const {
  std::set<std::pair<unsigned, unsigned>> joined;
  for (const Joint &joint : joints)
    if (std::binary_search(members.begin(), members.end(), joint.out)) {
      if (joint.own)
        return std::nullopt;
      joined.emplace(joint.out, joint.in);
    }
  std::vector<Link> missing;
  for (unsigned out : members)
    for (unsigned in : members) {
      Link pair{ports[out].rank, ports[in].rank};
      if (!ports[out].isOut || ports[in].isOut || pair.src == pair.dst ||
          joined.count({out, in}))
        continue;
      if (!topology.findLink(pair.src, pair.dst))
        return std::nullopt;
      missing.push_back(pair);
    }
  return missing;
}

void GraphBuilder::addSwitch(const std::vector<unsigned> &members,
                             const std::vector<Link> &missing) {
  unsigned hub = graph.numVertices++;
  for (unsigned port : members) {
    auto [rank, capacity, isOut] = ports[port];
    graph.arcs.push_back({isOut ? rank : hub, isOut ? hub : rank, capacity});
  }
  for (auto [src, dst] : missing)
    graph.missingTurns.push_back({src, hub, dst});
}

/// Adds one switch for the ports of `members`, or one for each of them.
void GraphBuilder::addComponent(const std::vector<unsigned> &members) {
  if (auto missing = missingPairs(members))
    return addSwitch(members, *missing);
  std::vector<unsigned> vertexOf(ports.size());
  for (unsigned port : members) {
    vertexOf[port] = graph.numVertices++;
    auto [rank, capacity, isOut] = ports[port];
    graph.arcs.push_back({isOut ? rank : vertexOf[port],
                          isOut ? vertexOf[port] : rank, capacity});
  }
  for (auto [out, in, own] : joints)
    if (std::binary_search(members.begin(), members.end(), out))
      graph.arcs.push_back(
          {vertexOf[out], vertexOf[in],
           own.value_or(std::min(ports[out].capacity, ports[in].capacity))});
}

Result<CapacityGraph> GraphBuilder::build() {
  if (std::optional<Error> error = sortLimits())
    return *error;
  for (unsigned link = 0; link < limitsOf.size(); ++link) {
    LinkLimits &limits = limitsOf[link];
    dropRedundant(limits);
    auto [src, dst] = topology.links()[link];
    bool isShared = limits.out != none || limits.in != none;
    if (!isShared && limits.own == none)
      return Error{"link " + linkText(src, dst) + " has no limit"};
    if (isShared) {
      unsigned out = portOf(limits.out, link, /*isOut=*/true);
      unsigned in = portOf(limits.in, link, /*isOut=*/false);
      std::optional<int64_t> own;
      if (limits.own != none)
        own = bandwidth(limits.own);
      joints.push_back({out, in, own});
    } else {
      graph.arcs.push_back({src, dst, int64_t(bandwidth(limits.own))});
    }
  }
  joinPorts();
  return std::move(graph);
}

Result<CapacityGraph> sccl::capacityGraphOf(const Topology &topology) {
  return GraphBuilder(topology).build();
}
