//===- GinHelpers.cpp - Code that sends to other boxes --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GinHelpers.h"

#include "../Common/CodeBuilder.h"
#include "../Common/FlagCode.h"
#include "Conversion/Common/CodeBuilder.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/NcclDevice.h"
#include "sccl/ABI/RankTable.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

// The C functions of libnccl_device.bc, which NCCL has since 2.29, as clang
// sees them for NVPTX: structures are passed by value in memory. Pointers are
// generic.

namespace {
/// Builds calls of NCCL's functions. Structures are operands by their address.
class NcclFunctions {
public:
  using Value = mlir::Value;

  explicit NcclFunctions(CodeBuilder &code);

  /// Calls a function, and declares it in the module if it is not yet.
  Value call(llvm::StringRef name, mlir::ValueRange operands);
  /// The generic address of what is at `address`, in global memory.
  Value generic(Value address);
  /// A field of 8 bytes of the record at `net`, an address.
  Value loadPointer(Value net, uint64_t offset);
  /// Memory of a thread, for one of NCCL's structures.
  Value allocate(uint64_t bytes);
  Value null();

  mlir::Type pointer; ///< generic

private:
  CodeBuilder &code;
};

/// The values of C++ that functions take.
struct NcclNumbers {
  // cuda::thread_scope
  static constexpr int systemScope = 0;
  // cuda::memory_order
  static constexpr int acquire = 2, acquireRelease = 4;
  // ncclGinSignalOp_t
  static constexpr int signalInc = 0;
};
} // namespace

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

namespace {
/// What a thread needs to call functions of GIN, in its own memory. Functions
/// of NCCL fill both; 2.30 needs 48 and 24 bytes.
struct GinSession {
  Value gin, coop;
};

class GinBuilder {
public:
  explicit GinBuilder(CodeBuilder &code) : code(code), nccl(code) {}

  void buildPut();
  void buildSignal();
  void buildWait();
  void buildFlush();

private:
  static constexpr uint64_t ginBytes = 128, coopBytes = 64;

  /// A row of the list of flags.
  struct Row {
    Value peer, signal, perLaunch, value;
  };

  GinSession allocate() {
    return {nccl.allocate(ginBytes), nccl.allocate(coopBytes)};
  }
  /// Lets this thread alone call functions, in a context.
  void open(const GinSession &session, Value net, Value context);
  Value field(Value net, uint64_t offset) {
    return code.load(code.i32, code.at(net, code.c64(offset)),
                     sizeof(uint32_t));
  }
  Value world(Value net) {
    Value team = code.at(net, code.c64(offsetof(NcclArguments, world)));
    return nccl.generic(team);
  }
  Value window(Value net, Value buffer);
  Row readRow(Value rows, Value number);
  void whenFirst(CodeBuilder::Block body);

  CodeBuilder &code;
  NcclFunctions nccl;
};
} // namespace

void GinBuilder::open(const GinSession &session, Value net, Value context) {
  nccl.call("ncclCoopAnyInitThread", session.coop);
  Value comm = nccl.loadPointer(net, offsetof(NcclArguments, comm));
  Value backends = field(net, offsetof(NcclArguments, backends));
  nccl.call("ncclGin_C_init", {session.gin, backends, comm, context});
}

Value GinBuilder::window(Value net, Value buffer) {
  Value number = code.zeroExtend(buffer, code.i64);
  Value skip = code.mul(number, code.c64(sizeof(void *)));
  return nccl.loadPointer(code.at(net, skip), offsetof(NcclArguments, windows));
}

GinBuilder::Row GinBuilder::readRow(Value rows, Value number) {
  Value skip = code.mul(number, code.c32(sizeof(TableFlag)));
  Value row = code.at(rows, code.zeroExtend(skip, code.i64));
  Value fields = code.load(code.vector(4, code.i32), row, tableUnitBytes);
  Value peer = code.extract(fields, 0), signal = code.extract(fields, 1);
  Value perLaunch = code.extract(fields, 2), value = code.extract(fields, 3);
  return {peer, signal, perLaunch, value};
}

void GinBuilder::whenFirst(CodeBuilder::Block body) {
  Value thread = code.threadId(code.i32);
  code.when(code.is(Compare::Equal, thread, code.c32(0)), body);
}

/// What the whole block has written is read by a network card: one thread
/// fences for all of them, at system scope, and says so.
void GinBuilder::buildPut() {
  // Offsets of the destination and the source, bytes, record, peer, buffers of
  // the destination and the source, context.
  code.function(
      helper::ginPut,
      {code.pointer, code.pointer, code.i64, code.pointer, code.i32, code.i32,
       code.i32, code.i32},
      [&](ValueRange a) {
        GinSession session = allocate();
        code.barrier();
        whenFirst([&] {
          Value net = a[3], no = code.constant(0, code.i1), none = code.c32(0);
          code.fence(Order::Release);
          open(session, net, a[7]);
          Value team = world(net);
          Value to = window(net, a[5]), toOffset = code.toInteger(a[0]);
          Value from = window(net, a[6]), fromOffset = code.toInteger(a[1]);
          Value scope = code.c32(NcclNumbers::systemScope);
          nccl.call("ncclGinPut",
                    {session.gin, team, a[4], to, toOffset, from, fromOffset,
                     a[2], no, none, none, code.c64(0), no, none, session.coop,
                     no, nccl.null(), scope, scope});
        });
      });
}

void GinBuilder::buildSignal() {
  // Rows, how many, record, block, context.
  code.function(
      helper::ginSignal,
      {code.pointer, code.i32, code.pointer, code.i32, code.i32},
      [&](ValueRange a) {
        GinSession session = allocate();
        Value thread = code.threadId(code.i32);
        Value hasFlag = code.is(Compare::Less, thread, a[1]);
        Value last = code.sub(a[1], code.c32(1));
        Row row = readRow(a[0], code.min(thread, last));
        code.barrier();
        code.when(hasFlag, [&] {
          Value net = a[2], no = code.constant(0, code.i1);
          code.fence(Order::Release);
          open(session, net, a[4]);
          Value team = world(net), signal = code.add(row.signal, a[3]);
          Value scope = code.c32(NcclNumbers::systemScope);
          Value inc = code.c32(NcclNumbers::signalInc);
          nccl.call("ncclGinSignal",
                    {session.gin, team, row.peer, code.yes(), signal, inc,
                     code.c64(1), session.coop, no, nccl.null(), scope, scope});
        });
      });
}

void GinBuilder::buildWait() {
  // Rows, how many, record, block, launch, abort word.
  code.function(
      helper::ginWait,
      {code.pointer, code.i32, code.pointer, code.i32, code.i64, code.pointer},
      [&](ValueRange a) {
        GinSession session = allocate();
        Value thread = code.threadId(code.i32);
        Value hasFlag = code.is(Compare::Less, thread, a[1]);
        code.when(hasFlag, [&] {
          Row row = readRow(a[0], thread);
          Value context = code.add(row.peer, a[3]);
          open(session, a[2], context);
          Value signal = code.add(row.signal, a[3]);
          Value perLaunch = code.zeroExtend(row.perLaunch, code.i64);
          Value before = code.mul(a[4], perLaunch);
          Value least = code.add(before, code.signExtend(row.value, code.i64));
          Value bits = code.c32(64), order = code.c32(NcclNumbers::acquire);
          auto read = [&]() -> CodeBuilder::Values {
            return {nccl.call("ncclGinReadSignal",
                              {session.gin, signal, bits, order})};
          };
          buildPoll(code, {read, a[5], /*isHost=*/false}, [&](ValueRange now) {
            return code.is(Compare::Less, now[0], least);
          });
        });
        code.barrier();
      });
}

void GinBuilder::buildFlush() {
  // Record, context.
  code.function(helper::ginFlush, {code.pointer, code.i32}, [&](ValueRange a) {
    GinSession session = allocate();
    whenFirst([&] {
      open(session, a[0], a[1]);
      nccl.call("ncclGinFlush",
                {session.gin, session.coop, code.c32(NcclNumbers::acquire)});
    });
    code.barrier();
  });
}

void coll::buildGinHelpers(CodeBuilder &code) {
  GinBuilder builder(code);
  builder.buildPut();
  builder.buildSignal();
  builder.buildWait();
  builder.buildFlush();
}

void coll::buildPeersKernel(CodeBuilder &code, Value net, Value peers,
                            unsigned ranks, unsigned ranksPerBox) {
  NcclFunctions nccl(code);
  Value own = code.load(code.i32,
                        code.at(net, code.c64(offsetof(NcclArguments, world) +
                                              offsetof(NcclTeamWords, rank))),
                        sizeof(uint32_t));
  Value size = code.c32(ranksPerBox);
  Value first = code.mul(code.divide(own, size), size);
  Value thread = code.threadId(code.i32);
  code.when(code.is(Compare::Equal, thread, code.c32(0)), [&] {
    Value count = code.c32(std::min(ranks, ranksPerBox));
    code.loop(code.c32(0), count, code.c32(1), [&](Value index) {
      Value rank = code.add(first, index);
      Value number = code.zeroExtend(rank, code.i64);
      Value entry =
          code.at(peers, code.mul(number, code.c64(sizeof(PeerEntry))));
      for (unsigned i = 0; i < unsigned(BufferField::Count); ++i) {
        uint64_t skip = i * sizeof(void *);
        Value window =
            nccl.loadPointer(net, offsetof(NcclArguments, windows) + skip);
        Value offset = code.load(
            code.i64,
            code.at(net, code.c64(offsetof(NcclArguments, offsets) + skip)),
            sizeof(uint64_t));
        Value address = nccl.call("ncclGetPeerPointer", {window, offset, rank});
        code.store(address, code.at(entry, code.c64(skip)), sizeof(void *));
      }
    });
  });
}

void coll::buildBarrierKernel(CodeBuilder &code, Value net) {
  constexpr uint64_t sessionBytes = 512, coopBytes = 64; // 2.31 needs 80 and 24
  NcclFunctions nccl(code);
  Value session = nccl.allocate(sessionBytes), coop = nccl.allocate(coopBytes);
  Value multimem = nccl.allocate(sizeof(void *));
  code.store(nccl.null(), multimem, sizeof(void *));
  auto part = [&](uint64_t offset) {
    return nccl.generic(code.at(net, code.c64(offset)));
  };
  Value team = part(offsetof(NcclArguments, lsa));
  Value handle = part(offsetof(NcclArguments, barrier));
  Value comm = nccl.loadPointer(net, offsetof(NcclArguments, comm));
  nccl.call("ncclCoopAnyInitCta", coop);
  Value no = code.constant(0, code.i1);
  nccl.call("ncclLsaBarrierSessionInit",
            {session, coop, comm, team, handle, code.c32(0), no, multimem});
  nccl.call("ncclLsaBarrierSessionSync",
            {session, coop, code.c32(NcclNumbers::acquireRelease)});
}
