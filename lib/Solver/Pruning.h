//===- Pruning.h - Removal of useless sends ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A solver may satisfy its constraints with sends that serve nobody. They cost
// nothing in the model but would be real traffic, so they do not leave an
// engine.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_PRUNING_H
#define SCCL_LIB_SOLVER_PRUNING_H

#include "sccl/Model/Schedule.h"

namespace sccl {

/// Removes every send to a rank that already holds the chunk, then every send
/// whose chunk reaches no destination from there. `collective` must not be
/// combining. Steps and rounds stay. Time is linear in the sends.
void dropUselessSends(const Collective &collective, Schedule &schedule);

} // namespace sccl

#endif // SCCL_LIB_SOLVER_PRUNING_H
