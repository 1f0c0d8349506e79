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

// The same for combining collectives: there a send is of use if the
// value it makes is read later, and is read again before it is replaced.

/// Removes every copy that changes nothing, and every send whose effect reaches
/// no destination. `collective` must be combining, and `schedule` right but for
/// such sends. Steps and rounds stay.
void dropUselessReductions(const Collective &collective, Schedule &schedule);

} // namespace sccl

#endif // SCCL_LIB_SOLVER_PRUNING_H
