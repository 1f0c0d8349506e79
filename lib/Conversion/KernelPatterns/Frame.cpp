//===- Frame.cpp - Where code finds the arguments of its rank -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

SmallVector<Type> collk::argumentTypes(Type pointer) {
  SmallVector<Type> types(unsigned(Argument::Count), pointer);
  for (Argument size : {Argument::Segment, Argument::Distance,
                        Argument::Reduction, Argument::Blocks})
    types[unsigned(size)] = IntegerType::get(pointer.getContext(), 64);
  return types;
}

Value collk::byteOffset(OpBuilder &builder, Location loc, Value base,
                        Value bytes) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                             base, ArrayRef<LLVM::GEPArg>{bytes});
}

Value collk::byteOffset(OpBuilder &builder, Location loc, Value base,
                        uint64_t bytes) {
  return byteOffset(builder, loc, base,
                    arith::ConstantIntOp::create(builder, loc, bytes, 64));
}

Value Frame::get(OpBuilder &builder, Location loc, Argument argument) const {
  if (!record)
    return arguments[unsigned(argument)];
  static_assert(sizeof(RankArguments) ==
                unsigned(Argument::Count) * sizeof(uint64_t));
  constexpr unsigned word = sizeof(uint64_t);
  Value place = byteOffset(builder, loc, record, uint64_t(argument) * word);
  Type type = argumentTypes(record.getType())[unsigned(argument)];
  return LLVM::LoadOp::create(builder, loc, type, place, word);
}

Value Frame::getBlocks(OpBuilder &builder, Location loc) const {
  return arith::TruncIOp::create(builder, loc, builder.getI32Type(),
                                 get(builder, loc, Argument::Blocks));
}

const Frame &Frames::of(Operation *op) const {
  for (;; op = op->getParentOp())
    if (auto found = frames.find(op); found != frames.end())
      return found->second;
}
