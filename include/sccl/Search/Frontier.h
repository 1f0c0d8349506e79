//===- Frontier.h - The Pareto frontier of a collective ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From latency- to bandwidth-optimal: for each number of steps, the smallest
// R/C that any schedule can have, with a schedule that has it and a certificate
// that none has less.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SEARCH_FRONTIER_H
#define SCCL_SEARCH_FRONTIER_H

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/SumTree.h"
#include "sccl/Model/TreeSchedule.h"
#include "sccl/Solver/Solver.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sccl {

/// What a search is busy with: the bound for S steps, all C and R of S steps,
/// or one (C, S, R).
struct FrontierActivity {
  unsigned steps;
  unsigned chunks = 0, rounds = 0; ///< 0 while it is not one
};

struct FrontierPoint;
struct TreePoint;

struct FrontierOptions {
  /// Largest values accepted below, of k the former: each (C, S, R) is a
  /// problem of its own.
  static constexpr unsigned maxMaxSteps = 1024;
  static constexpr unsigned maxMaxChunks = 4096;

  /// Largest S looked at.
  unsigned maxSteps = 8;
  /// Largest C asked for, in the unit that the bandwidths have in common.
  /// Compositions of what was found, and trees that meet the bound, or nearly,
  /// on more than 8 ranks or among some of them, may have up to `maxMaxChunks`,
  /// of each rank where C counts those of all, as in a reduce_scatter.
  unsigned maxChunks = 96;
  /// Never more than that. Else C may also be larger where a link passes more
  /// than 16 chunks in a round, by as much: few chunks would leave most of a
  /// round unused.
  bool maxChunksIsFirm = false;
  /// Sends of a point that was packed of trees: some seconds to write out.
  uint64_t maxSends = uint64_t(1) << 22;
  /// Of additions, for collectives that reduce. Where it is a tree, only points
  /// that follow it count; any and same are left to programs.
  SumOrder order = {};
  /// If given, the paper's procedure (section 3.5, algorithm 1): only schedules
  /// with R <= S + k, and Pareto-optimality among them.
  std::optional<unsigned> k;
  /// Wall time for all of it; 0 means no limit.
  double timeoutSeconds = 0;
  /// Work (see SearchLimits) for one bound, or one (C, S, R) that need not
  /// exist.
  uint64_t probeWork = 10'000'000;
  /// Work for all (C, R) of one number of steps, once those that meet the bound
  /// have been tried.
  uint64_t stepWork = 20'000'000;
  /// Work for all (C, R) of all numbers of steps on more than 8 ranks, or among
  /// some, where engines seldom find what trees do not; four times as much on
  /// up to 8, twice on up to 16, and for numbers of steps without any schedule.
  /// Not counted with `k`, or `thorough`.
  uint64_t manyRanksWork = 10'000'000;
  /// Searches for long between two points of an all_reduce even if the last
  /// one meets the bandwidth bound. Else a short search must do there, and what
  /// it leaves open is said to be open.
  bool thorough = false;
  /// Leaves it at all_reduces of at most 5/4 of the bound, wherever they come
  /// from.
  bool hasty = false;
  /// Searches that run at once.
  unsigned jobs = 1;
  std::string engine = "auto";
  SolverOptions solver;
  /// Called before each bound and each (C, S, R), if there is somebody to tell.
  /// With several jobs the calls come from several threads at once.
  std::function<void(const FrontierActivity &)> watch;
  /// Called with each point that is better than what was known, and that may be
  /// improved on still. From the calling thread.
  std::function<void(const FrontierPoint &)> improved;
  /// Called with each of `Frontier::trees`, after the points of as many steps
  /// and before those of more. From the calling thread.
  std::function<void(const TreePoint &)> trees;
};

/// A schedule that is written out when it is first asked for. Copies share it.
class LazySchedule {
public:
  LazySchedule(Schedule schedule);
  explicit LazySchedule(std::function<Schedule()> write);
  const Schedule &get() const;

private:
  struct State;
  std::shared_ptr<State> state;
};

/// A bound of which copies share the certificate, which may be long.
using SharedBound = std::shared_ptr<const LowerBound>;

/// A schedule that no found one dominates.
struct FrontierPoint {
  unsigned chunks, steps, rounds;
  LazySchedule schedule;
  std::string engine;
  double seconds; ///< of the synthesis
  /// The certified bound at this number of steps, if there is one.
  SharedBound bound;
  /// True if no schedule with as many steps is cheaper, or nothing is sent.
  bool optimal = false;

  Rational bandwidth() const { return Rational(rounds, chunks); }
  /// The point of a frontier of `family` on `numRanks` ranks as an
  /// implementation, its schedule written out. Fails where
  /// CollectiveFamily::make does.
  Result<Implementation> implement(const CollectiveFamily &family,
                                   unsigned numRanks) const;
};

/// What trees come to with as many chunks as their fractions need: more than
/// were asked for, or more sends than schedules have.
struct TreePoint {
  uint64_t chunks, rounds;
  unsigned steps;
  /// On the topology with the bandwidths divided by what they have in common,
  /// `pieces`, or for a reduce_scatter or reduce on its reverse.
  TreeSchedule trees;
  unsigned pieces;
  uint64_t sends;
  double seconds; ///< of the synthesis
  /// See FrontierPoint.
  SharedBound bound;
  bool optimal = false;

  Rational bandwidth() const {
    return Rational(int64_t(rounds), int64_t(chunks));
  }
};

/// The schedule of `point`, of a collective of `family`, chunk by chunk. Fails
/// if it has more than `Schedule::maxSends` sends.
Result<Implementation> writeOut(const TreePoint &point,
                                const CollectiveFamily &family,
                                unsigned numRanks);

/// What is known about the frontier.
struct Frontier {
  /// Ascending in steps, descending in R/C.
  std::vector<FrontierPoint> points;
  /// Those cheaper than any point of as many steps, if they are optimal or can
  /// be written out; ascending in steps, descending in R/C.
  std::vector<TreePoint> trees;
  /// The certified bound for any number of steps, if there is one.
  SharedBound throughput;
  /// The certified bound at each number of steps, by steps, as far as the
  /// search has come; nothing where there is none.
  std::vector<SharedBound> bounds;
  /// Numbers of steps, of those looked at, for which there may be cheaper
  /// schedules than were found; with k, of those that it allows.
  std::vector<unsigned> open;
  /// True if no schedule with any S, R and C improves on the points and the
  /// trees.
  bool complete = false;
  /// True if it is not complete, and time or an interrupt ended the search.
  bool stopped = false;
  /// Why it is complete, or what is missing; one line.
  std::string why;
};

/// The collective of `family` with the smallest C that it has.
Result<Collective> smallestCollective(const CollectiveFamily &family,
                                      unsigned numRanks);

/// Searches the frontier of `family` on `topology`. `progress` is called with
/// each point once nothing improves it any more, in order of steps, from the
/// calling thread. The frontier depends on nothing but the arguments, unless
/// time or an interrupt ends the search, and not on the unit of the bandwidths.
/// Stops early, with what it has, when time is over or
/// `options.solver.interrupt` becomes true. Fails if the collective does not
/// exist on the topology or a chunk cannot reach its destination.
Result<Frontier>
searchFrontier(const Topology &topology, const CollectiveFamily &family,
               const FrontierOptions &options,
               const std::function<void(const FrontierPoint &)> &progress = {});

} // namespace sccl

#endif // SCCL_SEARCH_FRONTIER_H
