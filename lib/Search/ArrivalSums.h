//===- ArrivalSums.h - All_gathers whose arrivals are added up --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank gets as much as all others have, where a sum takes twice that of
// one: among few ranks that is no more. In small groups, whose chunks go
// through relays, nothing else is as cheap.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_ARRIVALSUMS_H
#define SCCL_LIB_SEARCH_ARRIVALSUMS_H

#include "StepSearch.h"

namespace sccl {

class ArrivalSums {
public:
  explicit ArrivalSums(const FrontierProblem &problem) : problem(problem) {}

  /// One of `steps` steps; nothing if there is none, the collective is no
  /// all_reduce of few ranks, or bounds say that none is cheaper than `known`.
  /// The first call that may find one searches for all_gathers, with up to
  /// `work` for each question.
  std::optional<FrontierPoint>
  at(unsigned steps, const std::optional<Rational> &known, uint64_t work);

private:
  CollectiveFamily gatherFamily() const;
  bool isTried() const;
  bool mayBeBelow(const Rational &known, unsigned steps, uint64_t work) const;
  void findGathers(uint64_t work);

  const FrontierProblem &problem;
  std::optional<std::vector<FrontierPoint>> gathers;
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_ARRIVALSUMS_H
