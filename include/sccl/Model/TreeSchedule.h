//===- TreeSchedule.h - Schedules as trees and symmetries -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a machine of a thousand ranks an optimal all_gather has a hundred million
// sends, and says the same of each rank. Written down once, it is a few trees,
// how many chunks take each, and the renumberings of the ranks that make the
// trees of all ranks from those of one.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_TREESCHEDULE_H
#define SCCL_MODEL_TREESCHEDULE_H

#include "sccl/Model/Inversion.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/Symmetry.h"

#include <cstdint>
#include <vector>

namespace sccl {

/// A send of a tree. Steps count from 0.
struct TreeSend {
  uint32_t step, src, dst;
  SendAction action = SendAction::Copy;
  auto operator<=>(const TreeSend &) const = default;
};

/// The way of `count` chunks from `origin` to all ranks; in an all_reduce, from
/// all ranks to `origin`, or to several ranks of which it is one, and back.
struct ChunkTree {
  unsigned origin;
  uint64_t count;
  std::vector<TreeSend> sends;
};

/// A schedule of an all_gather, a broadcast or an all_reduce. Each element h of
/// the group that `generators` span makes of each tree one of origin
/// h(origin), for `count` chunks of its own.
struct TreeSchedule {
  CollectiveKind kind;
  /// C, see Collective.h.
  uint64_t chunks;
  std::vector<uint64_t> rounds; ///< for each step
  std::vector<Permutation> generators;
  std::vector<ChunkTree> trees;
  /// Of a pipelined schedule (Schedule.h); 0 for others.
  uint64_t period = 0;

  /// Elements that a group may have.
  static constexpr size_t maxElements = size_t(1) << 14;

  uint64_t totalRounds() const;
  /// R/C.
  Rational bandwidth() const;
  /// The rounds that count: the period of a pipelined schedule, else R.
  uint64_t costRounds() const { return period > 0 ? period : totalRounds(); }
};

/// The same with a list of sends for each chunk. Fails if `collective` is not
/// of as many chunks as `schedule`, there would be more than
/// `Schedule::maxSends` sends, or the group is too large.
Result<Schedule> expand(const TreeSchedule &schedule,
                        const Collective &collective);

/// The same for the collective of `kind` on `numRanks` ranks, from or to `root`
/// if it is rooted: that of `schedule`, or its inverse. Fails as `expand` does.
Result<Implementation> writeOut(const TreeSchedule &schedule,
                                CollectiveKind kind, unsigned numRanks,
                                unsigned root);

} // namespace sccl

#endif // SCCL_MODEL_TREESCHEDULE_H
