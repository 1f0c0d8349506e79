//===- Helpers.cpp - Functions that generated code calls ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "ChunkHelpers.h"
#include "CodeBuilder.h"
#include "FlagCode.h"
#include "HelperLoops.h"
#include "ReductionChoice.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/TraceTable.h"

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

namespace {
/// Builds a function that reduces several terms: piece by piece, one after the
/// other into sums on the stack, in loops that LLVM turns into vectors.
class TermLoopBuilder {
public:
  TermLoopBuilder(CodeBuilder &code, const ReductionLoop &loop)
      : code(code), loop(loop), reducer(code, loop.op, /*lanes=*/0) {}

  void build() {
    SmallVector<Type> types(3, code.pointer);
    types.append({code.i64, code.i32, code.i64});
    if (loop.takesWord())
      types.push_back(code.i32);
    code.function(loop.name, types, [&](ValueRange arguments) {
      if (loop.takesWord())
        average = reducer.averageOperands(arguments.back(), loop.divides);
      width = code.c64(loop.op.element.bytes);
      stack = code.allocate(code.c64(2 * sumBytes), lineBytes);
      Value all = code.divide(arguments[3], width);
      code.loop(code.c64(0), all, code.c64(elements), [&](Value first) {
        Value left = code.sub(all, first);
        count = code.min(left, code.c64(elements));
        Value offset = code.mul(first, width);
        buildPiece(code.at(arguments[0], offset), code.at(arguments[1], offset),
                   code.at(arguments[2], offset), arguments);
      });
    });
  }

private:
  static constexpr int64_t elements = 1024, sumBytes = 8 * elements;
  using Values = ReduceBuilder::Values;

  void buildPiece(Value dst, Value lhs, Value rhs, ValueRange arguments) {
    forEach([&](Value index) {
      Values sums = reducer.begin(load(lhs, index), average);
      reducer.add(sums, load(rhs, index), average);
      sumTypes = llvm::to_vector(ValueRange(sums).getTypes());
      storeSums(sums, index);
    });
    code.loop(code.c32(1), arguments[4], code.c32(1), [&](Value term) {
      Value number = code.zeroExtend(term, code.i64);
      Value next = code.at(rhs, code.mul(number, arguments[5]));
      forEach([&](Value index) {
        Values sums = loadSums(index);
        reducer.add(sums, load(next, index), average);
        storeSums(sums, index);
      });
    });
    forEach([&](Value index) {
      Value result = reducer.finish(loadSums(index), average);
      code.store(result, code.at(dst, code.mul(index, width)));
    });
  }

  void forEach(llvm::function_ref<void(Value)> body) {
    code.loop(code.c64(0), count, code.c64(1), body);
  }
  Value load(Value base, Value index) {
    Value offset = code.mul(index, width);
    return code.load(reducer.memoryType(), code.at(base, offset));
  }
  /// Where sum number `which` of an element is.
  Value placeOf(Value index, size_t which) {
    Value bytes = code.c64(sumTypes[which].getIntOrFloatBitWidth() / 8);
    Value base = code.at(stack, int32_t(which * sumBytes));
    return code.at(base, code.mul(index, bytes));
  }
  Values loadSums(Value index) {
    Values sums;
    for (size_t i = 0; i < sumTypes.size(); ++i)
      sums.push_back(code.load(sumTypes[i], placeOf(index, i)));
    return sums;
  }
  void storeSums(const Values &sums, Value index) {
    for (size_t i = 0; i < sums.size(); ++i)
      code.store(sums[i], placeOf(index, i));
  }

  CodeBuilder &code;
  const ReductionLoop &loop;
  ReduceBuilder reducer;
  AverageOperands average;
  Value width, stack, count; ///< of an element; of the piece
  SmallVector<Type> sumTypes;
};
} // namespace

/// Reduces into a piece of the stack, which stays in the cache, and copies from
/// there.
static void buildReductionStream(CodeBuilder &code,
                                 const HelperOptions &options,
                                 const std::string &suffix,
                                 ArrayRef<Type> operandTypes) {
  constexpr int64_t pieceBytes = 16384;
  SmallVector<Type> types(operandTypes);
  types.append(options.averages() + options.chooses(), code.i32);
  code.function(helper::reduceElements + suffix + helper::streamSuffix, types,
                [&](ValueRange arguments) {
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
                    code.call(options.elementsHelper() + suffix, operands);
                    code.call(std::string(helper::copy) + helper::streamSuffix,
                              {to, stack, length});
                  });
                });
}

/// Builds the loops of all reductions, of two operands or of several terms.
static void buildReductions(CodeBuilder &code, const HelperOptions &options,
                            bool hasTerms) {
  std::string suffix =
      TransferShape{.reduces = true, .hasTerms = hasTerms}.suffix();
  for (const ReductionLoop &loop : reductionLoops(options, suffix)) {
    if (hasTerms)
      TermLoopBuilder(code, loop).build();
    else
      buildReduction(code, loop);
  }
  SmallVector<Type> types = {code.pointer, code.pointer, code.pointer,
                             code.i64};
  if (hasTerms)
    types.append({code.i32, code.i64});
  buildReductionChoice(code, options, suffix, types);
  buildReductionStream(code, options, suffix, types);
}

/// Builds @coll_copy and, if the program reduces, @coll_reduce_elements, and
/// for averages @coll_average; and for what does not fit in the cache
/// @coll_copy_stream and @coll_reduce_elements_stream.
/// What copies, reduces and averages plain memory; also several terms if the
/// program `hasTerms`.
static void buildHostLoops(CodeBuilder &code, const HelperOptions &options,
                           bool hasTerms) {
  buildCopy(code);
  buildCopyStream(code);
  if (!options.reduces())
    return;
  buildReductions(code, options, /*hasTerms=*/false);
  if (hasTerms)
    buildReductions(code, options, /*hasTerms=*/true);
}

static constexpr unsigned markBytes = sizeof(uint64_t);

/// Builds `body` for the first thread of block 0 of the channel, if the rank
/// got a table.
static void forTeller(CodeBuilder &code, Value table, Value block,
                      llvm::function_ref<void()> body) {
  Value thread = code.threadId(code.i32);
  Value number = code.bitOr(thread, block);
  Value isFirst = code.is(Compare::Equal, number, code.c32(0));
  Value address = code.toInteger(table);
  Value isThere = code.is(Compare::NotEqual, address, code.c64(0));
  code.when(code.bitAnd(isFirst, isThere), body);
}

/// The word of a line at `offset`.
static Value fieldOf(CodeBuilder &code, Value line, size_t offset) {
  return code.at(line, int32_t(offset));
}

/// Table, offset of the line, launch, segment, block.
static void buildRecord(CodeBuilder &code) {
  code.function(
      helper::record, {code.pointer, code.i32, code.i64, code.i64, code.i32},
      [&](ValueRange arguments) {
        forTeller(code, arguments[0], arguments[4], [&] {
          Value bytes = code.zeroExtend(arguments[1], code.i64);
          Value line = code.at(arguments[0], bytes);
          auto load = [&](size_t offset) {
            return code.load(code.i64, fieldOf(code, line, offset), markBytes);
          };
          Value buffer = load(offsetof(TraceLine, buffer));
          Value launches = load(offsetof(TraceLine, launches));
          Value capacity = load(offsetof(TraceLine, capacity));
          Value stride = load(offsetof(TraceLine, stride));
          Value next = code.add(launches, code.c64(1));
          Value isOn = code.is(Compare::NotEqual, buffer, code.c64(0));
          Value isRoom = code.is(Compare::Less, launches, capacity);
          Value writes = code.bitAnd(isOn, isRoom);
          Value skipped = code.mul(launches, stride);
          Value record = code.add(buffer, skipped);
          Value place = code.select(writes, record, code.c64(0));
          code.store(place, fieldOf(code, line, offsetof(TraceLine, place)),
                     markBytes);
          Value counted = code.select(isOn, next, launches);
          code.store(counted,
                     fieldOf(code, line, offsetof(TraceLine, launches)),
                     markBytes);
          code.when(writes, [&] {
            Value to = code.toPointer(record);
            code.store(arguments[2], to, markBytes);
            code.store(arguments[3], code.at(to, int32_t(markBytes)),
                       markBytes);
          });
        });
      },
      CodeBuilder::Linkage::Hidden);
}

/// Table, offset of the line, place, block.
static void buildMark(CodeBuilder &code) {
  code.function(
      helper::mark, {code.pointer, code.i32, code.i32, code.i32},
      [&](ValueRange arguments) {
        forTeller(code, arguments[0], arguments[3], [&] {
          Value bytes = code.zeroExtend(arguments[1], code.i64);
          Value line = code.at(arguments[0], bytes);
          Value record = code.load(
              code.i64, fieldOf(code, line, offsetof(TraceLine, place)),
              markBytes);
          Value isOn = code.is(Compare::NotEqual, record, code.c64(0));
          code.when(isOn, [&] {
            Value time = code.time();
            Value skip = code.mul(arguments[2], code.c32(markBytes));
            Value offset = code.add(skip, code.c32(traceTimes));
            Value to = code.at(code.toPointer(record),
                               code.zeroExtend(offset, code.i64));
            code.store(time, to, markBytes);
          });
        });
      },
      CodeBuilder::Linkage::Hidden);
}

/// Not internal, so that the audit knows which parameter is which.
/// Builds @coll_record and @coll_mark, for GPUs; see TraceTable.h.
static void buildMarkHelpers(CodeBuilder &code) {
  buildRecord(code);
  buildMark(code);
}

void coll::insertHelpers(Block &body, const HelperOptions &options) {
  bool isHost = options.target == HelperTarget::Host;
  constexpr unsigned globalMemory = 1;
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  CodeBuilder code(builder, body.getParentOp()->getLoc(),
                   isHost ? 0 : globalMemory);
  buildChunkHelper(code, options, {});
  if (options.reduces())
    buildChunkHelper(code, options, {.reduces = true});
  bool hasTerms = false;
  for (const TransferShape &shape : options.shapes) {
    buildChunkHelper(code, options, shape);
    if (shape.hasLL())
      buildLLLoops(code, options, shape);
    else if (shape.isWide())
      buildWideLoops(code, options, shape);
    else if (shape.isSwitched)
      buildSwitchLoops(code, options, shape);
    else
      hasTerms = true;
  }
  if (isHost)
    buildHostLoops(code, options, hasTerms);
  else
    buildBlockLoops(code, options, hasTerms);
  buildFlagHelpers(code, options);
  if (options.traced && !isHost)
    buildMarkHelpers(code);
}
