//===- KernelToHost.cpp - From what threads execute to functions ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/ABI/HostSteps.h"
#include "sccl/Conversion/Passes.h"
#include "sccl/Conversion/ProgramInfo.h"

#include "../KernelPatterns/KernelPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTKERNELTOHOST
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

namespace {
struct ConvertKernelToHostPass
    : coll::impl::ConvertKernelToHostBase<ConvertKernelToHostPass> {
  using ConvertKernelToHostBase::ConvertKernelToHostBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    coll::HelperOptions options;
    options.target = coll::HelperTarget::Host;
    options.cacheBytes = cacheBytes;
    // LLVM would call a run-time library on a CPU without the instructions.
    std::vector<coll::ElementOp> ops =
        reductionsOf(elements, element, reductions, reduction,
                     /*convertsHalves=*/false);
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    for (ProgramOp program : programs) {
      if (!program.getHost() && !hasChannelsOfOneBlock(program)) {
        program.emitOpError("is for the threads of thread blocks");
        return signalPassFailure();
      }
      if (failed(noteNeeds(program, ops, options)))
        return signalPassFailure();
    }
    for (ProgramOp program : programs)
      if (failed(convert(program, options)))
        return signalPassFailure();
    coll::insertHelpers(*module.getBody(), options);
  }

  /// Kernels for thread blocks become a function for each channel, if these
  /// have one block.
  static bool hasChannelsOfOneBlock(ProgramOp program) {
    auto hasOne = [](ChannelOp channel) { return channel.getSpread() == 1; };
    return program.getBlocks() == 1 &&
           llvm::all_of(
               program.getBody().getOps<KernelOp>(), [&](KernelOp kernel) {
                 return kernel.getRank() &&
                        llvm::all_of(kernel.getBody().getOps<ChannelOp>(),
                                     hasOne);
               });
  }

  LogicalResult convert(ProgramOp program, const coll::HelperOptions &options) {
    OpBuilder builder(program);
    KernelLowering lowering;
    lowering.pointer = LLVM::LLVMPointerType::get(&getContext());
    lowering.averages = options.averages();
    lowering.chooses = options.chooses();
    lowering.isHost = true;
    lowering.blocks = 1;
    lowering.flagSymbol = symbolOf(program.getSymName()) + "_flags";
    lowering.markSymbol = symbolOf(program.getSymName()) + "_marks";
    lowering.chunks = program.getChunks();
    bool hasTables = false;
    for (auto kernel : program.getBody().getOps<KernelOp>()) {
      hasTables |= !kernel.getRank();
      // The function of tables is the same in all programs.
      if (kernel.getRank() || !getOperation().lookupSymbol(kernel.getSymName()))
        if (failed(createFunctions(builder, kernel, lowering)))
          return failure();
    }
    if (!hasTables)
      createFlagList(builder, program.getLoc(), lowering);
    createMarkList(builder, program.getLoc(), lowering);
    program.erase();
    return success();
  }

  LogicalResult createFunctions(OpBuilder &builder, KernelOp kernel,
                                KernelLowering &lowering) {
    Block *body = &kernel.getBody().front();
    if (!kernel.getRank())
      return createFunction(builder, kernel, kernel.getSymName(), body,
                            lowering);
    auto program = kernel->getParentOfType<ProgramOp>();
    for (auto [index, channel] : llvm::enumerate(body->getOps<ChannelOp>())) {
      // One thread executes all that the rank does, or that a channel does.
      std::string name = kernel.getSymName().str();
      if (!program.getHost())
        name += channelSuffix + std::to_string(index);
      if (failed(createFunction(builder, kernel, name,
                                &channel.getBody().front(), lowering)))
        return failure();
    }
    return success();
  }

  LogicalResult createFunction(OpBuilder &builder, KernelOp kernel,
                               StringRef name, Block *body,
                               KernelLowering &lowering) {
    Location loc = kernel.getLoc();
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    argumentTypes(lowering.pointer));
    auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type);
    OpBuilder::InsertionGuard guard(builder);
    Block *entry = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    lowering.frames.add(function,
                        {llvm::to_vector_of<Value>(entry->getArguments()),
                         /*record=*/Value(), /*blockIndex=*/Value()});
    IRMapping mapping;
    lowering.slots = std::nullopt;
    if (kernel.getRank()) {
      uint64_t slots = kernel->getParentOfType<ProgramOp>().getSlots();
      lowering.slots = std::min<uint64_t>(slots, ~uint32_t(0));
      mapping.map(body->getArgument(0),
                  arith::ConstantIntOp::create(builder, loc, 0, 32));
    }
    for (Operation &op : *body)
      builder.clone(op, mapping);
    LLVM::ReturnOp::create(builder, loc, ValueRange{});
    return lowerKernels(function, lowering);
  }
};
} // namespace
