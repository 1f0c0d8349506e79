//===- GatherSums.h - All_reduces made of all_gathers -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of groups whose chunks go through relays, all_gathers are found, and proved
// optimal, within a second, and all_reduces are not. Two of them, the first
// turned round, are an all_reduce. So is one whose arrivals are added up: each
// rank gets as much as all others have, where a sum takes twice that of one.
// Among few ranks that is no more, and it takes half the steps.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_GATHERSUMS_H
#define SCCL_LIB_SEARCH_GATHERSUMS_H

#include "StepSearch.h"

namespace sccl {

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

} // namespace sccl

#endif // SCCL_LIB_SEARCH_GATHERSUMS_H
