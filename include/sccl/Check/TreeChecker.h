//===- TreeChecker.h - Independent check of trees ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ScheduleChecker.h does, for schedules that are too long to write out.
// Each tree is replayed once; that its images are right follows from the
// renumberings being symmetries of the topology, which is checked. Images of a
// send are counted, not listed: of the |H| images of a link e under a group H
// each link of its orbit O(e) is one |H| / |O(e)| times.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CHECK_TREECHECKER_H
#define SCCL_CHECK_TREECHECKER_H

#include "sccl/Model/TreeSchedule.h"

#include <optional>
#include <string>

namespace sccl {

/// Nothing if `schedule` implements its collective, from or to `root` if that
/// is rooted, on `topology`; else the first rule that it breaks. The rules are
/// those of `checkSchedule`. Time is linear in the sends of the trees (times
/// the ranks / 64 for an all_reduce), the sizes of the limits times the steps,
/// and the links times the generators.
std::optional<std::string> checkTreeSchedule(const Topology &topology,
                                             const TreeSchedule &schedule,
                                             unsigned root = 0);

} // namespace sccl

#endif // SCCL_CHECK_TREECHECKER_H
