//===- CollToHost.cpp - From programs to host functions -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
/// One op in the order in which a rank's thread executes it.
struct OrderedOp {
  ChannelOp channel;
  Operation *op;
};

struct ConvertCollToHostPass
    : coll::impl::ConvertCollToHostBase<ConvertCollToHostPass> {
  using ConvertCollToHostBase::ConvertCollToHostBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    HelperOptions options{HelperTarget::Host, 1, std::nullopt};
    if (llvm::any_of(programs, hasCombine)) {
      // LLVM would call a run-time library on a CPU without the instructions.
      Result<ElementOp> combine =
          makeElementOp(element, reduction, /*convertsHalves=*/false);
      if (!combine) {
        programs.front().emitError(combine.error());
        return signalPassFailure();
      }
      options.combine = *combine;
    }
    for (ProgramOp program : programs)
      if (failed(convert(program, options)))
        return signalPassFailure();
    eraseCollOps(module);
    insertHelpers(*module.getBody(), options);
  }

  LogicalResult convert(ProgramOp program, const HelperOptions &options) {
    FailureOr<Problem> problem = importProblem(program);
    if (failed(problem))
      return failure();
    if (program.getBlocks() != 1)
      return program.emitOpError() << "has " << program.getBlocks()
                                   << " blocks per channel, but the host runs "
                                      "one thread per rank";
    std::vector<std::vector<OrderedOp>> order(problem->collective.numRanks());
    if (failed(walkInExecutionOrder(
            program, [&](ChannelOp channel, Operation *op) {
              order[getRank(channel)].push_back({channel, op});
            })))
      return failure();
    OpBuilder builder(program);
    ProgramContext context(program, problem->collective,
                           options.combine && options.combine->averages());
    for (RankOp rank : program.getBody().getOps<RankOp>())
      emitFunction(builder, context, rank, order[rank.getRank()]);
    program.erase();
    return success();
  }

  void emitFunction(OpBuilder &builder, const ProgramContext &context,
                    RankOp rank, ArrayRef<OrderedOp> order) {
    Location loc = rank.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    KernelArguments::types(pointer));
    auto function = LLVM::LLVMFuncOp::create(
        builder, loc, context.functionName(rank.getRank()), type);
    OpBuilder::InsertionGuard guard(builder);
    Block *entry = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    Value block = arith::ConstantIntOp::create(builder, loc, 0, 32);
    ProgramEmitter emitter(builder, loc, context, rank.getRank(),
                           KernelArguments::of(entry->getArguments()), block);
    emitter.begin(rank.getRank());
    for (const OrderedOp &ordered : order)
      emitter.emit(ordered.channel, ordered.op);
    emitter.end();
    LLVM::ReturnOp::create(builder, loc, ValueRange{});
  }
};
} // namespace
