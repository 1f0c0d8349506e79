//===- CollToGPU.cpp - From programs to GPU kernels -----------------------===//
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

/// Pointers to global memory.
static constexpr unsigned addressSpace = 1;

namespace {
/// Emits the kernels of one program.
class KernelEmitter {
public:
  KernelEmitter(OpBuilder &builder, ProgramOp program,
                const Collective &collective, bool averages, CodeShape shape,
                unsigned blockSize)
      : builder(builder), info(describeProgram(program, collective)),
        code(program, collective, averages, /*hasThreads=*/true), shape(shape),
        blockSize(blockSize) {}

  /// The kernels of `rank`: one, or one for each step.
  void emit(RankOp rank) {
    std::vector<ChannelParts> channels;
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      channels.push_back(splitAtBarriers(channel));
    unsigned number = rank.getRank();
    for (unsigned step = 0; step < std::max(info.steps, 1u); ++step) {
      std::vector<ChannelCode> codes;
      for (auto [channel, parts] : llvm::enumerate(channels))
        codes.push_back(
            encode(number, channel, parts[info.steps == 0 ? 0 : step + 1]));
      emitKernel(rank.getLoc(), info.functionName(number, step), codes,
                 /*isVirtual=*/false);
      llvm::append_range(allChannels, codes);
    }
  }

  /// The kernel of all ranks for which `emit` was called.
  void emitVirtual(Location loc) {
    emitKernel(loc, info.virtualName(), allChannels, /*isVirtual=*/true);
  }

  /// The tables that the kernels refer to.
  void emitTables(Location loc) {
    createTable(builder, loc, info.flagTable(), tableWords(code.flagRows()),
                addressSpace);
    if (shape == CodeShape::Table)
      createTable(builder, loc, info.codeTable(), tableWords(rows),
                  addressSpace);
  }

private:
  using ChannelParts = std::vector<SmallVector<Operation *>>;
  /// What a block of one channel executes.
  struct ChannelCode {
    unsigned rank, channel;
    std::vector<CodeRow> rows;
    unsigned firstRow; ///< in the table, if code is kept as one
  };

  static ChannelParts splitAtBarriers(ChannelOp channel) {
    ChannelParts parts(1);
    for (Operation &op : channel.getBody().getOps()) {
      if (isa<BarrierOp>(op))
        parts.emplace_back();
      else
        parts.back().push_back(&op);
    }
    return parts;
  }

  ChannelCode encode(unsigned rank, unsigned channel,
                     ArrayRef<Operation *> ops) {
    ChannelCode result{rank, channel, code.encode(ops, rank),
                       unsigned(rows.size())};
    if (shape == CodeShape::Table)
      llvm::append_range(rows, result.rows);
    return result;
  }

  gpu::GPUFuncOp createKernel(Location loc, StringRef name, unsigned channels,
                              bool isVirtual) {
    Type pointer =
        LLVM::LLVMPointerType::get(builder.getContext(), addressSpace);
    SmallVector<Type> types{pointer};
    if (!isVirtual)
      types = KernelArguments::types(pointer);
    auto kernel = gpu::GPUFuncOp::create(builder, loc, name,
                                         builder.getFunctionType(types, {}));
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
    kernel.setKnownBlockSize(ArrayRef<int32_t>{int32_t(blockSize), 1, 1});
    kernel.setKnownGridSize(
        ArrayRef<int32_t>{int32_t(channels * info.blocks), 1, 1});
    return kernel;
  }

  /// One kernel, built around a switch over `channels`.
  void emitKernel(Location loc, StringRef name, ArrayRef<ChannelCode> channels,
                  bool isVirtual) {
    gpu::GPUFuncOp kernel = createKernel(loc, name, channels.size(), isVirtual);
    ValueRange arguments = kernel.getBody().getArguments();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    Value index = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
    Value blocks = arith::ConstantIndexOp::create(builder, loc, info.blocks);
    Value channel = arith::DivUIOp::create(builder, loc, index, blocks);
    Value blockIndex = arith::RemUIOp::create(builder, loc, index, blocks);
    Value block = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                             blockIndex);
    auto cases = llvm::to_vector(llvm::seq<int64_t>(0, channels.size()));
    auto choice = scf::IndexSwitchOp::create(builder, loc, TypeRange{}, channel,
                                             cases, cases.size());
    gpu::ReturnOp::create(builder, loc);
    for (auto [number, region] : llvm::enumerate(choice.getCaseRegions())) {
      builder.createBlock(&region);
      if (isVirtual) {
        emitIfPresent(loc, arguments[0], channels[number], block);
      } else {
        ProgramEmitter emitter(builder, loc, code,
                               KernelArguments::of(arguments), block);
        emitChannel(emitter, channels[number]);
      }
      builder.setInsertionPointToEnd(&region.front());
      scf::YieldOp::create(builder, loc);
    }
    builder.createBlock(&choice.getDefaultRegion());
    scf::YieldOp::create(builder, loc);
  }

  /// A channel of a virtual kernel; ranks without control memory are elsewhere.
  void emitIfPresent(Location loc, Value ranks, const ChannelCode &channel,
                     Value block) {
    Value record = LLVM::GEPOp::create(
        builder, loc, ranks.getType(), builder.getI8Type(), ranks,
        ArrayRef<LLVM::GEPArg>{int32_t(channel.rank * sizeof(RankArguments))});
    Value control = KernelArguments::load(builder, loc, record).control;
    Value null = LLVM::ZeroOp::create(builder, loc, control.getType());
    Value present = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                         control, null);
    auto branch = scf::IfOp::create(builder, loc, present,
                                    /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    ProgramEmitter emitter(builder, loc, code, record, block);
    emitChannel(emitter, channel);
  }

  void emitChannel(ProgramEmitter &emitter, const ChannelCode &channel) {
    bool countsLaunches = info.steps == 0;
    if (countsLaunches)
      emitter.begin(channel.rank, channel.channel);
    if (shape == CodeShape::Unrolled)
      emitter.emitUnrolled(channel.rows, info.flagTable());
    else
      emitter.emitTable(info.codeTable(), channel.firstRow, channel.rows.size(),
                        info.flagTable());
    if (countsLaunches)
      emitter.end();
  }

  OpBuilder &builder;
  ProgramInfo info;
  ProgramCode code;
  CodeShape shape;
  unsigned blockSize;
  std::vector<CodeRow> rows;            ///< of all kernels, if kept as a table
  std::vector<ChannelCode> allChannels; ///< of the ranks so far
};

struct ConvertCollToGPUPass
    : coll::impl::ConvertCollToGPUBase<ConvertCollToGPUPass> {
  using ConvertCollToGPUBase::ConvertCollToGPUBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkOptions(module)) || failed(requireLowered(module)))
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
    // Programs that do not combine have no use for them, but a mistake is one.
    Result<ElementOp> combine =
        makeElementOp(elementType(element).name, toString(reduction),
                      /*convertsHalves=*/true);
    if (!combine)
      return module.emitError(combine.error());
    combineOp = *combine;
    return success();
  }

  LogicalResult convert(ProgramOp program) {
    FailureOr<Problem> problem = importProblem(program);
    if (failed(problem))
      return failure();
    HelperOptions options{target == "nvvm" ? HelperTarget::NVVM
                                           : HelperTarget::ROCDL,
                          blockSize, std::nullopt, false, 0};
    CodeShape shape = chooseCodeShape(codeShape, program);
    options.hasTables = shape == CodeShape::Table;
    options.ll = llShapes(program);
    if (hasCombine(program)) {
      options.combine = combineOp;
      if (std::optional<std::string> reason = whyNoLL(*combineOp);
          reason && program.getLl())
        return program.emitError(*reason);
    }
    OpBuilder builder(program);
    auto module = gpu::GPUModuleOp::create(builder, program.getLoc(),
                                           program.getSymName());
    builder.setInsertionPointToStart(module.getBody());
    insertHelpers(*module.getBody(), options);
    builder.setInsertionPointToEnd(module.getBody());
    if (virtualRanks &&
        program->walk([](BarrierOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      return program.emitOpError(
          "has a kernel for each step, which virtual ranks do not need");
    KernelEmitter emitter(builder, program, problem->collective,
                          options.averages(), shape, blockSize);
    for (RankOp rank : program.getBody().getOps<RankOp>())
      emitter.emit(rank);
    if (virtualRanks)
      emitter.emitVirtual(program.getLoc());
    emitter.emitTables(program.getLoc());
    program.erase();
    return success();
  }

  std::optional<ElementOp> combineOp;
};
} // namespace
