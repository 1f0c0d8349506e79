//===- SwitchAccesses.cpp - Which ops a switch executes as one ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/SwitchAccesses.h"

#include "sccl/Analysis/Program.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// True if `next` is a multicast, and differs from `op` only in a rank that is
/// further.
static bool goesOn(MulticastOp op, Operation *next) {
  auto other = dyn_cast_or_null<MulticastOp>(next);
  if (!other || op.getOf() >= other.getOf())
    return false;
  Transfer a = *getTransfer(op), b = *getTransfer(other);
  b.write.rank = a.write.rank;
  return a.chunk == b.chunk && a.step == b.step &&
         a.chunkStride == b.chunkStride && a.reads == b.reads &&
         a.write == b.write;
}

SmallVector<unsigned> coll::ranksOfAccess(Operation *op) {
  if (auto sum = dyn_cast<LoadReduceOp>(op))
    return {sum.getOf().begin(), sum.getOf().end()};
  auto multicast = dyn_cast<MulticastOp>(op);
  if (!multicast)
    return {};
  if (auto before = dyn_cast_or_null<MulticastOp>(op->getPrevNode());
      before && goesOn(before, op))
    return {};
  SmallVector<unsigned> ranks = {multicast.getOf()};
  while (goesOn(multicast, multicast->getNextNode())) {
    multicast = cast<MulticastOp>(multicast->getNextNode());
    ranks.push_back(multicast.getOf());
  }
  return ranks;
}
