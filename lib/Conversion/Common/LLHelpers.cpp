//===- LLHelpers.cpp - Moving and reducing LL words -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLHelpers.h"

#include "CodeBuilder.h"
#include "Helpers.h"
#include "LLAccess.h"
#include "ReductionChoice.h"

#include "sccl/ABI/HelperNames.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

std::string TransferShape::suffix() const {
  if (isSwitched)
    return helper::switchSuffix;
  std::string letters = "_";
  for (bool isMarked : {dst, src0, src1})
    letters += !isMarked ? 'm' : isWide() ? 'w' : 'p';
  letters.resize(hasLL() || isWide() ? 2 + sources() : 0);
  return hasTerms ? letters + helper::termsSuffix : letters;
}

/// LL words side by side that one access of a thread has. PTX takes a vector of
/// two words for two accesses of 64 bits, each of which is whole. LLVM's model
/// of memory on AMD has no access above 64 bits, so there one word is one.
static unsigned wordsPerLine(HelperTarget target) {
  return target == HelperTarget::NVVM ? 2 : 1;
}

namespace {
/// Loops over the terms of a sum that are left, from one place to the next.
struct TermLoops {
  using Values = CodeBuilder::Values;
  /// What `before` becomes with what is at `places`, but for those of them that
  /// are not `used`.
  using Add = llvm::function_ref<Values(
      ArrayRef<Value> places, ValueRange before, ArrayRef<Value> used)>;

  CodeBuilder &code;
  Value apart; ///< bytes from one term to the next
  Add add;

  /// Adds `group` terms at a time, while more than `few` are left. If there are
  /// less than a group, the last one is loaded again in place of each that is
  /// not there. Behind the sums are the place of the next term, and how many
  /// are left, or less than none.
  Values build(ValueRange now, unsigned group, unsigned few) {
    SmallVector<Type> types(now.getTypes());
    auto areLeft = [&](Value left, unsigned number) {
      return code.is(Compare::SignedGreater, left, code.c32(number));
    };
    return code.whileLoop(
        now, types,
        [&](ValueRange at) -> CodeBuilder::Decision {
          return {areLeft(at.back(), few), Values(at)};
        },
        [&](ValueRange at) -> Values {
          Value left = at.back(), place = at.drop_back().back();
          Values places, used;
          for (unsigned i = 0; i < group; ++i) {
            places.push_back(place);
            used.push_back(i > few ? areLeft(left, i) : Value());
            Value next = code.at(place, apart);
            bool mayBeLast = i >= few && i + 1 < group;
            place = mayBeLast ? code.select(areLeft(left, i + 1), next, place)
                              : next;
          }
          Values after = add(places, at.drop_back(2), used);
          after.append({place, code.sub(left, code.c32(group))});
          return after;
        });
  }
};
} // namespace

namespace {
/// Builds one loop. The `threads` of a block, or of a team, have lines of LL
/// words in turn, and each has several of its lines under way. What is less
/// than a line, or not aligned in plain memory, is left for a loop that takes
/// the data of one word at a time, the last of which may be cut short. A thread
/// that gives up because the launch is aborted stores nothing and ends its
/// loops.
class LLLoopBuilder {
public:
  LLLoopBuilder(CodeBuilder &code, const HelperOptions &options,
                const TransferShape &shape, unsigned threads,
                const ReductionLoop *reduction = nullptr)
      : code(code), options(options), shape(shape), threads(threads),
        reduction(reduction) {}

  void build(const std::string &name) {
    // The destination, its sources, bytes, launch, abort word, terms and their
    // distance, AverageWord.
    SmallVector<Type> types(1 + shape.sources(), code.pointer);
    types.append({code.i64, code.i32, code.pointer});
    if (shape.hasTerms)
      types.append({code.i32, code.i64});
    if (takesWord())
      types.push_back(code.i32);
    code.function(name, types, [&](ValueRange arguments) {
      buffers = Values(arguments.take_front(1 + shape.sources()));
      ValueRange others = arguments.drop_front(buffers.size());
      bytes = others[0];
      access.emplace(code, isHost(), others[1], others[2]);
      if (shape.hasTerms) {
        terms = others[3];
        apart = others[4];
      }
      if (takesWord())
        averageWord = others.back();
      walkWords(isHost() ? code.c64(0) : walkLines());
    });
  }

private:
  using Values = CodeBuilder::Values;

  bool isHost() const { return options.isHost(); }
  bool takesWord() const { return reduction && reduction->takesWord(); }

  Value ofThread(unsigned each) {
    if (isHost())
      return code.c64(0);
    Value thread = code.threadId(code.i64);
    if (threads != options.blockSize)
      thread = code.bitAnd(thread, code.c64(threads - 1));
    return code.mul(thread, code.c64(each));
  }
  Value firstLine(unsigned lineBytes, unsigned lanes, unsigned count) {
    Value first = ofThread(lineBytes);
    if (lanes == threads)
      return first;
    Value wave = code.divide(code.threadId(code.i64), code.c64(lanes));
    Value toWave = code.mul(wave, code.c64((count - 1) * lineBytes * lanes));
    return code.add(first, toWave);
  }
  Value isBelow(Value lhs, Value rhs) {
    return code.is(Compare::SignedLess, lhs, rhs);
  }

  /// True if whole lines can be accessed in all plain memory.
  Value isAligned(unsigned lineBytes) {
    Value low = shape.hasTerms && !shape.src1 ? apart : code.c64(0);
    bool isLL[] = {shape.dst, shape.src0, shape.src1};
    for (auto [buffer, words] : llvm::zip(buffers, isLL))
      if (!words)
        low = code.bitOr(low, code.toInteger(buffer));
    low = code.bitAnd(low, code.c64(lineBytes - 1));
    return code.is(Compare::Equal, low, code.c64(0));
  }

  /// Handles lines, and returns where the first word behind them is. Threads
  /// side by side have lines side by side, `step` bytes from those that they
  /// have next: on AMD a wave's stay together, see lanesOf().
  Value walkLines() {
    unsigned words = wordsPerLine(options.target);
    unsigned lineBytes = words * llDataBytes;
    unsigned most = llBytesUnderWay / (words * llWordBytes);
    unsigned lanes = std::min(threads, lanesOf(options));
    int32_t step = lineBytes * lanes;
    access->shape = {words, most, step};
    Value whole = code.bitAnd(bytes, code.c64(-int64_t(lineBytes)));
    Value end = code.select(isAligned(lineBytes), whole, code.c64(0));
    prepareAverages();
    auto areThere = [&](Value at, unsigned count) {
      return isBelow(at, code.sub(end, code.c64((count - 1) * step)));
    };
    auto round = [&](Value at, unsigned count, uint64_t bytesOfRound) {
      offset = at;
      access->shape.count = count;
      Value next = code.add(at, code.c64(bytesOfRound));
      return code.select(handle(), bytes, next);
    };
    Value at = code.whileLoop(
        firstLine(lineBytes, lanes, most), code.i64,
        [&](ValueRange at) -> CodeBuilder::Decision {
          return {areThere(at[0], most), {at[0]}};
        },
        [&](ValueRange at) -> Values {
          return {round(at[0], most, uint64_t(most) * lineBytes * threads)};
        })[0];
    for (unsigned count = most / 2; count > 0; count /= 2)
      at = code.choose(
          areThere(at, count), [&] { return round(at, count, count * step); },
          [&] { return at; });
    return end;
  }

  void walkWords(Value from) {
    access->shape = {};
    prepareAverages();
    code.whileLoop(
        code.add(from, ofThread(llDataBytes)), code.i64,
        [&](ValueRange at) -> CodeBuilder::Decision {
          return {isBelow(at[0], bytes), {at[0]}};
        },
        [&](ValueRange at) -> Values {
          offset = at[0];
          Value word = code.c64(llDataBytes);
          Value size = code.minSigned(code.sub(bytes, offset), word);
          access->shape.size = size;
          access->shape.isWhole = code.is(Compare::Equal, size, word);
          Value next = code.add(offset, code.c64(llDataBytes * threads));
          return {code.select(handle(), bytes, next)};
        });
  }

  /// Handles the lines at `offset`. Returns true if the launch is aborted.
  Value handle() {
    Value to = placeIn(0, shape.dst);
    LLAccess::Loaded result = access->load(placeIn(1, shape.src0), shape.src0);
    if (shape.reduces)
      result = reduce(result, placeIn(2, shape.src1));
    code.when(code.bitXor(result.aborted, code.yes()),
              [&] { access->store(to, shape.dst, result); });
    return result.aborted;
  }

  /// Where the first line is in a buffer. Lines of LL words are twice as long,
  /// and as far apart.
  Value placeIn(unsigned buffer, bool isLL) {
    return code.at(buffers[buffer], isLL ? code.add(offset, offset) : offset);
  }

  //===--------------------------------------------------------------------===//
  // Reductions
  //===--------------------------------------------------------------------===//

  ReduceBuilder reducer() {
    unsigned elements =
        access->shape.words * llDataBytes / reduction->op.element.bytes;
    return ReduceBuilder(code, reduction->op, elements == 1 ? 0 : elements);
  }

  void prepareAverages() {
    if (takesWord())
      average = reducer().averageOperands(averageWord, reduction->divides);
  }

  Value cast(Value value, Type to) {
    return value.getType() == to ? value : code.bitcast(value, to);
  }

  /// The elements of a line are reduced side by side, also those beyond the
  /// end. With what is at `place`, or the first of several.
  LLAccess::Loaded reduce(const LLAccess::Loaded &first, Value place) {
    ReduceBuilder builder = reducer();
    // Whether the launch is aborted, and the sums of each line.
    Values now = {first.aborted};
    for (Value data : first.data)
      llvm::append_range(
          now, builder.begin(cast(data, builder.memoryType()), average));
    size_t each = (now.size() - 1) / first.data.size();
    auto sumsOf = [&](ValueRange values, size_t line) {
      return Values(values.slice(1 + line * each, each));
    };
    auto add = [&](ArrayRef<Value> places, ValueRange before,
                   ArrayRef<Value> used) {
      LLAccess::Loaded next = access->load(places, shape.src1);
      Values after = {code.bitOr(before[0], next.aborted)};
      size_t lines = first.data.size();
      for (size_t line = 0; line < lines; ++line) {
        Values sums = sumsOf(before, line);
        for (size_t i = 0; i < places.size(); ++i) {
          Values without = sums;
          Value data = next.data[i * lines + line];
          builder.add(sums, cast(data, builder.memoryType()), average);
          if (!used[i])
            continue;
          for (auto [sum, old] : llvm::zip(sums, without))
            sum = code.select(used[i], sum, old);
        }
        llvm::append_range(after, sums);
      }
      return after;
    };
    now = shape.hasTerms ? addTerms(now, place, add) : add(place, now, Value());
    LLAccess::Loaded result{{}, now[0]};
    for (size_t line = 0; line < first.data.size(); ++line) {
      Value sum = builder.finish(sumsOf(now, line), average);
      result.data.push_back(cast(sum, access->dataType()));
    }
    return result;
  }

  /// Goes on from `now` by `add` for all terms, several at once as long as
  /// that keeps no more under way than all lines of one. Where a thread has one
  /// line, what counts is how often it waits for memory.
  Values addTerms(Values now, Value place, TermLoops::Add add) {
    const LineShape &lines = access->shape;
    // Conversions of 8 bits are long, and each term of a group has its own.
    bool isLong = reduction->op.element.saturates();
    bool isAlone = lines.size || isLong; // a term after the other
    unsigned group = isAlone ? 1 : std::max(4 / lines.count, 1u);
    now.append({place, terms});
    TermLoops loops{code, apart, add};
    if (!isAlone && lines.count == 1) {
      group = 2;
      now = loops.build(now, llTermsAtOnce, /*few=*/group);
    }
    for (; group > 0; group /= 2)
      now = loops.build(now, group, group - 1);
    return Values(ArrayRef(now).drop_back(2));
  }

  CodeBuilder &code;
  const HelperOptions &options;
  const TransferShape &shape;
  unsigned threads;
  const ReductionLoop *reduction; ///< unless it copies
  Values buffers;                 ///< the destination first
  std::optional<LLAccess> access;
  Value bytes;
  Value terms, apart; ///< how many, and bytes from one to the next
  Value averageWord;
  AverageOperands average;
  Value offset; ///< of the first line in plain memory
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
  unsigned threads = options.blockSize;
  if (!shape.reduces) {
    LLLoopBuilder(code, options, shape, threads).build(helper::copy + suffix);
    if (!options.isHost())
      LLLoopBuilder(code, options, shape, teamThreads)
          .build(helper::copy + suffix + helper::teamSuffix);
    return;
  }
  for (const ReductionLoop &loop : reductionLoops(options, suffix))
    LLLoopBuilder(code, options, shape, threads, &loop).build(loop.name);
  SmallVector<Type> types = {code.pointer, code.pointer, code.pointer,
                             code.i64,     code.i32,     code.pointer};
  if (shape.hasTerms)
    types.append({code.i32, code.i64});
  buildReductionChoice(code, options, suffix, types);
}
