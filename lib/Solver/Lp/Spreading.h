//===- Spreading.h - Cheapest trees in few steps ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prices are given for each link and step. The cheapest way for a chunk to get
// from some ranks to all others is found exactly, by dynamic programming over
// the sets of ranks that have it: what a rank pays depends only on who had the
// chunk before the step. Read backwards in time it is the cheapest way to sum
// up all ranks' contributions in the given ones.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_LP_SPREADING_H
#define SCCL_LIB_SOLVER_LP_SPREADING_H

#include "sccl/Model/Topology.h"

#include <cstdint>
#include <vector>

namespace sccl {

/// Ranks as bits.
using RankSet = uint32_t;

/// One send of a chunk; steps count from 0.
struct TimedLink {
  unsigned link, step;
};

/// Per link and step, numbered link * steps + step.
using StepPrices = std::vector<double>;

/// The cheapest trees from every set of ranks.
class SpreadTable {
public:
  enum class Direction {
    Outward, ///< from a set to all ranks, in the last steps
    Inward,  ///< from all ranks to a set, in the first steps
  };

  /// Takes steps * 3^ranks additions.
  SpreadTable(const Topology &topology, unsigned steps, Direction direction);

  /// Finds all trees anew; prices must not be negative.
  void update(StepPrices newPrices);

  /// The least price of a tree from (to) `core` within `length` steps, infinite
  /// if there is none.
  double price(RankSet core, unsigned length) const {
    return best[index(core, length)];
  }
  /// Appends the sends of a tree of that price.
  void append(RankSet core, unsigned length,
              std::vector<TimedLink> &sends) const;

private:
  /// The cheapest link into a rank.
  struct Entry {
    double price;
    unsigned link;
  };

  size_t index(RankSet set, unsigned length) const {
    return (size_t(length) << topology.numRanks()) + set;
  }
  /// The step that a tree of `length` steps begins with at its core.
  unsigned stepOf(unsigned length) const {
    return direction == Direction::Outward ? steps - length : length - 1;
  }
  std::vector<Entry> entriesOf(RankSet set, unsigned step) const;
  void extend(RankSet set, unsigned length);

  const Topology &topology;
  const unsigned steps;
  const Direction direction;
  StepPrices prices;
  std::vector<double> best;  // per (length, set)
  std::vector<RankSet> next; // per (length, set): the set a step further
  std::vector<double> sums;  // per set of ranks that enter at once
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_LP_SPREADING_H
