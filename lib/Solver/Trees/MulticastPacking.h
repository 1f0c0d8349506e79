//===- MulticastPacking.h - Trees for any chunks that move ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What TreePacking.h is for collectives in which all ranks get all: column
// generation over trees that reach the ranks that need a chunk, by way of any
// others. For collectives in groups, user-defined ones, and those with other
// numbers of chunks on each rank.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_MULTICASTPACKING_H
#define SCCL_LIB_SOLVER_TREES_MULTICASTPACKING_H

#include "CheapSums.h"
#include "TreeProgram.h"

#include "sccl/Model/Schedule.h"
#include "sccl/Model/Symmetry.h"

#include <memory>
#include <optional>
#include <vector>

namespace sccl::trees {

/// A collective that does not combine, or adds up by trees, as a packing sees
/// it. Trees of sends are wanted for one multicast of each orbit under a group
/// of symmetries.
struct MulticastProblem {
  MulticastProblem(const Topology &topology, const Collective &collective);
  /// Of a collective that combines; `order` must have trees for it.
  MulticastProblem(const Topology &topology, const Collective &collective,
                   const SumOrder &order);

  const Topology &topology;
  const Collective &collective;
  std::vector<Multicast> multicasts;
  /// Of additions, by multicast; empty if nothing is added up.
  std::vector<SumTree> sums;
  /// All elements of a group of symmetries, and elements that span it.
  std::vector<Permutation> group, generators;
  /// For each element and multicast, the number of its image.
  std::vector<std::vector<unsigned>> images;
  std::vector<unsigned> firsts; ///< the smallest number of each orbit

  /// True if the cheapest sends for each multicast are found for certain.
  bool isExact() const;

private:
  void useGroup(std::vector<Permutation> symmetries);
};

/// Whole rounds and chunks.
struct MulticastSchedule {
  unsigned pieces; ///< of each chunk of the collective
  Schedule schedule;
};

/// Collects trees until no cheaper ones are found.
class MulticastPacking {
public:
  MulticastPacking(const MulticastProblem &problem, unsigned steps,
                   Rounds rounds = Rounds::PerStep);

  /// Generates trees until none are better, or limits stop it. Returns R for
  /// the collective as it is, in fractions; nothing if there are not trees for
  /// all chunks in so few steps.
  std::optional<double> generate(const Deadline &deadline);

  /// What limits cost in the last turn, entry [limit * steps + step]; empty
  /// before the first, and unless steps have rounds of their own.
  std::vector<double> limitPrices() const;

  /// A schedule with each chunk cut into `pieces`, in few rounds. Nothing if
  /// images of trees need more pieces.
  std::optional<MulticastSchedule> round(unsigned pieces,
                                         const Deadline &deadline) const;
  /// What the fractions say, with as many pieces as it takes to make them
  /// whole; nothing if that is more than `maxPieces`.
  std::optional<MulticastSchedule> exact(unsigned maxPieces,
                                         const Deadline &deadline) const;

private:
  SendPrices pricesFor(const TreePrices &prices) const;
  bool price(unsigned demand, const SendPrices &sends, double worth,
             unsigned tries, const Deadline &deadline);
  MulticastSchedule decode(unsigned pieces, const std::vector<uint64_t> &rounds,
                           const std::vector<int64_t> &counts) const;
  int64_t shareOf(unsigned demand) const;
  const Multicast &multicastOf(unsigned demand) const {
    return problem.multicasts[wanted[demand]];
  }

  const MulticastProblem &problem;
  const unsigned steps;
  const Rounds kind;
  LimitOrbits orbits;
  std::vector<unsigned> wanted; ///< multicasts, by demand
  std::unique_ptr<TreeProgram> program;
  /// What the sends of each tree of it are in a schedule.
  std::vector<std::vector<Send>> written;
  std::optional<double> value;
  TreePrices lastPrices; ///< at which `value` is the optimum
};

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_MULTICASTPACKING_H
