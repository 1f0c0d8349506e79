//===- SearchState.h - What is known of each number of steps ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How cheap schedules can be, how cheap those found are, and what that says of
// where to look.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_SEARCHSTATE_H
#define SCCL_LIB_SEARCH_SEARCHSTATE_H

#include "StepSearch.h"

#include "sccl/Search/Frontier.h"

#include <map>

namespace sccl {

// One certified bound per number of steps: they cost milliseconds and say at
// which numbers of steps a cheaper schedule can exist at all.

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

/// Of those found, the points that none dominates, and the trees that none
/// dominates; of trees with more sends than schedules have, too, for they may
/// turn out to be optimal.
class KnownPoints {
public:
  /// The least R/C of a point of up to `steps` steps.
  std::optional<Rational> at(unsigned steps) const;
  /// The same of trees.
  std::optional<Rational> treesAt(unsigned steps) const;
  /// The same of those that can be written out.
  std::optional<Rational> writableTreesAt(unsigned steps) const;

  /// Where `point` is kept; null if it is no better than what is known.
  const FrontierPoint *add(FrontierPoint point);
  void add(TreePoint point);

  /// Those of just `steps` steps; null if there are none, or for trees if
  /// points are as cheap.
  FrontierPoint *pointOf(unsigned steps);
  TreePoint *treesOf(unsigned steps);
  /// Forgets what `treesOf` points to.
  void dropTrees(unsigned steps);
  std::map<unsigned, FrontierPoint> &all() { return found; }
  bool hasTrees() const;
  /// Leaves nothing here.
  void moveTo(Frontier &frontier);

private:
  using Trees = std::map<unsigned, TreePoint>; ///< by steps

  bool isListed(const TreePoint &point) const;
  Trees *holderOf(unsigned steps);

  std::map<unsigned, FrontierPoint> found; ///< by steps
  Trees inTrees, inHugeTrees;              ///< few sends, and too many
};

struct SearchState {
  explicit SearchState(const FrontierProblem &problem)
      : problem(problem), options(problem.options), bounds(problem) {}

  /// True if it is proved that no schedule of `steps` steps is cheaper than the
  /// points.
  bool isReached(unsigned steps) const;
  /// The same of trees of any number of chunks.
  bool isReachedByTrees(unsigned steps) const;
  /// True if nothing is to be searched for at `steps` steps.
  bool isSettled(unsigned steps) const;
  /// True if no number of steps allows anything cheaper than what is known.
  bool meetsThroughput() const;
  /// How many times dearer the known schedules are than the bound of programs.
  double gapAt(unsigned steps) const;
  /// True if a search for something cheaper is worth its time.
  bool isWorthImproving(unsigned steps) const;
  /// True where all searches are long, as on many ranks, and for what users
  /// define, and what is known, mostly trees, comes close.
  bool isCloseEnough(unsigned steps) const;

  const FrontierProblem &problem;
  const FrontierOptions &options;
  FrontierBounds bounds;
  KnownPoints points;
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_SEARCHSTATE_H
