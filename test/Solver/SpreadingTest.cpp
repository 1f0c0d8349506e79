//===- SpreadingTest.cpp - Tests of the cheapest trees --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prices of trees against a search through all sets of sends.
//
//===----------------------------------------------------------------------===//

#include "EngineTesting.h"

#include "Solver/Lp/Spreading.h"

#include <random>

using namespace sccl;
using namespace sccl::test;

/// The least price of sends by which all ranks get what `have` has, from `step`
/// on, by trying for each step all sets of links.
static double slowPrice(const Topology &topology, unsigned steps,
                        const StepPrices &prices, RankSet have, unsigned step) {
  if (have == (RankSet(1) << topology.numRanks()) - 1)
    return 0;
  double least = std::numeric_limits<double>::infinity();
  if (step == steps)
    return least;
  for (unsigned set = 0; set < 1u << topology.links().size(); ++set) {
    RankSet grown = have;
    double price = 0;
    for (unsigned link = 0; link < topology.links().size(); ++link)
      if (set >> link & 1) {
        auto [src, dst] = topology.links()[link];
        if (have >> src & 1)
          grown |= RankSet(1) << dst;
        price += prices[link * steps + step];
      }
    least = std::min(
        least, price + slowPrice(topology, steps, prices, grown, step + 1));
  }
  return least;
}

TEST(Spreading, CheapestOfAllTrees) {
  constexpr unsigned steps = 3;
  std::mt19937 random(1);
  Topology ring = builtin("ring:4");
  for (unsigned trial = 0; trial < 3; ++trial) {
    StepPrices prices;
    for (size_t i = 0; i < ring.links().size() * steps; ++i)
      prices.push_back(random() % 8);
    SpreadTable table(ring, steps, SpreadTable::Direction::Outward);
    table.update(prices);
    for (RankSet core : {1u, 2u, 5u}) {
      EXPECT_EQ(table.price(core, steps),
                slowPrice(ring, steps, prices, core, 0));
      std::vector<TimedLink> sends;
      table.append(core, steps, sends);
      double sum = 0;
      for (auto [link, step] : sends)
        sum += prices[link * steps + step];
      EXPECT_EQ(sum, table.price(core, steps));
    }
  }
}

TEST(Spreading, InwardIsOutwardBackwards) {
  constexpr unsigned steps = 3;
  std::mt19937 random(2);
  Topology dgx1 = builtin("dgx1");
  size_t links = dgx1.links().size();
  StepPrices prices(links * steps), mirrored(links * steps);
  for (unsigned link = 0; link < links; ++link) {
    auto [src, dst] = dgx1.links()[link];
    unsigned back = *dgx1.findLink(dst, src);
    for (unsigned step = 0; step < steps; ++step)
      mirrored[back * steps + steps - 1 - step] = prices[link * steps + step] =
          random() % 100;
  }
  SpreadTable inward(dgx1, steps, SpreadTable::Direction::Inward);
  SpreadTable outward(dgx1, steps, SpreadTable::Direction::Outward);
  inward.update(prices);
  outward.update(mirrored);
  for (RankSet core = 1; core < 256; ++core)
    EXPECT_DOUBLE_EQ(inward.price(core, steps), outward.price(core, steps));
  // The other half of the machine is two links away.
  EXPECT_GT(inward.price(1, 1), 1e300);
}
