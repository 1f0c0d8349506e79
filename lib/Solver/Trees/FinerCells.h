//===- FinerCells.h - What to tell apart next -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_FINERCELLS_H
#define SCCL_LIB_SOLVER_TREES_FINERCELLS_H

#include "sccl/Model/Refinement.h"

#include <optional>

namespace sccl::trees {

/// `cells` with those of one position told apart from the largest cell that has
/// several; nothing if there is no such cell. A rank of each box is told apart
/// so, where the ranks of a box are all alike.
std::optional<Refinement>
cellsByPosition(const Topology &topology, const Refinement &cells,
                const std::vector<unsigned> &positions);

/// `cells` with one more rank told apart, of the smallest cell of several;
/// nothing if there is none. With `inHalves`, a large cell is halved in its
/// place: of very many ranks few could be told apart one by one, but in halves,
/// and halves of these, any number of boxes may get a chunk in a step.
std::optional<Refinement> finerCells(const Topology &topology,
                                     const Refinement &cells, bool inHalves);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_FINERCELLS_H
