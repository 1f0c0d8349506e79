//===- LLHelpers.cpp - Moving and reducing LL words -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLHelpers.h"

#include "CodeBuilder.h"
#include "FlagCode.h"
#include "Helpers.h"
#include "ReductionChoice.h"

#include "sccl/ABI/HelperNames.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

std::string LLShape::suffix() const {
  std::string letters = "_";
  for (bool isLL : {dst, src0, src1})
    letters += isLL ? 'p' : 'm';
  return reduces ? letters : letters.substr(0, 3);
}

/// Bytes of an LL word, and bits below the number of its launch.
static constexpr unsigned llWordBytes = 2 * llDataBytes;
static constexpr unsigned llDataBits = 8 * llDataBytes;

namespace {
/// Builds one loop. A thread takes every so many bytes the data of one LL word;
/// the last one may be cut short. A thread that gives up because the launch is
/// aborted stores nothing and ends its loop.
class LLLoopBuilder {
public:
  LLLoopBuilder(CodeBuilder &code, const HelperOptions &options,
                const LLShape &shape, const ReductionLoop *reduction = nullptr)
      : code(code), options(options), shape(shape), reduction(reduction),
        takesWord(reduction && reduction->takesWord()) {}

  void build(const std::string &name) {
    // The destination, its sources, bytes, launch, abort word, AverageWord.
    SmallVector<Type> types(1 + shape.sources(), code.pointer);
    types.append({code.i64, code.i32, code.pointer});
    if (takesWord)
      types.push_back(code.i32);
    code.function(name, types, [&](ValueRange arguments) {
      ValueRange others = arguments.drop_front(1 + shape.sources());
      bytes = others[0];
      launch = others[1];
      abort = others[2];
      stamp = code.shiftLeft(code.zeroExtend(launch, code.i64),
                             code.c64(llDataBits));
      Value first = firstOfThread();
      if (takesWord)
        average = reducer().averageOperands(others[3], reduction->divides);
      walk(first, arguments.take_front(1 + shape.sources()));
    });
  }

private:
  using Values = CodeBuilder::Values;

  bool isHost() const { return options.target == HelperTarget::Host; }

  Value firstOfThread() {
    if (isHost())
      return code.c64(0);
    return code.mul(code.threadId(code.i64), code.c64(llDataBytes));
  }

  void walk(Value first, ValueRange buffers) {
    code.whileLoop(
        first, code.i64,
        [&](ValueRange at) -> CodeBuilder::Decision {
          return {code.is(Compare::SignedLess, at[0], bytes), {at[0]}};
        },
        [&](ValueRange at) -> Values {
          offset = at[0];
          Value left = code.sub(bytes, offset);
          size = code.minSigned(left, code.c64(llDataBytes));
          isWhole = code.is(Compare::Equal, size, code.c64(llDataBytes));
          twice = code.add(offset, offset);
          Value fine = handleWord(buffers);
          Value after =
              code.add(offset, code.c64(llDataBytes * options.blockSize));
          return {code.select(fine, after, bytes)};
        });
  }

  /// Returns true unless the launch is aborted.
  Value handleWord(ValueRange buffers) {
    Loaded first = load(buffers[1], shape.src0);
    Loaded second{{}, code.yes()};
    Value result = first.data;
    if (shape.reduces) {
      second = load(buffers[2], shape.src1);
      result = reduce(first.data, second.data);
    }
    Value fine = code.bitAnd(first.came, second.came);
    if (shape.dst)
      storeWord(buffers[0], result, fine);
    else
      storePlain(buffers[0], result, fine);
    return fine;
  }

  /// The data of a word as i32, and whether it has come.
  struct Loaded {
    Value data, came;
  };

  Loaded load(Value source, bool isLL) {
    return isLL ? pollWord(source) : Loaded{loadPlain(source), code.yes()};
  }

  /// Number and data come in one access, so nothing has to be ordered.
  Loaded pollWord(Value source) {
    Poll poll{code.at(source, twice), Order::Relaxed, abort, isHost()};
    Polled polled = buildPoll(code, poll, [&](Value word) {
      Value high = code.shiftRight(word, code.c64(llDataBits));
      Value number = code.truncate(high, code.i32);
      return code.is(Compare::NotEqual, number, launch);
    });
    Value came = code.bitXor(polled.early, code.yes());
    return {code.truncate(polled.word, code.i32), came};
  }

  /// Plain memory, and whether it can be accessed as one word.
  struct Place {
    Value address, isWord;
  };

  Place placeIn(Value buffer) {
    Value address = code.at(buffer, offset);
    Value low = code.bitAnd(code.toInteger(address), code.c64(llDataBytes - 1));
    Value isEven = code.is(Compare::Equal, low, code.c64(0));
    return {address, code.bitAnd(isEven, isWhole)};
  }

  /// By how many bits byte `index` (i64) of a word is shifted.
  Value shiftOf(Value index) {
    return code.mul(code.truncate(index, code.i32), code.c32(8));
  }

  Value loadPlain(Value source) {
    Place place = placeIn(source);
    return code.choose(
        place.isWord,
        [&] { return code.load(code.i32, place.address, llDataBytes); },
        [&] { return loadBytes(place.address); });
  }

  Value loadBytes(Value address) {
    auto addByte = [&](Value index, ValueRange below) -> Values {
      Value byte = code.load(code.i8, code.at(address, index), 1);
      Value wide = code.zeroExtend(byte, code.i32);
      Value placed = code.shiftLeft(wide, shiftOf(index));
      return {code.bitOr(below[0], placed)};
    };
    return code.loop(code.c64(0), size, code.c64(1), code.c32(0), addByte)[0];
  }

  void storePlain(Value destination, Value data, Value fine) {
    Place place = placeIn(destination);
    auto storeByte = [&](Value index) {
      Value placed = code.shiftRight(data, shiftOf(index));
      Value byte = code.truncate(placed, code.i8);
      code.store(byte, code.at(place.address, index), 1);
    };
    code.when(fine, [&] {
      code.when(
          place.isWord, [&] { code.store(data, place.address, llDataBytes); },
          [&] { code.loop(code.c64(0), size, code.c64(1), storeByte); });
    });
  }

  void storeWord(Value destination, Value data, Value fine) {
    Value address = code.at(destination, twice);
    Value word = code.bitOr(code.zeroExtend(data, code.i64), stamp);
    code.when(fine,
              [&] { code.store(word, address, llWordBytes, Order::Relaxed); });
  }

  ReduceBuilder reducer() {
    unsigned elements = llDataBytes / reduction->op.element.bytes;
    return ReduceBuilder(code, reduction->op, elements == 1 ? 0 : elements);
  }

  /// The elements of a word are reduced side by side, also those beyond the
  /// end.
  Value reduce(Value first, Value second) {
    Type type = reducer().memoryType();
    auto cast = [&](Value value, Type to) {
      return type == code.i32 ? value : code.bitcast(value, to);
    };
    Value lhs = cast(first, type);
    Value rhs = cast(second, type);
    return cast(reducer().reduce(lhs, rhs, average), code.i32);
  }

  CodeBuilder &code;
  const HelperOptions &options;
  const LLShape &shape;
  const ReductionLoop *reduction; ///< unless it copies
  bool takesWord;
  Value bytes, launch, abort;
  AverageOperands average;
  Value stamp;                        ///< the launch where LL words have it
  Value offset, size, isWhole, twice; ///< of the data in plain memory
};
} // namespace

std::optional<std::string> coll::whyNoLL(const ElementOp &op) {
  if (op.element.bytes <= llDataBytes)
    return std::nullopt;
  return "LL words carry " + std::to_string(llDataBytes) +
         " bytes each, but elements of " + std::string(op.element.name) +
         " have " + std::to_string(op.element.bytes);
}

void coll::buildLLLoops(CodeBuilder &code, const HelperOptions &options,
                        const LLShape &shape) {
  std::string suffix = shape.suffix();
  if (!shape.reduces)
    return LLLoopBuilder(code, options, shape).build(helper::copy + suffix);
  for (const ReductionLoop &loop : reductionLoops(options, suffix))
    LLLoopBuilder(code, options, shape, &loop).build(loop.name);
  buildReductionChoice(code, options, suffix,
                       {code.pointer, code.pointer, code.pointer, code.i64,
                        code.i32, code.pointer});
}
