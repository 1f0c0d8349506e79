//===- CollToGPU.cpp - From programs to GPU kernels -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"

#include "../Common/ProgramEmitter.h"

#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTCOLLTOGPU
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

/// One kernel per rank, built around a switch over its channels.
static void emitKernel(OpBuilder &builder, const ProgramContext &context,
                       RankOp rank, unsigned blockSize) {
  Location loc = rank.getLoc();
  SmallVector<ChannelOp> channels(rank.getBody().getOps<ChannelOp>());
  int32_t gridSize = channels.size() * context.layout.blocks;
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  auto kernel = gpu::GPUFuncOp::create(
      builder, loc, context.functionName(rank.getRank()),
      builder.getFunctionType(KernelArguments::types(pointer), {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSize(ArrayRef<int32_t>{int32_t(blockSize), 1, 1});
  kernel.setKnownGridSize(ArrayRef<int32_t>{gridSize, 1, 1});

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Value index = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value blocks =
      arith::ConstantIndexOp::create(builder, loc, context.layout.blocks);
  Value channel = arith::DivUIOp::create(builder, loc, index, blocks);
  Value blockIndex = arith::RemUIOp::create(builder, loc, index, blocks);
  Value block = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                           blockIndex);
  auto cases = llvm::to_vector(llvm::seq<int64_t>(0, channels.size()));
  auto choice = scf::IndexSwitchOp::create(builder, loc, TypeRange{}, channel,
                                           cases, cases.size());
  gpu::ReturnOp::create(builder, loc);
  KernelArguments arguments =
      KernelArguments::of(kernel.getBody().getArguments());
  for (auto [op, region] : llvm::zip_equal(channels, choice.getCaseRegions())) {
    builder.createBlock(&region);
    ProgramEmitter emitter(builder, op.getLoc(), context, rank.getRank(),
                           arguments, block);
    emitter.begin(op.getPeer());
    for (Operation &child : op.getBody().getOps())
      emitter.emit(op, &child);
    emitter.end();
    scf::YieldOp::create(builder, loc);
  }
  builder.createBlock(&choice.getDefaultRegion());
  scf::YieldOp::create(builder, loc);
}

namespace {
struct ConvertCollToGPUPass
    : coll::impl::ConvertCollToGPUBase<ConvertCollToGPUPass> {
  using ConvertCollToGPUBase::ConvertCollToGPUBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkOptions(module)))
      return signalPassFailure();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    for (ProgramOp program : programs)
      if (failed(convert(program)))
        return signalPassFailure();
    eraseCollOps(module);
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    UnitAttr::get(&getContext()));
  }

  LogicalResult checkOptions(ModuleOp module) {
    if (target != "nvvm" && target != "rocdl")
      return module.emitError()
             << "unknown target '" << target << "', expected nvvm or rocdl";
    if (blockSize == 0 || blockSize % 64 != 0 || blockSize > 1024)
      return module.emitError()
             << "block-size is " << blockSize.getValue()
             << ", expected a multiple of 64 between 64 and 1024";
    return success();
  }

  LogicalResult convert(ProgramOp program) {
    FailureOr<Problem> problem = importProblem(program);
    if (failed(problem))
      return failure();
    HelperOptions options{target == "nvvm" ? HelperTarget::NVVM
                                           : HelperTarget::ROCDL,
                          blockSize, std::nullopt};
    if (hasCombine(program)) {
      Result<ElementOp> combine =
          makeElementOp(element, reduction, /*convertsHalves=*/true);
      if (!combine)
        return program.emitError(combine.error());
      options.combine = *combine;
    }
    OpBuilder builder(program);
    std::string name = program.getSymName().str();
    ProgramContext context(program, problem->collective,
                           options.combine && options.combine->averages());
    auto module = gpu::GPUModuleOp::create(builder, program.getLoc(), name);
    builder.setInsertionPointToStart(module.getBody());
    insertHelpers(*module.getBody(), options);
    builder.setInsertionPointToEnd(module.getBody());
    for (RankOp rank : program.getBody().getOps<RankOp>())
      emitKernel(builder, context, rank, blockSize);
    program.erase();
    return success();
  }
};
} // namespace
