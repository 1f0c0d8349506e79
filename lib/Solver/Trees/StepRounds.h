//===- StepRounds.h - Rounds of the steps of trees --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_STEPROUNDS_H
#define SCCL_LIB_SOLVER_TREES_STEPROUNDS_H

#include "TreeProgram.h"

namespace sccl::trees {

/// What the fullest limit takes in each step, if steps wait for one another:
/// at least a round each. Of `trees` there are images under the group that
/// `orbits` are of.
std::vector<uint64_t> roundsPerStep(const Topology &topology,
                                    const LimitOrbits &orbits, unsigned steps,
                                    const std::vector<ChunkTree> &trees);

/// Leaves out steps that nothing happens in.
void dropIdleSteps(TreeSchedule &schedule);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_STEPROUNDS_H
