//===- ReductionPruning.h - Removal of useless reductions -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Pruning.h does, for combining collectives: there a send is of use if the
// value it makes is read later, and is read again before it is replaced.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_REDUCTIONPRUNING_H
#define SCCL_LIB_SOLVER_REDUCTIONPRUNING_H

#include "sccl/Model/Schedule.h"

namespace sccl {

/// Removes every copy that changes nothing, and every send whose effect reaches
/// no destination. `collective` must be combining, and `schedule` right but for
/// such sends. Steps and rounds stay.
void dropUselessReductions(const Collective &collective, Schedule &schedule);

} // namespace sccl

#endif // SCCL_LIB_SOLVER_REDUCTIONPRUNING_H
