//===- ChunkHelpers.cpp - Code that walks over chunks ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkHelpers.h"

#include "CodeBuilder.h"
#include "Helpers.h"

#include "sccl/ABI/AverageWord.h"
#include "sccl/ABI/BlockShare.h"
#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/KernelABI.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// `bytes` as many times as `number` (i32) says.
static Value times(CodeBuilder &code, Value bytes, Value number) {
  return code.mul(bytes, code.signExtend(number, code.i64));
}

static CodeBuilder::Values times(CodeBuilder &code, ValueRange steps,
                                 Value number) {
  return llvm::map_to_vector(
      steps, [&](Value step) { return times(code, step, number); });
}

/// What is carried, `steps` further: how many bytes are left, and where.
static CodeBuilder::Values further(CodeBuilder &code, ValueRange now,
                                   ValueRange steps) {
  CodeBuilder::Values next{code.sub(now[0], steps[0])};
  for (auto [place, step] : llvm::drop_begin(llvm::zip_equal(now, steps)))
    next.push_back(code.at(place, step));
  return next;
}

/// The part of `bytes` that each of `parts` has, a multiple of chunkAlignment.
static Value alignedShare(CodeBuilder &code, Value bytes, Value parts) {
  Value sum = code.sub(code.add(bytes, parts), code.c64(1));
  Value share = code.divide(sum, parts);
  Value up = code.add(share, code.c64(chunkAlignment - 1));
  return code.bitAnd(up, code.c64(-int64_t(chunkAlignment)));
}

/// Switches have units of chunkAlignment, and move the padding of the last.
static Value wholeUnits(CodeBuilder &code, const TransferShape &shape,
                        Value bytes) {
  return shape.isSwitched ? alignedShare(code, bytes, code.c64(1)) : bytes;
}

/// Accesses through a switch stand between two fences: all others to the same
/// memory have other addresses.
static void fenceIfSwitched(CodeBuilder &code, const TransferShape &shape) {
  if (shape.isSwitched)
    code.fenceSwitch();
}

namespace {
/// Which slice of each piece a block has: the `block`-th of as many as `parts`
/// make, doubled so many times; and the word of a BlockShare. All are numbers
/// of 32 bits.
struct Slicing {
  Value block, parts, doublings, share;
};
} // namespace

static Slicing sliceOf(CodeBuilder &code, Value block, Value parts) {
  auto maskOf = [&](unsigned bits) { return code.c32((1 << bits) - 1); };
  Value above = code.shiftRight(parts, code.c32(doublingsShift));
  return {block, code.bitAnd(parts, maskOf(doublingsShift)),
          code.bitAnd(above, maskOf(shareShift - doublingsShift)),
          code.shiftRight(parts, code.c32(shareShift))};
}

/// LL words have no place in blocks, so that those of a channel share a piece
/// evenly; or those of a BlockShare do, if they can have all of its `pieces`,
/// of `bytes` bytes each, under way at once. Returns the pieces that are left
/// for the block: none if it is not one of them.
static Value takeShare(CodeBuilder &code, Slicing &slicing, Value bytes,
                       Value pieces, unsigned threads) {
  slicing.parts = code.shiftRight(slicing.parts, slicing.doublings);
  slicing.doublings = code.c32(0);
  auto placeOf = [&](Value unit) {
    Value product = code.mul(slicing.parts, unit);
    return code.divide(product, code.c32(BlockShare::units));
  };
  Value less = code.shiftRight(slicing.share, code.c32(BlockShare::endShift));
  Value begin =
      placeOf(code.bitAnd(slicing.share, code.c32(BlockShare::units - 1)));
  Value end = placeOf(code.sub(code.c32(BlockShare::units), less));
  end = code.maxSigned(end, code.add(begin, code.c32(1)));
  Value own = code.sub(end, begin);
  Value most = code.mul(own, code.c32(threads * llBytesUnderWay / 2));
  Value all = code.mul(bytes, code.zeroExtend(pieces, code.i64));
  Value isLarge =
      code.is(Compare::SignedGreater, all, code.zeroExtend(most, code.i64));
  Value number = code.sub(slicing.block, begin);
  slicing.block = code.select(isLarge, slicing.block, number);
  slicing.parts = code.select(isLarge, slicing.parts, own);
  Value isOwn = code.is(Compare::Less, slicing.block, slicing.parts);
  return code.select(isOwn, pieces, code.c32(0));
}

namespace {
class ChunkHelper {
public:
  ChunkHelper(CodeBuilder &code, const HelperOptions &options,
              const TransferShape &shape, bool puts = false)
      : code(code), options(options), shape(shape), puts(puts),
        averages(shape.reduces && options.averages()),
        chooses(shape.reduces && options.chooses()),
        streams(options.isHost() && !shape.hasLL() && !shape.isWide()),
        hasTeams(!options.isHost() && !shape.reduces && shape.hasLL()),
        suffix(shape.suffix()) {
    for (bool isMarked : {shape.dst, shape.src0, shape.src1})
      buffers.push_back({.isMarked = isMarked});
    buffers.resize(1 + shape.sources());
  }

  void build() {
    std::string name = shape.reduces ? helper::reduce : helper::transfer;
    code.function(puts ? helper::put : name + suffix, parameterTypes(),
                  [&](ValueRange arguments) {
                    takeArguments(arguments);
                    buildBody();
                  });
  }

private:
  struct Buffer {
    bool isMarked; ///< see TransferShape
    Value base = {}, segment = {}, chunk = {};
    Value step = {};  ///< to the next repetition: chunks, or segments negated
    Value piece = {}; ///< bytes from one piece to the next
  };
  using Values = CodeBuilder::Values;

  SmallVector<Type> parameterTypes() const {
    SmallVector<Type> types;
    for (size_t i = 0; i < buffers.size(); ++i)
      types.append({code.pointer, code.i32, code.i32});
    types.append(
        {code.i32, code.i32, code.i64, code.i64, code.i32, code.i32, code.i32});
    if (shape.repeats())
      types.append(1 + buffers.size(), code.i32);
    if (shape.hasLL())
      types.append({code.i32, code.pointer});
    if (streams)
      types.push_back(code.i32);
    if (shape.hasTerms)
      types.append({code.i32, code.i32});
    if (averages)
      types.push_back(code.i32);
    if (chooses)
      types.push_back(code.i32);
    if (puts)
      types.append({code.pointer, code.i32, code.i32, code.i32, code.i32});
    return types;
  }

  void takeArguments(ValueRange arguments) {
    auto next = [&, at = 0]() mutable { return arguments[at++]; };
    for (Buffer &buffer : buffers)
      for (Value *part : {&buffer.base, &buffer.segment, &buffer.chunk})
        *part = next();
    for (Value *argument : {&position32, &count32, &segment, &distance,
                            &chunks32, &block32, &parts32})
      *argument = next();
    if (shape.repeats()) {
      times32 = next();
      for (Buffer &buffer : buffers)
        buffer.step = next();
    }
    if (shape.hasLL())
      for (Value *argument : {&launch, &abort})
        *argument = next();
    if (streams)
      slots32 = next();
    if (shape.hasTerms)
      for (Value *argument : {&terms32, &termStep32})
        *argument = next();
    if (averages)
      average = next();
    if (chooses)
      number = next();
    if (puts)
      for (size_t i = 0; i < 5; ++i)
        route.push_back(next());
  }

  void buildBody() {
    none = code.c64(0);
    Value chunks = code.zeroExtend(chunks32, code.i64);
    stride = alignedShare(code, segment, chunks);
    Value position = code.zeroExtend(position32, code.i64);
    Value count = code.zeroExtend(count32, code.i64);
    Value left = code.sub(segment, code.mul(position, stride));
    left = code.maxSigned(left, none);
    Value run = code.mul(count, stride);
    Value bytes = wholeUnits(code, shape, code.minSigned(left, run));
    // Flags tell of a block's part of each chunk, LL words of themselves.
    Value isAlone = code.is(Compare::Equal, parts32, code.c32(1));
    Value isWhole = shape.hasLL() ? code.yes() : isAlone;
    Value pieces = code.select(isWhole, code.c32(1), count32);
    piece = code.select(isWhole, run, stride);
    Value less = piece;
    // Repetitions are of one piece, which keeps its place in its segment.
    if (times32) {
      isRepeated = code.is(Compare::NotEqual, times32, code.c32(1));
      pieces = code.select(isRepeated, times32, pieces);
      less = code.select(isRepeated, none, less);
    }
    Slicing slicing = sliceOf(code, block32, parts32);
    if (shape.hasLL())
      pieces = takeShare(code, slicing, bytes, pieces, options.blockSize);
    auto wide = [&](Value number) { return code.zeroExtend(number, code.i64); };
    Value slice = alignedShare(code, piece, wide(slicing.parts));
    slice = code.shiftLeft(slice, wide(slicing.doublings));
    skip = code.mul(wide(slicing.block), slice);
    Value most = code.minSigned(slice, code.sub(piece, skip));
    walk(pieces, code.sub(bytes, skip), less, most);
  }

  /// Moves the block's slice of each of `pieces`. `ahead` bytes are left from
  /// the slice of the first piece on, `less` fewer for each next one, and a
  /// slice has `most`. Where slices are short the teams of a block have one
  /// each, so that what is loaded of several is under way at once.
  void walk(Value pieces, Value ahead, Value less, Value most) {
    Values carried{ahead}, steps{less};
    for (Buffer &buffer : buffers) {
      carried.push_back(firstSlice(buffer));
      steps.push_back(buffer.piece);
    }
    Value first = code.c32(0), step = code.c32(1);
    if (hasTeams) {
      Value limit = code.mul(code.zeroExtend(pieces, code.i64),
                             code.c64(llBytesUnderWay / 2 * teamThreads));
      Value isOne = code.is(Compare::Equal, pieces, step);
      Value isLong = code.is(Compare::SignedGreater, most, limit);
      together = code.bitOr(isOne, isLong);
      Value team = code.divide(code.threadId(code.i32), code.c32(teamThreads));
      Value teams = code.c32(options.blockSize / teamThreads);
      first = code.select(together, first, team);
      step = code.select(together, step, teams);
      carried = further(code, carried, times(code, steps, first));
      steps = times(code, steps, step);
    }
    // In place, a chunk may be where it is to be copied to.
    Value moves;
    if (!shape.reduces && shape.isPlain() && !puts)
      moves = code.differ(carried[1], carried[2]);
    fenceIfSwitched(code, shape);
    code.loop(first, pieces, step, carried, [&](Value, ValueRange now) {
      Value length = code.minSigned(now[0], most);
      Value some = code.is(Compare::SignedGreater, length, none);
      if (moves)
        some = code.bitAnd(some, moves);
      code.when(some, [&] { handle(now.drop_front(), length); });
      return further(code, now, steps);
    });
    fenceIfSwitched(code, shape);
  }

  /// The address of the block's first slice in a buffer, and what the next one
  /// is behind it. LL words take twice the bytes of plain memory, and f32 two
  /// or four times; the numbers of their chunks count that, in one segment.
  Value firstSlice(Buffer &buffer) {
    Value bytes = code.add(times(code, stride, buffer.chunk), skip);
    buffer.piece = piece;
    unsigned width = shape.isWide() ? shape.width : 2;
    for (unsigned i = 1; buffer.isMarked && i < width; ++i) {
      bytes = code.add(bytes, skip);
      buffer.piece = code.add(buffer.piece, piece);
    }
    if (!buffer.isMarked)
      bytes = code.add(bytes, times(code, distance, buffer.segment));
    if (times32) {
      Value isBySegments =
          code.is(Compare::SignedLess, buffer.step, code.c32(0));
      Value unit = code.select(isBySegments, code.sub(none, distance), stride);
      buffer.piece =
          code.select(isRepeated, times(code, unit, buffer.step), buffer.piece);
    }
    return code.at(buffer.base, bytes);
  }

  /// Calls what does the work on `length` bytes at `places`. In the word of the
  /// reduction that makes a chunk complete is a divisor that is not 0.
  void handle(ValueRange places, Value length) {
    Values operands(places);
    operands.push_back(length);
    if (puts) {
      llvm::append_range(operands, route);
      code.call(helper::ginPut, operands);
      return;
    }
    if (shape.hasLL())
      operands.append({launch, abort});
    if (shape.hasTerms) {
      Value steps = code.zeroExtend(termStep32, code.i64);
      operands.append({terms32, code.mul(steps, stride)});
    }
    if (averages)
      operands.push_back(average);
    if (chooses)
      operands.push_back(number);
    if (!averages)
      return callPlain(operands);
    Value divisor = code.bitAnd(average, code.c32(AverageWord::divisorMask));
    code.when(
        code.is(Compare::NotEqual, divisor, code.c32(0)),
        [&] { code.call(options.averageHelper() + suffix, operands); },
        [&] { callPlain(operands); });
  }

  /// On the host, what does not fit in the cache bypasses it.
  void callPlain(ValueRange operands) {
    std::string name = shape.reduces ? options.elementsHelper() : helper::copy;
    auto call = [&](const char *more) {
      return [&, more] { code.call(name + suffix + more, operands); };
    };
    if (hasTeams)
      return code.when(together, call(""), call(helper::teamSuffix));
    if (!streams)
      return call("")();
    std::string stream = shape.reduces ? helper::reduceElements : helper::copy;
    stream += suffix + helper::streamSuffix;
    Value allBytes = code.mul(stride, code.zeroExtend(slots32, code.i64));
    Value isLarge =
        code.is(Compare::AtLeast, allBytes, code.c64(options.cacheBytes));
    code.when(
        isLarge, [&] { code.call(stream, operands); }, call(""));
  }

  CodeBuilder &code;
  const HelperOptions &options;
  const TransferShape &shape;
  bool puts; ///< to another box
  bool averages;
  bool chooses;   ///< among reductions
  bool streams;   ///< what does not fit in the cache bypasses it
  bool hasTeams;  ///< for short slices
  Value together; ///< whether all threads have one after the other
  std::string suffix;
  SmallVector<Buffer, 3> buffers; ///< the destination first
  Value position32, count32, segment, distance, chunks32, block32, parts32;
  Value times32, isRepeated; ///< if the helper repeats
  Value launch, abort, slots32, average, number, none;
  Value terms32, termStep32; ///< how many, and chunks from one to the next
  Values route;              ///< of puts: where they go
  Value stride;              ///< bytes from one chunk to the next
  Value piece;               ///< bytes from one piece to the next
  Value skip;                ///< bytes in each piece before the block's slice
};
} // namespace

void coll::buildChunkHelper(CodeBuilder &code, const HelperOptions &options,
                            const TransferShape &shape) {
  ChunkHelper(code, options, shape).build();
}

void coll::buildPutHelper(CodeBuilder &code, const HelperOptions &options) {
  ChunkHelper(code, options, {}, /*puts=*/true).build();
}
