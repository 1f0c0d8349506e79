//===- CheckProgram.cpp - Deadlocks, races and wrong results --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "ProgramChecker.h"
#include "sccl/Analysis/ProblemAnalysis.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHECKPROGRAM
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// Why a program does not work in place, and where.
struct InPlaceFault {
  Location loc;
  std::string message;
};
} // namespace

/// True if no transfer of `program` writes what the send and receive buffers of
/// its owner have in common, but for copies that leave it as it is.
static bool keepsSharedSlots(ProgramOp program, const Collective &collective) {
  struct Shared {
    int64_t offset, end; ///< in the receive buffer
  };
  std::vector<Shared> ranks;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    int64_t offset = collective.inPlaceOffset(rank);
    ranks.push_back({offset, offset + collective.inputSlots(rank)});
  }
  bool areKept = true;
  forEachOp<TransferOpInterface>(program, [&](TransferOpInterface op) {
    SlotRange write = op.getWrite();
    const Shared &shared = ranks[write.rank];
    bool isBeside = write.buffer == Buffer::Scratch ||
                    (write.buffer == Buffer::Output &&
                     !write.touches(shared.offset, shared.end));
    if (isBeside || !areKept)
      return;
    if (!isa<CopyOp>(op)) {
      areKept = false;
      return;
    }
    SlotRange read = op.getReads()[0];
    areKept = read.rank == write.rank && read.buffer == Buffer::Input &&
              write.buffer == Buffer::Output;
    for (unsigned i = 0; areKept && i < write.size(); ++i)
      areKept = read[i] + shared.offset == write[i];
  });
  return areKept;
}

/// Why the buffers of no `program` of this kind may overlap, if that is so.
static std::optional<std::string>
whyNeverInPlace(ProgramOp program, const Collective &collective) {
  if (!collective.hasInPlaceLayout())
    return "send and receive buffers have no places in common";
  // The clocks take it that threads wait for their block.
  if (program.getLl())
    return "LL words do not order what blocks do in place";
  return std::nullopt;
}

bool coll::allowsInPlace(ProgramOp program, const Collective &collective) {
  if (whyNeverInPlace(program, collective))
    return false;
  // What no transfer changes holds what it held in the send buffer from the
  // beginning, and so does all that follows from it. Partial sums are another
  // matter: how many ranks are in one is not in the program.
  if (!collective.combining() && keepsSharedSlots(program, collective))
    return true;
  return succeeded(
      ProgramChecker(program, collective, {.inPlace = true, .isQuiet = true})
          .run({SumOrder::Any}));
}

bool coll::isRight(ProgramOp program, const Collective &collective,
                   const SumContract &contract) {
  return succeeded(
      ProgramChecker(program, collective, {.isQuiet = true}).run(contract));
}

/// The first fault of `program` when its buffers overlap.
static InPlaceFault findInPlaceFault(ProgramOp program,
                                     const Collective &collective) {
  if (auto reason = whyNeverInPlace(program, collective))
    return {program.getLoc(), *reason};
  std::optional<InPlaceFault> fault;
  // Other threads may check other programs.
  ScopedDiagnosticHandler handler(
      program.getContext(),
      [&, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
        if (llvm::get_threadid() != thread)
          return failure();
        if (!fault)
          fault = InPlaceFault{diagnostic.getLocation(), diagnostic.str()};
        return success();
      });
  (void)ProgramChecker(program, collective, {.inPlace = true})
      .run({SumOrder::Any});
  return fault.value_or(InPlaceFault{program.getLoc(), "the check fails"});
}

namespace {
struct CheckProgramPass : coll::impl::CheckProgramBase<CheckProgramPass> {
  using CheckProgramBase::CheckProgramBase;

  void runOnOperation() override {
    // Of an op alone, the verifier of a pass manager leaves out its symbols.
    SymbolTableCollection symbols;
    if (failed(verify(getOperation())) ||
        failed(getOperation().verifySymbolUses(symbols)))
      return signalPassFailure();
    const Problem *problem = getAnalysis<ProblemAnalysis>().get();
    if (!problem || failed(check(getOperation(), problem->collective)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult check(ProgramOp program, const Collective &collective) {
    if (failed(ProgramChecker(program, collective, {})
                   .run({.order = sumOrder,
                         .roundsOnce = smallFloats,
                         .oneRounding = oneRounding})))
      return failure();
    if (!inPlace || allowsInPlace(program, collective))
      return success();
    InPlaceFault fault = findInPlaceFault(program, collective);
    InFlightDiagnostic diag =
        program.emitOpError("does not work in place (H4)");
    diag.attachNote(fault.loc) << fault.message;
    return diag;
  }
};
} // namespace
