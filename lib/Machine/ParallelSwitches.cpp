//===- ParallelSwitches.cpp - Switches that act as one --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPUs are wired to several switch chips at once, 2 links to each of 6 or 1 to
// each of 18, and spread what they send over all of them. Where all GPUs are
// wired to them in the same proportion the chips together are exactly one
// switch; where a cable is missing they are that almost, because traffic to and
// from others can be spread over the rest.
//
//===----------------------------------------------------------------------===//

#include "Routes.h"

#include "sccl/Machine/Units.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace sccl;

namespace {
/// What a switch is joined to.
struct Ports {
  std::set<unsigned> gpus;
  std::set<std::string> kinds;
  bool hasOthers = false; ///< switches, NICs or bridges
};
} // namespace

static std::vector<Ports> portsOf(const Machine &machine) {
  std::vector<Ports> ports(machine.vertices().size());
  for (const Edge &edge : machine.edges())
    for (auto [self, other] :
         {std::pair(edge.src, edge.dst), std::pair(edge.dst, edge.src)}) {
      ports[self].kinds.insert(edge.kind);
      if (machine.vertices()[other].kind == VertexKind::Gpu)
        ports[self].gpus.insert(other);
      else
        ports[self].hasOthers = true;
    }
  return ports;
}

/// For each vertex the first switch that it is parallel to, or itself.
static std::vector<unsigned> findLeaders(const Machine &machine) {
  std::vector<Ports> ports = portsOf(machine);
  using Likeness =
      std::tuple<std::optional<unsigned>, bool, bool, std::set<std::string>>;
  std::map<Likeness, std::vector<unsigned>> leaders;
  std::vector<unsigned> leaderOf(machine.vertices().size());
  for (unsigned v = 0; v < leaderOf.size(); ++v) {
    const Vertex &vertex = machine.vertices()[v];
    leaderOf[v] = v;
    if (vertex.kind != VertexKind::Switch || ports[v].hasOthers ||
        ports[v].gpus.empty())
      continue;
    std::vector<unsigned> &alike =
        leaders[{vertex.box, vertex.multicast, vertex.reduces, ports[v].kinds}];
    auto leader = std::find_if(alike.begin(), alike.end(), [&](unsigned other) {
      auto includes = [](const auto &a, const auto &b) {
        return std::includes(a.begin(), a.end(), b.begin(), b.end());
      };
      return includes(ports[other].gpus, ports[v].gpus) ||
             includes(ports[v].gpus, ports[other].gpus);
    });
    if (leader == alike.end())
      alike.push_back(v);
    else
      leaderOf[v] = *leader;
  }
  return leaderOf;
}

namespace {
/// What edges between GPUs and some switches pass: by GPU, for each switch.
struct PortRates {
  PortRates(const Machine &machine, const std::vector<unsigned> &members);
  std::map<unsigned, std::vector<Rational>> toMembers, fromMembers;
};
} // namespace

PortRates::PortRates(const Machine &machine,
                     const std::vector<unsigned> &members) {
  auto at = [&](unsigned src, unsigned dst) {
    auto edge = machine.findEdge(src, dst);
    return edge ? machine.edges()[*edge].bandwidth.value : Rational(0);
  };
  for (unsigned member : members)
    for (unsigned gpu : machine.gpus()) {
      toMembers[gpu].push_back(at(gpu, member));
      fromMembers[gpu].push_back(at(member, gpu));
    }
}

/// True if what `up` passes into switches, `down` passes nearly all out of the
/// same ones, as far as it would out of one of both their sizes.
static bool meet(const std::vector<double> &up,
                 const std::vector<double> &down) {
  constexpr double almost = 0.9;
  double sent = 0, received = 0, passed = 0;
  for (size_t i = 0; i < up.size(); ++i) {
    sent += up[i];
    received += down[i];
    passed += std::min(up[i], down[i]);
  }
  return passed >= almost * std::min(sent, received);
}

/// True if what a GPU sends to another one, or to all others, can be spread
/// over `members`, and so what it gets: not if one has its edges to switches
/// that others hardly reach.
static bool spread(const Machine &machine,
                   const std::vector<unsigned> &members) {
  using Row = std::vector<double>;
  PortRates rates(machine, members);
  auto add = [](Row &sum, const std::vector<Rational> &row) {
    for (size_t i = 0; i < row.size(); ++i)
      sum[i] += row[i].toDouble();
  };
  for (unsigned gpu : machine.gpus()) {
    Row up(members.size()), down = up, othersUp = up, othersDown = up;
    add(up, rates.toMembers[gpu]);
    add(down, rates.fromMembers[gpu]);
    for (unsigned other : machine.gpus()) {
      if (other == gpu)
        continue;
      Row single(members.size());
      add(single, rates.fromMembers[other]);
      add(othersDown, rates.fromMembers[other]);
      add(othersUp, rates.toMembers[other]);
      if (!meet(up, single))
        return false;
    }
    if (!meet(up, othersDown) || !meet(othersUp, down))
      return false;
  }
  return true;
}

/// The switches of each leader that has others.
static std::map<unsigned, std::vector<unsigned>>
groupsOf(const std::vector<unsigned> &leaderOf) {
  std::map<unsigned, std::vector<unsigned>> groups;
  for (unsigned v = 0; v < leaderOf.size(); ++v)
    groups[leaderOf[v]].push_back(v);
  std::erase_if(groups,
                [](const auto &group) { return group.second.size() < 2; });
  return groups;
}

/// True if the edges of each GPU to `members` are in one proportion.
static bool areProportional(const Machine &machine,
                            const std::vector<unsigned> &members) {
  const auto &[toMembers, fromMembers] = PortRates(machine, members);
  const std::vector<Rational> *first = nullptr;
  for (const auto *table : {&toMembers, &fromMembers})
    for (const auto &[gpu, row] : *table) {
      if (std::all_of(row.begin(), row.end(),
                      [](const Rational &r) { return r == Rational(0); }))
        continue;
      first = first ? first : &row;
      for (size_t i = 0; i < row.size(); ++i)
        if (product(row[i], first->front()) != product((*first)[i], row[0]))
          return false;
    }
  return true;
}

static void addNotes(const Machine &machine,
                     const std::vector<unsigned> &leaderOf, MergeNotes &notes) {
  // The boxes are often alike: one line for all groups of a size.
  std::map<std::pair<size_t, bool>, std::vector<unsigned>> alike;
  for (const auto &[leader, members] : groupsOf(leaderOf))
    alike[{members.size(), areProportional(machine, members)}].push_back(
        leader);
  for (const auto &[key, leaders] : alike) {
    std::string line = std::to_string(key.first) + " switches from '" +
                       machine.vertices()[leaders.front()].name + "' on";
    if (leaders.size() > 1)
      line +=
          ", and " + std::to_string(leaders.size() - 1) + " more such groups,";
    line += " join the same GPUs and act as one";
    if (!key.second)
      line +=
          ", although not all GPUs are wired to them alike; times are those of "
          "traffic that is spread over them as needed";
    notes.all.push_back(line);
    if (!key.second)
      notes.uneven.push_back(line);
  }
}

Machine sccl::mergeParallelSwitches(const Machine &machine, MergeNotes &notes) {
  std::vector<unsigned> leaderOf = findLeaders(machine);
  for (const auto &[leader, members] : groupsOf(leaderOf))
    if (!spread(machine, members))
      for (unsigned member : members)
        leaderOf[member] = member;
  addNotes(machine, leaderOf, notes);
  Machine merged(machine.name());
  std::vector<unsigned> newNumber(leaderOf.size());
  for (unsigned v = 0; v < leaderOf.size(); ++v)
    newNumber[v] = leaderOf[v] == v ? *merged.addVertex(machine.vertices()[v])
                                    : newNumber[leaderOf[v]];
  std::map<std::pair<unsigned, unsigned>, Edge> bundles;
  for (const Edge &edge : machine.edges()) {
    Edge moved = edge;
    moved.src = newNumber[edge.src];
    moved.dst = newNumber[edge.dst];
    auto [it, isNew] = bundles.try_emplace({moved.src, moved.dst}, moved);
    if (isNew)
      continue;
    Edge &bundle = it->second;
    auto total = sum(bundle.bandwidth.value, edge.bandwidth.value);
    if (!total) { // Not to be counted exactly: leave the switches apart.
      notes = {};
      return machine;
    }
    bundle.bandwidth.value = *total;
    bundle.lanes += edge.lanes;
    if (bundle.latency && edge.latency &&
        edge.latency->value < bundle.latency->value)
      bundle.latency = edge.latency;
  }
  for (auto &[ends, edge] : bundles)
    if (!merged.addEdge(edge)) { // A bundle over the limit: likewise.
      notes = {};
      return machine;
    }
  return merged;
}
