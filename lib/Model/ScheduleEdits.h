//===- ScheduleEdits.h - What inversion and composition share --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules may contain sends that serve nobody, which are legal. Inverted,
// such a send would start from a rank that has nothing; composed, a later one
// may bring what is there already. So both replay who has what, and keep only
// what is needed.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_SCHEDULEEDITS_H
#define SCCL_LIB_MODEL_SCHEDULEEDITS_H

#include "sccl/Model/Inversion.h"

#include <optional>

namespace sccl {

/// The name of a collective, in quotes.
std::string quoted(const Collective &collective);

/// Refuses numbers that would index out of bounds.
std::optional<Error> checkNumbers(const Implementation &implementation);

/// The number of ranks that each chunk has in `set`.
std::vector<unsigned> ranksPerChunk(const RankChunkSet &set);

/// Keeps the sends of one step that move something: their source has it, and,
/// unless it is reduced, their destination does not. Updates `held`.
void keepUseful(Step &step, bool combining, RankChunkSet &held);

} // namespace sccl

#endif // SCCL_LIB_MODEL_SCHEDULEEDITS_H
