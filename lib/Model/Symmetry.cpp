//===- Symmetry.cpp - Automorphisms of a topology -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The topology becomes a coloured graph whose automorphisms bliss finds. Only
// what is not already said by an edge between two ranks costs a vertex: limits
// on one link and on a whole port are colours.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Symmetry.h"

#include <bliss/graph.hh>

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

static Permutation identity(unsigned numRanks) {
  Permutation result(numRanks);
  std::iota(result.begin(), result.end(), 0u);
  return result;
}

/// First `inner`, then `outer`.
static Permutation compose(const Permutation &outer, const Permutation &inner) {
  Permutation result(inner.size());
  for (size_t rank = 0; rank < inner.size(); ++rank)
    result[rank] = outer[inner[rank]];
  return result;
}

static bool isIdentity(const Permutation &permutation) {
  for (unsigned rank = 0; rank < permutation.size(); ++rank)
    if (permutation[rank] != rank)
      return false;
  return true;
}

static bool hasFixedRank(const Permutation &permutation) {
  for (unsigned rank = 0; rank < permutation.size(); ++rank)
    if (permutation[rank] == rank)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// The coloured graph
//===----------------------------------------------------------------------===//

namespace {
/// Bandwidths of several limits, ascending.
using Bandwidths = std::vector<unsigned>;

/// The limits of a topology sorted by what they cover.
struct SortedLimits {
  explicit SortedLimits(const Topology &topology);

  std::vector<Bandwidths> onLink;            ///< per link: limits on it alone
  std::vector<Bandwidths> onOutput;          ///< per rank: on all its out-links
  std::vector<Bandwidths> onInput;           ///< per rank: on all its in-links
  std::vector<const BandwidthLimit *> other; ///< on any other set
};

/// Assigns colours in the order of first use.
class Palette {
public:
  unsigned colorOf(std::vector<Bandwidths> key) {
    return colors.try_emplace(std::move(key), unsigned(colors.size()))
        .first->second;
  }

private:
  std::map<std::vector<Bandwidths>, unsigned> colors;
};
} // namespace

SortedLimits::SortedLimits(const Topology &topology)
    : onLink(topology.links().size()), onOutput(topology.numRanks()),
      onInput(topology.numRanks()) {
  auto coversPort = [](const BandwidthLimit &limit,
                       const std::vector<unsigned> &port) {
    // Links are numbered once per rank, in ascending order, as in a limit.
    return limit.links == port;
  };
  for (const BandwidthLimit &limit : topology.limits()) {
    const Link &link = topology.links()[limit.links.front()];
    if (limit.links.size() == 1)
      onLink[limit.links.front()].push_back(limit.bandwidth);
    else if (coversPort(limit, topology.outLinks(link.src)))
      onOutput[link.src].push_back(limit.bandwidth);
    else if (coversPort(limit, topology.inLinks(link.dst)))
      onInput[link.dst].push_back(limit.bandwidth);
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

/// Builds the graph; its first vertices are the ranks.
static void buildGraph(const Topology &topology,
                       std::optional<unsigned> fixedRank,
                       bliss::Digraph &graph) {
  SortedLimits limits(topology);
  Palette palette;
  // The first word of a key tells what the vertex stands for.
  const Bandwidths rankKind = {0}, fixedKind = {1}, linkKind = {2},
                   limitKind = {3};
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    graph.add_vertex(
        palette.colorOf({rank == fixedRank ? fixedKind : rankKind,
                         limits.onOutput[rank], limits.onInput[rank]}));

  std::vector<bool> needsVertex(topology.links().size());
  Bandwidths common = commonLinkLimits(limits);
  for (unsigned link = 0; link < topology.links().size(); ++link)
    needsVertex[link] = limits.onLink[link] != common;
  for (const BandwidthLimit *limit : limits.other)
    for (unsigned link : limit->links)
      needsVertex[link] = true;

  std::vector<unsigned> vertexOf(topology.links().size());
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    const Link &ends = topology.links()[link];
    if (!needsVertex[link]) {
      graph.add_edge(ends.src, ends.dst);
      continue;
    }
    vertexOf[link] =
        graph.add_vertex(palette.colorOf({linkKind, limits.onLink[link]}));
    graph.add_edge(ends.src, vertexOf[link]);
    graph.add_edge(vertexOf[link], ends.dst);
  }
  for (const BandwidthLimit *limit : limits.other) {
    unsigned vertex =
        graph.add_vertex(palette.colorOf({limitKind, {limit->bandwidth}}));
    for (unsigned link : limit->links)
      graph.add_edge(vertex, vertexOf[link]);
  }
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

std::vector<Permutation>
sccl::automorphismGenerators(const Topology &topology,
                             std::optional<unsigned> fixedRank) {
  constexpr size_t maxLinks = size_t(1) << 16;
  if (topology.links().size() > maxLinks)
    return {};
  bliss::Digraph graph;
  // bliss 0.73 leaks memory with it.
  graph.set_component_recursion(false);
  buildGraph(topology, fixedRank, graph);
  GeneratorList collected{topology.numRanks(), {}};
  bliss::Stats stats;
  graph.find_automorphisms(stats, collectGenerator, &collected);
  return collected.generators;
}

std::vector<Permutation>
sccl::groupElements(const std::vector<Permutation> &generators,
                    unsigned numRanks, size_t limit) {
  if (limit == 0)
    return {};
  std::vector<Permutation> elements = {identity(numRanks)};
  std::set<Permutation> known(elements.begin(), elements.end());
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

//===----------------------------------------------------------------------===//
// Free subgroups
//===----------------------------------------------------------------------===//

namespace {
using Group = std::vector<Permutation>;

/// Grows free subgroups from elements, within a budget of work, since a group
/// may have more subgroups than anyone can list.
class FreeSubgroupSearch {
public:
  explicit FreeSubgroupSearch(const Topology &topology)
      : numRanks(topology.numRanks()),
        generators(automorphismGenerators(topology)) {}

  std::vector<Group> run();

private:
  std::vector<Permutation> candidates();
  std::vector<Permutation> sampleElements() const;
  struct Subgroup {
    Group elements;
    std::vector<Permutation> parts; // that span it
    bool extended = false;
  };

  std::optional<Group> span(const std::vector<Permutation> &parts);
  Subgroup *nextToExtend();
  void add(std::vector<Permutation> parts);

  const unsigned numRanks;
  const std::vector<Permutation> generators;
  std::vector<Subgroup> found;
  std::set<Group> known; // with sorted elements
  uint64_t work = 0;     // entries of permutations computed, or stored
  const uint64_t maxWork = std::min<uint64_t>(
      (1u << 18) + 64 * uint64_t(numRanks) * numRanks, 1u << 24);
};
} // namespace

/// The largest power of an element that is free, if any but the identity is.
/// A power is free if all its cycles have equal length, so that exactly the
/// prime powers common to all cycles can stay.
static std::optional<Permutation> freePower(const Permutation &element) {
  std::vector<std::vector<unsigned>> cycles;
  std::vector<bool> seen(element.size());
  uint64_t common = 0, order = 1;
  for (unsigned start = 0; start < element.size(); ++start) {
    if (seen[start])
      continue;
    std::vector<unsigned> &cycle = cycles.emplace_back();
    for (unsigned rank = start; !seen[rank]; rank = element[rank]) {
      seen[rank] = true;
      cycle.push_back(rank);
    }
    common = std::gcd(common, cycle.size());
    order = std::lcm(order, uint64_t(cycle.size()));
    if (common == 1 || order > uint64_t(1) << 32)
      return std::nullopt;
  }
  // Remove the primes that some cycle has to a higher power than the others.
  uint64_t rest = order / common;
  for (uint64_t shared; (shared = std::gcd(common, rest)) > 1;)
    common /= shared;
  if (common == 1)
    return std::nullopt;
  uint64_t exponent = order / common;
  Permutation result(element.size());
  for (const std::vector<unsigned> &cycle : cycles)
    for (size_t i = 0; i < cycle.size(); ++i)
      result[cycle[i]] = cycle[(i + exponent) % cycle.size()];
  return result;
}

/// Elements of a group too large to list, by a walk of fixed seed.
std::vector<Permutation> FreeSubgroupSearch::sampleElements() const {
  std::vector<Permutation> pool = generators, samples = generators;
  // A pool of one would only walk through its powers of two.
  while (pool.size() < 8)
    pool.push_back(generators[pool.size() % generators.size()]);
  size_t count = std::clamp<size_t>((size_t(1) << 21) / numRanks, 64, 2048);
  std::mt19937 random(1);
  for (size_t i = 0; i < count; ++i) {
    // Two different ones, or the pool would degenerate into squares.
    size_t target = random() % pool.size();
    size_t other = (target + 1 + random() % (pool.size() - 1)) % pool.size();
    pool[target] = compose(pool[other], pool[target]);
    samples.push_back(pool[target]);
  }
  return samples;
}

/// Free elements, each once.
std::vector<Permutation> FreeSubgroupSearch::candidates() {
  constexpr size_t maxListed = 4096;
  std::vector<Permutation> elements;
  if (numRanks <= 256)
    elements = groupElements(generators, numRanks, maxListed);
  if (elements.empty())
    elements = sampleElements();
  std::vector<Permutation> result;
  std::set<Permutation> unique;
  for (const Permutation &element : elements)
    if (std::optional<Permutation> power = freePower(element))
      if (unique.insert(*power).second)
        result.push_back(std::move(*power));
  return result;
}

/// The group that `parts` span, if it is free and not too much work.
std::optional<Group>
FreeSubgroupSearch::span(const std::vector<Permutation> &parts) {
  // In a free group an element is known by its image of rank 0.
  std::vector<int> byImage(numRanks, -1);
  Group group = {identity(numRanks)};
  byImage[0] = 0;
  for (size_t next = 0; next < group.size(); ++next)
    for (const Permutation &part : parts) {
      if (work >= maxWork)
        return std::nullopt;
      work += numRanks;
      Permutation product = compose(part, group[next]);
      int &slot = byImage[product[0]];
      if (slot >= 0 && group[slot] != product)
        return std::nullopt;
      if (slot >= 0)
        continue;
      if (hasFixedRank(product))
        return std::nullopt;
      slot = static_cast<int>(group.size());
      group.push_back(std::move(product));
    }
  return group;
}

void FreeSubgroupSearch::add(std::vector<Permutation> parts) {
  std::optional<Group> group = span(parts);
  if (!group)
    return;
  work += group->size() * numRanks;
  Group sorted = *group;
  std::sort(sorted.begin(), sorted.end());
  if (known.insert(std::move(sorted)).second)
    found.push_back({std::move(*group), std::move(parts)});
}

/// The largest subgroup that could grow and was not yet tried, or null.
FreeSubgroupSearch::Subgroup *FreeSubgroupSearch::nextToExtend() {
  Subgroup *best = nullptr;
  for (Subgroup &group : found)
    if (!group.extended && group.elements.size() < numRanks &&
        (!best || group.elements.size() > best->elements.size()))
      best = &group;
  return best;
}

std::vector<Group> FreeSubgroupSearch::run() {
  if (generators.empty())
    return {{identity(numRanks)}};
  std::vector<Permutation> elements = candidates();
  for (const Permutation &element : elements)
    if (work < maxWork / 2)
      add({element});
  // Large groups first: they are wanted most, and may be all that the budget
  // allows.
  while (Subgroup *group = nextToExtend()) {
    group->extended = true;
    const Subgroup base = *group; // `found` is about to grow
    for (const Permutation &element : elements) {
      if (work >= maxWork)
        break;
      if (std::find(base.elements.begin(), base.elements.end(), element) !=
          base.elements.end())
        continue;
      std::vector<Permutation> parts = base.parts;
      parts.push_back(element);
      add(std::move(parts));
    }
  }
  std::vector<Group> groups;
  for (Subgroup &group : found)
    groups.push_back(std::move(group.elements));
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const Group &a, const Group &b) { return a.size() > b.size(); });
  groups.push_back({identity(numRanks)});
  return groups;
}

std::vector<std::vector<Permutation>>
sccl::freeSubgroups(const Topology &topology, size_t limit) {
  if (limit == 0)
    return {};
  std::vector<Group> groups = FreeSubgroupSearch(topology).run();
  // The trivial group stays, whatever must go.
  if (groups.size() > limit)
    groups.erase(groups.begin() + (limit - 1), groups.end() - 1);
  return groups;
}
