//===- Pipelined.h - Schedules whose pieces follow each other ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelined schedules (Schedule.h) of the least load: no depth limits them but
// that of the trees they need.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SOLVER_PIPELINED_H
#define SCCL_SOLVER_PIPELINED_H

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/Inversion.h"
#include "sccl/Optimize/Deadline.h"

#include <optional>

namespace sccl {

/// A pipelined schedule, which the checker has accepted.
struct PipelinedSchedule {
  Implementation implementation;
  /// What was proved about the load of all schedules of any depth, if
  /// something was.
  std::optional<LowerBound> bound;
  /// True if the bound says that no load is less.
  bool optimal;

  PipelinedCost cost() const {
    return pipelinedCostOf(implementation.schedule, implementation.collective);
  }
};

/// The collectives that `synthesizePipelined` knows.
bool hasPipelinedSchedules(CollectiveKind kind);

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

} // namespace sccl

#endif // SCCL_SOLVER_PIPELINED_H
