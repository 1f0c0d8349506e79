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
  std::vector<plan::SizedTime> bestAt;
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

} // namespace sccl

#endif // SCCL_PLAN_SIZETABLES_H
