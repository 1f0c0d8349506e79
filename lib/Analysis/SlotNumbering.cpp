//===- SlotNumbering.cpp - Numbers for the slots of a program -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/SlotNumbering.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

SlotNumbering::SlotNumbering(ProgramOp program) {
  addTransfers(program);
  accumulate();
}

SlotNumbering::SlotNumbering(ProgramOp program, const Collective &collective) {
  addTransfers(program);
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    size_t &input = begins[rank * 3], &output = begins[rank * 3 + 1];
    input = std::max<size_t>(input, collective.inputSlots(rank));
    output = std::max<size_t>(output, collective.outputSlots(rank));
  }
  accumulate();
}

/// Makes `begins` the number of slots of each buffer.
void SlotNumbering::addTransfers(ProgramOp program) {
  begins.assign(3 * countRanks(program) + 1, 0);
  auto add = [&](const SlotRange &range) {
    size_t &size = begins[range.rank * 3 + unsigned(range.buffer)];
    size_t last = range.slot + (range.times - 1) * size_t(range.stride);
    size = std::max(size, last + range.count);
  };
  forEachOp<TransferOpInterface>(program, [&](TransferOpInterface transfer) {
    for (const SlotRange &read : transfer.getReads())
      add(read);
    add(transfer.getWrite());
  });
}

void SlotNumbering::accumulate() {
  size_t total = 0;
  for (size_t &begin : begins) {
    size_t size = begin;
    begin = total;
    total += size;
  }
}

SlotRange SlotNumbering::slotAt(size_t number) const {
  // The last buffer that begins there or before and is not empty.
  size_t buffer = llvm::upper_bound(begins, number) - begins.begin() - 1;
  return {unsigned(buffer / 3), Buffer(buffer % 3),
          unsigned(number - begins[buffer]), 1};
}
