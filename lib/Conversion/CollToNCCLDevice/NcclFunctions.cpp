//===- NcclFunctions.cpp - NCCL's device functions ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclFunctions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
/// A type of C, as a parameter or a result.
enum class C {
  Void,
  Pointer,
  Int,
  Long,
  Bool,
  Team,       ///< ncclTeam
  Coop,       ///< ncclCoopAny
  LsaBarrier, ///< ncclLsaBarrierHandle
  Multimem    ///< ncclMultimemHandle
};

struct Signature {
  StringRef name;
  C result;
  SmallVector<C> parameters;
};
} // namespace

/// From bindings/ir/nccl_device_wrapper.h and nccl_device/gin.h of NCCL 2.29
/// and 2.30. Between the two the last parameters of ncclGinPut and
/// ncclGinSignal have changed places: which scope has been released, and which
/// must be. Who passes the same for both does not notice.
static const std::vector<Signature> &signatures() {
  using enum C;
  static const std::vector<Signature> all = {
      {"ncclGetPeerPointer", Pointer, {Pointer, Long, Int}},
      {"ncclCoopAnyInitThread", Void, {Pointer}},
      {"ncclCoopAnyInitCta", Void, {Pointer}},
      {"ncclGin_C_init", Void, {Pointer, Int, Pointer, Int}},
      {"ncclGinPut",
       Void,
       {Pointer, Team, Int, Pointer, Long, Pointer, Long, Long, Bool, Int, Int,
        Long, Bool, Int, Coop, Bool, Pointer, Int, Int}},
      {"ncclGinSignal",
       Void,
       {Pointer, Team, Int, Bool, Int, Int, Long, Coop, Bool, Pointer, Int,
        Int}},
      {"ncclGinReadSignal", Long, {Pointer, Int, Int, Int}},
      {"ncclGinFlush", Void, {Pointer, Coop, Int}},
      {"ncclLsaBarrierSessionInit",
       Void,
       {Pointer, Coop, Pointer, Team, LsaBarrier, Int, Bool, Multimem}},
      {"ncclLsaBarrierSessionSync", Void, {Pointer, Coop, Int}},
  };
  return all;
}

static const Signature &signatureOf(StringRef name) {
  return *llvm::find_if(
      signatures(), [&](const Signature &each) { return each.name == name; });
}

/// The structure that a parameter is, or null.
static Type structOf(C type, MLIRContext *context) {
  Type i8 = IntegerType::get(context, 8), i32 = IntegerType::get(context, 32);
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto make = [&](ArrayRef<Type> fields) {
    return LLVM::LLVMStructType::getLiteral(context, fields);
  };
  switch (type) {
  case C::Team:
    return make({i32, i32, i32});
  case C::Coop:
    return make({LLVM::LLVMArrayType::get(i8, 16), pointer});
  case C::LsaBarrier:
    return make({i32, i32});
  case C::Multimem:
    return make({pointer});
  default:
    return {};
  }
}

static Type typeOf(C type, MLIRContext *context) {
  switch (type) {
  case C::Void:
    return LLVM::LLVMVoidType::get(context);
  case C::Int:
    return IntegerType::get(context, 32);
  case C::Long:
    return IntegerType::get(context, 64);
  case C::Bool:
    return IntegerType::get(context, 1);
  default:
    return LLVM::LLVMPointerType::get(context);
  }
}

/// By parameter, what its type does not say.
static ArrayAttr attributesOf(const Signature &signature, OpBuilder &builder) {
  MLIRContext *context = builder.getContext();
  SmallVector<Attribute> all;
  for (C parameter : signature.parameters) {
    NamedAttrList list;
    if (Type type = structOf(parameter, context)) {
      bool hasPointer = parameter == C::Coop || parameter == C::Multimem;
      list.set(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
      list.set(LLVM::LLVMDialect::getAlignAttrName(),
               builder.getI64IntegerAttr(hasPointer ? 8 : 4));
    } else if (parameter == C::Bool) {
      list.set(LLVM::LLVMDialect::getZExtAttrName(), builder.getUnitAttr());
    }
    all.push_back(list.getDictionary(context));
  }
  return builder.getArrayAttr(all);
}

NcclFunctions::NcclFunctions(CodeBuilder &code)
    : pointer(LLVM::LLVMPointerType::get(code.ops().getContext())), code(code) {
}

Value NcclFunctions::call(StringRef name, ValueRange operands) {
  const Signature &signature = signatureOf(name);
  OpBuilder &builder = code.ops();
  MLIRContext *context = builder.getContext();
  SmallVector<Type> parameters;
  for (C parameter : signature.parameters)
    parameters.push_back(typeOf(parameter, context));
  auto type = LLVM::LLVMFunctionType::get(typeOf(signature.result, context),
                                          parameters);
  ArrayAttr attributes = attributesOf(signature, builder);
  Operation *module = SymbolTable::getNearestSymbolTable(
      builder.getInsertionBlock()->getParentOp());
  if (!SymbolTable::lookupSymbolIn(module, name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&module->getRegion(0).front());
    auto function = LLVM::LLVMFuncOp::create(builder, code.loc(), name, type);
    function.setArgAttrsAttr(attributes);
  }
  auto call = LLVM::CallOp::create(builder, code.loc(), type, name, operands);
  call.setArgAttrsAttr(attributes);
  return signature.result == C::Void ? Value() : call.getResult();
}

Value NcclFunctions::generic(Value address) {
  return LLVM::AddrSpaceCastOp::create(code.ops(), code.loc(), pointer,
                                       address);
}

Value NcclFunctions::loadPointer(Value net, uint64_t offset) {
  return code.load(pointer, code.at(net, code.c64(offset)), sizeof(void *));
}

Value NcclFunctions::allocate(uint64_t bytes) {
  constexpr unsigned alignment = 16;
  return LLVM::AllocaOp::create(code.ops(), code.loc(), pointer, code.i8,
                                code.c64(bytes), alignment);
}

Value NcclFunctions::null() {
  return LLVM::ZeroOp::create(code.ops(), code.loc(), pointer);
}
