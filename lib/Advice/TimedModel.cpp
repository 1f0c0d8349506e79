//===- TimedModel.cpp - What moves between which ranks --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedModel.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

using namespace sccl;
using namespace sccl::advice;

Distances advice::distancesOf(const Topology &topology, const Timing &timing) {
  unsigned ranks = topology.numRanks();
  Distances least(ranks, std::vector<double>(ranks, never));
  for (unsigned i = 0; i < ranks; ++i)
    least[i][i] = 0;
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    auto [src, dst] = topology.links()[link];
    for (double *entry : {&least[src][dst], &least[dst][src]})
      *entry = std::min(*entry, timing.latencies[link]);
  }
  for (unsigned via = 0; via < ranks; ++via)
    for (unsigned a = 0; a < ranks; ++a)
      for (unsigned b = 0; b < ranks; ++b)
        least[a][b] = std::min(least[a][b], least[a][via] + least[via][b]);
  return least;
}

//===----------------------------------------------------------------------===//
// Symmetries
//===----------------------------------------------------------------------===//

namespace {
/// A renumbering of the ranks that keeps latencies and rates.
struct Image {
  Permutation ranks;
  std::vector<unsigned> links, limits;
};

class Images {
public:
  Images(const Topology &topology, const Timing &timing)
      : topology(topology), timing(timing) {
    for (unsigned i = 0; i < topology.limits().size(); ++i)
      limitOf.try_emplace(sorted(topology.limits()[i].links), i);
  }
  /// Of all that keep `fixed`, if it is given.
  std::vector<Image> of(std::optional<unsigned> fixed) const {
    std::vector<Image> result;
    for (const Permutation &ranks : automorphismGenerators(topology, fixed))
      if (std::optional<Image> image = imageOf(ranks))
        result.push_back(std::move(*image));
    return result;
  }

private:
  static std::vector<unsigned> sorted(std::vector<unsigned> list) {
    std::ranges::sort(list);
    return list;
  }
  std::optional<Image> imageOf(const Permutation &ranks) const;

  const Topology &topology;
  const Timing &timing;
  std::map<std::vector<unsigned>, unsigned> limitOf;
};
} // namespace

std::optional<Image> Images::imageOf(const Permutation &ranks) const {
  Image image{ranks, {}, {}};
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    auto [src, dst] = topology.links()[link];
    std::optional<unsigned> to = topology.findLink(ranks[src], ranks[dst]);
    if (!to || timing.latencies[*to] != timing.latencies[link])
      return std::nullopt;
    image.links.push_back(*to);
  }
  for (unsigned i = 0; i < topology.limits().size(); ++i) {
    std::vector<unsigned> links;
    for (unsigned link : topology.limits()[i].links)
      links.push_back(image.links[link]);
    auto it = limitOf.find(sorted(std::move(links)));
    if (it == limitOf.end() || timing.rates[it->second] != timing.rates[i])
      return std::nullopt;
    image.limits.push_back(it->second);
  }
  return image;
}

/// Classes of 0 ... count - 1 that `maps` join; map m takes i to image(m, i).
template <typename ImageOf>
static Classes orbitsOf(size_t count, const std::vector<Image> &maps,
                        ImageOf image) {
  std::vector<uint64_t> root(count);
  std::iota(root.begin(), root.end(), uint64_t(0));
  auto find = [&](uint64_t i) {
    while (root[i] != i)
      i = root[i] = root[root[i]];
    return i;
  };
  for (const Image &map : maps)
    for (size_t i = 0; i < count; ++i) {
      uint64_t a = find(i), b = find(image(map, i));
      root[std::max(a, b)] = std::min(a, b);
    }
  for (size_t i = 0; i < count; ++i)
    root[i] = find(i);
  return Classes(root);
}

//===----------------------------------------------------------------------===//
// Commodities
//===----------------------------------------------------------------------===//

namespace {
using Ends = std::pair<std::vector<unsigned>, std::vector<unsigned>>;

class ProblemBuilder {
public:
  ProblemBuilder(const Topology &topology, const Collective &collective,
                 const Timing &timing)
      : topology(topology), collective(collective), timing(timing),
        images(topology, timing) {}
  std::optional<TimedProblem> build();

private:
  bool isIdle(const Ends &ends) const;
  bool collect();
  std::optional<unsigned> imageOf(const Image &map, size_t commodity) const;
  std::vector<Image> symmetriesKeeping(std::optional<unsigned> rank) const;
  void addCommodities();
  void leaveOutPairs();
  TimedCommodity commodityOf(const Ends &ends, double bytes);
  void addPairs(const Ends &ends, const std::vector<Image> &keeping,
                TimedCommodity &commodity) const;
  Pair pairOf(unsigned src, unsigned dst) const;
  Classes ranksUnder(const std::vector<Image> &maps) const {
    return orbitsOf(topology.numRanks(), maps,
                    [](const Image &map, size_t i) { return map.ranks[i]; });
  }

  const Topology &topology;
  const Collective &collective;
  const Timing &timing;
  Images images;
  std::vector<Image> symmetries; ///< of the collective, too
  std::map<Ends, unsigned> numberOf;
  std::vector<Ends> all;
  std::vector<double> chunks; ///< of each of them
  TimedProblem problem;
};
} // namespace

/// True if nothing has to move.
bool ProblemBuilder::isIdle(const Ends &ends) const {
  return collective.combining()
             ? ends.first.size() == 1 && ends.first == ends.second
             : std::ranges::includes(ends.first, ends.second);
}

/// What chunks begin and end where. False if some are of no known kind.
bool ProblemBuilder::collect() {
  unsigned ranks = topology.numRanks();
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    Ends ends{collective.pre().ranksOf(chunk),
              collective.post().ranksOf(chunk)};
    if (isIdle(ends))
      continue;
    bool isGossip = collective.combining() && ends.first.size() == ranks &&
                    ends.second.size() == ranks;
    bool hasOneEnd = collective.combining() ? ends.second.size() == 1
                                            : ends.first.size() == 1;
    if (!isGossip && !hasOneEnd)
      return false;
    auto [it, isNew] = numberOf.try_emplace(ends, unsigned(all.size()));
    if (isNew) {
      all.push_back(std::move(ends));
      chunks.push_back(0);
    }
    ++chunks[it->second];
  }
  return !all.empty();
}

/// The commodity that `map` takes another to, if it has as many chunks.
std::optional<unsigned> ProblemBuilder::imageOf(const Image &map,
                                                size_t commodity) const {
  auto mapped = [&](std::vector<unsigned> ranks) {
    for (unsigned &rank : ranks)
      rank = map.ranks[rank];
    std::ranges::sort(ranks);
    return ranks;
  };
  auto it = numberOf.find(
      {mapped(all[commodity].first), mapped(all[commodity].second)});
  if (it == numberOf.end() || chunks[it->second] != chunks[commodity])
    return std::nullopt;
  return it->second;
}

/// Of topology, timing and collective, that keep `rank` if it is given.
std::vector<Image>
ProblemBuilder::symmetriesKeeping(std::optional<unsigned> rank) const {
  std::vector<Image> result = images.of(rank);
  std::erase_if(result, [&](const Image &map) {
    for (size_t i = 0; i < all.size(); ++i)
      if (!imageOf(map, i))
        return true;
    return false;
  });
  return result;
}

void ProblemBuilder::addCommodities() {
  std::optional<unsigned> root;
  if (all.size() == 1 && all[0].first.size() == 1)
    root = all[0].first[0];
  else if (all.size() == 1 && all[0].second.size() == 1)
    root = all[0].second[0];
  symmetries = symmetriesKeeping(root);
  Classes orbits =
      orbitsOf(all.size(), symmetries,
               [&](const Image &map, size_t i) { return *imageOf(map, i); });
  problem.limits =
      orbitsOf(topology.limits().size(), symmetries,
               [](const Image &map, size_t i) { return map.limits[i]; });
  for (size_t orbit = 0; orbit < orbits.count(); ++orbit) {
    unsigned first = orbits.firsts[orbit];
    problem.commodities.push_back(commodityOf(
        all[first], orbits.sizes[orbit] * chunks[first] / collective.chunks()));
  }
}

TimedCommodity ProblemBuilder::commodityOf(const Ends &ends, double bytes) {
  TimedCommodity commodity;
  commodity.bytes = bytes;
  commodity.isGossip =
      ends.first.size() > 1 && ends.second.size() > 1 && collective.combining();
  std::vector<Image> keeping = symmetries;
  if (!commodity.isGossip) {
    bool isFirst = !collective.combining();
    keeping = symmetriesKeeping(isFirst ? ends.first[0] : ends.second[0]);
    size_t number = numberOf.at(ends);
    std::erase_if(keeping, [&](const Image &map) {
      return imageOf(map, number) != number;
    });
  }
  commodity.orbits =
      orbitsOf(topology.links().size(), keeping,
               [](const Image &map, size_t i) { return map.links[i]; });
  addPairs(ends, keeping, commodity);
  commodity.isUnicast = ends.first.size() == 1 && ends.second.size() == 1;
  return commodity;
}

/// One of each orbit.
void ProblemBuilder::addPairs(const Ends &ends,
                              const std::vector<Image> &keeping,
                              TimedCommodity &commodity) const {
  Classes alike = ranksUnder(keeping);
  auto firstsOf = [](const Classes &classes,
                     const std::vector<unsigned> &ranks) {
    std::set<unsigned> seen;
    std::vector<unsigned> firsts;
    for (unsigned rank : ranks)
      if (seen.insert(classes.classOf[rank]).second)
        firsts.push_back(rank);
    return firsts;
  };
  bool isMany = ends.first.size() > 1;
  for (unsigned src : isMany ? firstsOf(alike, ends.first) : ends.first) {
    Classes others =
        commodity.isGossip ? ranksUnder(symmetriesKeeping(src)) : alike;
    for (unsigned dst : firstsOf(others, ends.second))
      if (src != dst)
        commodity.pairs.push_back(pairOf(src, dst));
  }
}

Pair ProblemBuilder::pairOf(unsigned src, unsigned dst) const {
  std::vector<uint64_t> keys(topology.numRanks()), limitKeys;
  keys[src] = 1;
  keys[dst] = 2;
  for (unsigned cls : problem.limits.classOf)
    limitKeys.push_back(cls);
  Refinement cells = refine(topology, keys, limitKeys);
  Pair pair{src,
            dst,
            cells.ranks.classOf[src],
            cells.ranks.classOf[dst],
            unsigned(cells.ranks.count()),
            {}};
  pair.groups.resize(cells.links.count(), {0, 0, never, never, never, {}});
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    auto [from, to] = topology.links()[link];
    LinkGroup &group = pair.groups[cells.links.classOf[link]];
    group.from = cells.ranks.classOf[from];
    group.to = cells.ranks.classOf[to];
    group.hop = std::min(group.hop, problem.distances[from][to]);
    group.before = std::min(group.before, problem.distances[src][from]);
    group.after = std::min(group.after, problem.distances[to][dst]);
    group.links.push_back(link);
  }
  std::erase_if(pair.groups, [&](const LinkGroup &group) {
    return group.to == pair.srcCell || group.from == pair.dstCell;
  });
  return pair;
}

/// Keeps as many pairs as make a small program, the farthest of each commodity
/// first. Fewer pairs ask for less.
void ProblemBuilder::leaveOutPairs() {
  constexpr size_t mostGroups = 300;
  size_t groups = 0, longest = 0;
  for (TimedCommodity &commodity : problem.commodities) {
    std::ranges::stable_sort(commodity.pairs, std::greater<>(),
                             [&](const Pair &pair) {
                               return problem.distances[pair.src][pair.dst];
                             });
    longest = std::max(longest, commodity.pairs.size());
  }
  std::vector<size_t> kept(problem.commodities.size());
  for (size_t place = 0; place < longest; ++place)
    for (size_t i = 0; i < kept.size(); ++i) {
      const std::vector<Pair> &pairs = problem.commodities[i].pairs;
      if (kept[i] < place || place >= pairs.size() ||
          groups + pairs[place].groups.size() > mostGroups)
        continue;
      groups += pairs[place].groups.size();
      ++kept[i];
    }
  for (size_t i = 0; i < kept.size(); ++i)
    problem.commodities[i].pairs.resize(kept[i], Pair{0, 0, 0, 0, 0, {}});
  // What is left of a commodity of one pair would be nothing.
  std::erase_if(problem.commodities, [](const TimedCommodity &commodity) {
    return commodity.pairs.empty() && !commodity.isGossip;
  });
}

std::optional<TimedProblem> ProblemBuilder::build() {
  if (!collect())
    return std::nullopt;
  problem.distances = distancesOf(topology, timing);
  addCommodities();
  leaveOutPairs();
  return std::move(problem);
}

std::optional<TimedProblem>
advice::makeTimedProblem(const Topology &topology, const Collective &collective,
                         const Timing &timing) {
  constexpr size_t maxRanks = 128, maxLinks = 6000;
  if (topology.numRanks() > maxRanks || topology.links().size() > maxLinks)
    return std::nullopt;
  return ProblemBuilder(topology, collective, timing).build();
}
