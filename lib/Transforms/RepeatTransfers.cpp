//===- RepeatTransfers.cpp - One op for transfers at even distances -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Analysis/Program.h"

#include <atomic>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_REPEATTRANSFERS
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// Lets `range` go on with `next`, if that is possible.
static bool extend(SlotRange &range, const SlotRange &next, unsigned perSegment,
                   unsigned times) {
  unsigned distance = next.slot - range.slot;
  if (next.rank != range.rank || next.buffer != range.buffer ||
      next.slot < range.slot)
    return false;
  if (times > 1) {
    if (distance != range.stride * times)
      return false;
  } else if (distance < range.count ||
             (range.buffer != Buffer::Scratch && distance % perSegment != 0)) {
    return false;
  }
  if (times == 1)
    range.stride = distance;
  range.times = times + 1;
  return true;
}

/// True if `transfer` may write what it reads, so that the order of repetitions
/// would matter.
static bool overlapsItself(const Transfer &transfer) {
  const SlotRange &write = transfer.write;
  auto endOf = [](const SlotRange &range) {
    return range[range.size() - 1] + 1;
  };
  return llvm::any_of(transfer.reads, [&](const SlotRange &read) {
    return read.rank == write.rank && read.buffer == write.buffer &&
           read.slot < endOf(write) && write.slot < endOf(read);
  });
}

/// True if the reads of both are as far from each other.
static bool hasSameTerms(const Transfer &a, const Transfer &b) {
  auto distance = [](const Transfer &transfer) {
    return transfer.reads.size() < 3
               ? 0
               : transfer.reads[2].slot - transfer.reads[1].slot;
  };
  return a.reads.size() == b.reads.size() && distance(a) == distance(b);
}

/// True if chunks have the same type in the ranges of both; `ranks` own them.
static bool haveSameTypes(const Transfer &a, const Transfer &b,
                          ArrayRef<RankOp> ranks) {
  auto areAlike = [&](const SlotRange &one, const SlotRange &other) {
    return isWide(ranks[one.rank], one) == isWide(ranks[other.rank], other);
  };
  return areAlike(a.write, b.write) && a.reads.size() == b.reads.size() &&
         llvm::all_of(llvm::zip_equal(a.reads, b.reads), [&](auto reads) {
           return areAlike(std::get<0>(reads), std::get<1>(reads));
         });
}

/// Adds `next`, which is not repeated, as one more repetition of `transfer`.
/// Returns false, and changes nothing, if it is none.
static bool extend(Transfer &transfer, const Transfer &next,
                   unsigned perSegment, ArrayRef<RankOp> ranks) {
  if (next.times != 1 || next.count != transfer.count ||
      next.step != transfer.step || next.isFinal != transfer.isFinal ||
      next.chunk < transfer.chunk || !hasSameTerms(next, transfer) ||
      !haveSameTypes(next, transfer, ranks))
    return false;
  unsigned times = transfer.times, distance = next.chunk - transfer.chunk;
  if (times > 1 ? distance != transfer.chunkStride * times
                : distance < transfer.count || distance % perSegment != 0)
    return false;
  Transfer result = transfer;
  for (auto [read, other] : llvm::zip_equal(result.reads, next.reads))
    if (!extend(read, other, perSegment, times))
      return false;
  if (!extend(result.write, next.write, perSegment, times))
    return false;
  if (times == 1)
    result.chunkStride = distance;
  result.times = times + 1;
  if (overlapsItself(result))
    return false;
  transfer = std::move(result);
  return true;
}

/// Returns the number of ops that are repetitions of others now.
static unsigned repeatTransfers(ChannelOp channel, unsigned perSegment,
                                ArrayRef<RankOp> ranks) {
  unsigned count = 0;
  TransferOpInterface last;
  Transfer sum;
  auto finish = [&] {
    if (last && sum.times > last.getTimes())
      last.setPlaces(sum);
    last = nullptr;
  };
  for (Operation &op : llvm::make_early_inc_range(channel.getBody().getOps())) {
    auto transfer = dyn_cast<TransferOpInterface>(op);
    if (!transfer) {
      finish();
      continue;
    }
    Transfer next = *getTransfer(&op);
    if (last && last->getName() == op.getName() &&
        last.usesCopyEngine() == transfer.usesCopyEngine() &&
        extend(sum, next, perSegment, ranks)) {
      op.erase();
      ++count;
      continue;
    }
    finish();
    last = transfer;
    sum = std::move(next);
  }
  finish();
  return count;
}

namespace {
struct RepeatTransfersPass
    : coll::impl::RepeatTransfersBase<RepeatTransfersPass> {
  using RepeatTransfersBase::RepeatTransfersBase;

  void runOnOperation() override {
    const Problem *problem = getAnalysis<ProblemAnalysis>().get();
    if (!problem)
      return signalPassFailure();
    std::atomic<unsigned> count = 0;
    SmallVector<RankOp, 0> ranks = ranksOf(getOperation());
    forEachRankApart(getOperation(), [&](RankOp rank) {
      for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
        count += repeatTransfers(channel,
                                 problem->collective.chunksPerSegment(), ranks);
    });
    numRepeated += count;
    if (explain)
      getOperation().emitRemark()
          << "transfers that are repetitions of others: " << count.load();
    if (count == 0)
      markAllAnalysesPreserved();
    markAnalysesPreserved<ProblemAnalysis>();
  }
};
} // namespace
