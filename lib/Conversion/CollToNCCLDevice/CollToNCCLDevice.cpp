//===- CollToNCCLDevice.cpp - convert-coll-to-nccl-device -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"

#include "../CollToKernel/ProgramConverter.h"
#include "../Common/ChunkHelpers.h"
#include "../Common/CodeBuilder.h"
#include "../Common/ReplacePrograms.h"
#include "../KernelToGPU/KernelFunctions.h"
#include "GinHelpers.h"
#include "GinPatterns.h"

#include "sccl/ABI/NcclDevice.h"
#include "sccl/Analysis/ProblemAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTCOLLTONCCLDEVICE
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

/// Pointers to global memory.
static constexpr unsigned addressSpace = 1;

namespace {
/// Makes the gpu.module of one program.
class DeviceModule {
public:
  DeviceModule(collk::ProgramOp kernels, const collk::Crossings &crossings,
               const HelperOptions &options)
      : kernels(kernels), crossings(crossings), options(options),
        builder(kernels), loc(kernels.getLoc()),
        symbol(symbolOf(kernels.getSymName())) {}

  LogicalResult create(const NcclProgram &program,
                       const std::vector<NcclRank> &ranks);

private:
  gpu::GPUFuncOp createKernel(StringRef suffix, unsigned numArguments);
  void createSetupKernels(const NcclProgram &program);
  void createVariable(const NcclProgram &program,
                      const std::vector<NcclRank> &ranks);
  LogicalResult createRankKernels();

  collk::ProgramOp kernels;
  const collk::Crossings &crossings;
  const HelperOptions &options;
  OpBuilder builder;
  Location loc;
  std::string symbol;
  gpu::GPUModuleOp module;
};
} // namespace

gpu::GPUFuncOp DeviceModule::createKernel(StringRef suffix,
                                          unsigned numArguments) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), addressSpace);
  SmallVector<Type> types(numArguments, pointer);
  auto function = gpu::GPUFuncOp::create(builder, loc, symbol + suffix.str(),
                                         builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function.setKnownBlockSize(
      ArrayRef<int32_t>{int32_t(options.blockSize), 1, 1});
  function.setKnownGridSize(ArrayRef<int32_t>{1, 1, 1});
  return function;
}

void DeviceModule::createSetupKernels(const NcclProgram &program) {
  CodeBuilder code(builder, loc, addressSpace);
  auto fill = [&](gpu::GPUFuncOp function,
                  function_ref<void(ValueRange)> body) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    body(function.getBody().getArguments());
    gpu::ReturnOp::create(builder, loc);
  };
  fill(createKernel(ncclPeersSuffix, 2), [&](ValueRange arguments) {
    buildPeersKernel(code, arguments[0], arguments[1], program.ranks,
                     program.ranksPerBox);
  });
  fill(createKernel(ncclBarrierSuffix, 1),
       [&](ValueRange arguments) { buildBarrierKernel(code, arguments[0]); });
}

void DeviceModule::createVariable(const NcclProgram &program,
                                  const std::vector<NcclRank> &ranks) {
  std::string bytes(reinterpret_cast<const char *>(&program), sizeof(program));
  for (const NcclRank &rank : ranks)
    bytes.append(reinterpret_cast<const char *>(&rank), sizeof(rank));
  SmallVector<int32_t> words(bytes.size() / sizeof(int32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  auto type = LLVM::LLVMArrayType::get(builder.getI32Type(), words.size());
  auto value = DenseElementsAttr::get(
      RankedTensorType::get({int64_t(words.size())}, builder.getI32Type()),
      ArrayRef<int32_t>(words));
  LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                         LLVM::Linkage::External, symbol + ncclProgramSuffix,
                         value, sizeof(uint64_t), addressSpace);
}

LogicalResult DeviceModule::createRankKernels() {
  collk::KernelLowering lowering;
  lowering.pointer =
      LLVM::LLVMPointerType::get(builder.getContext(), addressSpace);
  lowering.averages = options.averages();
  lowering.chooses = options.chooses();
  lowering.flagSymbol = symbol + "_flags";
  lowering.blocks = kernels.getBlocks();
  lowering.moreArguments = {lowering.pointer};
  collk::GinLowering gin{lowering, crossings};
  llvm::StringMap<unsigned> ranks;
  for (auto kernel : kernels.getBody().getOps<collk::KernelOp>())
    ranks[kernel.getSymName()] = *kernel.getRank();
  collk::KernelFunctions functions(builder, kernels, lowering, options);
  functions.create(/*isVirtual=*/false);
  for (auto function : module.getOps<gpu::GPUFuncOp>()) {
    gin.ranks[function] = ranks.lookup(function.getName());
    collk::prepareCrossings(function, gin);
  }
  lowering.addPatterns = [&](RewritePatternSet &patterns,
                             const TypeConverter &converter) {
    collk::addGinPatterns(patterns, converter, gin);
  };
  if (failed(collk::lowerKernels(module, lowering)))
    return failure();
  collk::createFlagList(builder, loc, lowering);
  return success();
}

LogicalResult DeviceModule::create(const NcclProgram &program,
                                   const std::vector<NcclRank> &ranks) {
  module = gpu::GPUModuleOp::create(builder, loc, kernels.getSymName());
  builder.setInsertionPointToStart(module.getBody());
  insertHelpers(*module.getBody(), options);
  builder.setInsertionPointToEnd(module.getBody());
  if (crossings.numContexts() != 0) {
    CodeBuilder code(builder, loc, addressSpace);
    buildPutHelper(code, options);
    buildGinHelpers(code);
  }
  if (failed(createRankKernels()))
    return failure();
  createSetupKernels(program);
  createVariable(program, ranks);
  return success();
}

namespace {
struct ConvertCollToNCCLDevicePass
    : coll::impl::ConvertCollToNCCLDeviceBase<ConvertCollToNCCLDevicePass> {
  using ConvertCollToNCCLDeviceBase::ConvertCollToNCCLDeviceBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (blockSize == 0 || blockSize % 64 != 0 || blockSize > 1024) {
      module.emitError() << "block-size is " << blockSize.getValue()
                         << ", expected a multiple of 64 between 64 and 1024";
      return signalPassFailure();
    }
    if (failed(replacePrograms(
            module, [&](ProgramOp program) { return convert(program); })))
      return signalPassFailure();
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    UnitAttr::get(&getContext()));
  }

  LogicalResult convert(ProgramOp program) {
    const Problem *problem = getChildAnalysis<ProblemAnalysis>(program).get();
    FailureOr<collk::Boxes> boxes = collk::findBoxes(program, ranksPerBox);
    if (!problem || failed(boxes) ||
        failed(collk::checkArrivals(program, *boxes)))
      return failure();
    FailureOr<std::unique_ptr<ProgramConverter>> converter =
        ProgramConverter::make(program, problem->collective, /*host=*/false);
    if (failed(converter))
      return failure();
    OpBuilder builder(program);
    collk::ProgramOp kernels = (*converter)->createProgram(builder);
    for (RankOp rank : program.getBody().getOps<RankOp>())
      (*converter)->emit(rank, kernels);
    LogicalResult result =
        lower(kernels, *boxes, problem->collective, (*converter)->info());
    kernels.erase();
    program.erase();
    return result;
  }

  LogicalResult lower(collk::ProgramOp kernels, collk::Boxes boxes,
                      const Collective &collective, const ProgramInfo &info) {
    HelperOptions options;
    options.target = HelperTarget::NVVM;
    options.blockSize = blockSize;
    options.whyNoSwitch = "kernels that call NCCL do not reach";
    if (failed(collk::noteNeeds(kernels,
                                collk::reductionsOf({}, element, {}, reduction,
                                                    /*convertsHalves=*/true),
                                options)))
      return failure();
    FailureOr<collk::Crossings> crossings =
        collk::Crossings::make(kernels, boxes);
    if (failed(crossings))
      return failure();
    NcclProgram program = {};
    program.version = ncclProgramVersion;
    program.ranks = collective.numRanks();
    program.ranksPerBox = boxes.ranksPerBox;
    program.chunksPerSegment = collective.chunksPerSegment();
    program.blockSize = blockSize;
    program.signals = crossings->numSignals();
    program.contexts = crossings->numContexts();
    std::vector<NcclRank> ranks;
    for (auto [number, needs] : llvm::enumerate(info.ranks)) {
      NcclRank rank = {};
      rank.blocks = needs.channels * info.blocks;
      rank.inputSlots = collective.inputSlots(number);
      rank.outputSlots = collective.outputSlots(number);
      rank.scratchSlots = needs.scratchSlots;
      rank.controlBytes = needs.controlBytes;
      ranks.push_back(rank);
    }
    return DeviceModule(kernels, *crossings, options).create(program, ranks);
  }
};
} // namespace
