//===- KernelFunctions.cpp - The functions that kernels become ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunctions.h"

#include "sccl/ABI/RankTable.h"
#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Model/Chip.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

KernelFunctions::KernelFunctions(OpBuilder &builder, ProgramOp program,
                                 KernelLowering &lowering,
                                 const coll::HelperOptions &options)
    : builder(builder), loc(program.getLoc()), program(program),
      lowering(lowering), options(options) {
  for (auto kernel : program.getBody().getOps<KernelOp>()) {
    if (kernel.getRank())
      rankKernels.push_back(kernel);
    else
      tableKernels.push_back(kernel);
  }
}

void KernelFunctions::create(bool isVirtual) {
  for (KernelOp kernel : rankKernels)
    createRankFunction(kernel);
  for (KernelOp kernel : tableKernels)
    createTableFunction(kernel);
  if (isVirtual && haveTables())
    createVirtualTable();
  else if (isVirtual)
    createVirtualRanks();
}

Value KernelFunctions::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

static void appendSpreads(KernelOp kernel, SmallVectorImpl<unsigned> &spreads) {
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    spreads.push_back(channel.getSpread());
}

/// Creates a function and moves the builder into it.
gpu::GPUFuncOp KernelFunctions::createFunction(StringRef name, bool isVirtual) {
  SmallVector<Type> types{lowering.pointer};
  if (!isVirtual) {
    types = argumentTypes(lowering.pointer);
    llvm::append_range(types, lowering.moreArguments);
  }
  auto function = gpu::GPUFuncOp::create(builder, loc, name,
                                         builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function.setKnownBlockSize(
      ArrayRef<int32_t>{int32_t(options.blockSize), 1, 1});
  addAttributes(function);
  builder.setInsertionPointToStart(&function.getBody().front());
  return function;
}

void KernelFunctions::addAttributes(gpu::GPUFuncOp function) {
  // A table of jumps or values would be read through the cache for constants,
  // which the audit forbids for all loads alike.
  SmallVector<Attribute> more = {
      builder.getStrArrayAttr({"no-jump-tables", "true"})};
  // So few registers that as many blocks are resident as coll-check-residency
  // counts on. AMD has four units with waves of 64 threads.
  unsigned blocks = blocksPerMultiprocessor(options.blockSize);
  unsigned waves = llvm::divideCeil(blocks * options.blockSize, 4 * 64);
  if (options.target == coll::HelperTarget::NVVM)
    function->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(blocks));
  else
    more.push_back(builder.getStrArrayAttr(
        {"amdgpu-waves-per-eu", std::to_string(waves)}));
  function->setAttr("passthrough", builder.getArrayAttr(more));
}

Value KernelFunctions::blockIndex() {
  Value index = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
}

Frame KernelFunctions::directFrame(gpu::GPUFuncOp function) {
  return {llvm::to_vector_of<Value>(function.getBody().getArguments()),
          /*record=*/Value(), blockIndex()};
}

/// How many blocks the launch has for each channel.
Value KernelFunctions::blocksOf(const Frame &frame) {
  return lowering.blocks ? constant(*lowering.blocks)
                         : frame.getBlocks(builder, loc);
}

/// The channel that blocks of the grid belong to, in `group`s of as many as the
/// launch has for each.
Value KernelFunctions::channelOf(Value group, ArrayRef<unsigned> spreads) {
  if (llvm::all_of(spreads, [](unsigned spread) { return spread == 1; }))
    return group;
  Value channel = constant(0);
  unsigned begin = 0;
  for (auto [number, spread] : llvm::enumerate(spreads.drop_back())) {
    begin += spread;
    Value isBehind = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::uge, group, constant(begin));
    channel = arith::SelectOp::create(builder, loc, isBehind,
                                      constant(number + 1), channel);
  }
  return channel;
}

void KernelFunctions::switchOver(
    Value blocks, ArrayRef<unsigned> spreads,
    llvm::function_ref<void(unsigned, Value)> emit) {
  Value index = blockIndex();
  Value group = arith::DivUIOp::create(builder, loc, index, blocks);
  Value channel = arith::IndexCastUIOp::create(
      builder, loc, builder.getIndexType(), channelOf(group, spreads));
  auto cases = llvm::to_vector(llvm::seq<int64_t>(0, spreads.size()));
  auto choice = scf::IndexSwitchOp::create(builder, loc, TypeRange{}, channel,
                                           cases, cases.size());
  unsigned first = 0;
  for (auto [number, region] : llvm::enumerate(choice.getCaseRegions())) {
    builder.createBlock(&region);
    // Found anew in each channel: a register that holds it costs more.
    Value before =
        builder.createOrFold<arith::MulIOp>(loc, blocks, constant(first));
    bool isAlone = lowering.blocks == 1u && spreads[number] == 1;
    emit(number, isAlone ? constant(0)
                         : arith::SubIOp::create(builder, loc, index, before));
    first += spreads[number];
    builder.setInsertionPointToEnd(&region.front());
    scf::YieldOp::create(builder, loc);
  }
  builder.createBlock(&choice.getDefaultRegion());
  scf::YieldOp::create(builder, loc);
  builder.setInsertionPointAfter(choice);
}

void KernelFunctions::copyBody(Block &body, Value block) {
  IRMapping mapping;
  if (body.getNumArguments() == 1)
    mapping.map(body.getArgument(0), block);
  for (Operation &op : body)
    builder.clone(op, mapping);
}

/// The grid of launches that may differ in blocks is not known.
void KernelFunctions::noteGridSize(gpu::GPUFuncOp function,
                                   ArrayRef<unsigned> spreads) {
  if (!lowering.blocks)
    return;
  int32_t blocks = llvm::sum_of(spreads) * *lowering.blocks;
  function.setKnownGridSize(ArrayRef<int32_t>{blocks, 1, 1});
}

void KernelFunctions::createRankFunction(KernelOp kernel) {
  SmallVector<unsigned> spreads;
  appendSpreads(kernel, spreads);
  gpu::GPUFuncOp function =
      createFunction(kernel.getSymName(), /*isVirtual=*/false);
  noteGridSize(function, spreads);
  Frame frame = {llvm::to_vector_of<Value>(function.getBody().getArguments()),
                 /*record=*/Value(), /*blockIndex=*/Value()};
  lowering.frames.add(function, frame);
  SmallVector<ChannelOp> bodies(kernel.getBody().getOps<ChannelOp>());
  switchOver(blocksOf(frame), spreads, [&](unsigned number, Value block) {
    copyBody(bodies[number].getBody().front(), block);
  });
  gpu::ReturnOp::create(builder, loc);
  builder.setInsertionPointAfter(function);
}

void KernelFunctions::createTableFunction(KernelOp kernel) {
  gpu::GPUFuncOp function =
      createFunction(kernel.getSymName(), /*isVirtual=*/false);
  lowering.frames.add(function, directFrame(function));
  copyBody(kernel.getBody().front(), Value());
  gpu::ReturnOp::create(builder, loc);
  builder.setInsertionPointAfter(function);
}

/// Emits a branch for a rank whose arguments are at `record`, unless it is
/// elsewhere and has no control memory, and moves the builder into it.
scf::IfOp KernelFunctions::ifPresent(Value record) {
  Frame frame;
  frame.record = record;
  Value control = frame.get(builder, loc, Argument::Control);
  Value null = LLVM::ZeroOp::create(builder, loc, control.getType());
  Value present = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                       control, null);
  auto branch =
      scf::IfOp::create(builder, loc, present, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  lowering.frames.add(branch, frame);
  return branch;
}

/// The blocks of rank 0, then those of rank 1, and so on.
void KernelFunctions::createVirtualRanks() {
  SmallVector<std::pair<unsigned, ChannelOp>> channels;
  SmallVector<unsigned> spreads;
  for (KernelOp kernel : rankKernels) {
    appendSpreads(kernel, spreads);
    for (auto channel : kernel.getBody().getOps<ChannelOp>())
      channels.push_back({*kernel.getRank(), channel});
  }
  gpu::GPUFuncOp function =
      createFunction(symbolOf(program.getSymName()) + virtualSuffix,
                     /*isVirtual=*/true);
  noteGridSize(function, spreads);
  Value ranks = function.getBody().getArgument(0);
  Frame first;
  first.record = ranks;
  switchOver(blocksOf(first), spreads, [&](unsigned number, Value block) {
    auto [rank, channel] = channels[number];
    Value record = LLVM::GEPOp::create(
        builder, loc, ranks.getType(), builder.getI8Type(), ranks,
        ArrayRef<LLVM::GEPArg>{int32_t(rank * sizeof(RankArguments))});
    ifPresent(record);
    copyBody(channel.getBody().front(), block);
  });
  gpu::ReturnOp::create(builder, loc);
  builder.setInsertionPointAfter(function);
}

Value KernelFunctions::loadWord(Value base, uint64_t bytes) {
  Value place = byteOffset(builder, loc, base, bytes);
  return LLVM::LoadOp::create(builder, loc, builder.getI32Type(), place,
                              sizeof(uint32_t));
}

/// The arguments of the rank that block `index` of the grid belongs to, by the
/// numbers of channels that every table lists.
Value KernelFunctions::findRecord(Value ranks, Value index,
                                  Value &indexInRank) {
  Frame first;
  first.record = ranks;
  Value table = first.get(builder, loc, Argument::Table);
  Value blocks = blocksOf(first);
  Value numRanks = loadWord(table, offsetof(TableHeader, ranks));
  Value unit = loadWord(table, offsetof(TableHeader, channelEnds));
  auto widen = [&](Value value) -> Value {
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), value);
  };
  auto times = [&](Value value, uint64_t factor) -> Value {
    return arith::MulIOp::create(
        builder, loc, widen(value),
        arith::ConstantIntOp::create(builder, loc, factor, 64));
  };
  Value ends = byteOffset(builder, loc, table, times(unit, tableUnitBytes));
  Value channel = arith::DivUIOp::create(builder, loc, index, blocks);
  Value last = arith::SubIOp::create(builder, loc, numRanks, constant(1));
  // The last end that is not behind the channel, and how many there are.
  auto loop = scf::ForOp::create(
      builder, loc, constant(0), last, constant(1),
      ValueRange{constant(0), constant(0)},
      [&](OpBuilder &, Location, Value at, ValueRange found) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(cast<BlockArgument>(at).getOwner());
        Value end = loadWord(
            byteOffset(builder, loc, ends, times(at, sizeof(uint32_t))), 0);
        Value isBefore = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ule, end, channel);
        Value next = arith::AddIOp::create(builder, loc, at, constant(1));
        Value rank =
            arith::SelectOp::create(builder, loc, isBefore, next, found[0]);
        Value begin =
            arith::SelectOp::create(builder, loc, isBefore, end, found[1]);
        scf::YieldOp::create(builder, loc, ValueRange{rank, begin});
      });
  Value skipped =
      arith::MulIOp::create(builder, loc, loop.getResult(1), blocks);
  indexInRank = arith::SubIOp::create(builder, loc, index, skipped);
  return byteOffset(builder, loc, ranks,
                    times(loop.getResult(0), sizeof(RankArguments)));
}

void KernelFunctions::createVirtualTable() {
  gpu::GPUFuncOp function = createFunction(
      tableFunction + std::string(virtualSuffix), /*isVirtual=*/true);
  Value indexInRank;
  Value record =
      findRecord(function.getBody().getArgument(0), blockIndex(), indexInRank);
  scf::IfOp branch = ifPresent(record);
  Frame frame;
  frame.record = record;
  frame.blockIndex = indexInRank;
  lowering.frames.add(branch, frame);
  copyBody(tableKernels.front().getBody().front(), Value());
  builder.setInsertionPointAfter(branch);
  gpu::ReturnOp::create(builder, loc);
  builder.setInsertionPointAfter(function);
}
