//===- Pipelined.h - Schedules whose pieces follow each other ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelined schedules (Schedule.h) of the least load: of any depth, limited by
// nothing but the trees they need, and of a given depth.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SOLVER_PIPELINED_H
#define SCCL_SOLVER_PIPELINED_H

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/Inversion.h"
#include "sccl/Optimize/Deadline.h"

#include <memory>
#include <optional>

namespace sccl {

/// A pipelined schedule, which the checker has accepted.
struct PipelinedSchedule {
  Implementation implementation;
  /// What was proved about the load of all schedules of any depth, or of the
  /// depth asked for, if something was.
  std::optional<LowerBound> bound;
  /// True if the bound says that no load is less.
  bool optimal;

  /// True if what was proved is not about one depth only.
  bool holdsForAnyDepth() const { return bound && !bound->certificate.steps; }
  PipelinedCost cost() const {
    return pipelinedCostOf(implementation.schedule, implementation.collective);
  }
};

/// The collectives that `synthesizePipelined` knows.
bool hasPipelinedSchedules(CollectiveKind kind);
/// Those that `PipelinedDepths` knows, on so many ranks.
bool hasPipelinedSchedules(const CollectiveFamily &family, unsigned numRanks);

/// A pipelined schedule of small load for an all_gather, reduce_scatter,
/// all_reduce, broadcast or reduce on `topology`, with the C that it takes. The
/// load is the least there is, but for an all_reduce, which is composed of a
/// reduce_scatter and an all_gather of least loads; and where limits make no
/// `CapacityGraph` and the shares of links have large denominators, it may be a
/// little more. `root` is read for rooted kinds only. Fails for other
/// collectives, ranks that cannot reach each other, single ranks, links without
/// a limit, schedules of too many sends, and when time is over.
Result<PipelinedSchedule> synthesizePipelined(const Topology &topology,
                                              CollectiveKind kind,
                                              unsigned root,
                                              const SearchLimits &limits = {});

/// What is known about schedules of one depth.
struct DepthAnswer {
  /// Of the depth asked for or less; or why there is none to be had.
  Result<PipelinedSchedule> schedule;
  /// A proof that there is no schedule at all, if there is one.
  std::optional<LowerBound> impossible = std::nullopt;
};

/// Pipelined schedules of bounded depth for one collective on one topology, and
/// what they have in common: the symmetries, and the bound for any depth. Used
/// by one thread.
class PipelinedDepths {
public:
  /// Takes what `hasPipelinedSchedules` names: in groups, and of definitions,
  /// those whose chunks only move, by way of any ranks. `topology` must outlive
  /// this.
  PipelinedDepths(const Topology &topology, const CollectiveFamily &family);
  PipelinedDepths(const Topology &topology, CollectiveKind kind, unsigned root)
      : PipelinedDepths(topology, CollectiveFamily{kind, root}) {}
  ~PipelinedDepths();

  /// A schedule of up to `steps` steps, packed of trees by a linear program,
  /// and a bound on the load of all schedules of as many. Optimal if the trees
  /// that matter were found; an all_reduce may join contributions in ways that
  /// are no trees. Fails for arguments that `synthesizePipelined` refuses, when
  /// time is over, and if not even trees for one chunk are found or fit. The
  /// trees share out up to `maxChunks` chunks of a source: few make short
  /// programs, and their load is rounded up to whole rounds only. The first
  /// call that packs trees looks for symmetries, which takes up to a second.
  DepthAnswer at(unsigned steps, const SearchLimits &limits = {},
                 unsigned maxChunks = 4096);

  /// The bound on the load of schedules of any depth, if one is found in time.
  std::optional<LowerBound> boundForAnyDepth(const SearchLimits &limits = {});

  /// The schedule of `at` without a bound of its own, which often takes longer
  /// to find; nothing if no packing of trees is found.
  std::optional<Implementation> packed(unsigned steps, unsigned maxChunks,
                                       const SearchLimits &limits = {});

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace sccl

#endif // SCCL_SOLVER_PIPELINED_H
