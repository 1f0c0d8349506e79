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

#include <optional>
#include <vector>

namespace sccl {

/// One of the schedules that a plan chooses from.
struct SizedSchedule {
  Cost cost;
  unsigned program = 0; ///< stands for it until somebody measures
  /// What it takes where it is the best, as `best_at` of coll.schedule says.
  std::optional<std::vector<plan::SizedTime>> bestAt = std::nullopt;
};

/// What the model says of `schedules`, of which there is at least one.
plan::SizeTable tableOfModel(const std::vector<SizedSchedule> &schedules,
                             const CostModel &model);

/// True if all of `schedules` say where they are the best, and that is not
/// nowhere.
bool areAdvised(const std::vector<SizedSchedule> &schedules);

/// What `bestAt` of `schedules` says: between two sizes that have different
/// best schedules, the second one from their geometric mean on. They
/// must be advised.
plan::SizeTable tableOfAdvice(const std::vector<SizedSchedule> &schedules);

} // namespace sccl

#endif // SCCL_PLAN_SIZETABLES_H
