//===- CollToMPI.cpp - convert-coll-to-mpi --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Passes.h"

#include "../Common/CodeBuilder.h"
#include "../Common/ElementOps.h"
#include "../Common/ReplacePrograms.h"

#include "sccl/ABI/AverageWord.h"
#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Conversion/Messages.h"
#include "sccl/Conversion/ProgramInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MPI/IR/MPI.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CONVERTCOLLTOMPI
#include "sccl/Conversion/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// Builds the function of one rank.
class RankFunction {
public:
  RankFunction(OpBuilder &builder, Location loc, const RankMessages &messages,
               const ElementOp &element)
      : builder(builder), loc(loc), messages(messages), element(element),
        needed(messages.rows.size()), requests(messages.rows.size()) {
    for (auto [row, next] : llvm::enumerate(messages.next))
      for (uint32_t later : next)
        needed[later].push_back(row);
  }

  void emit(StringRef name);

private:
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value view(const MessageSlot &slot, uint32_t count);
  void post(uint32_t row);
  void await(uint32_t row);
  void reduce(const MessageRow &row);
  void perform(uint32_t row);

  OpBuilder &builder;
  Location loc;
  const RankMessages &messages;
  const ElementOp &element;
  std::vector<SmallVector<uint32_t, 2>> needed; ///< by row
  std::vector<Value> requests; ///< by row; null if nothing is under way
  func::FuncOp function;
  Value comm;
};
} // namespace

/// Slots of a buffer, whose chunks have the same length and follow each other.
Value RankFunction::view(const MessageSlot &slot, uint32_t count) {
  Value chunk = function.getArgument(unsigned(BufferField::Control));
  auto times = [&](int64_t factor) -> Value {
    return arith::MulIOp::create(builder, loc, chunk, index(factor));
  };
  SmallVector<OpFoldResult> offset = {times(slot.slot)}, size = {times(count)},
                            stride = {builder.getIndexAttr(1)};
  return memref::SubViewOp::create(
      builder, loc, function.getArgument(slot.buffer), offset, size, stride);
}

/// Hands a message over.
void RankFunction::post(uint32_t number) {
  const MessageRow &row = messages.rows[number];
  bool isSend = row.kind == MessageRow::Send;
  Value slots = view(isSend ? row.src : row.dst, row.count);
  Value tag = this->number(row.tag), peer = this->number(row.peer);
  Type request = mpi::RequestType::get(builder.getContext());
  if (isSend)
    requests[number] = mpi::ISendOp::create(builder, loc, Type(), request,
                                            slots, tag, peer, comm)
                           .getReq();
  else
    requests[number] = mpi::IRecvOp::create(builder, loc, Type(), request,
                                            slots, tag, peer, comm)
                           .getReq();
}

void RankFunction::await(uint32_t number) {
  if (Value request = std::exchange(requests[number], Value()))
    mpi::Wait::create(builder, loc, Type(), request);
}

void RankFunction::reduce(const MessageRow &row) {
  Value lhs = view(row.src, row.count), dst = view(row.dst, row.count);
  SmallVector<Value> terms;
  for (uint32_t i = 0; i < row.terms; ++i)
    terms.push_back(
        view({row.rhs.buffer, row.rhs.slot + i * row.apart}, row.count));
  Value size = memref::DimOp::create(builder, loc, dst, 0);
  Value first = index(0), step = index(1);
  bool divides = (row.average & AverageWord::divisorMask) != 0;
  scf::ForOp::create(
      builder, loc, first, size, step, ValueRange(),
      [&](OpBuilder &, Location, Value i, ValueRange) {
        CodeBuilder code(builder, loc, /*addressSpace=*/0);
        ReduceBuilder reducer(code, element, /*lanes=*/0);
        AverageOperands average;
        if (element.averages())
          average = reducer.averageOperands(number(row.average), divides);
        auto load = [&](Value from) {
          return memref::LoadOp::create(builder, loc, from, i);
        };
        ReduceBuilder::Values sums = reducer.begin(load(lhs), average);
        for (Value term : terms)
          reducer.add(sums, load(term), average);
        Value result = reducer.finish(sums, average);
        memref::StoreOp::create(builder, loc, result, dst, i);
        scf::YieldOp::create(builder, loc);
      });
}

void RankFunction::perform(uint32_t number) {
  const MessageRow &row = messages.rows[number];
  for (uint32_t before : needed[number])
    await(before);
  switch (row.kind) {
  case MessageRow::Receive:
    if (row.needs == 0)
      return; // posted at the beginning
    [[fallthrough]];
  case MessageRow::Send:
    return post(number);
  case MessageRow::Copy: {
    Value src = view(row.src, row.count), dst = view(row.dst, row.count);
    memref::CopyOp::create(builder, loc, src, dst);
    return;
  }
  case MessageRow::Reduce:
    return reduce(row);
  }
}

void RankFunction::emit(StringRef name) {
  Type buffer = MemRefType::get({ShapedType::kDynamic},
                                element.type(builder.getContext()));
  function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType({buffer, buffer, buffer, builder.getIndexType()},
                              {}));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(function.addEntryBlock());
  comm = mpi::CommWorldOp::create(builder, loc,
                                  mpi::CommType::get(builder.getContext()));
  for (auto [number, row] : llvm::enumerate(messages.rows))
    if (row.kind == MessageRow::Receive && row.needs == 0)
      post(number);
  for (uint32_t number = 0; number < messages.rows.size(); ++number)
    perform(number);
  for (uint32_t number = 0; number < messages.rows.size(); ++number)
    await(number);
  func::ReturnOp::create(builder, loc);
}

namespace {
struct ConvertCollToMPIPass
    : coll::impl::ConvertCollToMPIBase<ConvertCollToMPIPass> {
  using ConvertCollToMPIBase::ConvertCollToMPIBase;

  void runOnOperation() override {
    if (failed(replacePrograms(getOperation(), [&](ProgramOp program) {
          return convert(program);
        })))
      signalPassFailure();
  }

  LogicalResult convert(ProgramOp program) {
    const Problem *problem = getChildAnalysis<ProblemAnalysis>(program).get();
    if (!problem)
      return failure();
    FailureOr<std::vector<RankMessages>> ranks =
        makeMessages(program, problem->collective, /*unweighted=*/false,
                     /*pieces=*/1);
    if (failed(ranks))
      return failure();
    OpBuilder builder(program);
    ElementOp elementOp = {elementType(element), reduction,
                           /*convertsHalves=*/true};
    for (auto [rank, messages] : llvm::enumerate(*ranks))
      RankFunction(builder, program.getLoc(), messages, elementOp)
          .emit(symbolOf(program.getSymName()) + "_rank" +
                std::to_string(rank));
    program.erase();
    return success();
  }
};
} // namespace
