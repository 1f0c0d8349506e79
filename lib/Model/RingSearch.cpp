//===- RingSearch.cpp - Rings through all ranks ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPaths.h"

#include "sccl/Model/Baselines.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

namespace {
/// How one packing of rings is searched for.
struct Attempt {
  unsigned rounds;
  bool bothWays;   ///< each ring forth and back
  bool onlyWidest; ///< see RankPaths
  std::mt19937 *random;
};
} // namespace

/// Rings, each as often as it fits, until no other is found.
static std::vector<Ring> packRings(const Topology &topology,
                                   const Attempt &attempt, uint64_t budget) {
  std::vector<unsigned> ranks(topology.numRanks());
  std::iota(ranks.begin(), ranks.end(), 0u);
  RankPaths paths(topology, attempt.rounds);
  std::vector<Ring> rings;
  while (rings.size() < maxRings) {
    auto found = paths.take({ranks, paths.freestOf(ranks), /*isClosed=*/true,
                             attempt.onlyWidest, attempt.random},
                            budget);
    if (!found)
      break;
    rings.push_back(*found);
    std::vector<Ring> alike = {*found};
    if (attempt.bothWays)
      alike.emplace_back(found->rbegin(), found->rend());
    for (const Ring &ring : alike)
      while (rings.size() < maxRings && paths.take(ring, /*isClosed=*/true))
        rings.push_back(ring);
  }
  return rings;
}

/// True if the rings leave no bandwidth unused.
static bool useAll(const Topology &topology, const std::vector<Ring> &rings) {
  std::vector<unsigned> uses(topology.links().size());
  for (const Ring &ring : rings)
    for (size_t i = 0; i < ring.size(); ++i)
      ++uses[*topology.findLink(ring[i], ring[(i + 1) % ring.size()])];
  return std::ranges::all_of(topology.limits(), [&](const auto &limit) {
    uint64_t load = 0;
    for (unsigned link : limit.links)
      load += uses[link];
    return load >= limit.bandwidth;
  });
}

Result<std::vector<Ring>> sccl::findRings(const Topology &topology) {
  constexpr unsigned maxRounds = 16;
  constexpr uint64_t small = uint64_t(1) << 16;
  uint64_t links = topology.links().size();
  unsigned tries = links <= small ? 8 : 2;
  uint64_t linksPerTry = 64 * std::max(links, small);
  if (topology.numRanks() < 2)
    return Error{"a ring algorithm needs at least 2 ranks, got " +
                 std::to_string(topology.numRanks())};
  // A ring may need a shared limit more often than it lets through at once.
  for (unsigned rounds = 1; rounds <= maxRounds; rounds *= 2) {
    std::vector<Ring> best;
    for (unsigned i = 0; i < tries && !(i > 0 && useAll(topology, best)); ++i) {
      std::mt19937 random(i);
      Attempt attempt{rounds, i % 2 == 0, i % 4 < 2, i < 4 ? nullptr : &random};
      std::vector<Ring> rings = packRings(topology, attempt, linksPerTry);
      if (rings.size() > best.size())
        best = std::move(rings);
    }
    if (!best.empty())
      return best;
  }
  return Error{"no ring through all ranks of topology '" + topology.name() +
               "' was found"};
}
