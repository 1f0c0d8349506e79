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
// Where a piece takes long, the first and the last ones leave most limits idle
// step by step. In rounds its sends are spread over the period P: each has a
// round of its own, so that no limit is too full when a piece begins every P
// rounds, and goes on d rounds after it has come. Then a few pieces fill the
// links as well as many do step by step.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_PIECES_H
#define SCCL_MODEL_PIECES_H

#include "sccl/Model/Composition.h"

namespace sccl {

/// How pieces follow each other.
struct PieceOrder {
  /// Steps from one step of a piece to its next, or rounds from a send to those
  /// that pass on what it brings.
  unsigned distance = 6;
  bool inRounds = false;
  auto operator<=>(const PieceOrder &) const = default;
};

/// Cuts every chunk of `implementation`, pipelined or not, into `pieces` chunks
/// that follow each other through its steps on `topology` in `order`. A segment
/// of n chunks becomes `pieces` times n: first those of piece 0 in the order of
/// the chunks, so that neighbours stay neighbours and move together, then those
/// of piece 1. Each step has the fewest rounds that the limits allow; steps
/// without sends are left out. One piece is the whole. Fails if one of the
/// numbers is 0, or if there would be too many chunks, steps or sends.
Result<Implementation> cutIntoPieces(const Implementation &implementation,
                                     const Topology &topology, unsigned pieces,
                                     PieceOrder order = {});

/// Rounds from the first send of a piece to its last one, if pieces follow each
/// other in rounds. Every send must be over a link of the topology.
unsigned roundsOfOnePiece(const Implementation &implementation,
                          const Topology &topology, unsigned distance);

} // namespace sccl

#endif // SCCL_MODEL_PIECES_H
