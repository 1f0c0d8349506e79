//===- PieceRounds.h - In which round which send of a piece -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modulo scheduling (Rau: Iterative modulo scheduling, 1994) of what one piece
// sends: a new piece begins every period, so sends take the same place of a
// limit if their rounds are equal modulo the period.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_PIECEROUNDS_H
#define SCCL_LIB_MODEL_PIECEROUNDS_H

#include "sccl/Model/Inversion.h"

#include <vector>

namespace sccl {

/// What one piece sends, by round from 0 on; many may be empty. The sends of a
/// chunk keep their order, `distance` rounds after what brings it, or more, and
/// limits are not too full where that can be avoided. All links must be there,
/// and `period` at least 1.
std::vector<Step> roundsOfPiece(const Implementation &implementation,
                                const Topology &topology, unsigned period,
                                unsigned distance);

} // namespace sccl

#endif // SCCL_LIB_MODEL_PIECEROUNDS_H
