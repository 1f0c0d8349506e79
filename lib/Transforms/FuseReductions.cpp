//===- FuseReductions.cpp - Reduce from and to the peer directly ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "ScratchSlots.h"
#include "sccl/ABI/AverageWord.h"
#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Analysis/SlotNumbering.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_FUSEREDUCTIONS
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// Who reads and who writes the slots of a program.
class SlotUses {
public:
  explicit SlotUses(ProgramOp program) : slots(program), uses(slots.size()) {
    forEachOp<TransferOpInterface>(program, [&](TransferOpInterface op) {
      Operation *self = op;
      unsigned step = op.getStep();
      for (const SlotRange &read : op.getReads())
        slots.forEach(read, [&](size_t slot) {
          uses[slot].reader = ++uses[slot].readers == 1 ? self : nullptr;
        });
      slots.forEach(op.getWrite(), [&](size_t slot) {
        uses[slot].writer = self;
        uses[slot].step = step;
      });
    });
  }

  /// Tells that `op` is about to be erased, and `reader`, if there is one,
  /// reads what it read. What it wrote, another op writes now, in the same step
  /// or later.
  void forget(TransferOpInterface op, Operation *reader = nullptr) {
    Operation *self = op;
    for (const SlotRange &read : op.getReads())
      slots.forEach(read, [&](size_t slot) {
        if (uses[slot].reader == self)
          uses[slot].reader = reader;
      });
  }

  /// The op that alone reads every slot of `range`. Nothing if there are
  /// several, or it is gone.
  Operation *onlyReader(const SlotRange &range) const {
    Operation *reader = nullptr;
    bool isOnly = true;
    slots.forEach(range, [&](size_t slot) {
      const Use &use = uses[slot];
      isOnly = isOnly && use.readers == 1 && (!reader || use.reader == reader);
      if (isOnly)
        reader = use.reader;
    });
    return isOnly ? reader : nullptr;
  }

  /// True if `range` is of several sums, each formed by itself before `step`
  /// and read once.
  bool isOfSums(const SlotRange &range, unsigned step) const {
    bool result = range.buffer == Buffer::Scratch && range.size() > 1;
    slots.forEach(range, [&](size_t slot) {
      const Use &use = uses[slot];
      auto sum = dyn_cast_or_null<LocalReduceOp>(use.writer);
      result = result && use.readers == 1 && use.step < step && sum &&
               sum.getCount() == 1;
    });
    return result;
  }

  /// True if what is in `range` is there before `step` begins.
  bool isBefore(const SlotRange &range, unsigned step) const {
    bool result = true;
    slots.forEach(range, [&](size_t slot) {
      result = result && (!uses[slot].writer || uses[slot].step < step);
    });
    return result;
  }

  /// True if an average weighs what is in two ranges alike, see AverageWord.h.
  bool weighAlike(const SlotRange &a, const SlotRange &b) {
    for (unsigned i = 0; i < a.size(); ++i)
      if (averageExponent(contributionsAt(a, i)) !=
          averageExponent(contributionsAt(b, i)))
        return false;
    return true;
  }

private:
  struct Use {
    Operation *reader = nullptr; ///< if there is only one
    Operation *writer = nullptr; ///< the last one
    unsigned readers = 0;
    unsigned step = 0;          ///< in which it is written
    unsigned contributions = 0; ///< 0 if nobody has asked
  };

  /// The number of ranks that have contributed to what is in slot `i` of
  /// `range`, where each slot is written once.
  unsigned contributionsAt(const SlotRange &range, unsigned i) {
    size_t slot = slots.number(range.rank, range.buffer, range[i]);
    if (uses[slot].contributions != 0)
      return uses[slot].contributions;
    uses[slot].contributions = 1; // of inputs, and where there is a cycle
    if (!uses[slot].writer)
      return 1;
    Transfer transfer = *getTransfer(uses[slot].writer);
    const SlotRange &write = transfer.write;
    unsigned place = 0, total = 0;
    while (slots.number(write.rank, write.buffer, write[place]) != slot)
      ++place;
    for (const SlotRange &read : transfer.reads)
      total += contributionsAt(read, place);
    return uses[slot].contributions = total;
  }

  SlotNumbering slots;
  std::vector<Use> uses; ///< by slot
};
} // namespace

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

/// True if a transfer of `program` converts nothing.
static bool usesCopyEngines(ProgramOp program) {
  bool result = false;
  forEachOp<TransferOpInterface>(
      program, [&](TransferOpInterface op) { result |= op.usesCopyEngine(); });
  return result;
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
