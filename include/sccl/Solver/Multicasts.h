//===- Multicasts.h - Schedules for any chunks that move --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Trees.h is for collectives in which all ranks get all: all C and R of
// one number of steps at once, for collectives in groups, user-defined ones,
// gather and scatter. Ranks that need nothing may pass chunks on. See
// docs/Rationale/Trees.md.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SOLVER_MULTICASTS_H
#define SCCL_SOLVER_MULTICASTS_H

#include "sccl/Model/SumTree.h"
#include "sccl/Solver/Trees.h"

namespace sccl {

/// Packs trees for one collective on one topology. May be used by several
/// threads at once.
class MulticastSynthesis {
public:
  /// Takes what `takes` says: `smallest` has the smallest C of its family.
  /// Looks for the symmetries of both, which takes up to a second.
  MulticastSynthesis(const Topology &topology, const Collective &smallest);
  /// Takes a collective that combines, and adds up by the trees of `order`,
  /// which must have some for it: SumOrder::treeOf().
  MulticastSynthesis(const Topology &topology, const Collective &smallest,
                     const SumOrder &order);
  ~MulticastSynthesis();
  /// True for collectives that do not combine, and whose inverses do not.
  static bool takes(const Collective &collective);
  /// The engine that packs the same trees for a single C and R.
  static constexpr std::string_view engine = "multicasts";

  /// The cheapest schedule of up to `wanted.steps` steps that was found, with
  /// the fewest chunks of equally cheap ones: each of `smallest` is cut into up
  /// to `maxChunks`, or as many as the linear program says, and C is at most
  /// `maxExactChunks`. It has not been checked. If `prices` is given, it gets
  /// those of limits in the linear program: entry [limit * steps + step], of
  /// the topology that is packed; none if there are none.
  std::optional<Implementation>
  best(const TreeSynthesis::Wanted &wanted, const SearchLimits &limits,
       std::vector<double> *prices = nullptr) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace sccl

#endif // SCCL_SOLVER_MULTICASTS_H
