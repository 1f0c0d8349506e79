//===- CollToHost.cpp - From programs to host functions -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/CodeShape.h"
#include "sccl/Conversion/Passes.h"

#include "../Common/ProgramEmitter.h"

#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTCOLLTOHOST
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// By rank and part, what a rank's thread executes, in order.
using RankParts = std::vector<SmallVector<Operation *>>;

struct ConvertCollToHostPass
    : coll::impl::ConvertCollToHostBase<ConvertCollToHostPass> {
  using ConvertCollToHostBase::ConvertCollToHostBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(requireLowered(module)))
      return signalPassFailure();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    HelperOptions options{HelperTarget::Host, 1, std::nullopt, false, 0};
    // LLVM would call a run-time library on a CPU without the instructions.
    Result<ElementOp> combine =
        makeElementOp(elementType(element).name, toString(reduction),
                      /*convertsHalves=*/false);
    if (!combine) {
      module.emitError(combine.error());
      return signalPassFailure();
    }
    if (llvm::any_of(programs, hasCombine))
      options.combine = *combine;
    for (ProgramOp program : programs)
      if (failed(convert(program, options)))
        return signalPassFailure();
    eraseCollOps(module);
    insertHelpers(*module.getBody(), options);
  }

  LogicalResult convert(ProgramOp program, HelperOptions &options) {
    FailureOr<Problem> problem = importProblem(program);
    if (failed(problem))
      return failure();
    if (program.getBlocks() != 1)
      return program.emitOpError() << "has " << program.getBlocks()
                                   << " blocks per channel, but the host runs "
                                      "one thread per rank";
    CodeShape shape = chooseCodeShape(codeShape, program);
    options.hasTables |= shape == CodeShape::Table;
    options.ll.merge(llShapes(program));
    if (hasCombine(program) && program.getLl())
      if (std::optional<std::string> reason = whyNoLL(*options.combine))
        return program.emitError(*reason);
    ProgramInfo info = describeProgram(program, problem->collective);
    options.streamStride = std::max(
        options.streamStride,
        std::max<uint64_t>(cacheBytes / countSlots(info, problem->collective),
                           chunkAlignment));
    FailureOr<std::vector<RankParts>> order = orderOps(program, info);
    if (failed(order))
      return failure();
    OpBuilder builder(program);
    ProgramCode code(program, problem->collective, options.averages(),
                     /*hasThreads=*/false);
    std::vector<CodeRow> rows;
    for (unsigned rank = 0; rank < info.numRanks; ++rank)
      emitRank(builder, program.getLoc(), info, code, rank, (*order)[rank],
               shape, rows);
    createTable(builder, program.getLoc(), info.flagTable(),
                tableWords(code.flagRows()), 0);
    if (shape == CodeShape::Table)
      createTable(builder, program.getLoc(), info.codeTable(), tableWords(rows),
                  0);
    program.erase();
    return success();
  }

  /// The chunks that the buffers of all ranks hold together, at least 1.
  static uint64_t countSlots(const ProgramInfo &info,
                             const Collective &collective) {
    uint64_t slots = 1;
    for (unsigned rank = 0; rank < info.numRanks; ++rank)
      slots += collective.inputSlots(rank) + collective.outputSlots(rank) +
               info.scratchSlots[rank];
    return slots;
  }

  /// An order in which one thread per rank can execute all channels.
  static FailureOr<std::vector<RankParts>> orderOps(ProgramOp program,
                                                    const ProgramInfo &info) {
    // Nothing is before the first barrier or after the last one.
    std::vector<RankParts> order(info.numRanks, RankParts(info.steps + 2));
    llvm::DenseMap<Operation *, unsigned> part; // looked up, not iterated
    if (failed(walkInExecutionOrder(
            program, [&](ChannelOp channel, Operation *op) {
              if (isa<BarrierOp>(op))
                ++part[channel];
              else
                order[getRank(channel)][part[channel]].push_back(op);
            })))
      return failure();
    return order;
  }

  void emitRank(OpBuilder &builder, Location loc, const ProgramInfo &info,
                ProgramCode &code, unsigned rank, const RankParts &parts,
                CodeShape codeShape, std::vector<CodeRow> &rows) {
    bool countsLaunches = info.steps == 0;
    for (unsigned step = 0; step < std::max(info.steps, 1u); ++step) {
      std::vector<CodeRow> mine =
          code.encode(parts[countsLaunches ? 0 : step + 1], rank);
      ProgramEmitter emitter =
          beginFunction(builder, loc, info.functionName(rank, step), code);
      if (countsLaunches)
        emitter.begin(rank, /*channel=*/0);
      if (codeShape == CodeShape::Unrolled)
        emitter.emitUnrolled(mine, info.flagTable());
      else
        emitter.emitTable(info.codeTable(), rows.size(), mine.size(),
                          info.flagTable());
      if (codeShape == CodeShape::Table)
        llvm::append_range(rows, mine);
      if (countsLaunches)
        emitter.end();
      LLVM::ReturnOp::create(builder, loc, ValueRange{});
      builder.setInsertionPointAfter(builder.getBlock()->getParentOp());
    }
  }

  /// Creates a function, and moves the builder into it.
  ProgramEmitter beginFunction(OpBuilder &builder, Location loc, StringRef name,
                               const ProgramCode &code) {
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    KernelArguments::types(pointer));
    auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type);
    Block *entry = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    Value block = arith::ConstantIntOp::create(builder, loc, 0, 32);
    return ProgramEmitter(builder, loc, code,
                          KernelArguments::of(entry->getArguments()), block);
  }
};
} // namespace
