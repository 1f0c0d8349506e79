//===- CheckResidency.cpp - Do all blocks of a rank run at once? ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Chip.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHECKRESIDENCY
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

/// True if a block of `rank` waits for others.
static bool waits(ProgramOp program, RankOp rank) {
  auto isWait = [](WaitOp) { return WalkResult::interrupt(); };
  return program.getLl() || rank->walk(isWait).wasInterrupted();
}

static uint64_t blocksOf(ProgramOp program, RankOp rank) {
  return countSpread(rank) * program.getBlocks();
}

namespace {
class CheckResidency : public coll::impl::CheckResidencyBase<CheckResidency> {
public:
  using CheckResidencyBase::CheckResidencyBase;

  void runOnOperation() override {
    limit = residentBlocks;
    if (limit == 0 && failed(takeReference()))
      return signalPassFailure();
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(check(program)))
        signalPassFailure();
  }

private:
  /// Takes the limit from the product that stands for the chip.
  LogicalResult takeReference() {
    Result<Chip> known = findChip(chip.getValue());
    if (!known)
      return getOperation().emitError()
             << "how many blocks '" << chip
             << "' holds is not known; resident-blocks must say it (D3)";
    limit = known->reference.residentBlocks(blockSize);
    basis = known->reference.name;
    return success();
  }

  LogicalResult check(ProgramOp program) {
    uint64_t sum = 0;
    for (auto rank : program.getBody().getOps<RankOp>()) {
      uint64_t blocks = blocksOf(program, rank);
      // A virtual kernel has the blocks of all ranks.
      sum += blocks;
      if (virtualRanks)
        blocks = sum;
      if (waits(program, rank) && blocks > limit)
        return report(rank, blocks);
    }
    return success();
  }

  LogicalResult report(RankOp rank, uint64_t blocks) {
    InFlightDiagnostic error = rank.emitOpError();
    error << (virtualRanks ? "and those before it need " : "needs ") << blocks
          << " blocks resident together, but ";
    if (basis.empty())
      error << "the GPU is said to hold " << limit;
    else
      error << basis << " (" << chip << ") holds only " << limit
            << " in any case; if the GPU is another, say what it holds with "
               "resident-blocks";
    return error << " (D3)";
  }

  uint64_t limit = 0;
  StringRef basis;
};
} // namespace
