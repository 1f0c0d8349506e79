//===- FuseReductions.cpp - Combine from and to the peer directly
//-----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_FUSEREDUCTIONS
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
using SlotKey = std::tuple<unsigned, Buffer, unsigned>;

/// Who reads and who writes the slots of a program.
class SlotUses {
public:
  explicit SlotUses(ProgramOp program) {
    program.walk([&](Operation *op) {
      std::optional<Transfer> transfer = getTransfer(op);
      if (!transfer)
        return;
      for (const SlotRange &read : transfer->reads)
        forEach(read, [&](SlotKey slot) { readers[slot].push_back(op); });
      forEach(transfer->write,
              [&](SlotKey slot) { writerSteps[slot] = transfer->step; });
    });
  }

  /// Tells that `op` is about to be erased. What it wrote, another op writes
  /// now, in the same step or later.
  void forget(Operation *op) {
    std::optional<Transfer> transfer = getTransfer(op);
    for (const SlotRange &read : transfer->reads)
      forEach(read, [&](SlotKey slot) {
        llvm::replace(readers[slot], op, static_cast<Operation *>(nullptr));
      });
  }

  /// The op that alone reads every slot of `range`. Nothing if there are
  /// several, or it is gone.
  Operation *onlyReader(const SlotRange &range) const {
    Operation *reader = nullptr;
    bool isOnly = true;
    forEach(range, [&](SlotKey slot) {
      auto it = readers.find(slot);
      isOnly = isOnly && it != readers.end() && it->second.size() == 1 &&
               (!reader || it->second.front() == reader);
      if (isOnly)
        reader = it->second.front();
    });
    return isOnly ? reader : nullptr;
  }

  /// True if what is in `range` is there before `step` begins.
  bool isBefore(const SlotRange &range, unsigned step) const {
    bool result = true;
    forEach(range, [&](SlotKey slot) {
      auto it = writerSteps.find(slot);
      result = result && (it == writerSteps.end() || it->second < step);
    });
    return result;
  }

private:
  template <typename Visit>
  static void forEach(const SlotRange &range, Visit visit) {
    for (unsigned i = 0; i < range.count; ++i)
      visit(SlotKey{range.rank, range.buffer, range.slot + i});
  }

  std::map<SlotKey, SmallVector<Operation *, 2>> readers;
  std::map<SlotKey, unsigned> writerSteps;
};
} // namespace

static bool isSame(const SlotRange &a, const SlotRange &b) {
  return a.rank == b.rank && a.buffer == b.buffer && a.slot == b.slot &&
         a.count == b.count;
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
      !isSame(getTransfer(put)->reads[0], first.write))
    return false;
  OpBuilder builder(put);
  ReducePutOp::create(builder, put.getLoc(), put.getChunk(), put.getCount(),
                      combine.getSrcBuffer(), combine.getSrcSlot(),
                      combine.getRhsBuffer(), combine.getRhsSlot(),
                      put.getDstBuffer(), put.getDstSlot(), put.getStep(),
                      combine.getFinal());
  for (Operation *op : {put.getOperation(), combine.getOperation()}) {
    uses.forget(op);
    op->erase();
  }
  return true;
}

/// Makes `get` and the only combine of what it brings one op.
static bool fuseWithCombine(GetOp get, SlotUses &uses) {
  Transfer first = *getTransfer(get);
  if (get.getDma() || first.write.buffer != Buffer::Scratch)
    return false;
  auto combine = dyn_cast_or_null<LocalReduceOp>(uses.onlyReader(first.write));
  if (!combine)
    return false;
  Transfer second = *getTransfer(combine);
  // Reductions are commutative: the chunk may come first or second.
  bool isRhs = isSame(second.reads[1], first.write);
  const SlotRange &other = second.reads[isRhs ? 0 : 1];
  if (!(isRhs || isSame(second.reads[0], first.write)) ||
      !uses.isBefore(other, get.getStep()))
    return false;
  OpBuilder builder(get);
  GetReduceOp::create(builder, get.getLoc(), get.getChunk(), get.getCount(),
                      other.buffer, other.slot, get.getSrcBuffer(),
                      get.getSrcSlot(), combine.getDstBuffer(),
                      combine.getDstSlot(), get.getStep(), combine.getFinal());
  for (Operation *op : {combine.getOperation(), get.getOperation()}) {
    uses.forget(op);
    op->erase();
  }
  return true;
}

namespace {
/// Numbers the scratch of each rank anew, without the slots that nobody uses.
class ScratchCompaction {
public:
  explicit ScratchCompaction(ProgramOp program) : program(program) {}

  /// Returns the number of slots given back.
  unsigned run() {
    visitSlots([&](unsigned rank, unsigned slot, unsigned count, auto) {
      for (unsigned i = 0; i < count; ++i)
        slots[rank][slot + i] = 0;
    });
    for (auto &[rank, used] : slots)
      for (unsigned next = 0; auto &[slot, number] : used)
        number = next++;
    visitSlots([&](unsigned rank, unsigned slot, unsigned, auto set) {
      set(slots.at(rank).at(slot));
    });
    unsigned freed = 0;
    for (RankOp rank : program.getBody().getOps<RankOp>()) {
      unsigned used = slots[rank.getRank()].size();
      freed += rank.getScratch() - used;
      rank.setScratch(used);
    }
    return freed;
  }

private:
  /// Calls `visit` with rank, slot, count and a setter of the slot, for each
  /// operand of each transfer that is in scratch.
  template <typename Visit> void visitSlots(Visit visit) {
    program.walk([&](Operation *op) {
      std::optional<Transfer> transfer = getTransfer(op);
      if (!transfer)
        return;
      auto visitRange = [&](const SlotRange &range, StringRef attribute) {
        if (range.buffer == Buffer::Scratch)
          visit(range.rank, range.slot, range.count, [&](unsigned slot) {
            op->setAttr(
                attribute,
                IntegerAttr::get(IntegerType::get(op->getContext(), 32), slot));
          });
      };
      visitRange(transfer->reads[0], "src_slot");
      if (transfer->reads.size() == 2)
        visitRange(transfer->reads[1], "rhs_slot");
      visitRange(transfer->write, "dst_slot");
    });
  }

  ProgramOp program;
  std::map<unsigned, std::map<unsigned, unsigned>> slots;
};

/// What was done to a program.
struct FusionCounts {
  unsigned gets = 0, puts = 0, slots = 0;
};

struct FuseReductionsPass : coll::impl::FuseReductionsBase<FuseReductionsPass> {
  using FuseReductionsBase::FuseReductionsBase;

  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      if (isSynchronized(program))
        continue;
      FusionCounts counts = fuse(program);
      if (counts.gets + counts.puts > 0)
        counts.slots = ScratchCompaction(program).run();
      numGets += counts.gets;
      numPuts += counts.puts;
      numSlots += counts.slots;
      if (explain)
        program.emitRemark()
            << "combines joined with a put: " << counts.puts
            << ", gets joined with a combine: " << counts.gets
            << ", slots of scratch given back: " << counts.slots;
    }
  }

  FusionCounts fuse(ProgramOp program) {
    FusionCounts counts;
    SlotUses uses(program);
    SmallVector<GetOp> gets;
    program.walk([&](GetOp op) { gets.push_back(op); });
    for (GetOp get : gets)
      counts.gets += fuseWithCombine(get, uses);
    SmallVector<LocalReduceOp> combines;
    program.walk([&](LocalReduceOp op) { combines.push_back(op); });
    SlotUses usesNow(program);
    for (LocalReduceOp combine : combines)
      counts.puts += fuseWithPut(combine, usesNow);
    return counts;
  }
};
} // namespace
