//===- FlagList.cpp - What code needs beside its functions ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPatterns.h"

#include "../Common/HelperLoops.h"

#include "../CollToKernel/TableKernel.h"

#include "sccl/ABI/RankTable.h"
#include "sccl/ABI/TraceMark.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

using coll::HelperOptions;
using coll::TransferShape;

uint64_t FlagList::offsetOf(const Words &flags) {
  auto [entry, isNew] = known.try_emplace(flags, all.size() * sizeof(int32_t));
  if (isNew)
    llvm::append_range(all, flags);
  return entry->second;
}

static void createList(OpBuilder &builder, Location loc,
                       const KernelLowering &lowering, StringRef symbol,
                       ArrayRef<int32_t> list) {
  // A list without words has one: there are no zero-length arrays.
  SmallVector<int32_t> words(list);
  if (words.empty())
    words.push_back(0);
  auto type = LLVM::LLVMArrayType::get(builder.getI32Type(), words.size());
  auto value = DenseElementsAttr::get(
      RankedTensorType::get({int64_t(words.size())}, builder.getI32Type()),
      ArrayRef<int32_t>(words));
  unsigned space =
      cast<LLVM::LLVMPointerType>(lowering.pointer).getAddressSpace();
  // Not constant: LLVM would read it through caches of its own on NVIDIA, which
  // the audit forbids for all loads alike.
  LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                         LLVM::Linkage::Internal, symbol, value,
                         /*alignment=*/tableUnitBytes, space);
}

void collk::createFlagList(OpBuilder &builder, Location loc,
                           const KernelLowering &lowering) {
  createList(builder, loc, lowering, lowering.flagSymbol,
             lowering.flags.words());
}

void collk::createMarkList(OpBuilder &builder, Location loc,
                           const KernelLowering &lowering) {
  if (lowering.marks.words().empty())
    return;
  createList(builder, loc, lowering, lowering.markSymbol,
             lowering.marks.words());
  Operation *module = builder.getInsertionBlock()->getParentOp();
  if (SymbolTable::lookupSymbolIn(module, markFunction))
    return;
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  {lowering.pointer, builder.getI64Type()});
  LLVM::LLVMFuncOp::create(builder, loc, markFunction, type);
}

std::vector<coll::ElementOp> collk::reductionsOf(ArrayRef<Element> elements,
                                                 Element element,
                                                 ArrayRef<Reduction> reductions,
                                                 Reduction reduction,
                                                 bool convertsHalves) {
  return coll::makeElementOps(
      elements.empty() ? ArrayRef(element) : elements,
      reductions.empty() ? ArrayRef(reduction) : reductions, convertsHalves);
}

/// Fails if what the code is for has no switch, or none that reduces so.
static LogicalResult checkSwitched(Operation *op, const TransferShape &shape,
                                   ArrayRef<coll::ElementOp> ops,
                                   const HelperOptions &options) {
  if (!options.whyNoSwitch.empty())
    return op->emitOpError()
           << "goes through a switch, which " << options.whyNoSwitch;
  if (!shape.reduces)
    return success();
  if (std::optional<std::string> reason = coll::whyNotSwitched(ops))
    return op->emitOpError() << "goes through a switch, but " << *reason;
  return success();
}

LogicalResult collk::noteNeeds(ProgramOp program, ArrayRef<coll::ElementOp> ops,
                               HelperOptions &options) {
  bool hasReducingLL = false;
  unsigned sumWidth = 1;
  WalkResult result = program.walk([&](Operation *each) {
    options.traced |= isa<MarkOp>(each);
    std::optional<TransferShape> shape = shapeOf(each);
    if (!shape)
      return WalkResult::advance();
    if (shape->isSwitched && failed(checkSwitched(each, *shape, ops, options)))
      return WalkResult::interrupt();
    if (!shape->isPlain())
      options.shapes.insert(*shape);
    if (shape->reduces)
      options.reductions = ops;
    hasReducingLL |= shape->reduces && shape->hasLL();
    sumWidth = std::max(sumWidth, shape->width);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (sumWidth > 1) {
    options.reductions = ops; // copies convert
    if (std::optional<std::string> reason = coll::whyNotWide(ops, sumWidth))
      return program.emitError(*reason);
  }
  if (!hasReducingLL)
    return success();
  for (const coll::ElementOp &op : ops)
    if (std::optional<std::string> reason = coll::whyNoLL(op))
      return program.emitError(*reason);
  return success();
}
