//===- KernelToGPU.cpp - From what blocks execute to GPU kernels ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"
#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Conversion/RankTables.h"
#include "sccl/Model/SwitchAccess.h"

#include "KernelFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
// The class of the dialect, without those of its ops.
#include "mlir/Dialect/LLVMIR/ROCDLOpsDialect.h.inc"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTKERNELTOGPU
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

/// Pointers to global memory.
static constexpr unsigned addressSpace = 1;

/// Lets the launcher find the table of each rank in the module.
static void createTables(OpBuilder &builder, ProgramOp program) {
  std::vector<std::string> tables = rankTables(program);
  for (auto [rank, table] : llvm::enumerate(tables)) {
    SmallVector<int32_t> words(table.size() / sizeof(int32_t));
    std::memcpy(words.data(), table.data(), table.size());
    auto type = LLVM::LLVMArrayType::get(builder.getI32Type(), words.size());
    auto value = DenseElementsAttr::get(
        RankedTensorType::get({int64_t(words.size())}, builder.getI32Type()),
        ArrayRef<int32_t>(words));
    LLVM::GlobalOp::create(builder, program.getLoc(), type,
                           /*isConstant=*/false, LLVM::Linkage::External,
                           tableSymbol(program.getSymName(), rank), value,
                           tableUnitBytes, addressSpace);
  }
}

namespace {
struct ConvertKernelToGPUPass
    : coll::impl::ConvertKernelToGPUBase<ConvertKernelToGPUPass> {
  using ConvertKernelToGPUBase::ConvertKernelToGPUBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkOptions(module)))
      return signalPassFailure();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    for (ProgramOp program : programs)
      if (failed(convert(program)))
        return signalPassFailure();
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    UnitAttr::get(&getContext()));
  }

  LogicalResult checkOptions(ModuleOp module) {
    if (target != "nvvm" && target != "rocdl")
      return module.emitError()
             << "unknown target '" << target << "', expected nvvm or rocdl";
    Result<Chip> known = findChip(chip.getValue());
    if (!known)
      return module.emitError(known.error());
    if (blockSize == 0 || blockSize % 64 != 0 || blockSize > 1024)
      return module.emitError()
             << "block-size is " << blockSize.getValue()
             << ", expected a multiple of 64 between 64 and 1024";
    return success();
  }

  /// See HelperOptions.
  std::string whyNoSwitch() const {
    if (target == "rocdl")
      return "AMD chips do not reach";
    if (!hasSwitchAccess(*findChip(chip.getValue())))
      return chip + " does not reach, but sm_90 and later do";
    return "";
  }

  LogicalResult convert(ProgramOp program) {
    if (program.getHost())
      return program.emitOpError("is for one thread per rank, on a host");
    coll::HelperOptions options;
    options.target =
        target == "nvvm" ? coll::HelperTarget::NVVM : coll::HelperTarget::ROCDL;
    options.blockSize = blockSize;
    options.whyNoSwitch = whyNoSwitch();
    if (failed(noteNeeds(program,
                         reductionsOf(elements, element, reductions, reduction,
                                      /*convertsHalves=*/true),
                         options)))
      return failure();
    auto hasSteps = [](KernelOp kernel) {
      return kernel.getStep().has_value();
    };
    if (virtualRanks &&
        llvm::any_of(program.getBody().getOps<KernelOp>(), hasSteps))
      return program.emitOpError(
          "has a kernel for each step, which virtual ranks do not need");
    OpBuilder builder(program);
    auto module = gpu::GPUModuleOp::create(builder, program.getLoc(),
                                           program.getSymName());
    builder.setInsertionPointToStart(module.getBody());
    coll::insertHelpers(*module.getBody(), options);
    builder.setInsertionPointToEnd(module.getBody());
    KernelLowering lowering;
    lowering.pointer = LLVM::LLVMPointerType::get(&getContext(), addressSpace);
    lowering.averages = options.averages();
    lowering.chooses = options.chooses();
    lowering.flagSymbol = symbolOf(program.getSymName()) + "_flags";
    KernelFunctions functions(builder, program, lowering, options);
    // Launches have no choice; the kernel of tables is for all programs.
    if (!functions.haveTables() && program.getBlocks() == 1)
      lowering.blocks = 1;
    functions.create(virtualRanks);
    if (failed(lowerKernels(module, lowering)))
      return failure();
    if (!functions.haveTables())
      createFlagList(builder, program.getLoc(), lowering);
    if (embedTables)
      createTables(builder, program);
    program.erase();
    return success();
  }
};
} // namespace
