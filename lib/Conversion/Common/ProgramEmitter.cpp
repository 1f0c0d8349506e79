//===- ProgramEmitter.cpp - Code for one rank's channels ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

KernelArguments KernelArguments::of(ValueRange values) {
  return {values[0], values[1], values[2], values[3], values[4],
          values[5], values[6], values[7], values[8]};
}

SmallVector<Type> KernelArguments::types(Type pointer) {
  SmallVector<Type> result(6, pointer);
  result.append(2, IntegerType::get(pointer.getContext(), 64));
  result.push_back(pointer);
  return result;
}

KernelArguments KernelArguments::load(OpBuilder &builder, Location loc,
                                      Value record) {
  constexpr unsigned word = sizeof(uint64_t);
  SmallVector<Value> values;
  for (Type type : types(record.getType())) {
    Value place = LLVM::GEPOp::create(
        builder, loc, record.getType(), builder.getI64Type(), record,
        ArrayRef<LLVM::GEPArg>{int32_t(values.size())});
    values.push_back(LLVM::LoadOp::create(builder, loc, type, place, word));
  }
  return of(values);
}

ProgramEmitter::ProgramEmitter(OpBuilder &builder, Location loc,
                               const ProgramCode &code,
                               const KernelArguments &arguments, Value block)
    : builder(builder), loc(loc), code(code), arguments(arguments),
      block(block) {}

ProgramEmitter::ProgramEmitter(OpBuilder &builder, Location loc,
                               const ProgramCode &code, Value record,
                               Value block)
    : builder(builder), loc(loc), code(code), record(record), block(block) {}

/// Arguments in memory are loaded again for each call: those of kernels stand
/// in constant memory, and registers that held them across calls would be too
/// many. Loads of what the call does not take go away later.
void ProgramEmitter::reload() {
  if (record)
    arguments = KernelArguments::load(builder, loc, record);
}

Value ProgramEmitter::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value ProgramEmitter::constant32(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

Value ProgramEmitter::offset(Value base, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                             base, ArrayRef<LLVM::GEPArg>{bytes});
}

void ProgramEmitter::call(StringRef helper, ValueRange operands) {
  LLVM::CallOp::create(builder, loc, TypeRange{}, helper, operands);
}

Value ProgramEmitter::addressOf(StringRef table, uint64_t bytes) {
  Value address =
      LLVM::AddressOfOp::create(builder, loc, arguments.peers.getType(), table);
  return offset(address, constant(bytes));
}

/// The address of a buffer. That of a peer's is loaded anew for each use: a
/// register that holds it across calls costs more.
Value ProgramEmitter::buffer(int32_t where) {
  if (where < 0)
    return std::array{arguments.input, arguments.output,
                      arguments.scratch}[~where];
  constexpr unsigned word = sizeof(void *);
  Value entry = offset(arguments.peers, constant(int64_t(where) * word));
  return LLVM::LoadOp::create(builder, loc, arguments.peers.getType(), entry,
                              /*alignment=*/word);
}

void ProgramEmitter::begin(unsigned rank, unsigned channel) {
  reload();
  epochRow = constant32(code.layout(rank).epoch(channel));
  launch = LLVM::CallOp::create(builder, loc, TypeRange{builder.getI64Type()},
                                "coll_begin",
                                ValueRange{arguments.control, epochRow, block})
               .getResult();
}

void ProgramEmitter::end() {
  reload();
  call("coll_end", {arguments.control, epochRow, block, launch});
}

/// Address, segment and chunk.
void ProgramEmitter::appendSlot(const CodeSlot &slot,
                                SmallVectorImpl<Value> &operands) {
  Value chunk = constant32(slot.chunk);
  if (slot.oddChunks != 0) {
    Value number =
        arith::TruncIOp::create(builder, loc, builder.getI32Type(), launch);
    Value isOdd = arith::AndIOp::create(builder, loc, number, constant32(1));
    Value skip =
        arith::MulIOp::create(builder, loc, isOdd, constant32(slot.oddChunks));
    chunk = arith::AddIOp::create(builder, loc, chunk, skip);
  }
  operands.append({buffer(slot.where), constant32(slot.segment), chunk});
}

void ProgramEmitter::emitTransfer(const CodeRow &row) {
  reload();
  bool combines = row.opcode == CodeRow::Reduce;
  SmallVector<Value> operands;
  appendSlot(row.dst, operands);
  appendSlot(row.src0, operands);
  if (combines)
    appendSlot(row.src1, operands);
  operands.append({constant32(row.position), constant32(row.count),
                   arguments.segment, arguments.distance,
                   constant32(code.chunksPerSegment()), block,
                   constant32(code.blocks())});
  std::string helper = combines ? "coll_reduce" : "coll_transfer";
  if (row.shape.any()) {
    helper += row.shape.suffix();
    operands.append(
        {arith::TruncIOp::create(builder, loc, builder.getI32Type(), launch),
         arguments.abort});
  }
  if (combines && code.averages())
    operands.push_back(constant32(row.divisor));
  call(helper, operands);
}

void ProgramEmitter::emitFlags(const CodeRow &row, StringRef flagTable) {
  reload();
  Value rows = addressOf(flagTable, uint64_t(row.firstFlag) * FlagRow::words *
                                        sizeof(int32_t));
  Value count = constant32(row.count);
  if (!launch) // a step waits for nothing but its own threads
    launch = constant(0);
  if (row.opcode == CodeRow::Signal)
    return call("coll_signal", {rows, count, arguments.peers, block, launch});
  call("coll_wait",
       {rows, count, arguments.control, block, launch, arguments.abort});
}

void ProgramEmitter::emitUnrolled(ArrayRef<CodeRow> rows, StringRef flagTable) {
  for (const CodeRow &row : rows) {
    if (row.opcode == CodeRow::Transfer || row.opcode == CodeRow::Reduce)
      emitTransfer(row);
    else
      emitFlags(row, flagTable);
  }
}

void ProgramEmitter::emitTable(StringRef codeTable, unsigned first,
                               unsigned count, StringRef flagTable) {
  reload();
  if (!launch)
    launch = constant(0);
  call(
      "coll_execute",
      {addressOf(codeTable, uint64_t(first) * CodeRow::words * sizeof(int32_t)),
       constant32(count), addressOf(flagTable, 0), arguments.input,
       arguments.output, arguments.scratch, arguments.control, arguments.peers,
       arguments.abort, arguments.segment, arguments.distance,
       constant32(code.chunksPerSegment()), block, constant32(code.blocks()),
       launch});
}

void coll::createTable(OpBuilder &builder, Location loc, StringRef name,
                       ArrayRef<int32_t> words, unsigned addressSpace) {
  // A table without words gets one: there are no zero-length arrays.
  SmallVector<int32_t> contents(words);
  if (contents.empty())
    contents.push_back(0);
  auto type = LLVM::LLVMArrayType::get(builder.getI32Type(), contents.size());
  auto value = DenseElementsAttr::get(
      RankedTensorType::get({int64_t(contents.size())}, builder.getI32Type()),
      ArrayRef<int32_t>(contents));
  // Not constant: LLVM would read it through caches of its own on NVIDIA, which
  // the audit forbids for all loads alike.
  LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                         LLVM::Linkage::Internal, name, value, /*alignment=*/16,
                         addressSpace);
}

std::vector<int32_t> coll::tableWords(ArrayRef<CodeRow> rows) {
  std::vector<int32_t> words;
  for (const CodeRow &row : rows)
    llvm::append_range(words, row.encode());
  return words;
}

std::vector<int32_t> coll::tableWords(ArrayRef<FlagRow> rows) {
  std::vector<int32_t> words;
  for (const FlagRow &row : rows)
    words.insert(words.end(), {row.peer, row.offset, row.perLaunch, row.value});
  return words;
}

/// Fails if `program` needs a copy engine but has no parts for the host to put
/// the copies between.
static LogicalResult requireParts(ProgramOp program) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      for (Operation &op : channel.getBody().getOps()) {
        if (isa<BarrierOp>(op))
          return success(); // all channels have them
        if (isDMA(&op))
          return op.emitOpError("needs a copy engine in a program without "
                                "barriers; insert them first, with "
                                "coll-insert-step-barriers");
      }
  return success();
}

LogicalResult coll::requireLowered(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (isa<ScheduleOp, SynthesizeOp>(op))
      return op.emitOpError("is not a program yet; lower it first, as the "
                            "pipeline sccl-lower does");
    if (auto program = dyn_cast<ProgramOp>(op);
        program && failed(requireParts(program)))
      return failure();
  }
  return success();
}

void coll::eraseCollOps(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<CollDialect>(op.getDialect()))
      op.erase();
}

bool coll::hasCombine(ProgramOp program) {
  return program
      ->walk([](Operation *op) {
        return isa<LocalReduceOp, ReducePutOp, GetReduceOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}
