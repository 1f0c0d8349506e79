//===- Boxes.h - Which ranks of a topology share a box ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A topology is links between ranks. Those derived of a machine also say where
// its boxes end, for what reaches no further, as kernels that write to peers.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_BOXES_H
#define SCCL_DIALECT_COLL_BOXES_H

#include "sccl/Model/RankGroups.h"

#include "mlir/Support/LLVM.h"

namespace sccl::coll {

class TopologyOp;

/// Notes on `op` which ranks share a box, as the attribute coll.boxes; nothing
/// if there are fewer than two boxes.
void setBoxes(TopologyOp op, const RankGroups &boxes);

/// The ranks of each box: those of coll.boxes, or all in one without it. Emits
/// an error and fails if the attribute is not the text of groups that hold each
/// rank once.
mlir::FailureOr<RankGroups> boxesOf(TopologyOp op);

} // namespace sccl::coll

#endif // SCCL_DIALECT_COLL_BOXES_H
