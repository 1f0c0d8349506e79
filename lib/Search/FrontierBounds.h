//===- FrontierBounds.h - How cheap S steps can be --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One certified bound per number of steps: they cost milliseconds and say at
// which numbers of steps a cheaper schedule can exist at all.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_FRONTIERBOUNDS_H
#define SCCL_LIB_SEARCH_FRONTIERBOUNDS_H

#include "StepSearch.h"

namespace sccl {

class FrontierBounds {
public:
  explicit FrontierBounds(const FrontierProblem &problem)
      : problem(problem), bounds(problem.options.maxSteps + 1),
        programs(bounds.size()), strengthened(bounds.size()),
        lower(problem.given.topology, problem.given.smallest) {}

  /// Finds that for any number of steps, if it is missing.
  void findThroughput(uint64_t work);
  /// Finds those that are missing, each with up to `work`.
  void find(uint64_t work);
  /// Tries the stronger programs for `steps` steps, of which a schedule that
  /// costs `known` is known, and searches. Again only with more work, if that
  /// was what was missing.
  void strengthen(unsigned steps, const Rational &known, uint64_t work);

  /// Where the order of additions is given: tries the prices of limits at which
  /// trees of `steps` steps were packed, for a bound under that order.
  void strengthenSums(unsigned steps, const Rational &known,
                      const std::vector<double> &prices);
  /// Likewise for any number of steps, of which `known` is the cheapest.
  void strengthenSumsOfAny(const Rational &known);

  const SharedBound &at(unsigned steps) const { return bounds[steps]; }
  /// What linear programs said. Searches come close to what is possible, so a
  /// gap to what they say is no measure of what can be gained.
  const SharedBound &ofPrograms(unsigned steps) const {
    return programs[steps] ? programs[steps] : bounds[steps];
  }
  /// For any number of steps.
  const SharedBound &throughput() const { return forAny; }
  /// True if the bound for `steps` steps is above that for any number of them.
  bool isOfSteps(unsigned steps) const {
    return bounds[steps] && bounds[steps]->value && forAny &&
           *forAny->value < *bounds[steps]->value;
  }
  bool isImpossible(unsigned steps) const {
    return bounds[steps] && !bounds[steps]->value;
  }
  /// True if it is proved that nothing of `steps` steps is below `cost`.
  bool excludesBelow(unsigned steps, const Rational &cost) const;
  /// Says for which of `unsettled` numbers of steps there is no better bound
  /// than that of any order, where one is asked for.
  std::string orderText(const std::vector<unsigned> &unsettled) const;
  const std::vector<SharedBound> &all() const { return bounds; }

private:
  /// Whether all chunks have the same ranks before and after.
  bool isAlike() const;
  bool findAt(unsigned steps, uint64_t work);

  const FrontierProblem &problem;
  SharedBound forAny;
  std::vector<SharedBound> bounds;    ///< by steps
  std::vector<SharedBound> programs;  ///< where searches gave other bounds
  std::vector<uint64_t> strengthened; ///< with how much work, by steps
  bool isTooLarge = false; ///< the program of the last number of steps
  LowerBounds lower;
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_FRONTIERBOUNDS_H
