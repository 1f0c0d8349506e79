//===- Compositions.h - What known schedules make together ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An all_gather turned round, and another behind it, make an all_reduce. It
// costs nothing to have, so that no frontier may be worse.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_COMPOSITIONS_H
#define SCCL_LIB_SEARCH_COMPOSITIONS_H

#include "ProductSums.h"

namespace sccl {

class Compositions {
public:
  explicit Compositions(const FrontierProblem &problem)
      : problem(problem), products(problem) {}

  /// The cheapest composition of `steps` steps, be it of two all_gathers or of
  /// one whose arrivals are added up; nothing if there is none, the
  /// collective is no all_reduce, or bounds say that none is cheaper than
  /// `known`. The parts are searched for with up to `work` for each question,
  /// at the first call that needs them.
  std::optional<FrontierPoint>
  at(unsigned steps, const std::optional<Rational> &known, uint64_t work);
  /// One that needs no parts on all ranks: exchanges over all links, or within
  /// one factor of a product after another.
  std::optional<FrontierPoint> exchange(unsigned steps);

private:
  CollectiveFamily gatherFamily() const;
  size_t ranksTogether() const;
  bool isGatherTried() const;
  bool isComposed() const;
  bool mayBeBelow(const std::optional<Rational> &known, unsigned steps,
                  uint64_t work);
  void boundParts(uint64_t work);
  void findParts(uint64_t work);
  Result<Implementation> implement(const FrontierPoint &allGather) const;
  std::optional<FrontierPoint> gathered(unsigned steps) const;
  std::optional<FrontierPoint> join(const FrontierPoint &onReversed,
                                    const FrontierPoint &allGather) const;

  const FrontierProblem &problem;
  ProductSums products;
  /// What parts of each number of steps cost at least; nothing if there are
  /// none.
  using LeastCosts = std::vector<std::optional<double>>;
  LeastCosts leastOnReversed, leastOfGathers;
  bool hasParts = false;
  std::vector<FrontierPoint> onReversed, allGathers;
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_COMPOSITIONS_H
