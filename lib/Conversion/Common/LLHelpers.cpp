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

std::string TransferShape::suffix() const {
  std::string letters = "_";
  for (bool isLL : {dst, src0, src1})
    letters += isLL ? 'p' : 'm';
  letters.resize(hasLL() ? 2 + sources() : 0);
  return hasTerms ? letters + helper::termsSuffix : letters;
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
                const TransferShape &shape,
                const ReductionLoop *reduction = nullptr)
      : code(code), options(options), shape(shape), reduction(reduction),
        takesWord(reduction && reduction->takesWord()) {}

  void build(const std::string &name) {
    // The destination, its sources, bytes, launch, abort word, terms and their
    // distance, AverageWord.
    SmallVector<Type> types(1 + shape.sources(), code.pointer);
    types.append({code.i64, code.i32, code.pointer});
    if (shape.hasTerms)
      types.append({code.i32, code.i64});
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
      if (shape.hasTerms) {
        terms = others[3];
        apart = others[4];
      }
      if (takesWord)
        average = reducer().averageOperands(others.back(), reduction->divides);
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
    Loaded result = load(buffers[1], shape.src0);
    if (shape.reduces)
      result = reduce(result, buffers[2]);
    if (shape.dst)
      storeWord(buffers[0], result.data, result.came);
    else
      storePlain(buffers[0], result.data, result.came);
    return result.came;
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

  Value cast(Value value, Type to) {
    return value.getType() == to ? value : code.bitcast(value, to);
  }

  /// The elements of a word are reduced side by side, also those beyond the
  /// end. With what `source`, or the first of several, has.
  Loaded reduce(const Loaded &first, Value source) {
    ReduceBuilder builder = reducer();
    Values sums =
        builder.begin(cast(first.data, builder.memoryType()), average);
    // Whether all have come, and the sums.
    auto add = [&](Value place, Value came, ValueRange before) -> Values {
      Loaded next = load(place, shape.src1);
      Values now(before);
      builder.add(now, cast(next.data, builder.memoryType()), average);
      now.insert(now.begin(), code.bitAnd(came, next.came));
      return now;
    };
    Values all = add(source, first.came, sums);
    if (shape.hasTerms)
      all = code.loop(code.c32(1), terms, code.c32(1), all,
                      [&](Value term, ValueRange now) {
                        Value number = code.zeroExtend(term, code.i64);
                        Value place = code.at(source, code.mul(number, apart));
                        return add(place, now[0], now.drop_front());
                      });
    Value result = builder.finish(Values(llvm::drop_begin(all)), average);
    return {cast(result, code.i32), all[0]};
  }

  CodeBuilder &code;
  const HelperOptions &options;
  const TransferShape &shape;
  const ReductionLoop *reduction; ///< unless it copies
  bool takesWord;
  Value bytes, launch, abort;
  Value terms, apart; ///< how many, and bytes from one to the next
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
                        const TransferShape &shape) {
  std::string suffix = shape.suffix();
  if (!shape.reduces)
    return LLLoopBuilder(code, options, shape).build(helper::copy + suffix);
  for (const ReductionLoop &loop : reductionLoops(options, suffix))
    LLLoopBuilder(code, options, shape, &loop).build(loop.name);
  SmallVector<Type> types = {code.pointer, code.pointer, code.pointer,
                             code.i64,     code.i32,     code.pointer};
  if (shape.hasTerms)
    types.append({code.i32, code.i64});
  buildReductionChoice(code, options, suffix, types);
}
