//===- Topology.cpp - Ranks, links and bandwidth limits -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first half keeps the graph consistent; the second builds the topologies
// that have a name. Parameters come from users, so each is bounded before
// anything of its size is allocated.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/LimitedLinks.h"
#include "sccl/Model/Text.h"

#include <algorithm>
#include <tuple>
#include <utility>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Topology
//===----------------------------------------------------------------------===//

std::string sccl::linkText(unsigned src, unsigned dst) {
  return std::to_string(src) + " -> " + std::to_string(dst);
}

static std::optional<Error> checkBandwidth(unsigned bandwidth) {
  if (bandwidth >= 1 && bandwidth <= Topology::maxBandwidth)
    return std::nullopt;
  return Error{"bandwidth must be between 1 and " +
               std::to_string(Topology::maxBandwidth) + ", got " +
               std::to_string(bandwidth)};
}

/// The slot of the link src -> dst, or the free one where it would be.
size_t Topology::slotOf(unsigned src, unsigned dst) const {
  uint64_t key = uint64_t(src) << 32 | dst;
  size_t slot = (key * 0x9e3779b97f4a7c15) >> 32;
  for (const size_t mask = slots.size() - 1;; ++slot) {
    slot &= mask;
    if (slots[slot] == 0 || allLinks[slots[slot] - 1] == Link{src, dst})
      return slot;
  }
}

/// `numSlots` is a power of two.
void Topology::indexLinks(size_t numSlots) {
  slots.assign(numSlots, 0);
  for (unsigned number = 0; number < allLinks.size(); ++number)
    slots[slotOf(allLinks[number].src, allLinks[number].dst)] = number + 1;
}

std::optional<unsigned> Topology::findLink(unsigned src, unsigned dst) const {
  if (slots.empty())
    return std::nullopt;
  unsigned found = slots[slotOf(src, dst)];
  if (found == 0)
    return std::nullopt;
  return found - 1;
}

Result<unsigned> Topology::addLink(unsigned src, unsigned dst) {
  for (unsigned rank : {src, dst})
    if (rank >= ranks)
      return Error{"rank " + std::to_string(rank) + " of link " +
                   linkText(src, dst) + " is out of range for " +
                   std::to_string(ranks) + " ranks"};
  if (src == dst)
    return Error{"link " + linkText(src, dst) + " joins a rank to itself"};
  if (allLinks.size() >= maxLinks)
    return Error{"link " + linkText(src, dst) + " is one more than " +
                 std::to_string(maxLinks) + ", the most links allowed"};
  unsigned number = static_cast<unsigned>(allLinks.size());
  if (2 * (allLinks.size() + 1) > slots.size())
    indexLinks(std::max<size_t>(16, 2 * slots.size()));
  unsigned &slot = slots[slotOf(src, dst)];
  if (slot != 0)
    return Error{"link " + linkText(src, dst) + " is there already"};
  slot = number + 1;
  allLinks.push_back({src, dst});
  out[src].push_back(number);
  in[dst].push_back(number);
  caps.push_back(maxBandwidth);
  return number;
}

Result<unsigned> Topology::addLink(unsigned src, unsigned dst,
                                   unsigned bandwidth) {
  // First, so that a failure leaves no link behind.
  if (std::optional<Error> error = checkBandwidth(bandwidth))
    return *error;
  Result<unsigned> link = addLink(src, dst);
  if (!link)
    return link;
  if (Result<unsigned> limit = addLimit({*link}, bandwidth); !limit)
    return limit;
  return link;
}

Result<unsigned> Topology::addLimit(std::vector<unsigned> links,
                                    unsigned bandwidth) {
  if (std::optional<Error> error = checkBandwidth(bandwidth))
    return *error;
  if (links.empty())
    return Error{"a limit needs at least 1 link"};
  std::sort(links.begin(), links.end());
  if (links.back() >= allLinks.size())
    return Error{"link number " + std::to_string(links.back()) +
                 " of a limit is out of range for " +
                 std::to_string(allLinks.size()) + " links"};
  auto twice = std::adjacent_find(links.begin(), links.end());
  if (twice != links.end())
    return Error{"link " +
                 linkText(allLinks[*twice].src, allLinks[*twice].dst) +
                 " occurs twice in a limit"};
  for (unsigned link : links)
    caps[link] = std::min(caps[link], bandwidth);
  allLimits.push_back({std::move(links), bandwidth});
  return static_cast<unsigned>(allLimits.size() - 1);
}

Result<unsigned> Topology::addSwitch(Switch added) {
  std::vector<unsigned> &members = added.ranks;
  std::sort(members.begin(), members.end());
  if (members.size() < 3)
    return Error{"a switch that multicasts or reduces joins " +
                 std::to_string(members.size()) +
                 " ranks, expected at least 3"};
  if (!added.multicast && !added.reduces)
    return Error{"a switch neither multicasts nor reduces"};
  auto twice = std::adjacent_find(members.begin(), members.end());
  if (twice != members.end())
    return Error{"rank " + std::to_string(*twice) +
                 " occurs twice in a switch"};
  for (unsigned src : members)
    for (unsigned dst : members)
      if (src != dst && (src >= ranks || dst >= ranks || !findLink(src, dst)))
        return Error{"a switch joins ranks " + std::to_string(src) + " and " +
                     std::to_string(dst) + ", but there is no link " +
                     linkText(src, dst)};
  for (const Switch &other : allSwitches)
    if (other.ranks == members)
      return Error{"there is a switch of the same ranks already"};
  allSwitches.push_back(std::move(added));
  return static_cast<unsigned>(allSwitches.size() - 1);
}

std::vector<bool> sccl::limitedLinks(const Topology &topology) {
  std::vector<bool> isLimited(topology.links().size());
  for (const BandwidthLimit &limit : topology.limits())
    for (unsigned link : limit.links)
      isLimited[link] = true;
  return isLimited;
}

bool Topology::isPointToPoint() const {
  return std::all_of(
      allLimits.begin(), allLimits.end(),
      [](const BandwidthLimit &limit) { return limit.links.size() == 1; });
}

std::vector<unsigned> Topology::distancesFrom(unsigned rank) const {
  return distancesFrom(std::vector<unsigned>{rank});
}

/// Breadth first from `origins` over the links `next` of each rank to their
/// `end`.
static std::vector<unsigned>
countHops(const std::vector<unsigned> &origins, const std::vector<Link> &links,
          const std::vector<std::vector<unsigned>> &next, unsigned Link::*end) {
  std::vector<unsigned> distance(next.size(), Topology::unreachable);
  std::vector<unsigned> queue;
  for (unsigned rank : origins)
    if (std::exchange(distance[rank], 0) == Topology::unreachable)
      queue.push_back(rank);
  // Dense topologies have all ranks in the queue long before its end.
  for (size_t head = 0; head < queue.size() && queue.size() < next.size();
       ++head)
    for (unsigned link : next[queue[head]]) {
      unsigned rank = links[link].*end;
      if (distance[rank] != Topology::unreachable)
        continue;
      distance[rank] = distance[queue[head]] + 1;
      queue.push_back(rank);
    }
  return distance;
}

std::vector<unsigned>
Topology::distancesFrom(const std::vector<unsigned> &origins) const {
  return countHops(origins, allLinks, out, &Link::dst);
}

std::vector<unsigned>
Topology::distancesTo(const std::vector<unsigned> &targets) const {
  return countHops(targets, allLinks, in, &Link::src);
}

Topology Topology::reversed() const {
  Topology result = *this;
  for (Link &link : result.allLinks)
    std::swap(link.src, link.dst);
  result.indexLinks(slots.size());
  std::swap(result.out, result.in);
  for (Switch &turned : result.allSwitches)
    std::swap(turned.multicast, turned.reduces);
  return result;
}

//===----------------------------------------------------------------------===//
// Parameters of built-in topologies
//===----------------------------------------------------------------------===//

namespace {
/// A link to be, with the bandwidth of its own limit.
struct Edge {
  unsigned src, dst, bandwidth;
};

/// What a builder is given: the whole spec, for the name and for messages, and
/// the text after the colon.
struct SpecText {
  std::string_view whole;
  std::string_view parameters;
};
} // namespace

/// Reads a decimal number that must lie in [least, most].
static Result<unsigned> parseNumber(const SpecText &spec,
                                    std::string_view digits, unsigned least,
                                    unsigned most) {
  if (digits.empty() ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    return Error{"expected a number in topology " + quoted(spec.whole) +
                 ", got " + quoted(digits)};
  uint64_t value = 0;
  // Stops growing once above every bound, so that no number overflows.
  for (char digit : digits)
    value = std::min<uint64_t>(value * 10 + (digit - '0'), uint64_t(1) << 32);
  if (value < least || value > most)
    return Error{"number " + std::string(digits) + " in topology " +
                 quoted(spec.whole) + " is out of range, the limits are " +
                 std::to_string(least) + " and " + std::to_string(most)};
  return static_cast<unsigned>(value);
}

/// Refuses a full graph with more links than a topology may have.
static std::optional<Error> checkFullGraph(const SpecText &spec,
                                           uint64_t numRanks) {
  uint64_t numLinks = numRanks * (numRanks - 1);
  if (numLinks <= Topology::maxLinks)
    return std::nullopt;
  return Error{"topology " + quoted(spec.whole) + " has " +
               std::to_string(numLinks) + " links, the limit is " +
               std::to_string(Topology::maxLinks)};
}

//===----------------------------------------------------------------------===//
// Built-in topologies
//===----------------------------------------------------------------------===//

static void addBothWays(std::vector<Edge> &edges, unsigned a, unsigned b,
                        unsigned bandwidth) {
  edges.push_back({a, b, bandwidth});
  edges.push_back({b, a, bandwidth});
}

/// The edges of a cycle through `order` in both directions.
static void addCycle(std::vector<Edge> &edges,
                     const std::vector<unsigned> &order, unsigned bandwidth) {
  for (size_t i = 0; i < order.size(); ++i)
    addBothWays(edges, order[i], order[(i + 1) % order.size()], bandwidth);
}

/// Adds the edges in the order of their ranks. Edges named twice, as by a cycle
/// through two ranks, become one link.
static Result<Topology> makeFromEdges(const SpecText &spec, unsigned numRanks,
                                      std::vector<Edge> edges) {
  auto ends = [](const Edge &e) { return std::tie(e.src, e.dst); };
  std::sort(edges.begin(), edges.end(),
            [&](const Edge &a, const Edge &b) { return ends(a) < ends(b); });
  edges.erase(std::unique(edges.begin(), edges.end(),
                          [&](const Edge &a, const Edge &b) {
                            return ends(a) == ends(b);
                          }),
              edges.end());
  Topology topology(std::string(spec.whole), numRanks);
  for (const Edge &edge : edges)
    if (Result<unsigned> link =
            topology.addLink(edge.src, edge.dst, edge.bandwidth);
        !link)
      return Error{link.error()};
  return topology;
}

static Result<Topology> makeDgx1(const SpecText &spec) {
  std::vector<Edge> edges;
  addCycle(edges, {0, 1, 4, 5, 6, 7, 2, 3}, /*bandwidth=*/2);
  addCycle(edges, {0, 2, 1, 3, 6, 4, 7, 5}, /*bandwidth=*/1);
  return makeFromEdges(spec, 8, std::move(edges));
}

static Result<Topology> makeRingOf(const SpecText &spec, unsigned numRanks) {
  std::vector<Edge> edges;
  for (unsigned rank = 0; rank < numRanks && numRanks > 1; ++rank)
    addBothWays(edges, rank, (rank + 1) % numRanks, /*bandwidth=*/1);
  return makeFromEdges(spec, numRanks, std::move(edges));
}

static Result<Topology> makeAmdZ52(const SpecText &spec) {
  return makeRingOf(spec, 8);
}

static Result<Topology> makeRing(const SpecText &spec) {
  Result<unsigned> n =
      parseNumber(spec, spec.parameters, 1, Topology::maxRanks);
  if (!n)
    return Error{n.error()};
  return makeRingOf(spec, *n);
}

static Result<Topology> makeLine(const SpecText &spec) {
  Result<unsigned> n =
      parseNumber(spec, spec.parameters, 1, Topology::maxRanks);
  if (!n)
    return Error{n.error()};
  std::vector<Edge> edges;
  for (unsigned rank = 0; rank + 1 < *n; ++rank)
    addBothWays(edges, rank, rank + 1, /*bandwidth=*/1);
  return makeFromEdges(spec, *n, std::move(edges));
}

static Result<Topology> makeMesh(const SpecText &spec) {
  Result<unsigned> n =
      parseNumber(spec, spec.parameters, 1, Topology::maxRanks);
  if (!n)
    return Error{n.error()};
  if (std::optional<Error> error = checkFullGraph(spec, *n))
    return *error;
  std::vector<Edge> edges;
  for (unsigned a = 0; a < *n; ++a)
    for (unsigned b = a + 1; b < *n; ++b)
      addBothWays(edges, a, b, /*bandwidth=*/1);
  return makeFromEdges(spec, *n, std::move(edges));
}

/// Reads "AxBxC" with a product of at most `maxRanks`.
static Result<std::vector<unsigned>> parseExtents(const SpecText &spec) {
  std::vector<std::string_view> parts = split(spec.parameters, 'x');
  if (parts.size() < 2)
    return Error{"topology " + quoted(spec.whole) +
                 " needs at least 2 dimensions, as in torus:4x4"};
  std::vector<unsigned> extents;
  uint64_t product = 1;
  for (std::string_view part : parts) {
    Result<unsigned> extent = parseNumber(spec, part, 1, Topology::maxRanks);
    if (!extent)
      return Error{extent.error()};
    extents.push_back(*extent);
    product *= *extent;
    if (product > Topology::maxRanks)
      return Error{"topology " + quoted(spec.whole) + " has at least " +
                   std::to_string(product) + " ranks, the limit is " +
                   std::to_string(Topology::maxRanks)};
  }
  return extents;
}

static Result<Topology> makeTorus(const SpecText &spec) {
  Result<std::vector<unsigned>> extents = parseExtents(spec);
  if (!extents)
    return Error{extents.error()};
  unsigned numRanks = 1;
  std::vector<Edge> edges;
  // From the last dimension, whose neighbours are next to each other, to the
  // first.
  unsigned stride = 1;
  for (unsigned extent : *extents)
    numRanks *= extent;
  for (size_t d = extents->size(); d-- > 0; stride *= (*extents)[d]) {
    unsigned extent = (*extents)[d];
    if (extent == 1)
      continue;
    for (unsigned rank = 0; rank < numRanks; ++rank) {
      unsigned at = rank / stride % extent;
      unsigned next = rank - at * stride + (at + 1) % extent * stride;
      addBothWays(edges, rank, next, /*bandwidth=*/1);
    }
  }
  return makeFromEdges(spec, numRanks, std::move(edges));
}

static Result<Topology> makeHypercube(const SpecText &spec) {
  constexpr unsigned maxDimension = 16;
  static_assert(1u << maxDimension == Topology::maxRanks);
  Result<unsigned> dimension =
      parseNumber(spec, spec.parameters, 0, maxDimension);
  if (!dimension)
    return Error{dimension.error()};
  unsigned numRanks = 1u << *dimension;
  std::vector<Edge> edges;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    for (unsigned bit = 0; bit < *dimension; ++bit)
      edges.push_back({rank, rank ^ 1u << bit, /*bandwidth=*/1});
  return makeFromEdges(spec, numRanks, std::move(edges));
}

static Result<Topology> makeSwitch(const SpecText &spec) {
  std::vector<std::string_view> parts = split(spec.parameters, ',');
  if (parts.size() != 2)
    return Error{"topology " + quoted(spec.whole) +
                 " needs 2 parameters, as in switch:8,4"};
  Result<unsigned> n = parseNumber(spec, parts[0], 1, Topology::maxRanks);
  if (!n)
    return Error{n.error()};
  Result<unsigned> bandwidth =
      parseNumber(spec, parts[1], 1, Topology::maxBandwidth);
  if (!bandwidth)
    return Error{bandwidth.error()};
  if (std::optional<Error> error = checkFullGraph(spec, *n))
    return *error;
  Topology topology(std::string(spec.whole), *n);
  for (unsigned src = 0; src < *n; ++src)
    for (unsigned dst = 0; dst < *n; ++dst)
      if (src != dst)
        if (Result<unsigned> link = topology.addLink(src, dst); !link)
          return Error{link.error()};
  for (unsigned rank = 0; rank<*n && * n> 1; ++rank)
    for (std::vector<unsigned> port :
         {topology.outLinks(rank), topology.inLinks(rank)})
      if (Result<unsigned> limit =
              topology.addLimit(std::move(port), *bandwidth);
          !limit)
        return Error{limit.error()};
  return topology;
}

namespace {
/// A built-in topology with its builder.
struct BuiltinEntry {
  BuiltinTopology listed;
  Result<Topology> (*build)(const SpecText &);

  /// The part of the pattern before the colon.
  std::string_view family() const {
    return listed.spec.substr(0, listed.spec.find(':'));
  }
  bool hasParameters() const { return family() != listed.spec; }
};
} // namespace

static constexpr BuiltinEntry builtins[] = {
    {{"dgx1", "NVIDIA DGX-1: 8 ranks, one double and one single NVLink ring"},
     makeDgx1},
    {{"amd_z52", "Gigabyte Z52 with AMD GPUs: 8 ranks in one ring"},
     makeAmdZ52},
    {{"ring:N", "N ranks in a cycle"}, makeRing},
    {{"line:N", "N ranks in a row"}, makeLine},
    {{"mesh:N", "N ranks, a link between every two"}, makeMesh},
    {{"torus:AxB[xC...]", "a grid that wraps around, ranks in row-major order"},
     makeTorus},
    {{"hypercube:D", "2^D ranks, linked where their numbers differ in one bit"},
     makeHypercube},
    {{"switch:N,B", "N ranks on a switch, B chunks per round in and out of "
                    "each"},
     makeSwitch},
};

const std::vector<BuiltinTopology> &sccl::builtinTopologies() {
  static const std::vector<BuiltinTopology> list = [] {
    std::vector<BuiltinTopology> result;
    for (const BuiltinEntry &entry : builtins)
      result.push_back(entry.listed);
    return result;
  }();
  return list;
}

Result<Topology> sccl::makeBuiltinTopology(std::string_view spec) {
  size_t colon = spec.find(':');
  std::string_view family = spec.substr(0, colon);
  bool hasParameters = colon != spec.npos;
  std::string known;
  for (const BuiltinEntry &entry : builtins) {
    known += (known.empty() ? "" : ", ") + std::string(entry.listed.spec);
    if (entry.family() != family)
      continue;
    if (entry.hasParameters() == hasParameters)
      return entry.build({spec, hasParameters ? spec.substr(colon + 1) : ""});
    return Error{"topology " + quoted(spec) +
                 (hasParameters ? " takes no parameter, expected "
                                : " lacks its parameter, expected ") +
                 quoted(entry.listed.spec)};
  }
  return Error{"unknown topology " + quoted(spec) + "; known: " + known};
}
