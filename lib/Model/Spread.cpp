//===- Spread.cpp - Thread blocks for channels with much to do ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Spread.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace sccl;

/// The attributes of channels and programs take no more.
static constexpr unsigned mostSpread = 64, mostBlocks = 64;

unsigned LocalWork::spreadFor(unsigned share, unsigned most) const {
  most = most == 0 ? mostSpread : std::min(most, mostSpread);
  uint64_t sum = std::accumulate(others.begin(), others.end(), uint64_t(0));
  unsigned result = 1;
  while (sum != 0 && 2 * result <= most &&
         share * own * others.size() > 3 * sum * result)
    result *= 2;
  return result;
}

unsigned LocalWork::widened(unsigned smBudget, unsigned blocks,
                            uint64_t channels, unsigned present) const {
  unsigned most =
      spreadWithin(smBudget ? smBudget : usualBlocks, blocks, channels);
  return spreadFor(handlesArrivals ? 8 : 3, std::max(most, present));
}

unsigned sccl::spreadWithin(unsigned smBudget, unsigned blocks,
                            uint64_t channels) {
  if (smBudget == 0)
    return 0;
  uint64_t all = smBudget / std::max(blocks, 1u);
  return all > channels ? unsigned(all - channels + 1) : 1;
}

unsigned sccl::blocksToFill(const Topology &topology,
                            const std::vector<double> &rates,
                            const std::vector<double> &perBlock,
                            uint64_t channels, unsigned smBudget) {
  double most = 1;
  for (size_t limit = 0; limit < rates.size(); ++limit) {
    double sum = 0;
    for (unsigned link : topology.limits()[limit].links)
      sum += perBlock[link];
    // Some to spare, for the time that blocks wait for flags.
    constexpr double spare = 1.25;
    if (sum != 0)
      most = std::max(most, std::ceil(spare * rates[limit] / sum));
  }
  uint64_t mostOfRank = smBudget ? smBudget : usualBlocks;
  uint64_t room =
      std::max<uint64_t>(mostOfRank / std::max<uint64_t>(channels, 1), 1);
  return unsigned(std::min(most, double(std::min<uint64_t>(mostBlocks, room))));
}
