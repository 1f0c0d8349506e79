//===- ScheduleFacts.h - What a plan says about a schedule ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_SCHEDULEFACTS_H
#define SCCL_LIB_PLAN_SCHEDULEFACTS_H

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/Schedule.h"

#include <array>

namespace sccl {

/// What a plan needs to know of a schedule.
struct ScheduleFacts {
  Cost cost;
  unsigned rounds;
  /// Stands for what each step sends, in whatever order it is written.
  std::array<uint64_t, 2> digest;
  uint64_t ranges; ///< of chunks, in all sends
};
ScheduleFacts factsOf(coll::ScheduleOp schedule, const Collective &collective);

} // namespace sccl

#endif // SCCL_LIB_PLAN_SCHEDULEFACTS_H
