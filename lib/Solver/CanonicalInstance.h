//===- CanonicalInstance.h - One instance for all numberings ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long a search takes is a matter of luck, and the luck changes with the
// numbers of ranks, links and limits: of 60 numberings of DGX-1 one took 78
// times the median. Searches see canonical numbers, so that all numberings take
// the same time and get the same answer.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_CANONICALINSTANCE_H
#define SCCL_LIB_SOLVER_CANONICALINSTANCE_H

#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/Instance.h"
#include "sccl/Model/Inversion.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Solver/Solver.h"

namespace sccl {

/// Numbers that problems have which differ in the given numbers alone.
class CanonicalNumbers {
public:
  /// Those that were given.
  CanonicalNumbers() = default;
  /// Those for `collective` on `topology`. Above 64 ranks all numbers stay as
  /// they are.
  CanonicalNumbers(const Topology &topology, const Collective &collective);

  /// True if all numbers are those that were given.
  bool areGiven() const { return order.empty(); }
  Topology of(const Topology &given) const;
  Collective of(const Collective &given) const;
  CollectiveFamily of(CollectiveFamily given) const;
  Instance of(const Instance &given) const;
  /// A schedule of `canonical` as one of `given`, the same collective with the
  /// numbers that were given.
  Schedule original(Schedule schedule, const Collective &canonical,
                    const Collective &given) const;
  /// What implements `of(given)`, as what implements `given`.
  Implementation original(Implementation canonical,
                          const CollectiveFamily &given) const;

private:
  Permutation order;           ///< by given rank; or empty
  std::vector<unsigned> given; ///< by canonical rank
};

/// What `solve` finds for the canonical instance, as an outcome of `given`. A
/// tree of additions is one over the numbers that were given.
template <typename Solve>
Outcome solveCanonically(const Instance &given, Solve solve) {
  CanonicalNumbers numbers;
  if (!given.hasOrder())
    numbers = CanonicalNumbers(given.topology, given.collective);
  Instance canonical = numbers.of(given);
  Outcome outcome = solve(canonical);
  if (auto *satisfied = std::get_if<Satisfied>(&outcome))
    satisfied->schedule = numbers.original(
        std::move(satisfied->schedule), canonical.collective, given.collective);
  return outcome;
}

} // namespace sccl

#endif // SCCL_LIB_SOLVER_CANONICALINSTANCE_H
