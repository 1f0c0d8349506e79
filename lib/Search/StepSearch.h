//===- StepSearch.h - The cheapest schedule of S steps ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which (C, R) to ask for, in which order, and what is not worth asking again.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_STEPSEARCH_H
#define SCCL_LIB_SEARCH_STEPSEARCH_H

#include "Search/Constants.h"
#include "Solver/CanonicalInstance.h"
#include "Solver/Constants.h"
#include "sccl/Optimize/Deadline.h"
#include "sccl/Search/Frontier.h"
#include "sccl/Solver/Multicasts.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sccl {

/// What all parts of one search share, and do not change. In groups, and for
/// what users define, makers see canonical numbers, so that all numberings have
/// the same frontier; bounds see those that were given, which their
/// certificates name.
struct FrontierProblem {
  /// `options` must be those that `checkOptions` accepts.
  FrontierProblem(const Topology &topology, const CollectiveFamily &family,
                  const FrontierOptions &options, const Collective &smallest);

  /// What was found, with the numbers that were given.
  FrontierPoint original(FrontierPoint point) const;

  /// The collective with `chunks` chunks; `chunks` must be a multiple of the
  /// unit.
  Result<Collective> collectiveOf(unsigned chunks) const;
  unsigned unit() const { return smallest.chunks(); }
  /// Who packs trees to all ranks, or to some, on `reduced`; nothing if that is
  /// not what the family asks for.
  const TreeSynthesis *treesToAll() const;
  const MulticastSynthesis *treesToSome() const;
  /// The engine that makes them.
  std::string_view treeEngine() const {
    return packsAllRanks() ? TreeSynthesis::engine : MulticastSynthesis::engine;
  }
  bool wantsTrees() const;
  /// Whether the order of additions is a given tree.
  bool hasOrder() const {
    return options.order.isTree() && smallest.combining();
  }
  /// Whether those trees lead from and to some ranks only.
  bool packsSomeRanks() const { return wantsTrees() && !packsAllRanks(); }
  /// From one rank to all, or the reverse.
  bool isOneToAll() const {
    return family.kind == CollectiveKind::Broadcast ||
           family.kind == CollectiveKind::Reduce;
  }
  /// More than where searches for one C and R are quick.
  bool hasManyRanks() const { return topology.numRanks() > tuned::fewRanks(); }
  /// Among some of few ranks, for which others relay: bounds are seldom met,
  /// and say little of what there is.
  bool mayRelay() const { return !hasManyRanks() && !family.isPlain(); }
  /// More ranks than engines take that look at one C and R.
  bool isVast() const {
    return topology.numRanks() > tuned::mostSearchedRanks();
  }
  /// More than where engines of one C and R find anything from one root.
  bool isHuge() const { return topology.numRanks() > tuned::mostSingleCells(); }
  /// Whether searches for one C and R are in vain, and take minutes: of sums,
  /// and from one root, on more ranks than they were ever seen to end on; of
  /// others, if there is some schedule, on so many that they find only the
  /// smallest C.
  bool isLeftToTrees(bool hasSchedule) const {
    bool isSum = family.kind == CollectiveKind::AllReduce;
    unsigned most = isSum || isOneToAll() ? 128 : hasSchedule ? 64 : ~0u;
    return topology.numRanks() > most && wantsTrees();
  }
  /// Whether trees answer long before such searches do: many ranks, or many
  /// chunks in a round, whose number is hard to guess, or relays, where C is
  /// seldom small.
  bool asksTreesFirst() const {
    return hasManyRanks() || perRound > tuned::usualPerRound() ||
           packsSomeRanks();
  }
  /// The largest C to try.
  unsigned mostChunks() const;
  /// Whether an all_reduce of `closeCost` times the bound ends a search. Trees
  /// come that close, or not, long before engines of one C and R do.
  bool leavesClose() const {
    return options.hasty && family.kind == CollectiveKind::AllReduce &&
           options.engine == "auto";
  }

  struct {
    const Topology &topology;
    const CollectiveFamily family;
    const Collective smallest;
  } given;
  const CanonicalNumbers numbers;
  const Topology topology;
  const CollectiveFamily family;
  const FrontierOptions &options;
  const Collective smallest;
  /// All bandwidths are multiples of this, and `reduced` has 1/`scale` of each.
  const unsigned scale;
  const Topology reduced;
  /// The most chunks that a link of `reduced` passes in a round.
  const unsigned perRound;
  const Deadline deadline; ///< the user's limits
  /// Of one question: `work`, in what is left of the user's limits.
  SearchLimits limitsOf(uint64_t work) const {
    return {deadline.remainingLimit(), work, options.solver.interrupt};
  }

private:
  bool packsAllRanks() const {
    return family.isPlain() && TreeSynthesis::takes(family.kind);
  }

  void makeTrees() const;

  mutable std::once_flag hasTrees;
  mutable std::unique_ptr<TreeSynthesis> treesOnReduced;
  mutable std::unique_ptr<MulticastSynthesis> multicastsOnReduced;
};

/// What is wrong with `options` for a family of this smallest collective.
std::optional<Error> checkOptions(const FrontierOptions &options,
                                  const Topology &topology,
                                  const Collective &smallest);

/// One (C, R) to try at some number of steps.
struct StepCandidate {
  unsigned chunks, rounds;
  Rational bandwidth() const { return Rational(rounds, chunks); }
};

/// `found` as a point, by `engine` in `seconds`; nothing if the checker refuses
/// it.
std::optional<FrontierPoint> checkedPoint(const Topology &topology,
                                          Implementation found,
                                          std::string engine, double seconds);

/// The search at one number of steps. It is asked again and again, with more
/// work each time.
class StepSearch {
public:
  StepSearch(const FrontierProblem &problem, unsigned steps)
      : shared(problem), steps(steps) {}

  /// What takes little and needs no bound: a schedule cheaper than `known`, if
  /// trees give one on a topology of many ranks.
  std::optional<FrontierPoint> glance(std::optional<Rational> known);
  /// One that meets `bound`, as `known` does, with a smaller C, for at most
  /// `work` each of a few C.
  std::optional<FrontierPoint> withFewerChunks(const LowerBound &bound,
                                               const FrontierPoint &known,
                                               uint64_t work);
  struct Effort {
    uint64_t probeWork; ///< at most, for one candidate
    unsigned mostTried; ///< of those that meet the bound
    uint64_t stepWork;  ///< about, for all that do not meet the bound
    /// Whether the bound is above that for any number of steps.
    bool isOfSteps;
  };
  /// Looks for a schedule cheaper than `known` (of as many steps or fewer).
  /// Returns the cheapest found.
  std::optional<FrontierPoint> run(const SharedBound &bound,
                                   std::optional<Rational> known,
                                   const Effort &effort);

  /// True if more work may lead to more than the last run found.
  bool isWorthMore() const { return isOpen; }
  /// Schedules of trees cheaper than all that were returned.
  std::vector<TreePoint> takeTrees() { return std::exchange(inTrees, {}); }
  /// What the last run took.
  uint64_t workOfRun() const { return used; }
  /// True if an engine gave up on something.
  bool hasUndecided() const { return undecided; }
  /// What an engine that broke down said.
  const std::string &failure() const { return failureMessage; }

private:
  using Point = std::optional<FrontierPoint>;

  const FrontierProblem &problem() const { return shared; }
  uint64_t leastRounds(uint64_t chunks) const;
  uint64_t roundsForAll(uint64_t chunks) const;
  unsigned sizeOf(unsigned chunks) const;
  std::vector<unsigned> chunkCounts() const;
  std::vector<StepCandidate> meetingBound(unsigned mostTried = 3) const;
  std::vector<StepCandidate> withinSpareRounds() const;
  Point searchInOrder(const std::vector<StepCandidate> &candidates,
                      std::string_view engine);
  Point searchBriefly(const std::vector<StepCandidate> &meeting);
  Point fromTrees();
  Point fromTreesToAll(const TreeSynthesis::Wanted &wanted,
                       const SearchLimits &limits);
  Point fromTreesToSome(const TreeSynthesis::Wanted &wanted,
                        const SearchLimits &limits);
  Point findAny(uint64_t limit);
  Point improve(uint64_t limit);
  Point improveWith(unsigned chunks, uint64_t limit);
  bool isCloseEnough() const;
  bool isWithin(double factor) const;
  bool isSpent(uint64_t limit);

  bool isCheaper(const StepCandidate &candidate) const {
    return !best || candidate.bandwidth() < *best;
  }
  bool isWorthAsking(const StepCandidate &candidate,
                     std::string_view engine) const;
  std::vector<std::string_view>
  askedBefore(const StepCandidate &candidate) const;
  Point ask(const StepCandidate &candidate, std::string_view engine);
  Point makePoint(const StepCandidate &candidate, Schedule schedule,
                  const SynthesisResult &result);
  void note(const StepCandidate &candidate, std::string_view engine,
            const SynthesisResult &result);

  std::reference_wrapper<const FrontierProblem> shared;
  unsigned steps;
  // Of the current run:
  std::optional<Rational> least; ///< the bound, if there is one
  std::optional<Rational> best;
  uint64_t probeWork = 0, used = 0;
  bool isOpen = true;
  // Of all runs:
  std::map<unsigned, unsigned> refuted; ///< per C: the most rounds
  /// The work that did not suffice.
  std::map<std::tuple<unsigned, unsigned, std::string>, uint64_t> tried;
  bool undecided = false;
  bool triedTrees = false;
  std::vector<TreePoint> inTrees;
  bool hasGlance = false; ///< of which nobody has taken account yet
  std::string failureMessage;
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_STEPSEARCH_H
