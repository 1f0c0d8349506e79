//===- FuseReductions.cpp - Reduce from and to the peer directly ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "ScratchSlots.h"
#include "SlotUses.h"
#include "sccl/Analysis/ProblemAnalysis.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_FUSEREDUCTIONS
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// The distance of the terms of `first` and then those of `second`, if there is
/// one, and all of them are in scratch.
static std::optional<unsigned> termDistance(const Transfer &first,
                                            const Transfer &second) {
  auto terms = llvm::to_vector(llvm::drop_begin(first.reads));
  llvm::append_range(terms, llvm::drop_begin(second.reads));
  int64_t distance = int64_t(terms[1].slot) - terms[0].slot;
  for (size_t i = 0; i < terms.size(); ++i) {
    SlotRange expected = terms[0];
    expected.slot += i * distance;
    if (terms[i] != expected)
      return std::nullopt;
  }
  if (distance < terms[0].count || terms[0].buffer != Buffer::Scratch)
    return std::nullopt;
  return distance;
}

/// Makes `first` and the reduction that alone reads its result one op, if they
/// add up what has arrived in one step: then all of it is there before the
/// first of them begins.
static bool joinWithNext(LocalReduceOp first, SlotUses &uses, bool unweighted) {
  Transfer before = *getTransfer(first);
  if (before.write.buffer != Buffer::Scratch)
    return false;
  auto next = dyn_cast_or_null<LocalReduceOp>(uses.onlyReader(before.write));
  if (!next || next->getParentOp() != first->getParentOp() ||
      next.getStep() != first.getStep())
    return false;
  Transfer after = *getTransfer(next);
  std::optional<unsigned> distance = termDistance(before, after);
  if (after.reads[0] != before.write || !distance ||
      !(unweighted || uses.weighAlike(before.reads[1], after.reads[1])))
    return false;
  uses.forget(first, next);
  next.setSrcBuffer(first.getSrcBuffer());
  next.setSrcSlot(first.getSrcSlot());
  next.setSrcStride(first.getSrcStride());
  next.setRhsSlot(first.getRhsSlot());
  next.setTerms(first.getTerms() + next.getTerms());
  next.setTermStride(*distance);
  first.erase();
  return true;
}

/// Makes `combine` and the only put of its result one op. Returns false if
/// there is no such put.
static bool fuseWithPut(LocalReduceOp combine, SlotUses &uses) {
  Transfer first = *getTransfer(combine);
  if (first.write.buffer != Buffer::Scratch)
    return false;
  auto put = dyn_cast_or_null<PutOp>(uses.onlyReader(first.write));
  // With a step between, the put waits for nothing that waits for it.
  if (!put || put.getDma() || put.getStep() <= combine.getStep() ||
      getTransfer(put)->reads[0] != first.write)
    return false;
  OpBuilder builder(put);
  ReducePutOp::create(
      builder, put.getLoc(), put.getChunk(), put.getCount(),
      combine.getSrcBuffer(), combine.getSrcSlot(), combine.getRhsBuffer(),
      combine.getRhsSlot(), put.getDstBuffer(), put.getDstSlot(), put.getStep(),
      combine.getFinal(), put.getTimes(), put.getChunkStride(),
      combine.getSrcStride(), combine.getRhsStride(), put.getDstStride(),
      combine.getTerms(), combine.getTermStride());
  for (Operation *op : {put.getOperation(), combine.getOperation()}) {
    uses.forget(cast<TransferOpInterface>(op));
    op->erase();
  }
  return true;
}

/// Makes a put of several sums one of each, so that each can be joined with its
/// reduction. Returns false if `put` is none.
static bool splitPut(PutOp put, const SlotUses &uses) {
  if (put.getDma() || put.getTimes() > 1 ||
      !uses.isOfSums(getTransfer(put)->reads[0], put.getStep()))
    return false;
  OpBuilder builder(put);
  for (unsigned i = 0; i < put.getCount(); ++i) {
    auto part = cast<PutOp>(builder.clone(*put));
    part.setChunk(put.getChunk() + i);
    part.setCount(1);
    part.setSrcSlot(put.getSrcSlot() + i);
    part.setDstSlot(put.getDstSlot() + i);
  }
  put.erase();
  return true;
}

/// Makes `get` and the only combine of what it brings one op.
static bool fuseWithCombine(GetOp get, SlotUses &uses) {
  Transfer first = *getTransfer(get);
  if (get.getDma() || first.write.buffer != Buffer::Scratch)
    return false;
  auto combine = dyn_cast_or_null<LocalReduceOp>(uses.onlyReader(first.write));
  if (!combine || combine.getTerms() != 1)
    return false;
  Transfer second = *getTransfer(combine);
  // Reductions are commutative: the chunk may come first or second.
  bool isRhs = second.reads[1] == first.write;
  const SlotRange &other = second.reads[isRhs ? 0 : 1];
  if (!(isRhs || second.reads[0] == first.write) ||
      !uses.isBefore(other, get.getStep()))
    return false;
  OpBuilder builder(get);
  GetReduceOp::create(builder, get.getLoc(), get.getChunk(), get.getCount(),
                      other.buffer, other.slot, get.getSrcBuffer(),
                      get.getSrcSlot(), combine.getDstBuffer(),
                      combine.getDstSlot(), get.getStep(), combine.getFinal(),
                      get.getTimes(), get.getChunkStride(), other.stride,
                      get.getSrcStride(), combine.getDstStride(),
                      /*terms=*/1, /*term_stride=*/0);
  for (Operation *op : {combine.getOperation(), get.getOperation()}) {
    uses.forget(cast<TransferOpInterface>(op));
    op->erase();
  }
  return true;
}

namespace {
/// What was done to a program.
struct FusionCounts {
  unsigned gets = 0, puts = 0, terms = 0, slots = 0;
};

struct FuseReductionsPass : coll::impl::FuseReductionsBase<FuseReductionsPass> {
  using FuseReductionsBase::FuseReductionsBase;

  void runOnOperation() override {
    markAnalysesPreserved<ProblemAnalysis>();
    ProgramOp program = getOperation();
    if (isSynchronized(program))
      return;
    SmallVector<LocalReduceOp> combines = findReductions(program);
    FusionCounts counts;
    if (combines.empty()) {
      markAllAnalysesPreserved();
    } else {
      counts = fuse(program, combines);
      if (!usesCopyEngines(program))
        program.setSumWidth(sumWidth);
      // Sums in one order have left places empty in any case.
      counts.slots = compactScratch(program);
    }
    numGets += counts.gets;
    numPuts += counts.puts;
    numTerms += counts.terms;
    numSlots += counts.slots;
    if (explain)
      program.emitRemark() << "reductions joined with a put: " << counts.puts
                           << ", gets joined with a reduction: " << counts.gets
                           << ", slots of scratch given back: " << counts.slots
                           << ", reductions joined with the next one: "
                           << counts.terms;
  }

  static SmallVector<LocalReduceOp> findReductions(ProgramOp program) {
    SmallVector<LocalReduceOp> reductions;
    forEachOp<LocalReduceOp>(
        program, [&](LocalReduceOp op) { reductions.push_back(op); });
    return reductions;
  }

  FusionCounts fuse(ProgramOp program, ArrayRef<LocalReduceOp> combines) {
    FusionCounts counts;
    SlotUses uses(program);
    if (!oneByOne)
      for (LocalReduceOp combine : combines)
        counts.terms += joinWithNext(combine, uses, unweighted);
    SmallVector<GetOp> gets;
    forEachOp<GetOp>(program, [&](GetOp op) { gets.push_back(op); });
    for (GetOp get : gets)
      counts.gets += fuseWithCombine(get, uses);
    SmallVector<PutOp> puts;
    forEachOp<PutOp>(program, [&](PutOp op) { puts.push_back(op); });
    unsigned split = 0;
    for (PutOp put : puts)
      split += splitPut(put, uses);
    // Joined gets read what others have read.
    if (counts.gets + split > 0)
      uses = SlotUses(program);
    for (LocalReduceOp combine : findReductions(program))
      counts.puts += fuseWithPut(combine, uses);
    return counts;
  }
};
} // namespace
