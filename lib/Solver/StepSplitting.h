//===- StepSplitting.h - More steps with fewer rounds -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where no bandwidth is shared, a step of r rounds is as good as r steps of one
// round, in which each link sends its chunks one after another. So an answer
// for few steps, which is easier to find, is one for more steps.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_STEPSPLITTING_H
#define SCCL_LIB_SOLVER_STEPSPLITTING_H

#include "sccl/Model/Schedule.h"

namespace sccl {

/// The same sends in `steps` steps of `rounds` rounds in all. The topology must
/// be point-to-point, the schedule within its limits, and its steps <= `steps`,
/// its rounds <= `rounds`, and `steps` <= `rounds`.
Schedule splitSteps(const Topology &topology, Schedule schedule, unsigned steps,
                    unsigned rounds);

} // namespace sccl

#endif // SCCL_LIB_SOLVER_STEPSPLITTING_H
