//===- SizeTables.h - Which program for which size --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PLAN_SIZETABLES_H
#define SCCL_PLAN_SIZETABLES_H

#include "sccl/Model/CostModel.h"
#include "sccl/Plan/Plan.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace sccl {

/// One of the schedules that a plan chooses from.
struct SizedSchedule {
  Cost cost;
  unsigned program = 0; ///< stands for it until somebody measures
};

/// A program that a plan chooses by the sizes that it was advised for.
struct AdvisedProgram {
  unsigned program;
  std::vector<SizedTime> bestAt;
};

/// What the model says of `schedules`, of which there is at least one.
plan::SizeTable tableOfModel(const std::vector<SizedSchedule> &schedules,
                             const CostModel &model);

/// True if any of `programs` was advised for a size.
bool areAdvised(const std::vector<AdvisedProgram> &programs);

/// What `bestAt` of `programs` says: between two sizes that have different
/// best programs, the second one from their geometric mean on. They must be
/// advised.
plan::SizeTable tableOfAdvice(const std::vector<AdvisedProgram> &programs);

/// The choice of `table` for send buffers of `bytes` bytes, of its choices.
std::vector<plan::SizeChoice>::const_iterator
choiceFor(const plan::SizeTable &table, double bytes);

/// The times in `table` that `sccl plan` has found: without the last one, which
/// tells how the line goes on, and none if the cost model made them, which
/// knows no bounds.
llvm::ArrayRef<SizedTime> advisedTimes(const plan::SizeTable &table);

} // namespace sccl

#endif // SCCL_PLAN_SIZETABLES_H
