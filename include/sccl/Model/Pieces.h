//===- Pieces.h - Schedules whose pieces follow each other ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipelined schedule (Schedule.h) says what one piece does. With the number
// of pieces m it becomes a schedule like others, step by step: every chunk is m
// chunks, and piece p is in step s of the original in step d * s + p. At a
// distance d of 1 there are the fewest steps, each with what S pieces send at
// once. But programs with flags do not wait for steps: at a distance of 2 the
// latency of a piece, and its reductions, pass while others are on the links.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_PIECES_H
#define SCCL_MODEL_PIECES_H

#include "sccl/Model/Composition.h"

namespace sccl {

/// Cuts every chunk of `implementation`, pipelined or not, into `pieces` chunks
/// that follow each other through its steps on `topology`, with `distance` steps
/// from one step of a piece to its next. Chunk c becomes the chunks pieces * c
/// to pieces * (c + 1) - 1, so that buffers stay as they are. Each step has the
/// fewest rounds that the limits allow; steps without sends are left out. One
/// piece is the whole. Fails if one of the numbers is 0, or if there would be
/// too many chunks, steps or sends.
Result<Implementation> cutIntoPieces(const Implementation &implementation,
                                     const Topology &topology, unsigned pieces,
                                     unsigned distance = 6);

} // namespace sccl

#endif // SCCL_MODEL_PIECES_H
