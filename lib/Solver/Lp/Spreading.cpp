//===- Spreading.cpp - Cheapest trees in few steps ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spreading.h"

#include <bit>
#include <limits>

using namespace sccl;

static constexpr double infinite = std::numeric_limits<double>::infinity();

SpreadTable::SpreadTable(const Topology &topology, unsigned steps,
                         Direction direction)
    : topology(topology), steps(steps), direction(direction),
      best((size_t(steps) + 1) << topology.numRanks(), infinite),
      next(best.size()), sums(size_t(1) << topology.numRanks()) {}

/// For each rank outside `set` the cheapest link from inside.
std::vector<SpreadTable::Entry> SpreadTable::entriesOf(RankSet set,
                                                       unsigned step) const {
  std::vector<Entry> entries(topology.numRanks(), {infinite, 0});
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    auto [from, to] = topology.links()[link];
    if (direction == Direction::Inward)
      std::swap(from, to);
    double price = prices[size_t(link) * steps + step];
    if ((set >> from & 1) && !(set >> to & 1) && price < entries[to].price)
      entries[to] = {price, link};
  }
  return entries;
}

/// Tries all sets that `set` can grow to in one step.
void SpreadTable::extend(RankSet set, unsigned length) {
  std::vector<Entry> entries = entriesOf(set, stepOf(length));
  RankSet open = 0;
  for (unsigned rank = 0; rank < entries.size(); ++rank)
    if (entries[rank].price < infinite)
      open |= RankSet(1) << rank;
  double &least = best[index(set, length)];
  least = infinite;
  // Subsets in ascending order, so that the smaller ones are summed up already.
  RankSet added = 0;
  do {
    if (added != 0)
      sums[added] =
          sums[added & (added - 1)] + entries[std::countr_zero(added)].price;
    double price = sums[added] + best[index(set | added, length - 1)];
    if (price < least) {
      least = price;
      next[index(set, length)] = set | added;
    }
    added = (added - open) & open;
  } while (added != 0);
}

void SpreadTable::update(StepPrices newPrices) {
  prices = std::move(newPrices);
  RankSet all = (RankSet(1) << topology.numRanks()) - 1;
  best[index(all, 0)] = 0;
  for (unsigned length = 1; length <= steps; ++length)
    for (RankSet set = 1; set <= all; ++set)
      extend(set, length);
}

void SpreadTable::append(RankSet core, unsigned length,
                         std::vector<TimedLink> &sends) const {
  for (RankSet set = core; length > 0; --length) {
    unsigned step = stepOf(length);
    std::vector<Entry> entries = entriesOf(set, step);
    RankSet grown = next[index(set, length)];
    for (unsigned rank = 0; rank < entries.size(); ++rank)
      if ((grown & ~set) >> rank & 1)
        sends.push_back({entries[rank].link, step});
    set = grown;
  }
}
