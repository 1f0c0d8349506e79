//===- RankPaths.cpp - Paths and cycles through ranks ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPaths.h"

#include <algorithm>
#include <tuple>

using namespace sccl;

RankPaths::RankPaths(const Topology &topology, unsigned rounds)
    : topology(topology), limitsOf(topology.links().size()),
      narrowLinks(topology.numRanks()) {
  for (const BandwidthLimit &limit : topology.limits()) {
    for (unsigned link : limit.links)
      limitsOf[link].push_back(left.size());
    left.push_back(int64_t(limit.bandwidth) * rounds);
  }
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    unsigned widest = 0;
    for (unsigned link : topology.outLinks(rank))
      widest = std::max(widest, topology.capacity(link));
    for (unsigned link : topology.outLinks(rank))
      if (topology.capacity(link) < widest)
        narrowLinks[rank].push_back(link);
  }
}

unsigned RankPaths::widthOf(unsigned link) const {
  int64_t width = Topology::maxBandwidth;
  for (unsigned limit : limitsOf[link])
    width = std::min(width, left[limit]);
  return unsigned(std::max<int64_t>(width, 0));
}

bool RankPaths::isFree(unsigned link) const { return widthOf(link) > 0; }

void RankPaths::use(unsigned link, int sign) {
  for (unsigned limit : limitsOf[link])
    left[limit] -= sign;
}

/// The free links to open ranks, the best one last: wide links first, then
/// those to ranks with the fewest ways on, which would be cut off soonest.
RankPaths::Links RankPaths::linksOnward(unsigned rank, const Wanted &wanted,
                                        const std::vector<bool> &isOpen,
                                        uint64_t &budget) const {
  // Where there are more ways on, it only counts whether a box can be left.
  constexpr size_t mostCounted = 32;
  auto isOnward = [&](unsigned link) {
    return isOpen[topology.links()[link].dst] && isFree(link);
  };
  auto waysOn = [&](unsigned from) -> size_t {
    const Links &links = topology.outLinks(from);
    if (links.size() <= mostCounted)
      return std::ranges::count_if(links, isOnward);
    return std::ranges::any_of(narrowLinks[from],
                               [&](unsigned link) { return isFree(link); });
  };
  using Key = std::tuple<int64_t, size_t, unsigned>;
  std::vector<std::pair<Key, unsigned>> keyed;
  unsigned widest = 0;
  for (unsigned link : topology.outLinks(rank))
    if (isOnward(link))
      widest = std::max(widest, topology.capacity(link));
  for (unsigned link : topology.outLinks(rank)) {
    if (!isOnward(link) ||
        (wanted.onlyWidest && topology.capacity(link) < widest))
      continue;
    unsigned dst = topology.links()[link].dst;
    unsigned tie = wanted.random ? unsigned((*wanted.random)())
                                 : std::max(dst, rank) - std::min(dst, rank);
    keyed.push_back(
        {{-int64_t(topology.capacity(link)), waysOn(dst), tie}, link});
  }
  budget -= std::min<uint64_t>(budget, topology.outLinks(rank).size());
  std::ranges::sort(keyed, std::greater<>());
  Links links;
  for (const auto &[key, link] : keyed)
    links.push_back(link);
  return links;
}

std::optional<RankPath> RankPaths::take(const Wanted &wanted,
                                        uint64_t &budget) {
  std::vector<bool> isOpen(topology.numRanks());
  for (unsigned rank : wanted.ranks)
    isOpen[rank] = true;
  RankPath path = {wanted.start};
  isOpen[wanted.start] = false;
  std::vector<Links> choices = {
      linksOnward(wanted.start, wanted, isOpen, budget)};
  Links taken;
  auto stepBack = [&] {
    use(taken.back(), -1);
    taken.pop_back();
    isOpen[path.back()] = true;
    path.pop_back();
    choices.pop_back();
  };
  while (budget > 0) {
    bool isWhole = path.size() == wanted.ranks.size();
    if (isWhole && !wanted.isClosed)
      return path;
    if (isWhole)
      if (auto last = topology.findLink(path.back(), wanted.start);
          last && isFree(*last)) {
        use(*last, 1);
        return path;
      }
    if (isWhole || choices.back().empty()) {
      if (taken.empty())
        return std::nullopt;
      stepBack();
      continue;
    }
    unsigned link = choices.back().back();
    choices.back().pop_back();
    use(link, 1);
    taken.push_back(link);
    path.push_back(topology.links()[link].dst);
    isOpen[path.back()] = false;
    choices.push_back(linksOnward(path.back(), wanted, isOpen, budget));
  }
  while (!taken.empty())
    stepBack();
  return std::nullopt;
}

bool RankPaths::take(const RankPath &path, bool isClosed) {
  Links taken;
  size_t hops = path.size() - (isClosed ? 0 : 1);
  for (size_t i = 0; i < hops; ++i) {
    auto link = topology.findLink(path[i], path[(i + 1) % path.size()]);
    if (!link || !isFree(*link)) {
      for (unsigned used : taken)
        use(used, -1);
      return false;
    }
    use(*link, 1);
    taken.push_back(*link);
  }
  return true;
}

unsigned RankPaths::freestOf(const std::vector<unsigned> &ranks) const {
  auto count = [&](unsigned rank) {
    auto isFreeLink = [&](unsigned link) { return isFree(link); };
    return std::ranges::count_if(topology.inLinks(rank), isFreeLink) +
           std::ranges::count_if(topology.outLinks(rank), isFreeLink);
  };
  return *std::ranges::max_element(ranks, {}, count);
}
