//===- FairShareTest.cpp - Rates of flows that share limits ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulate/FairShare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

using namespace sccl;

namespace {
/// Through limits.
struct Path {
  std::vector<unsigned> limits;
  double cap;
};
using Paths = std::map<unsigned, Path>; // of flows

double loadOf(const FairShare &shares, const Paths &paths, unsigned limit) {
  double load = 0;
  for (const auto &[flow, path] : paths)
    if (std::ranges::count(path.limits, limit))
      load += shares.rate(flow);
  return load;
}

/// True if `limit` is full, and none of its flows has more than `flow`.
bool isBottleneck(const FairShare &shares, const Paths &paths,
                  const std::vector<double> &rates, unsigned limit,
                  unsigned flow) {
  if (loadOf(shares, paths, limit) < rates[limit] * (1 - 1e-9))
    return false;
  return std::ranges::all_of(paths, [&](const auto &other) {
    return !std::ranges::count(other.second.limits, limit) ||
           shares.rate(other.first) <= shares.rate(flow) * (1 + 1e-9);
  });
}

/// The definition: no limit carries more than it can, and each flow is at its
/// cap or has a limit that is its bottleneck.
void expectFair(const FairShare &shares, const Paths &paths,
                const std::vector<double> &rates) {
  for (unsigned limit = 0; limit < rates.size(); ++limit)
    EXPECT_LE(loadOf(shares, paths, limit), rates[limit] * (1 + 1e-9));
  for (const auto &[number, path] : paths) {
    unsigned flow = number;
    EXPECT_LE(shares.rate(flow), path.cap) << "flow " << flow;
    EXPECT_TRUE(shares.rate(flow) == path.cap ||
                std::ranges::any_of(path.limits,
                                    [&](unsigned limit) {
                                      return isBottleneck(shares, paths, rates,
                                                          limit, flow);
                                    }))
        << "flow " << flow;
  }
}
} // namespace

TEST(FairShare, AlineOfTwoLimits) {
  // The long flow shares the narrow limit; the other one gets the rest.
  FairShare shares({10, 4}, 3);
  shares.add(0, {0, 1});
  shares.add(1, {0});
  shares.add(2, {1});
  shares.update();
  EXPECT_DOUBLE_EQ(shares.rate(0), 2);
  EXPECT_DOUBLE_EQ(shares.rate(1), 8);
  EXPECT_DOUBLE_EQ(shares.rate(2), 2);
  shares.remove(2);
  shares.update();
  EXPECT_DOUBLE_EQ(shares.rate(0), 4);
  EXPECT_DOUBLE_EQ(shares.rate(1), 6);
}

TEST(FairShare, CapsAndWeights) {
  // What the first does not take, the others do; the second counts threefold.
  FairShare shares({10}, 4);
  shares.add(0, {0}, /*cap=*/2);
  shares.add(1, {0}, /*cap=*/100, /*weight=*/3);
  shares.add(2, {0});
  shares.add(3, {}, /*cap=*/7);
  shares.update();
  EXPECT_DOUBLE_EQ(shares.rate(0), 2);
  EXPECT_DOUBLE_EQ(shares.rate(1), 2);
  EXPECT_DOUBLE_EQ(shares.rate(2), 2);
  EXPECT_DOUBLE_EQ(shares.rate(3), 7);
  shares.remove(0);
  shares.update();
  EXPECT_DOUBLE_EQ(shares.rate(1), 2.5);
}

TEST(FairShare, LooksOnlyAtWhatChanges) {
  FairShare shares({1, 1}, 3);
  shares.add(0, {0});
  shares.add(1, {1});
  EXPECT_EQ(shares.update().size(), 2u);
  shares.add(2, {1});
  std::vector<unsigned> changed = shares.update();
  std::ranges::sort(changed);
  EXPECT_EQ(changed, (std::vector<unsigned>{1, 2}));
  EXPECT_DOUBLE_EQ(shares.rate(0), 1);
}

TEST(FairShare, LimitsWithRoomJoinNothing) {
  FairShare shares({3}, 4);
  shares.add(0, {0}, /*cap=*/1);
  shares.update();
  shares.add(1, {0}, /*cap=*/2);
  EXPECT_EQ(shares.update(), std::vector<unsigned>{1});
  shares.add(2, {0}, /*cap=*/1);
  EXPECT_EQ(shares.update().size(), 3u);
  EXPECT_DOUBLE_EQ(shares.rate(1), 1);
  // The limit has room again, so the others are at their caps again.
  shares.remove(0);
  EXPECT_EQ(shares.update().size(), 2u);
  EXPECT_DOUBLE_EQ(shares.rate(1), 2);
  EXPECT_DOUBLE_EQ(shares.rate(2), 1);
}

TEST(FairShare, RandomFlowsComeAndGo) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 50; ++round) {
    unsigned numLimits = 2 + random() % 8, numFlows = 12;
    std::vector<double> rates;
    for (unsigned limit = 0; limit < numLimits; ++limit)
      rates.push_back(1 + random() % 10);
    FairShare shares(rates, numFlows);
    Paths paths;
    for (unsigned change = 0; change < 60; ++change) {
      unsigned flow = random() % numFlows;
      if (paths.erase(flow)) {
        shares.remove(flow);
      } else {
        auto &[limits, cap] = paths[flow];
        cap = random() % 3 ? 0.3 * double(1 + random() % 10)
                           : std::numeric_limits<double>::infinity();
        for (unsigned limit = 0; limit < numLimits; ++limit)
          if (random() % 3 == 0)
            limits.push_back(limit);
        if (limits.empty())
          limits.push_back(random() % numLimits);
        shares.add(flow, limits, cap);
      }
      if (random() % 2)
        continue; // several changes at once
      shares.update();
      expectFair(shares, paths, rates);
    }
  }
}
