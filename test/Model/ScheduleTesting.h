//===- ScheduleTesting.h - Schedules for tests ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_MODEL_SCHEDULETESTING_H
#define SCCL_TEST_MODEL_SCHEDULETESTING_H

#include "sccl/Model/Composition.h"

#include <random>

namespace sccl {

/// A collective that there is.
Collective make(CollectiveKind kind, unsigned numRanks, unsigned chunks,
                unsigned root = 0);

/// A cycle 0 -> 1 -> ... -> 0 and a few chords, all in one direction.
Topology oneWay(unsigned numRanks);

/// Lets the test fail if the checker does not accept it.
void expectValid(const Topology &topology,
                 const Implementation &implementation);

/// A random schedule that floods the ranks until all have what they need, and
/// on the way brings chunks to ranks that need them for nothing.
Implementation flood(std::mt19937 &random, const Topology &topology,
                     Collective collective);

} // namespace sccl

#endif // SCCL_TEST_MODEL_SCHEDULETESTING_H
