//===- JoinedNeighbours.cpp - One op for chunks side by side --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinedNeighbours.h"

#include "sccl/Analysis/Program.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// Makes `next` a part of `transfer` if it goes on where that ends.
static bool join(Transfer &transfer, const Transfer &next,
                 unsigned perSegment) {
  auto follows = [&](const SlotRange &range, const SlotRange &other) {
    SlotRange expected = range;
    expected.slot += transfer.count;
    expected.count = next.count;
    return other == expected;
  };
  bool goesOn =
      transfer.times == 1 && next.times == 1 && transfer.step == next.step &&
      transfer.isFinal == next.isFinal &&
      transfer.chunk + transfer.count == next.chunk &&
      next.chunk % perSegment != 0 && follows(transfer.write, next.write) &&
      llvm::all_of(llvm::zip(transfer.reads, next.reads), [&](auto reads) {
        return follows(std::get<0>(reads), std::get<1>(reads));
      });
  if (goesOn)
    transfer.count += next.count;
  return goesOn;
}

void coll::joinNeighbours(Block &block, unsigned perSegment) {
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<CopyOp, LoadReduceOp>(op)) {
      last = nullptr;
      continue;
    }
    if (last && last->getName() == op.getName()) {
      Transfer transfer = *getTransfer(last);
      if (join(transfer, *getTransfer(&op), perSegment)) {
        cast<TransferOpInterface>(last).setPlaces(transfer);
        op.erase();
        continue;
      }
    }
    last = &op;
  }
}
