//===- TransferJoins.h - One transfer in place of several -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_TRANSFERJOINS_H
#define SCCL_TRANSFORMS_TRANSFERJOINS_H

#include "TransferPlan.h"

namespace sccl::coll {

/// True if `b` continues `a` in memory and in the numbering of chunks, of which
/// segments have `perSegment`.
bool continues(const PlannedTransfer &a, const PlannedTransfer &b,
               unsigned perSegment);

/// Sorts by step and phase, and joins what continues other transfers then.
void order(PlannedChannel &channel, unsigned perSegment);

/// Makes the moves that are new in `channel` one where they are at even
/// distances. coll-repeat-transfers would, too, but a schedule of a thousand
/// ranks has millions.
void repeatMoves(PlannedChannel &channel, unsigned perSegment);

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_TRANSFERJOINS_H
