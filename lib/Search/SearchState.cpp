//===- SearchState.cpp - What is known of each number of steps ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchState.h"

#include "Search/Constants.h"

using namespace sccl;

bool SearchState::isReached(unsigned steps) const {
  std::optional<Rational> known = points.at(steps);
  return bounds.isImpossible(steps) ||
         (known && bounds.excludesBelow(steps, *known));
}

bool SearchState::isReachedByTrees(unsigned steps) const {
  std::optional<Rational> trees = points.treesAt(steps);
  return trees && bounds.excludesBelow(steps, *trees);
}

bool SearchState::isSettled(unsigned steps) const {
  if (isReached(steps) || !problem.isVast())
    return isReached(steps);
  // On few ranks engines may meet the bound with fewer chunks than trees, and
  // on many with fewer than trees that are too many to be written out.
  std::optional<Rational> trees = points.writableTreesAt(steps);
  return trees && bounds.excludesBelow(steps, *trees);
}

bool SearchState::meetsThroughput() const {
  const SharedBound &bound = bounds.throughput();
  return bound && (points.at(options.maxSteps) == bound->value ||
                   points.treesAt(options.maxSteps) == bound->value);
}

double SearchState::gapAt(unsigned steps) const {
  constexpr double unknown = 1e9;
  std::optional<Rational> known = points.at(steps);
  const SharedBound &bound = bounds.ofPrograms(steps);
  if (!known || !bound || !bound->value || *bound->value <= Rational(0))
    return unknown;
  return known->toDouble() / bound->value->toDouble();
}

bool SearchState::isWorthImproving(unsigned steps) const {
  // Between two points of an all_reduce nothing proves that there is no third,
  // and searches for it are long: they are made where much can be gained.
  return problem.family.kind != CollectiveKind::AllReduce || options.thorough ||
         gapAt(steps) > tuned::closeCost();
}

bool SearchState::isCloseEnough(unsigned steps) const {
  bool isCustom = problem.family.kind == CollectiveKind::Custom;
  bool isReduction = problem.family.kind == CollectiveKind::AllReduce;
  if ((isCustom || problem.packsSomeRanks()) && !problem.hasManyRanks())
    return !options.thorough && !options.k && gapAt(steps) <= 1.02;
  if (options.thorough || !problem.hasManyRanks() ||
      (isReduction && !problem.isVast()))
    return false;
  // From one root, and for sums, nobody else comes as close there.
  if (problem.isVast() && (isReduction || problem.isOneToAll()) &&
      problem.wantsTrees())
    return gapAt(steps) <= tuned::fairCost() ||
           (problem.isHuge() && points.at(steps));
  return gapAt(steps) <=
         (problem.isVast() || problem.isOneToAll() ? 1.05 : 1.01);
}
