//===- HostLoops.cpp - Loops of a host thread -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLoops.h"

#include "CodeBuilder.h"
#include "Helpers.h"
#include "ReductionChoice.h"

#include "sccl/ABI/HelperNames.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static constexpr unsigned lineBytes = 64;

static void buildCopy(CodeBuilder &code) {
  code.function(helper::copy, {code.pointer, code.pointer, code.i64},
                [&](ValueRange arguments) {
                  code.copyMemory(arguments[0], arguments[1], arguments[2]);
                });
}

/// Copies whole lines, all loads before all stores. `to` begins a line.
static void copyLines(CodeBuilder &code, Value to, Value from, unsigned count) {
  Type line = code.vector(lineBytes / 4, code.i32);
  CodeBuilder::Values values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(
        code.load(line, code.at(from, i * lineBytes), /*alignment=*/1));
  for (unsigned i = 0; i < count; ++i)
    code.storeStreaming(values[i], code.at(to, i * lineBytes), lineBytes);
}

/// On x86-64 a release does not order stores that bypass the cache.
static void orderStreams(CodeBuilder &code) {
#if defined(__x86_64__)
  code.intrinsic("llvm.x86.sse.sfence");
#else
  code.fence(Order::Release);
#endif
}

/// Stores that bypass the cache spare it the reading of lines that are about to
/// be overwritten.
static void buildCopyStream(CodeBuilder &code) {
  constexpr int64_t tileLines = 4, tileBytes = tileLines * lineBytes;
  code.function(
      std::string(helper::copy) + helper::streamSuffix,
      {code.pointer, code.pointer, code.i64}, [&](ValueRange arguments) {
        Value dst = arguments[0], src = arguments[1], bytes = arguments[2];
        Value minus = code.sub(code.c64(0), code.toInteger(dst));
        Value toLine = code.bitAnd(minus, code.c64(lineBytes - 1));
        Value head = code.min(toLine, bytes);
        code.copyMemory(dst, src, head);
        Value rest = code.sub(bytes, head);
        Value tiled = code.bitAnd(rest, code.c64(-tileBytes));
        Value end = code.add(head, tiled);
        code.loop(head, end, code.c64(tileBytes), [&](Value offset) {
          Value from = code.at(src, offset);
          Value to = code.at(dst, offset);
          copyLines(code, to, from, tileLines);
        });
        Value left = code.sub(bytes, end);
        Value from = code.at(src, end);
        Value to = code.at(dst, end);
        code.copyMemory(to, from, left);
        orderStreams(code);
      });
}

/// A loop over elements, which LLVM turns into vectors.
static void buildReduction(CodeBuilder &code, const ReductionLoop &loop) {
  ReduceBuilder reducer(code, loop.op, /*lanes=*/0);
  SmallVector<Type> types(3, code.pointer);
  types.push_back(code.i64);
  if (loop.takesWord())
    types.push_back(code.i32);
  code.function(loop.name, types, [&](ValueRange arguments) {
    AverageOperands average;
    if (loop.takesWord())
      average = reducer.averageOperands(arguments[4], loop.divides);
    Value width = code.c64(loop.op.element.bytes);
    code.loop(code.c64(0), arguments[3], width, [&](Value offset) {
      auto load = [&](Value base) {
        return code.load(reducer.memoryType(), code.at(base, offset));
      };
      Value lhs = load(arguments[1]);
      Value rhs = load(arguments[2]);
      Value result = reducer.reduce(lhs, rhs, average);
      code.store(result, code.at(arguments[0], offset));
    });
  });
}

/// Reduces into a piece of the stack, which stays in the cache, and copies from
/// there.
static void buildReductionStream(CodeBuilder &code,
                                 const HelperOptions &options) {
  constexpr int64_t pieceBytes = 16384;
  SmallVector<Type> types = {code.pointer, code.pointer, code.pointer,
                             code.i64};
  types.append(options.averages() + options.chooses(), code.i32);
  code.function(std::string(helper::reduceElements) + helper::streamSuffix,
                types, [&](ValueRange arguments) {
                  Value bytes = arguments[3], piece = code.c64(pieceBytes);
                  Value stack = code.allocate(piece, lineBytes);
                  code.loop(code.c64(0), bytes, piece, [&](Value offset) {
                    Value left = code.sub(bytes, offset);
                    Value length = code.min(left, piece);
                    Value to = code.at(arguments[0], offset);
                    Value lhs = code.at(arguments[1], offset);
                    Value rhs = code.at(arguments[2], offset);
                    SmallVector<Value> operands = {stack, lhs, rhs, length};
                    llvm::append_range(operands, arguments.drop_front(4));
                    code.call(options.elementsHelper(), operands);
                    code.call(std::string(helper::copy) + helper::streamSuffix,
                              {to, stack, length});
                  });
                });
}

void coll::buildHostLoops(CodeBuilder &code, const HelperOptions &options) {
  buildCopy(code);
  buildCopyStream(code);
  if (!options.reduces())
    return;
  for (const ReductionLoop &loop : reductionLoops(options, ""))
    buildReduction(code, loop);
  buildReductionChoice(code, options, "",
                       {code.pointer, code.pointer, code.pointer, code.i64});
  buildReductionStream(code, options);
}
