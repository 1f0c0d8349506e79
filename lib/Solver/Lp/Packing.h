//===- Packing.h - Schedules from ways for single chunks --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chunks of a broadcast, or of an all_reduce, differ only in the way they
// go. So a schedule is a number of chunks for each *way*, such that their
// loads fit into the rounds. A way of a broadcast is a tree. One of an
// all_reduce sums up the contributions in the ranks of a *core*, spreads the
// sum from there, and in between, if the core has more than one rank, lets each
// send its part to each other in one step. A core of one rank, or of two,
// takes 2 (ranks - 1) sends, the least possible; larger ones save steps.
//
// There are far too many ways to list. A linear program over a few of them
// says what a send over each link in each step costs, see Spreading.h for the
// cheapest way at these prices, which is added, until none is cheaper than
// those at hand.
//
// That the program needs no more than R rounds is not yet a schedule of whole
// chunks. Where it gets by with the fewest sends, clauses find one, with the
// rounds of the steps from the program, see TreePairEncoding.h; elsewhere
// branch and bound does.
//
// With each way go its images under a group of automorphisms. This keeps the
// programs small, and spreads the load.
//
// Nothing is refuted: an all_reduce may have other ways.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_LP_PACKING_H
#define SCCL_LIB_SOLVER_LP_PACKING_H

#include "Optimize/IntegerProgram.h"
#include "Spreading.h"

#include "sccl/Model/Symmetry.h"
#include "sccl/Solver/Solver.h"

#include <optional>
#include <set>
#include <vector>

namespace sccl::packing {

/// Ranks that chunks are summed up in and spread from.
struct Core {
  RankSet ranks;
  std::vector<unsigned> exchange; ///< the links between them
};

/// The way of a chunk: its sends up to step `joined` make sums, those later
/// make copies.
struct Way {
  std::vector<TimedLink> sends;
  unsigned joined;
};

/// A way with its load: chunks per row of the program.
struct WayColumn {
  Way way;
  std::vector<int64_t> load;
};

/// One search, for ways that come with all their images under a group.
class Packing {
public:
  Packing(const Instance &instance, const SolverOptions &options,
          const Deadline &deadline, std::vector<Permutation> group);

  /// Whether the relaxation needs no more than R rounds: with the ways that
  /// have the fewest sends, or else with any.
  bool relax();
  /// Looks for whole chunks, once the relaxation has succeeded.
  std::optional<Schedule> find();
  /// Whether it does so by clauses.
  bool usesClauses() const { return reduces && isLean; }

private:
  void findCores();
  void findWeights();
  std::vector<unsigned> roundsOf(bool isPalindrome) const;
  std::optional<Schedule> findTreePairs(bool isPalindrome) const;
  bool generate();
  bool addWays(const StepPrices &prices, double limit);
  void addWay(const Core &core, unsigned joined);
  StepPrices pricesOf(const std::vector<double> &multipliers) const;
  IntegerProgram makeProgram(bool isFinal) const;
  Schedule decode(const std::vector<int64_t> &values) const;

  size_t rowOf(size_t limit, unsigned step) const {
    return limit * instance.steps + step;
  }
  unsigned exchangeSteps(const Core &core) const {
    return core.exchange.empty() ? 0 : 1;
  }

  const Instance &instance;
  const Topology &topology;
  const SolverOptions &options;
  const Deadline &deadline;
  const std::vector<Permutation> group;
  const bool reduces;
  std::vector<std::vector<unsigned>> linkImages; // per element
  std::vector<Core> cores;
  /// One limit of each orbit, and for each link how many of its images are
  /// among the links of the limit.
  std::vector<unsigned> limits;
  std::vector<std::vector<int64_t>> weights;
  SpreadTable outward, inward;
  std::vector<WayColumn> columns;
  std::set<std::vector<int64_t>> loads; ///< of all columns
  std::vector<double> relaxed;          ///< the solution of the relaxation
  bool isLean = true; ///< looks only at ways that have the fewest sends
};

} // namespace sccl::packing

#endif // SCCL_LIB_SOLVER_LP_PACKING_H
