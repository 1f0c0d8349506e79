//===- LLAccess.cpp - Loading and storing LL words ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLAccess.h"

#include "FlagCode.h"
#include "LLHelpers.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

Type LLAccess::dataType() const {
  return shape.words == 1 ? code.i32 : code.vector(shape.words, code.i32);
}

LLAccess::Loaded LLAccess::load(ArrayRef<Value> places, bool isLL) {
  if (isLL)
    return pollWords(places);
  Values data;
  for (Value place : places)
    for (unsigned line = 0; line < shape.count; ++line)
      data.push_back(loadPlain(code.at(place, int32_t(line) * shape.step)));
  return {data, code.constant(0, code.i1)};
}

void LLAccess::store(Value place, bool isLL, const Loaded &lines) {
  for (auto [line, data] : llvm::enumerate(lines.data))
    if (!isLL)
      storePlain(code.at(place, int32_t(line) * shape.step), data);
    else if (lines.words.empty())
      storeWords(place, line, wordsOf(data));
    else
      storeWords(place, line,
                 ArrayRef(lines.words).slice(line * shape.words, shape.words));
}

//===----------------------------------------------------------------------===//
// LL words
//===----------------------------------------------------------------------===//

/// The numbers come with the data, so nothing has to be ordered.
LLAccess::Loaded LLAccess::pollWords(ArrayRef<Value> places) {
  auto read = [&] { return loadWords(places); };
  Poll poll{read, abort, isHost};
  poll.words = shape.words * shape.count * places.size();
  Polled polled = buildPoll(code, poll, [&](ValueRange loaded) {
    Value early;
    for (Value word : loaded) {
      Value number = code.extract(halves(word), 1);
      Value isOther = code.is(Compare::NotEqual, number, launch);
      early = early ? code.bitOr(early, isOther) : isOther;
    }
    return early;
  });
  Values data;
  for (size_t i = 0; i < polled.words.size(); i += shape.words) {
    Value first = halves(polled.words[i]);
    if (shape.words == 1)
      data.push_back(code.extract(first, 0));
    else
      data.push_back(code.shuffle(first, halves(polled.words[i + 1]), {0, 2}));
  }
  return {data, polled.early, polled.words};
}

Value LLAccess::halves(Value word) {
  return code.bitcast(word, code.vector(2, code.i32));
}

/// Lines of LL words are twice as far apart as their data.
static int32_t aheadOf(unsigned line, const LineShape &shape) {
  return 2 * int32_t(line) * shape.step;
}

LLAccess::Values LLAccess::loadWords(ArrayRef<Value> places) {
  Values loaded;
  for (Value place : places)
    for (unsigned line = 0; line < shape.count; ++line) {
      int32_t ahead = aheadOf(line, shape);
      if (shape.words == 2)
        llvm::append_range(loaded, code.loadPair(place, ahead));
      else
        loaded.push_back(code.load(code.i64, code.at(place, ahead), llWordBytes,
                                   Order::Relaxed));
    }
  return loaded;
}

LLAccess::Values LLAccess::wordsOf(Value data) {
  Values result;
  for (unsigned i = 0; i < shape.words; ++i) {
    Value part = shape.words == 1 ? data : code.extract(data, i);
    Value parts = code.splat(part, 2);
    Value both = code.shuffle(parts, code.splat(launch, 2), {0, 2});
    result.push_back(code.bitcast(both, code.i64));
  }
  return result;
}

void LLAccess::storeWords(Value place, unsigned line, ArrayRef<Value> words) {
  int32_t ahead = aheadOf(line, shape);
  if (shape.words == 2)
    code.storePair(words[0], words[1], place, ahead);
  else
    code.store(words[0], code.at(place, ahead), llWordBytes, Order::Relaxed);
}

//===----------------------------------------------------------------------===//
// Plain memory
//===----------------------------------------------------------------------===//

/// Whether the data of one word can be accessed at once.
Value LLAccess::isWord(Value address) {
  Value low = code.bitAnd(code.toInteger(address), code.c64(llDataBytes - 1));
  Value isEven = code.is(Compare::Equal, low, code.c64(0));
  return code.bitAnd(isEven, shape.isWhole);
}

/// By how many bits byte `index` (i64) of a word is shifted.
Value LLAccess::shiftOf(Value index) {
  return code.mul(code.truncate(index, code.i32), code.c32(8));
}

Value LLAccess::loadPlain(Value address) {
  auto whole = [&] {
    return code.load(dataType(), address, shape.words * llDataBytes);
  };
  if (!shape.size)
    return whole();
  return code.choose(isWord(address), whole,
                     [&] { return loadBytes(address); });
}

Value LLAccess::loadBytes(Value address) {
  auto addByte = [&](Value index, ValueRange below) -> Values {
    Value byte = code.load(code.i8, code.at(address, index), 1);
    Value wide = code.zeroExtend(byte, code.i32);
    Value placed = code.shiftLeft(wide, shiftOf(index));
    return {code.bitOr(below[0], placed)};
  };
  return code.loop(code.c64(0), shape.size, code.c64(1), code.c32(0),
                   addByte)[0];
}

void LLAccess::storePlain(Value address, Value data) {
  auto whole = [&] { code.store(data, address, shape.words * llDataBytes); };
  if (!shape.size)
    return whole();
  auto storeByte = [&](Value index) {
    Value placed = code.shiftRight(data, shiftOf(index));
    Value byte = code.truncate(placed, code.i8);
    code.store(byte, code.at(address, index), 1);
  };
  code.when(isWord(address), whole, [&] {
    code.loop(code.c64(0), shape.size, code.c64(1), storeByte);
  });
}
