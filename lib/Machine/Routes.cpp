//===- Routes.cpp - Which way data goes in a machine ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One search for cheapest paths from each GPU and class; see Derivation.h for
// the classes. A search of the network class does not begin at the GPU but at
// its NICs, with what it costs to get there, and ends at NICs likewise.
//
//===----------------------------------------------------------------------===//

#include "Routes.h"

#include "sccl/Machine/Units.h"
#include "sccl/Model/Topology.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

using namespace sccl;

namespace {
enum class RouteClass { Fabric, Host, Network };

/// What a path costs, the most important first.
struct Cost {
  unsigned bridges = std::numeric_limits<unsigned>::max();
  uint64_t inverse = 0; ///< sum of 2^32 / bandwidth
  unsigned edges = 0;

  auto operator<=>(const Cost &) const = default;
  bool isFinite() const {
    return bridges != std::numeric_limits<unsigned>::max();
  }
};

constexpr Cost nowhere = {};
constexpr Cost atStart = {0, 0, 0};

/// Cheapest paths from one start to everywhere.
struct Paths {
  explicit Paths(size_t numVertices)
      : cost(numVertices, nowhere), last(numVertices), isStart(numVertices) {}
  /// Forgets all paths, in time of what was reached.
  void clear();
  void reach(unsigned vertex, const Cost &there);

  std::vector<Cost> cost;
  /// The last edges of all cheapest paths to a vertex.
  std::vector<std::vector<unsigned>> last;
  std::vector<bool> isStart;
  std::vector<unsigned> reached; ///< vertices, in order of discovery
};

/// A NIC that a GPU uses, and the way there or back.
struct Attachment {
  unsigned nic;
  Cost cost;
  std::vector<unsigned> path;
};

class RouteFinder {
public:
  explicit RouteFinder(const Machine &machine)
      : machine(machine), ends(machine.gpusAndMemories()),
        group(machine.gpus().size()), rankOf(machine.vertices().size(), ~0u),
        paths(machine.vertices().size()) {
    std::iota(group.begin(), group.end(), 0);
    for (unsigned rank = 0; rank < machine.gpus().size(); ++rank)
      rankOf[machine.gpus()[rank]] = rank;
  }

  Result<std::vector<Route>> find(bool withMemories);

private:
  VertexKind kindOf(unsigned vertex) const {
    return machine.vertices()[vertex].kind;
  }
  bool admits(RouteClass routeClass, const Edge &edge) const;
  /// True if a path of this class may go on from `vertex`.
  bool passes(RouteClass routeClass, unsigned vertex) const;
  Cost extended(Cost cost, const Edge &edge) const;
  /// Fills `paths`.
  void search(RouteClass routeClass,
              const std::vector<std::pair<unsigned, Cost>> &starts);
  /// The ranks among what `paths` reached, in ascending order.
  std::vector<unsigned> reachedRanks() const;
  /// Parts of edges on the cheapest paths that end at `vertex`; what begins at
  /// each start goes to `begun`. False if a part does not fit.
  bool split(unsigned vertex, const Rational &part, std::vector<Share> &shares,
             std::vector<std::pair<unsigned, Rational>> &begun) const;
  std::vector<unsigned> onePath(unsigned vertex) const;

  bool areJoined(unsigned a, unsigned b) { return root(a) == root(b); }
  unsigned root(unsigned rank) {
    while (group[rank] != rank)
      rank = group[rank] = group[group[rank]];
    return rank;
  }

  std::optional<Error> addDirect(RouteClass routeClass);
  /// The route between ranks that ends at `vertex`, one of the latest search.
  std::optional<Error> addFound(unsigned src, unsigned dst, unsigned vertex);
  std::optional<Error> addMemories();
  void attach();
  std::optional<Error> addNetwork();
  std::optional<Error> addOverNics(unsigned src);
  /// The route from `src` to `dst` over the cheapest of their NICs, which
  /// `paths` has reached. Nothing if a part does not fit.
  std::optional<Route> overNics(unsigned src, unsigned dst) const;
  std::optional<Error> add(Route route);
  Error tooFine(unsigned src, unsigned dst) const;
  /// Joins the ends of the routes from number `first` on.
  void join(size_t first);

  /// Bounds the memory that routes take; those of 4,000,000 links over a core
  /// need half of it.
  static constexpr size_t maxShares = size_t(1) << 25;

  const Machine &machine;
  const std::vector<unsigned> ends; ///< vertices by rank
  size_t numShares = 0;
  std::vector<unsigned> group; ///< ranks that are joined have one root
  std::vector<unsigned> rankOf;
  Paths paths; ///< of the latest search
  std::vector<std::vector<Attachment>> outNics, inNics; ///< by rank
  std::vector<std::vector<unsigned>> ranksOfNic;        ///< by vertex
  std::vector<Route> routes;
};
} // namespace

bool RouteFinder::admits(RouteClass routeClass, const Edge &edge) const {
  return routeClass == RouteClass::Host || !isHostKind(edge.kind);
}

bool RouteFinder::passes(RouteClass routeClass, unsigned vertex) const {
  VertexKind kind = kindOf(vertex);
  return kind == VertexKind::Switch ||
         (kind == VertexKind::Bridge && routeClass == RouteClass::Host);
}

Cost RouteFinder::extended(Cost cost, const Edge &edge) const {
  // Wide enough for 2^20 edges of 10^-3 GB/s; slower ones count as that.
  constexpr uint64_t one = uint64_t(1) << 32, most = one * 1000;
  const Rational &bandwidth = edge.bandwidth.value;
  double inverse = double(one) / bandwidth.toDouble();
  cost.inverse += inverse < double(most) ? uint64_t(inverse) : most;
  cost.bridges += kindOf(edge.dst) == VertexKind::Bridge;
  ++cost.edges;
  return cost;
}

void Paths::clear() {
  for (unsigned vertex : reached) {
    cost[vertex] = nowhere;
    last[vertex].clear();
    isStart[vertex] = false;
  }
  reached.clear();
}

void Paths::reach(unsigned vertex, const Cost &there) {
  if (!cost[vertex].isFinite())
    reached.push_back(vertex);
  cost[vertex] = there;
}

void RouteFinder::search(RouteClass routeClass,
                         const std::vector<std::pair<unsigned, Cost>> &starts) {
  paths.clear();
  using Entry = std::pair<Cost, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (auto [vertex, cost] : starts) {
    paths.reach(vertex, cost);
    paths.isStart[vertex] = true;
    queue.push({cost, vertex});
  }
  while (!queue.empty()) {
    auto [cost, vertex] = queue.top();
    queue.pop();
    if (cost != paths.cost[vertex] ||
        (!paths.isStart[vertex] && !passes(routeClass, vertex)))
      continue;
    for (unsigned number : machine.outEdges(vertex)) {
      const Edge &edge = machine.edges()[number];
      if (paths.isStart[edge.dst] || !admits(routeClass, edge))
        continue;
      Cost there = extended(cost, edge);
      if (there > paths.cost[edge.dst])
        continue;
      if (there < paths.cost[edge.dst]) {
        paths.reach(edge.dst, there);
        paths.last[edge.dst].clear();
        queue.push({there, edge.dst});
      }
      paths.last[edge.dst].push_back(number);
    }
  }
}

std::vector<unsigned> RouteFinder::reachedRanks() const {
  std::vector<unsigned> ranks;
  for (unsigned vertex : paths.reached)
    if (rankOf[vertex] != ~0u)
      ranks.push_back(rankOf[vertex]);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

bool RouteFinder::split(
    unsigned vertex, const Rational &part, std::vector<Share> &shares,
    std::vector<std::pair<unsigned, Rational>> &begun) const {
  // Most are the only ones of their cost.
  std::vector<unsigned> path = onePath(vertex);
  auto isOnly = [&](unsigned edge) {
    return paths.last[machine.edges()[edge].dst].size() == 1;
  };
  if (std::all_of(path.begin(), path.end(), isOnly)) {
    for (unsigned edge : path)
      shares.push_back({edge, part});
    begun.emplace_back(
        path.empty() ? vertex : machine.edges()[path.front()].src, part);
    return true;
  }
  // From the end back: all that passes a vertex has come together there before
  // it is split again.
  std::map<std::pair<Cost, unsigned>, Rational, std::greater<>> pending;
  pending[{paths.cost[vertex], vertex}] = part;
  while (!pending.empty()) {
    auto [at, here] = *pending.begin();
    pending.erase(pending.begin());
    const std::vector<unsigned> &last = paths.last[at.second];
    if (last.empty())
      begun.emplace_back(at.second, here);
    for (unsigned edge : last) {
      auto each = quotient(here, int64_t(last.size()));
      unsigned before = machine.edges()[edge].src;
      auto &there = pending[{paths.cost[before], before}];
      auto total = each ? sum(there, *each) : std::nullopt;
      if (!total)
        return false;
      there = *total;
      shares.push_back({edge, *each});
    }
  }
  return true;
}

std::vector<unsigned> RouteFinder::onePath(unsigned vertex) const {
  std::vector<unsigned> path;
  while (!paths.last[vertex].empty()) {
    path.push_back(paths.last[vertex].front());
    vertex = machine.edges()[path.back()].src;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Error RouteFinder::tooFine(unsigned src, unsigned dst) const {
  auto name = [&](unsigned rank) {
    return "'" + machine.vertices()[ends[rank]].name + "'";
  };
  return Error{"traffic from " + name(src) + " to " + name(dst) +
               " is split over too many routes to be counted exactly; leave "
               "out switches that are alike"};
}

std::optional<Error> RouteFinder::add(Route route) {
  // One edge may be on several ways: its parts are one share.
  std::stable_sort(
      route.shares.begin(), route.shares.end(),
      [](const Share &a, const Share &b) { return a.edge < b.edge; });
  std::vector<Share> merged;
  for (const Share &share : route.shares) {
    if (merged.empty() || merged.back().edge != share.edge) {
      merged.push_back(share);
      continue;
    }
    auto total = sum(merged.back().part, share.part);
    if (!total)
      return tooFine(route.src, route.dst);
    merged.back().part = *total;
  }
  route.shares = std::move(merged);
  numShares += route.shares.size();
  routes.push_back(std::move(route));
  if (numShares > maxShares)
    return Error{"machine '" + machine.name() + "' has routes over more than " +
                 std::to_string(maxShares) + " edges in all"};
  if (routes.size() <= Topology::maxLinks)
    return std::nullopt;
  return Error{"machine '" + machine.name() + "' needs more than " +
               std::to_string(Topology::maxLinks) +
               " links between ranks, the most a topology may have; rails "
               "need fewer than a core that joins every pair"};
}

void RouteFinder::join(size_t first) {
  for (size_t i = first; i < routes.size(); ++i)
    group[root(routes[i].src)] = root(routes[i].dst);
}

std::optional<Error> RouteFinder::addFound(unsigned src, unsigned dst,
                                           unsigned vertex) {
  Route route = {src, dst, {}, onePath(vertex)};
  std::vector<std::pair<unsigned, Rational>> begun;
  return split(vertex, 1, route.shares, begun) ? add(std::move(route))
                                               : tooFine(src, dst);
}

std::optional<Error> RouteFinder::addMemories() {
  auto numGpus = unsigned(machine.gpus().size());
  for (unsigned src = 0; src < ends.size(); ++src) {
    search(RouteClass::Host, {{ends[src], atStart}});
    for (unsigned dst = 0; dst < ends.size(); ++dst)
      if ((src < numGpus) != (dst < numGpus) &&
          paths.cost[ends[dst]].isFinite())
        if (std::optional<Error> error = addFound(src, dst, ends[dst]))
          return error;
  }
  return std::nullopt;
}

std::optional<Error> RouteFinder::addDirect(RouteClass routeClass) {
  size_t first = routes.size();
  for (unsigned src = 0; src < machine.gpus().size(); ++src) {
    search(routeClass, {{machine.gpus()[src], atStart}});
    for (unsigned dst : reachedRanks()) {
      if (src == dst ||
          (routeClass != RouteClass::Fabric && areJoined(src, dst)))
        continue;
      if (std::optional<Error> error = addFound(src, dst, machine.gpus()[dst]))
        return error;
    }
  }
  join(first);
  return std::nullopt;
}

/// Keeps the cheapest.
static void keepNearest(std::vector<Attachment> &found) {
  if (found.empty())
    return;
  auto byCost = [](const Attachment &a, const Attachment &b) {
    return a.cost < b.cost;
  };
  Cost least = std::min_element(found.begin(), found.end(), byCost)->cost;
  std::erase_if(found, [&](const Attachment &a) { return a.cost != least; });
}

void RouteFinder::attach() {
  const std::vector<unsigned> &gpus = machine.gpus();
  outNics.resize(gpus.size());
  inNics.resize(gpus.size());
  for (unsigned rank = 0; rank < gpus.size(); ++rank) {
    search(RouteClass::Host, {{gpus[rank], atStart}});
    for (unsigned vertex : paths.reached)
      if (kindOf(vertex) == VertexKind::Nic)
        outNics[rank].push_back({vertex, paths.cost[vertex], onePath(vertex)});
    keepNearest(outNics[rank]);
  }
  for (unsigned nic = 0; nic < machine.vertices().size(); ++nic) {
    if (kindOf(nic) != VertexKind::Nic)
      continue;
    search(RouteClass::Host, {{nic, atStart}});
    for (unsigned rank : reachedRanks())
      inNics[rank].push_back(
          {nic, paths.cost[gpus[rank]], onePath(gpus[rank])});
  }
  ranksOfNic.resize(machine.vertices().size());
  for (unsigned rank = 0; rank < gpus.size(); ++rank) {
    keepNearest(inNics[rank]);
    for (const Attachment &in : inNics[rank])
      ranksOfNic[in.nic].push_back(rank);
  }
}

std::optional<Route> RouteFinder::overNics(unsigned src, unsigned dst) const {
  Cost least = nowhere;
  for (const Attachment &in : inNics[dst])
    least = std::min(least, paths.cost[in.nic]);
  auto used = std::count_if(
      inNics[dst].begin(), inNics[dst].end(),
      [&](const Attachment &in) { return paths.cost[in.nic] == least; });
  Route route = {src, dst, {}, {}};
  for (const Attachment &in : inNics[dst]) {
    if (paths.cost[in.nic] != least)
      continue;
    for (unsigned edge : in.path)
      route.shares.push_back({edge, Rational(1, used)});
    std::vector<std::pair<unsigned, Rational>> begun;
    if (!split(in.nic, Rational(1, used), route.shares, begun))
      return std::nullopt;
    for (auto &[nic, part] : begun)
      for (const Attachment &out : outNics[src])
        for (unsigned edge : out.path)
          if (out.nic == nic)
            route.shares.push_back({edge, part});
    if (!route.path.empty())
      continue;
    std::vector<unsigned> between = onePath(in.nic);
    unsigned first =
        between.empty() ? in.nic : machine.edges()[between.front()].src;
    for (const Attachment &out : outNics[src])
      if (out.nic == first)
        route.path = out.path;
    route.path.insert(route.path.end(), between.begin(), between.end());
    route.path.insert(route.path.end(), in.path.begin(), in.path.end());
  }
  return route;
}

std::optional<Error> RouteFinder::addOverNics(unsigned src) {
  std::set<unsigned> ranks;
  for (unsigned vertex : paths.reached)
    for (unsigned dst : ranksOfNic[vertex])
      if (!areJoined(src, dst))
        ranks.insert(dst);
  for (unsigned dst : ranks) {
    std::optional<Route> route = overNics(src, dst);
    if (!route)
      return tooFine(src, dst);
    if (std::optional<Error> error = add(std::move(*route)))
      return error;
  }
  return std::nullopt;
}

std::optional<Error> RouteFinder::addNetwork() {
  bool isNeeded = false;
  for (unsigned rank = 1; rank < group.size(); ++rank)
    isNeeded |= !areJoined(0, rank);
  if (!isNeeded || machine.count(VertexKind::Nic) == 0)
    return std::nullopt;
  attach();
  for (unsigned src = 0; src < machine.gpus().size(); ++src) {
    std::vector<std::pair<unsigned, Cost>> starts;
    for (const Attachment &nic : outNics[src])
      starts.emplace_back(nic.nic, nic.cost);
    search(RouteClass::Network, starts);
    if (std::optional<Error> error = addOverNics(src))
      return error;
  }
  return std::nullopt;
}

Result<std::vector<Route>> RouteFinder::find(bool withMemories) {
  for (RouteClass routeClass : {RouteClass::Fabric, RouteClass::Host})
    if (std::optional<Error> error = addDirect(routeClass))
      return *error;
  if (std::optional<Error> error = addNetwork())
    return *error;
  if (withMemories)
    if (std::optional<Error> error = addMemories())
      return *error;
  std::sort(routes.begin(), routes.end(), [](const Route &a, const Route &b) {
    return std::tie(a.src, a.dst) < std::tie(b.src, b.dst);
  });
  return std::move(routes);
}

Result<std::vector<Route>> sccl::findRoutes(const Machine &machine,
                                            bool withMemories) {
  return RouteFinder(machine).find(withMemories);
}
