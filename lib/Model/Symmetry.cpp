//===- Symmetry.cpp - Automorphisms of a topology -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The topology becomes a coloured graph whose automorphisms bliss finds. Only
// what is not already said by an edge between two ranks costs a vertex: limits
// on one link and on all links into or out of a rank are colours. Links that
// leave (or enter) a rank under the same limits share a vertex, a port, which
// the limits are joined to in place of the links, and a switch between ports is
// a hub.
//
//===----------------------------------------------------------------------===//

#include "CanonicalOrder.h"
#include "Hubs.h"
#include "Permutations.h"

#include "sccl/Model/RanksByChunk.h"
#include "sccl/Model/Symmetry.h"

#include <bliss/graph.hh>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_set>

using namespace sccl;
using namespace sccl::permutations;

//===----------------------------------------------------------------------===//
// The coloured graph
//===----------------------------------------------------------------------===//

namespace {
/// Bandwidths of several limits, ascending.
using Bandwidths = std::vector<unsigned>;

/// The limits of a topology sorted by what they cover.
struct SortedLimits {
  explicit SortedLimits(const Topology &topology);

  std::vector<Bandwidths> onLink;   ///< per link: limits on it alone
  std::vector<Bandwidths> onOutput; ///< per rank: on all its out-links
  std::vector<Bandwidths> onInput;  ///< per rank: on all its in-links
  /// Limits on some of the links that leave one rank, or enter one.
  std::vector<const BandwidthLimit *> atSource, atTarget;
  std::vector<const BandwidthLimit *> other; ///< on any other set
};

/// Assigns colours in the order of first use.
class Palette {
public:
  unsigned colorOf(std::vector<Bandwidths> key) {
    return colors.try_emplace(std::move(key), unsigned(colors.size()))
        .first->second;
  }
  /// The place of each colour among the keys, which does not depend on the
  /// order of use.
  std::vector<unsigned> places() const {
    std::vector<unsigned> result(colors.size());
    unsigned next = 0;
    for (const auto &[key, color] : colors)
      result[color] = next++;
    return result;
  }

private:
  std::map<std::vector<Bandwidths>, unsigned> colors;
};

/// Builds the graph; its first vertices are the ranks.
class GraphBuilder {
public:
  GraphBuilder(const Topology &topology, bliss::Digraph &graph)
      : topology(topology), graph(graph), limits(topology) {}
  void build(std::optional<unsigned> fixedRank);
  /// Adds a vertex with edges from the ranks `before` and to those `after`.
  void addRelation(const std::vector<unsigned> &before,
                   const std::vector<unsigned> &after, unsigned weight);
  /// Gives equal topologies equal colours, whatever the numbers of the ranks.
  void orderColors() {
    std::vector<unsigned> places = palette.places();
    for (unsigned vertex = 0; vertex < colors.size(); ++vertex)
      graph.change_color(vertex, places[colors[vertex]]);
  }

private:
  /// What a vertex stands for: the first word of the key of its colour.
  enum Kind : unsigned {
    Rank,
    FixedRank,
    OutPort,
    InPort,
    OneLink,
    Limit,
    Hub,
    Relation
  };
  using Limits = std::vector<const BandwidthLimit *>;

  unsigned addVertex(Kind kind, std::vector<Bandwidths> rest) {
    rest.insert(rest.begin(), {unsigned(kind)});
    colors.push_back(palette.colorOf(std::move(rest)));
    return graph.add_vertex(colors.back());
  }
  std::vector<unsigned> addPorts(const Limits &ofPorts, Kind kind);
  void addLinks(const std::vector<unsigned> &outPorts,
                const std::vector<unsigned> &inPorts);
  void addEdges(std::vector<Link> links);
  void addHubs(const std::vector<unsigned> &outPorts,
               const std::vector<unsigned> &inPorts,
               const std::vector<bool> &isBetween);

  const Topology &topology;
  bliss::Digraph &graph;
  const SortedLimits limits;
  Palette palette;
  std::vector<unsigned> colors; ///< of the vertices
};
} // namespace

SortedLimits::SortedLimits(const Topology &topology)
    : onLink(topology.links().size()), onOutput(topology.numRanks()),
      onInput(topology.numRanks()) {
  for (const BandwidthLimit &limit : topology.limits()) {
    const Link &link = topology.links()[limit.links.front()];
    auto meets = [&](unsigned Link::*end) {
      return std::ranges::all_of(limit.links, [&](unsigned other) {
        return topology.links()[other].*end == link.*end;
      });
    };
    if (limit.links.size() == 1)
      onLink[limit.links.front()].push_back(limit.bandwidth);
    // Links are numbered once per rank, in ascending order, as in a limit.
    else if (limit.links == topology.outLinks(link.src))
      onOutput[link.src].push_back(limit.bandwidth);
    else if (limit.links == topology.inLinks(link.dst))
      onInput[link.dst].push_back(limit.bandwidth);
    else if (meets(&Link::src))
      atSource.push_back(&limit);
    else if (meets(&Link::dst))
      atTarget.push_back(&limit);
    else
      other.push_back(&limit);
  }
  for (auto *lists : {&onLink, &onOutput, &onInput})
    for (Bandwidths &list : *lists)
      std::sort(list.begin(), list.end());
}

/// The most frequent limits on one link: such links need no vertex.
static Bandwidths commonLinkLimits(const SortedLimits &limits) {
  std::map<Bandwidths, unsigned> count;
  for (const Bandwidths &list : limits.onLink)
    ++count[list];
  auto most = std::max_element(
      count.begin(), count.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == count.end() ? Bandwidths() : most->first;
}

/// A vertex for the links of a rank that are in the same of the limits
/// `ofPorts`, and one for each of these limits. Returns for each link the
/// vertex where it starts or ends, that of the rank if it is in none of them.
std::vector<unsigned> GraphBuilder::addPorts(const Limits &ofPorts, Kind kind) {
  const std::vector<Link> &links = topology.links();
  std::vector<std::vector<unsigned>> limitsOf(links.size());
  std::vector<unsigned> vertexOfLimit;
  for (unsigned i = 0; i < ofPorts.size(); ++i) {
    vertexOfLimit.push_back(addVertex(Limit, {{ofPorts[i]->bandwidth}}));
    for (unsigned link : ofPorts[i]->links)
      limitsOf[link].push_back(i);
  }
  std::map<std::vector<unsigned>, unsigned> ports;
  std::vector<unsigned> result;
  for (unsigned link = 0; link < links.size(); ++link) {
    unsigned rank = kind == OutPort ? links[link].src : links[link].dst;
    result.push_back(rank);
    if (limitsOf[link].empty())
      continue;
    auto [port, isNew] = ports.try_emplace(limitsOf[link]);
    if (isNew) {
      port->second = addVertex(kind, {});
      // As chunks go: an edge from a rank to where another receives is a link.
      graph.add_edge(kind == OutPort ? rank : port->second,
                     kind == OutPort ? port->second : rank);
      for (unsigned limit : limitsOf[link])
        graph.add_edge(vertexOfLimit[limit], port->second);
    }
    result.back() = port->second;
  }
  return result;
}

void GraphBuilder::addLinks(const std::vector<unsigned> &outPorts,
                            const std::vector<unsigned> &inPorts) {
  std::vector<bool> needsVertex(topology.links().size());
  Bandwidths common = commonLinkLimits(limits);
  for (unsigned link = 0; link < topology.links().size(); ++link)
    needsVertex[link] = limits.onLink[link] != common;
  for (const BandwidthLimit *limit : limits.other)
    for (unsigned link : limit->links)
      needsVertex[link] = true;

  std::vector<unsigned> vertexOf(topology.links().size());
  std::vector<Link> betweenRanks;
  std::vector<bool> isBetweenPorts(topology.links().size());
  unsigned ranks = topology.numRanks();
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    if (!needsVertex[link]) {
      bool isFromPort = outPorts[link] >= ranks,
           isToPort = inPorts[link] >= ranks;
      isBetweenPorts[link] = isFromPort && isToPort;
      if (!isFromPort && !isToPort)
        betweenRanks.push_back(topology.links()[link]);
      else if (!isBetweenPorts[link])
        graph.add_edge(outPorts[link], inPorts[link]);
      continue;
    }
    vertexOf[link] = addVertex(OneLink, {limits.onLink[link]});
    graph.add_edge(outPorts[link], vertexOf[link]);
    graph.add_edge(vertexOf[link], inPorts[link]);
  }
  for (const BandwidthLimit *limit : limits.other) {
    unsigned vertex = addVertex(Limit, {{limit->bandwidth}});
    for (unsigned link : limit->links)
      graph.add_edge(vertex, vertexOf[link]);
  }
  addEdges(std::move(betweenRanks));
  addHubs(outPorts, inPorts, isBetweenPorts);
}

/// Adds the links that `isBetween` tells from ports to ports, by hubs where
/// that takes fewer edges. No rank has a link to itself, so that a hub may join
/// its ports, too.
void GraphBuilder::addHubs(const std::vector<unsigned> &outPorts,
                           const std::vector<unsigned> &inPorts,
                           const std::vector<bool> &isBetween) {
  unsigned ranks = topology.numRanks();
  std::map<unsigned, SendingPort> ports;
  std::vector<std::vector<unsigned>> receiving(ranks);
  for (unsigned link = 0; link < isBetween.size(); ++link) {
    auto [src, dst] = topology.links()[link];
    if (inPorts[link] >= ranks)
      receiving[dst].push_back(inPorts[link]);
    if (isBetween[link])
      ports.try_emplace(outPorts[link], SendingPort{src, {}})
          .first->second.targets.push_back(inPorts[link]);
  }
  for (std::vector<unsigned> &list : receiving)
    sortAndDropCopies(list);
  std::vector<unsigned> vertices;
  std::vector<SendingPort> list;
  for (const auto &[vertex, port] : ports) {
    vertices.push_back(vertex);
    list.push_back(port);
  }
  std::map<std::vector<unsigned>, std::vector<unsigned>> senders;
  size_t next = 0;
  for (const std::vector<unsigned> &set : hubsOf(std::move(list), receiving))
    senders[set].push_back(vertices[next++]);
  for (const auto &[set, from] : senders) {
    bool isShorter = from.size() + set.size() < from.size() * (set.size() - 1);
    unsigned hub = isShorter ? addVertex(Hub, {}) : 0;
    for (size_t i = 0; isShorter && i < set.size(); ++i)
      graph.add_edge(hub, set[i]);
    for (unsigned vertex : from)
      if (isShorter)
        graph.add_edge(vertex, hub);
      else
        for (unsigned target : ports.at(vertex).targets)
          graph.add_edge(vertex, target);
  }
}

/// Adds edges between ranks; where most ranks are joined, between those that
/// are not, which the same renumberings keep.
void GraphBuilder::addEdges(std::vector<Link> links) {
  unsigned ranks = topology.numRanks();
  if (links.size() <= size_t(ranks) * (ranks - 1) / 2) {
    for (const Link &link : links)
      graph.add_edge(link.src, link.dst);
    return;
  }
  std::vector<bool> isJoined(size_t(ranks) * ranks);
  for (const Link &link : links)
    isJoined[size_t(link.src) * ranks + link.dst] = true;
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src != dst && !isJoined[size_t(src) * ranks + dst])
        graph.add_edge(src, dst);
}

void GraphBuilder::build(std::optional<unsigned> fixedRank) {
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    addVertex(rank == fixedRank ? FixedRank : Rank,
              {limits.onOutput[rank], limits.onInput[rank]});
  std::vector<unsigned> outPorts = addPorts(limits.atSource, OutPort);
  std::vector<unsigned> inPorts = addPorts(limits.atTarget, InPort);
  addLinks(outPorts, inPorts);
}

void GraphBuilder::addRelation(const std::vector<unsigned> &before,
                               const std::vector<unsigned> &after,
                               unsigned weight) {
  unsigned vertex = addVertex(Relation, {{weight}});
  for (unsigned rank : before)
    graph.add_edge(rank, vertex);
  for (unsigned rank : after)
    graph.add_edge(vertex, rank);
}

/// Adds what renumberings of the ranks must keep of `collective`: its groups
/// with their roots, or how many chunks go from which ranks to which.
static void addCollective(GraphBuilder &builder, const Collective &collective) {
  for (const std::vector<unsigned> &group : collective.groups()) {
    std::vector<unsigned> roots;
    if (isRooted(collective.groupKind()))
      roots = {group[collective.root()]};
    builder.addRelation(group, roots, 1);
  }
  if (!collective.groups().empty())
    return;
  for (const auto &[ends, count] : countByEnds(collective))
    builder.addRelation(ends.first, ends.second, count);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
struct GeneratorList {
  unsigned numRanks;
  std::vector<Permutation> generators;
};
} // namespace

/// Called by bliss for each generator of the group of the whole graph.
static void collectGenerator(void *list, unsigned, const unsigned *image) {
  auto *collected = static_cast<GeneratorList *>(list);
  Permutation permutation(image, image + collected->numRanks);
  // Exchanging two equal limits moves no rank.
  if (!isIdentity(permutation))
    collected->generators.push_back(std::move(permutation));
}

/// Above these links, what bliss finds costs more than it saves.
static constexpr size_t maxLinks = size_t(1) << 18;

/// Builds the graph of a topology and a collective.
static void build(GraphBuilder &builder, const Collective &collective) {
  std::optional<unsigned> root;
  if (isRooted(collective.kind()))
    root = collective.root();
  builder.build(root);
  if (collective.kind() == CollectiveKind::Custom)
    addCollective(builder, collective);
}

/// The generators for what `buildGraph` makes of `topology`.
static std::vector<Permutation>
findGenerators(const Topology &topology,
               const std::function<void(GraphBuilder &)> &buildGraph) {
  if (topology.links().size() > maxLinks)
    return {};
  bliss::Digraph graph;
  // bliss 0.73 leaks memory with it.
  graph.set_component_recursion(false);
  GraphBuilder builder(topology, graph);
  buildGraph(builder);
  GeneratorList collected{topology.numRanks(), {}};
  bliss::Stats stats;
  graph.find_automorphisms(stats, collectGenerator, &collected);
  return collected.generators;
}

std::vector<Permutation>
sccl::automorphismGenerators(const Topology &topology,
                             std::optional<unsigned> fixedRank) {
  return findGenerators(
      topology, [&](GraphBuilder &builder) { builder.build(fixedRank); });
}

std::vector<Permutation>
sccl::automorphismGenerators(const Topology &topology,
                             const Collective &collective) {
  return findGenerators(
      topology, [&](GraphBuilder &builder) { build(builder, collective); });
}

Permutation sccl::canonicalOrder(const Topology &topology,
                                 const Collective &collective) {
  Permutation order = identity(topology.numRanks());
  if (topology.links().size() > maxLinks)
    return order;
  bliss::Digraph graph;
  graph.set_component_recursion(false);
  GraphBuilder builder(topology, graph);
  build(builder, collective);
  builder.orderColors();
  bliss::Stats stats;
  // Numbers of all vertices, of which the ranks are the first.
  const unsigned *labels = graph.canonical_form(stats, nullptr, nullptr);
  std::vector<unsigned> ranks = identity(topology.numRanks());
  std::ranges::sort(ranks, {}, [&](unsigned rank) { return labels[rank]; });
  for (unsigned place = 0; place < ranks.size(); ++place)
    order[ranks[place]] = place;
  return order;
}

std::vector<Permutation>
sccl::groupElements(const std::vector<Permutation> &generators,
                    unsigned numRanks, size_t limit) {
  if (limit == 0)
    return {};
  std::vector<Permutation> elements = {identity(numRanks)};
  auto hash = [](const Permutation &element) {
    uint64_t mixed = 0;
    for (unsigned image : element)
      mixed = (mixed ^ image) * 0x9e3779b97f4a7c15;
    return size_t(mixed ^ mixed >> 32);
  };
  std::unordered_set<Permutation, decltype(hash)> known(
      elements.begin(), elements.end(), 64, hash);
  for (size_t next = 0; next < elements.size(); ++next)
    for (const Permutation &generator : generators) {
      Permutation product = compose(generator, elements[next]);
      if (!known.insert(product).second)
        continue;
      if (elements.size() == limit)
        return {};
      elements.push_back(std::move(product));
    }
  return elements;
}

std::vector<unsigned>
sccl::rankOrbits(const std::vector<Permutation> &generators,
                 unsigned numRanks) {
  constexpr unsigned none = ~0u;
  std::vector<unsigned> orbit(numRanks, none);
  for (unsigned first = 0; first < numRanks; ++first) {
    if (orbit[first] != none)
      continue;
    // In a finite group the images under the generators alone reach the whole
    // orbit, inverses included.
    orbit[first] = first;
    for (std::vector<unsigned> stack = {first}; !stack.empty();) {
      unsigned rank = stack.back();
      stack.pop_back();
      for (const Permutation &generator : generators)
        if (unsigned image = generator[rank]; orbit[image] == none) {
          orbit[image] = first;
          stack.push_back(image);
        }
    }
  }
  return orbit;
}
