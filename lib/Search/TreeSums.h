//===- TreeSums.h - Schedules that add up by a tree -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the order of additions is a given tree, few of the schedules that
// engines find follow it. In their place come those in which each target gets
// all inputs in one step; those packed of ways to compute the tree; and for an
// all_reduce such a reduce_scatter with an all_gather behind it, and
// all_gathers whose arrivals are added up, which suits any tree.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_TREESUMS_H
#define SCCL_LIB_SEARCH_TREESUMS_H

#include "StepSearch.h"

namespace sccl {

// Of groups whose chunks go through relays, all_gathers are found, and proved
// optimal, within a second, and all_reduces are not. Two of them, the first
// turned round, are an all_reduce. So is one whose arrivals are added up: each
// rank gets as much as all others have, where a sum takes twice that of one.
// Among few ranks that is no more, and it takes half the steps.

class GatherSums {
public:
  explicit GatherSums(const FrontierProblem &problem) : problem(problem) {}

  /// The cheapest of `steps` steps; nothing if there is none, the collective is
  /// no all_reduce of few ranks, or bounds say that none is cheaper than
  /// `known`. The first call that may find one searches for all_gathers, with
  /// up to `work` for each question.
  std::optional<FrontierPoint>
  at(unsigned steps, const std::optional<Rational> &known, uint64_t work);

private:
  using Points = std::vector<FrontierPoint>;

  CollectiveFamily gatherFamily() const;
  size_t ranksTogether() const;
  bool isTried() const;
  bool isAddedOnArrival() const;
  bool mayBeBelow(const Rational &known, unsigned steps, uint64_t work) const;
  void findGathers(uint64_t work);
  std::optional<FrontierPoint> makePoint(Result<Implementation> sum,
                                         const FrontierPoint &gather) const;
  std::optional<FrontierPoint> addedOnArrival(unsigned steps) const;
  std::optional<FrontierPoint> joined(unsigned steps) const;

  const FrontierProblem &problem;
  std::optional<Points> gathers;
  Points onReversed; ///< on the topology with all links turned round
};

class TreeSums {
public:
  explicit TreeSums(const FrontierProblem &problem) : problem(problem) {}

  /// The cheapest of `steps` steps that is found, and is cheaper than `known`;
  /// nothing if there is none.
  std::optional<FrontierPoint> at(unsigned steps,
                                  const std::optional<Rational> &known);

  /// Of limits where trees of the last number of steps were packed, for
  /// `sumBound`; empty if they were not.
  const std::vector<double> &prices() const { return lastPrices; }

private:
  using Point = std::optional<FrontierPoint>;

  Point direct() const;
  Point packed(unsigned steps, const std::optional<Rational> &known);
  Point joined(unsigned steps, const std::optional<Rational> &known);
  Point addedOnArrival(unsigned steps, const std::optional<Rational> &known);
  const std::vector<FrontierPoint> &pointsOf(CollectiveKind kind);
  Result<Implementation> implement(CollectiveKind kind,
                                   const FrontierPoint &point) const;
  Point checked(Implementation found, std::string engine, double seconds) const;

  const FrontierProblem &problem;
  std::unique_ptr<MulticastSynthesis> synthesis; ///< on the reduced topology
  std::map<CollectiveKind, std::vector<FrontierPoint>> parts;
  std::vector<double> lastPrices;
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_TREESUMS_H
