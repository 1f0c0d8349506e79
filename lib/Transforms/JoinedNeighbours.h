//===- JoinedNeighbours.h - One op for chunks side by side -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_JOINEDNEIGHBOURS_H
#define SCCL_TRANSFORMS_JOINEDNEIGHBOURS_H

#include "mlir/IR/Block.h"

namespace sccl::coll {

/// Makes one op of copies, and of sums by a switch, that follow each other in
/// the body of a channel, belong to one step, and go on with each other's
/// chunks and slots. Segments have `perSegment` chunks.
void joinNeighbours(mlir::Block &block, unsigned perSegment);

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_JOINEDNEIGHBOURS_H
