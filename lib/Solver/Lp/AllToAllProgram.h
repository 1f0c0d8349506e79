//===- AllToAllProgram.h - All-to-all as integer flows ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one rank sends to all others is one flow with many sinks: which unit of
// it ends where can be chosen afterwards. So one integer per (source, link,
// step) describes a schedule, and one source per orbit is enough.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_LP_ALLTOALLPROGRAM_H
#define SCCL_LIB_SOLVER_LP_ALLTOALLPROGRAM_H

#include "Optimize/IntegerProgram.h"
#include "Solver/Quotient.h"
#include "sccl/Model/Schedule.h"

namespace sccl {

/// The program of an all_to_all on the quotient by a free group. Its relaxation
/// does not depend on the group: the average of a solution over the group is a
/// solution.
class AllToAllProgram {
public:
  /// Minimizes the rounds, whatever R is. `steps` is S.
  AllToAllProgram(const Instance &instance, unsigned steps,
                  std::vector<Permutation> group);

  const IntegerProgram &program() const { return lp; }

  /// The rounds per step of a solution, rounded so that their sum is R.
  std::vector<unsigned> nearestRounds(const std::vector<double> &values) const;
  /// The program with R rounds at most.
  IntegerProgram withinRounds() const;
  /// The program with these rounds, minimizing the sends instead.
  IntegerProgram withRounds(const std::vector<unsigned> &rounds) const;
  /// The schedule of an integral solution of one of the last two.
  Schedule decode(const std::vector<int64_t> &values) const;

private:
  void addSource(size_t position);
  void addCapacities();
  std::vector<unsigned> balanceRows(unsigned firstStep);
  void addSends(size_t position, Schedule &schedule,
                const std::vector<int64_t> &values) const;

  const Instance &instance;
  const Topology &topology;
  const unsigned steps;
  const int64_t perPair; // chunks from each rank to each other
  const Quotient quotient;
  IntegerProgram lp;
  static constexpr unsigned none = ~0u;
  std::vector<unsigned> roundColumns; // per step - 1
  /// Per representative source, step - 1 and link.
  std::vector<std::vector<std::vector<unsigned>>> flowColumns;
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_LP_ALLTOALLPROGRAM_H
