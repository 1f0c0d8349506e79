//===- CodeBuilder.cpp - Code of helper functions -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sccl::coll;

CodeBuilder::CodeBuilder(OpBuilder &builder, Location loc,
                         unsigned addressSpace)
    : i1(builder.getI1Type()), i8(builder.getI8Type()),
      i32(builder.getI32Type()), i64(builder.getI64Type()),
      pointer(LLVM::LLVMPointerType::get(builder.getContext(), addressSpace)),
      builder(builder), where(loc) {}

Type CodeBuilder::vector(unsigned lanes, Type element) const {
  return VectorType::get({int64_t(lanes)}, element);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Type functionType(Type result, ArrayRef<Type> arguments,
                         MLIRContext *context) {
  return LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(context), arguments);
}

void CodeBuilder::function(StringRef name, ArrayRef<Type> arguments,
                           function_ref<void(ValueRange)> body, Linkage linkage,
                           Type result) {
  OpBuilder::InsertionGuard guard(builder);
  Type type = functionType(result, arguments, builder.getContext());
  bool isInternal = linkage == Linkage::Internal;
  auto function = LLVM::LLVMFuncOp::create(
      builder, where, name, type,
      isInternal ? LLVM::Linkage::Internal : LLVM::Linkage::External);
  if (!isInternal)
    function.setVisibility_(LLVM::Visibility::Hidden);
  function.setNoInline(true);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  body(function.getBody().getArguments());
  if (!result)
    LLVM::ReturnOp::create(builder, where, ValueRange{});
}

void CodeBuilder::declare(StringRef name, Type result) {
  LLVM::LLVMFuncOp::create(builder, where, name,
                           functionType(result, {}, builder.getContext()));
}

void CodeBuilder::give(Value value) {
  LLVM::ReturnOp::create(builder, where, value);
}

Value CodeBuilder::call(StringRef name, ValueRange operands, Type result) {
  auto call = LLVM::CallOp::create(
      builder, where, result ? TypeRange(result) : TypeRange(), name, operands);
  return result ? call.getResult() : Value();
}

void CodeBuilder::intrinsic(StringRef name) {
  LLVM::CallIntrinsicOp::create(builder, where, builder.getStringAttr(name),
                                ValueRange{});
}

Value CodeBuilder::time() {
  return LLVM::CallIntrinsicOp::create(
             builder, where, i64,
             builder.getStringAttr("llvm.readsteadycounter"), ValueRange{})
      .getResults();
}

//===----------------------------------------------------------------------===//
// Integers and vectors
//===----------------------------------------------------------------------===//

Value CodeBuilder::constant(uint64_t value, Type type) {
  APInt bits(getElementTypeOrSelf(type).getIntOrFloatBitWidth(), value,
             /*isSigned=*/false, /*implicitTrunc=*/true);
  auto shaped = dyn_cast<ShapedType>(type);
  TypedAttr attr = shaped ? TypedAttr(DenseElementsAttr::get(shaped, bits))
                          : TypedAttr(builder.getIntegerAttr(type, bits));
  return arith::ConstantOp::create(builder, where, attr);
}

Value CodeBuilder::add(Value lhs, Value rhs) {
  return arith::AddIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::sub(Value lhs, Value rhs) {
  return arith::SubIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::mul(Value lhs, Value rhs) {
  return arith::MulIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::divide(Value lhs, Value rhs) {
  return arith::DivUIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::divideSigned(Value lhs, Value rhs) {
  return arith::DivSIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::remainder(Value lhs, Value rhs) {
  return arith::RemUIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::bitAnd(Value lhs, Value rhs) {
  return arith::AndIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::bitOr(Value lhs, Value rhs) {
  return arith::OrIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::bitXor(Value lhs, Value rhs) {
  return arith::XOrIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::shiftLeft(Value lhs, Value rhs) {
  return arith::ShLIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::shiftRight(Value lhs, Value rhs) {
  return arith::ShRUIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::shiftRightSigned(Value lhs, Value rhs) {
  return arith::ShRSIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::min(Value lhs, Value rhs) {
  return arith::MinUIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::minSigned(Value lhs, Value rhs) {
  return arith::MinSIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::max(Value lhs, Value rhs) {
  return arith::MaxUIOp::create(builder, where, lhs, rhs);
}
Value CodeBuilder::maxSigned(Value lhs, Value rhs) {
  return arith::MaxSIOp::create(builder, where, lhs, rhs);
}

Value CodeBuilder::is(Compare compare, Value lhs, Value rhs) {
  auto predicate = [&] {
    switch (compare) {
    case Compare::Equal:
      return arith::CmpIPredicate::eq;
    case Compare::NotEqual:
      return arith::CmpIPredicate::ne;
    case Compare::SignedLess:
      return arith::CmpIPredicate::slt;
    case Compare::SignedGreater:
      return arith::CmpIPredicate::sgt;
    case Compare::Less:
      return arith::CmpIPredicate::ult;
    case Compare::AtLeast:
      return arith::CmpIPredicate::uge;
    case Compare::Greater:
      return arith::CmpIPredicate::ugt;
    }
    llvm_unreachable("all comparisons are above");
  };
  return arith::CmpIOp::create(builder, where, predicate(), lhs, rhs);
}

Value CodeBuilder::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(builder, where, condition, yes, no);
}
Value CodeBuilder::zeroExtend(Value value, Type type) {
  return arith::ExtUIOp::create(builder, where, type, value);
}
Value CodeBuilder::signExtend(Value value, Type type) {
  return arith::ExtSIOp::create(builder, where, type, value);
}
Value CodeBuilder::truncate(Value value, Type type) {
  return arith::TruncIOp::create(builder, where, type, value);
}

Value CodeBuilder::bitcast(Value value, Type type) {
  return LLVM::BitcastOp::create(builder, where, type, value);
}

Value CodeBuilder::splat(Value value, unsigned lanes) {
  Type type = vector(lanes, value.getType());
  Value none = LLVM::PoisonOp::create(builder, where, type);
  Value zero = LLVM::ConstantOp::create(builder, where, i32, 0);
  Value first =
      LLVM::InsertElementOp::create(builder, where, type, none, value, zero);
  return shuffle(first, none, SmallVector<int32_t>(lanes, 0));
}

Value CodeBuilder::extract(Value vector, unsigned lane) {
  return LLVM::ExtractElementOp::create(builder, where, vector, c32(lane));
}

Value CodeBuilder::shuffle(Value lhs, Value rhs, ArrayRef<int32_t> lanes) {
  return LLVM::ShuffleVectorOp::create(builder, where, lhs, rhs, lanes);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LLVM::AtomicOrdering orderingOf(Order order) {
  switch (order) {
  case Order::Plain:
    return LLVM::AtomicOrdering::not_atomic;
  case Order::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case Order::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case Order::Release:
    return LLVM::AtomicOrdering::release;
  }
  llvm_unreachable("all orders are above");
}

Value CodeBuilder::at(Value base, Value bytes) {
  return LLVM::GEPOp::create(builder, where, pointer, i8, base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}
Value CodeBuilder::at(Value base, int32_t bytes) {
  return LLVM::GEPOp::create(builder, where, pointer, i8, base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}
Value CodeBuilder::toInteger(Value address) {
  return LLVM::PtrToIntOp::create(builder, where, i64, address);
}
Value CodeBuilder::toPointer(Value integer) {
  return LLVM::IntToPtrOp::create(builder, where, pointer, integer);
}
Value CodeBuilder::differ(Value lhs, Value rhs) {
  return LLVM::ICmpOp::create(builder, where, LLVM::ICmpPredicate::ne, lhs,
                              rhs);
}

Value CodeBuilder::load(Type type, Value address, unsigned alignment,
                        Order order) {
  return LLVM::LoadOp::create(builder, where, type, address, alignment,
                              /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/false,
                              /*isInvariantGroup=*/false, orderingOf(order));
}
void CodeBuilder::store(Value value, Value address, unsigned alignment,
                        Order order) {
  LLVM::StoreOp::create(builder, where, value, address, alignment,
                        /*isVolatile=*/false, /*isNonTemporal=*/false,
                        /*isInvariantGroup=*/false, orderingOf(order));
}
/// Inline PTX that accesses memory. Without a result, `type` is null.
static LLVM::InlineAsmOp inlinePTX(OpBuilder &builder, Location loc, Type type,
                                   ValueRange operands, StringRef text,
                                   StringRef constraints) {
  return LLVM::InlineAsmOp::create(
      builder, loc, type, operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, /*asm_dialect=*/{}, /*operand_attrs=*/{});
}

CodeBuilder::Values CodeBuilder::loadPair(Value address, int32_t ahead) {
  Type pair =
      LLVM::LLVMStructType::getLiteral(builder.getContext(), {i64, i64});
  std::string text = "ld.relaxed.sys.global.v2.b64 {$0, $1}, [$2+" +
                     std::to_string(ahead) + "];";
  Value loaded =
      inlinePTX(builder, where, pair, address, text, "=l,=l,l,~{memory}")
          .getRes();
  Value first = LLVM::ExtractValueOp::create(builder, where, loaded, 0);
  Value second = LLVM::ExtractValueOp::create(builder, where, loaded, 1);
  return {first, second};
}

void CodeBuilder::storePair(Value first, Value second, Value address,
                            int32_t ahead) {
  std::string text = "st.relaxed.sys.global.v2.b64 [$0+" +
                     std::to_string(ahead) + "], {$1, $2};";
  inlinePTX(builder, where, {}, {address, first, second}, text,
            "l,l,l,~{memory}");
}

/// An address operand of inline PTX.
static std::string placeText(StringRef operand, int32_t ahead) {
  return ("[" + operand + "+" + Twine(ahead) + "]").str();
}

Value CodeBuilder::loadReduced(StringRef how, Value address, int32_t ahead) {
  constexpr unsigned unitBytes = 16;
  Type word = how.ends_with("64") ? i64 : i32;
  unsigned count = unitBytes * 8 / word.getIntOrFloatBitWidth();
  std::string text = ("multimem.ld_reduce.relaxed.sys.global." + how).str();
  Values words;
  if (how.contains("v4")) {
    Type four = LLVM::LLVMStructType::getLiteral(
        builder.getContext(), SmallVector<Type>(count, word));
    text += " {$0, $1, $2, $3}, " + placeText("$4", ahead) + ";";
    Value loaded = inlinePTX(builder, where, four, address, text,
                             "=r,=r,=r,=r,l,~{memory}")
                       .getRes();
    for (unsigned i = 0; i < count; ++i)
      words.push_back(LLVM::ExtractValueOp::create(builder, where, loaded, i));
  } else {
    StringRef constraints = word == i64 ? "=l,l,~{memory}" : "=r,l,~{memory}";
    for (unsigned i = 0; i < count; ++i) {
      std::string place = placeText("$1", ahead + i * unitBytes / count);
      words.push_back(inlinePTX(builder, where, word, address,
                                text + " $0, " + place + ";", constraints)
                          .getRes());
    }
  }
  Value result = LLVM::PoisonOp::create(builder, where, vector(count, word));
  for (unsigned i = 0; i < count; ++i)
    result =
        LLVM::InsertElementOp::create(builder, where, result, words[i], c32(i));
  return result;
}

void CodeBuilder::multicast(Value words, Value address, int32_t ahead) {
  Values operands = {address};
  for (unsigned i = 0; i < 4; ++i)
    operands.push_back(extract(words, i));
  std::string text = "multimem.st.relaxed.sys.global.v4.f32 " +
                     placeText("$0", ahead) + ", {$1, $2, $3, $4};";
  inlinePTX(builder, where, {}, operands, text, "l,r,r,r,r,~{memory}");
}

void CodeBuilder::fenceSwitch() {
  inlinePTX(builder, where, {}, {}, "fence.proxy.alias;", "~{memory}");
}

void CodeBuilder::storeStreaming(Value value, Value address,
                                 unsigned alignment) {
  LLVM::StoreOp::create(builder, where, value, address, alignment,
                        /*isVolatile=*/false, /*isNonTemporal=*/true);
}
void CodeBuilder::copyMemory(Value dst, Value src, Value bytes) {
  LLVM::MemcpyOp::create(builder, where, dst, src, bytes, /*isVolatile=*/false);
}
Value CodeBuilder::allocate(Value bytes, unsigned alignment) {
  return LLVM::AllocaOp::create(builder, where, pointer, i8, bytes, alignment);
}
void CodeBuilder::fence(Order order) {
  LLVM::FenceOp::create(builder, where, orderingOf(order), StringRef());
}

//===----------------------------------------------------------------------===//
// Threads and control
//===----------------------------------------------------------------------===//

Value CodeBuilder::threadId(Type type) {
  Value index = gpu::ThreadIdOp::create(builder, where, gpu::Dimension::x);
  return arith::IndexCastOp::create(builder, where, type, index);
}
void CodeBuilder::barrier() { gpu::BarrierOp::create(builder, where); }

void CodeBuilder::when(Value condition, Block then, Block otherwise) {
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, where, condition, bool(otherwise));
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
  if (!otherwise)
    return;
  builder.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

Value CodeBuilder::choose(Value condition, function_ref<Value()> then,
                          function_ref<Value()> otherwise) {
  auto branch = [](function_ref<Value()> value) {
    return [value](OpBuilder &builder, Location loc) {
      scf::YieldOp::create(builder, loc, value());
    };
  };
  return scf::IfOp::create(builder, where, condition, branch(then),
                           branch(otherwise))
      .getResult(0);
}

void CodeBuilder::switchOver(Value value, ArrayRef<int64_t> cases,
                             function_ref<void(size_t)> then, Block otherwise) {
  auto function = value.getParentRegion()->getParentOfType<LLVM::LLVMFuncOp>();
  function.setPassthroughAttr(builder.getArrayAttr(
      {builder.getStrArrayAttr({"no-jump-tables", "true"})}));
  Value index = arith::IndexCastUIOp::create(builder, where,
                                             builder.getIndexType(), value);
  auto choice = scf::IndexSwitchOp::create(builder, where, TypeRange{}, index,
                                           cases, cases.size());
  OpBuilder::InsertionGuard guard(builder);
  auto fill = [&](Region &region, Block emit) {
    builder.createBlock(&region);
    emit();
    scf::YieldOp::create(builder, where);
  };
  for (auto [number, region] : llvm::enumerate(choice.getCaseRegions()))
    fill(region, [&, number = number] { then(number); });
  fill(choice.getDefaultRegion(), otherwise);
}

CodeBuilder::Values
CodeBuilder::loop(Value from, Value to, Value step, ValueRange carried,
                  function_ref<Values(Value, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, where, from, to, step, carried);
  builder.setInsertionPointToStart(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!next.empty()) // else there is a terminator already
    scf::YieldOp::create(builder, where, next);
  return Values(loop.getResults());
}

void CodeBuilder::loop(Value from, Value to, Value step,
                       function_ref<void(Value)> body) {
  loop(from, to, step, {}, [&](Value index, ValueRange) {
    body(index);
    return Values();
  });
}

CodeBuilder::Values
CodeBuilder::whileLoop(ValueRange initial, ArrayRef<Type> types,
                       function_ref<Decision(ValueRange)> decide,
                       function_ref<Values(ValueRange)> next) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::WhileOp::create(builder, where, types, initial);
  auto enter = [&](Region &region, TypeRange arguments) {
    SmallVector<Location> locations(arguments.size(), where);
    builder.createBlock(&region, {}, arguments, locations);
    return region.getArguments();
  };
  Decision decision = decide(enter(loop.getBefore(), initial.getTypes()));
  scf::ConditionOp::create(builder, where, decision.goesOn, decision.values);
  Values again = next(enter(loop.getAfter(), types));
  scf::YieldOp::create(builder, where, again);
  return Values(loop.getResults());
}
