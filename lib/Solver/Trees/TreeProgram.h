//===- TreeProgram.h - Trees that share links best --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The master of column generation: how many chunks, in fractions, take each of
// the trees found so far, so that the fewest rounds do for all. Trees come with
// their images under a group, so one row stands for each orbit of limits.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_TREEPROGRAM_H
#define SCCL_LIB_SOLVER_TREES_TREEPROGRAM_H

#include "Optimize/ExactVertex.h"
#include "Optimize/LinearProgram.h"

#include "sccl/Model/Refinement.h"
#include "sccl/Model/TreeSchedule.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace sccl::trees {

/// The orbits of the limits of a topology under a group, and what a link counts
/// for in them.
class LimitOrbits {
public:
  LimitOrbits(const Topology &topology,
              const std::vector<Permutation> &generators, size_t order);

  size_t count() const { return bandwidths.size(); }
  unsigned orbitOf(unsigned limit) const { return classOf[limit]; }
  /// Chunks per round that all limits of the orbit let pass.
  int64_t bandwidth(size_t orbit) const { return bandwidths[orbit]; }
  /// Calls visit(orbit) for each limit that `link` is in.
  template <typename Visitor> void visit(unsigned link, Visitor visit) const {
    for (unsigned orbit : orbitsOfLink[link])
      visit(orbit);
  }
  /// What all images of a send under the group add up to, per limit it is in.
  int64_t imagesPerSend() const { return int64_t(order); }

private:
  size_t order;
  std::vector<unsigned> classOf;
  std::vector<int64_t> bandwidths;
  std::vector<std::vector<unsigned>> orbitsOfLink;
};

/// Whether a send in one step takes from another step.
enum class Rounds {
  PerStep, ///< steps wait for one another: each has rounds of its own
  InAll,   ///< pieces follow one another: what counts is the total
};

/// What the prices of a solution are.
struct TreePrices {
  /// Of all images of a send, per orbit of limits and step (a single one with
  /// `Rounds::InAll`).
  std::vector<double> values;
  /// What a chunk of each demand is worth: trees that cost less are wanted.
  std::vector<double> worth;

  /// All of it, if these are empty.
  void moveHalfwayTo(const TreePrices &others);
};

/// Each tree serves one of several demands, the chunks of one origin as a rule,
/// with `share` chunks of it.
class TreeProgram {
public:
  TreeProgram(const Topology &topology, const LimitOrbits &orbits,
              unsigned steps, Rounds rounds, unsigned demands)
      : topology(topology), orbits(orbits), steps(steps), rounds(rounds),
        demands(demands), amounts(demands, 1) {}

  /// Chunks of a demand where others have one.
  void setAmount(unsigned demand, int64_t amount) { amounts[demand] = amount; }
  int64_t amountOf(unsigned demand) const { return amounts[demand]; }

  /// False if there is one of the same loads already.
  bool add(unsigned demand, int64_t share, ChunkTree tree);
  unsigned numDemands() const { return demands; }
  size_t numTrees() const { return columns.size(); }
  const ChunkTree &tree(size_t i) const { return columns[i].tree; }
  int64_t shareOf(size_t i) const { return columns[i].share; }
  unsigned demandOf(size_t i) const { return columns[i].demand; }
  const std::vector<int64_t> &loadsOf(size_t i) const {
    return columns[i].loads;
  }
  size_t numOrbits() const { return orbits.count(); }
  uint64_t bandwidth(size_t orbit) const {
    return uint64_t(orbits.bandwidth(orbit));
  }
  uint64_t imagesPerSend() const { return uint64_t(orbits.imagesPerSend()); }
  size_t numRows() const { return orbits.count() * numSlots(); }
  /// Has so many rows that solving it takes long.
  bool isLarge() const { return numRows() + demands >= 200; }
  /// With more rows, to set the program up takes longer than anyone waits.
  bool isTooLarge() const { return numRows() > size_t(1) << 16; }
  /// Steps with rounds of their own.
  size_t numSlots() const { return rounds == Rounds::PerStep ? steps : 1; }
  size_t rowOf(size_t orbit, size_t step) const {
    return orbit * numSlots() + (rounds == Rounds::PerStep ? step : 0);
  }

  /// Solves for one chunk of each demand. Returns R/C; nothing if there are
  /// demands without trees or limits stop it: then the last solution stays.
  std::optional<double> solve(const Deadline &deadline);
  /// The same, beginning at the last solution if there is one.
  std::optional<double> solveOn(const Deadline &deadline);
  TreePrices prices() const;
  /// The solution in fractions: rounds per slot, then the number of each tree.
  std::optional<FractionList> exact(const Deadline &deadline) const;
  /// Rounds of a slot in the solution.
  double roundsOf(size_t slot) const { return solution.values[slot]; }
  /// Trees of the solution, by how much they are used. Those that were added
  /// since are not.
  double usage(size_t i) const {
    size_t column = numSlots() + i;
    return column < solution.values.size() ? solution.values[column] : 0;
  }
  bool isUsed(size_t i) const { return usage(i) > 1e-9; }

private:
  struct Column {
    unsigned demand;
    int64_t share;
    ChunkTree tree;
    std::vector<int64_t> loads; ///< sends per row
  };
  LinearProgram build() const;
  std::optional<double> take(LPSolution found);

  const Topology &topology;
  const LimitOrbits &orbits;
  const unsigned steps;
  const Rounds rounds;
  const unsigned demands;
  std::vector<int64_t> amounts;
  std::vector<Column> columns;
  std::set<std::pair<unsigned, std::vector<int64_t>>> known;
  LPSolution solution;
};

/// What the fullest limit takes in each step, if steps wait for one another:
/// at least a round each. Of `trees` there are images under the group that
/// `orbits` are of.
std::vector<uint64_t> roundsPerStep(const Topology &topology,
                                    const LimitOrbits &orbits, unsigned steps,
                                    const std::vector<ChunkTree> &trees);

/// Leaves out steps that nothing happens in.
void dropIdleSteps(TreeSchedule &schedule);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_TREEPROGRAM_H
