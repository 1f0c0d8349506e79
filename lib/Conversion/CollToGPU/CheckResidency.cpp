//===- CheckResidency.cpp - Do all blocks of a rank run at once? ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"
#include "sccl/Conversion/Residency.h"

#include "sccl/Dialect/Coll/CollOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHECKRESIDENCY
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

std::optional<ReferenceProduct> coll::referenceProduct(StringRef chip) {
  ReferenceProduct product = llvm::StringSwitch<ReferenceProduct>(chip)
                                 .Case("sm_70", {"a V100", 80})
                                 .Case("sm_75", {"a T4", 40})
                                 .Case("sm_80", {"an A100", 108})
                                 .Case("sm_86", {"an A10", 72})
                                 .Case("sm_89", {"an L4", 58})
                                 .Case("sm_90", {"an H100 PCIe", 114})
                                 .Case("sm_100", {"a B200", 148})
                                 .Case("sm_103", {"a B300", 148})
                                 .Case("sm_120", {"an RTX 5080", 84})
                                 .Case("gfx906", {"an MI50", 60})
                                 .Case("gfx908", {"an MI100", 120})
                                 .Case("gfx90a", {"an MI210", 104})
                                 .Case("gfx942", {"an MI308X", 80})
                                 .Case("gfx950", {"an MI350X", 256})
                                 .Default({"", 0});
  if (product.blocks == 0)
    return std::nullopt;
  return product;
}

/// True if a block of `rank` waits for others.
static bool waits(ProgramOp program, RankOp rank) {
  auto isWait = [](WaitOp) { return WalkResult::interrupt(); };
  return program.getLl() || rank->walk(isWait).wasInterrupted();
}

static uint64_t blocksOf(ProgramOp program, RankOp rank) {
  auto channels = rank.getBody().getOps<ChannelOp>();
  return std::distance(channels.begin(), channels.end()) *
         uint64_t(program.getBlocks());
}

namespace {
class CheckResidency : public coll::impl::CheckResidencyBase<CheckResidency> {
public:
  using CheckResidencyBase::CheckResidencyBase;

  void runOnOperation() override {
    std::optional<ReferenceProduct> product = referenceProduct(chip);
    if (residentBlocks == 0 && !product) {
      getOperation().emitError()
          << "how many blocks '" << chip
          << "' holds is not known; resident-blocks must say it (D3)";
      return signalPassFailure();
    }
    limit = residentBlocks ? residentBlocks : product->blocks;
    basis = residentBlocks ? "" : product->name;
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(check(program)))
        signalPassFailure();
  }

private:
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
