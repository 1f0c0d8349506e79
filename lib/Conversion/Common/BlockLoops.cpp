//===- BlockLoops.cpp - Loops of a thread block ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HelperLoops.h"

#include "CodeBuilder.h"
#include "Helpers.h"
#include "ReductionChoice.h"

#include "sccl/ABI/HelperNames.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
/// One width of access: `type` has `bytes` bytes; `unroll` accesses are in
/// flight at once. It holds `lanes` elements, see ReduceBuilder.
struct Access {
  Type type;
  unsigned bytes;
  unsigned unroll;
  unsigned lanes = 0;
};

/// Terms of a sum that a thread loads before it adds them.
constexpr unsigned termsAtOnce = 4;

/// What a loop does with elements; Average is the last reduction of one.
enum class Action { Copy, Reduce, Average };

/// Builds loops in which the threads of a block walk over memory. With one
/// source the loop copies, with two it reduces.
///
/// What lives across the main loop is kept small, because the callers' values
/// take a part of the registers: each pointer advances by itself, and counts
/// have 32 bits.
class BlockLoopBuilder {
public:
  /// `lanes` threads side by side access memory side by side; the unrolled
  /// accesses of a thread are that far apart.
  BlockLoopBuilder(CodeBuilder &code, unsigned blockSize, unsigned lanes,
                   Action action, const ElementOp *op = nullptr,
                   bool hasTerms = false)
      : code(code), blockSize(blockSize), lanes(lanes), action(action), op(op),
        hasTerms(hasTerms) {}

  /// A function that handles so many bytes at a destination: with `wide`
  /// accesses where all pointers agree modulo its width, else with `narrow`
  /// ones. `unit` accesses cover head and tail.
  void build(StringRef name, const Access &wide, const Access &narrow,
             const Access &unit) {
    // The destination, its sources, bytes, terms and their distance, and the
    // word of averages.
    SmallVector<Type> types(reduces() ? 3 : 2, code.pointer);
    types.push_back(code.i64);
    if (hasTerms)
      types.append({code.i32, code.i64});
    if (takesWord())
      types.push_back(code.i32);
    code.function(name, types, [&](ValueRange arguments) {
      begin(arguments);
      if (takesWord())
        for (const Access *access : {&wide, &narrow, &unit})
          if (!averages.count(access->lanes))
            averages[access->lanes] = reducer(*access).averageOperands(
                arguments.back(), action == Action::Average);
      aligned(wide, unit, /*otherwise=*/[&] {
        if (narrow.bytes == unit.bytes)
          return units(unit);
        aligned(narrow, unit, [&] { units(unit); });
      });
    });
  }

private:
  using Values = CodeBuilder::Values;

  bool reduces() const { return action != Action::Copy; }
  bool takesWord() const { return op && op->averages(); }
  ReduceBuilder reducer(const Access &access) {
    return ReduceBuilder(code, *op, access.lanes);
  }

  void begin(ValueRange arguments) {
    pointers = Values(arguments.take_front(reduces() ? 3 : 2));
    bytes = arguments[pointers.size()];
    if (hasTerms) {
      terms = arguments[pointers.size() + 1];
      apart = arguments[pointers.size() + 2];
    }
    thread = code.threadId(code.i32);
    for (Value pointer : pointers)
      addresses.push_back(code.toInteger(pointer));
  }

  Value times(Value value, uint64_t factor) {
    return code.mul(value, code.c32(factor));
  }
  Value widen(Value value) { return code.signExtend(value, code.i64); }

  /// All pointers of `bases`, `offset` (i64) bytes further.
  Values at(ValueRange bases, Value offset) {
    return llvm::map_to_vector(
        bases, [&](Value base) { return code.at(base, offset); });
  }
  /// The pointers, `offset` bytes further, by way of integers: LLVM cannot take
  /// the sum apart then, and leave an addition in the main loop.
  Values opaque(Value offset) {
    return llvm::map_to_vector(addresses, [&](Value address) {
      return code.toPointer(code.add(address, offset));
    });
  }
  Value plus(Value base, uint64_t offset) {
    return offset == 0 ? base : code.at(base, int32_t(offset));
  }

  /// Head, wide body and tail where all pointers agree modulo the width.
  void aligned(const Access &access, const Access &unit,
               CodeBuilder::Block otherwise) {
    Value mask = code.c64(access.bytes - 1);
    Value differ = code.bitXor(addresses[0], addresses[1]);
    if (reduces()) {
      Value more = code.bitXor(addresses[0], addresses[2]);
      differ = code.bitOr(differ, more);
    }
    Value low = code.bitAnd(differ, mask);
    code.when(
        code.is(Compare::Equal, low, code.c64(0)),
        [&] {
          Value minus = code.sub(code.c64(0), addresses[0]);
          Value toEdge = code.bitAnd(minus, mask);
          Value head = code.min(toEdge, bytes);
          edge(pointers, code.c32(0), code.truncate(head, code.i32), unit);
          body(access, unit, head);
        },
        otherwise);
  }

  /// Less than 16 bytes, one unit per thread, `from` (i32) bytes behind
  /// `bases`.
  void edge(ValueRange bases, Value from, Value length, const Access &unit) {
    Value mine = times(thread, unit.bytes);
    code.when(code.is(Compare::Less, mine, length), [&] {
      accesses(at(bases, widen(code.add(from, mine))), unit, 1);
    });
  }

  /// What follows the head: whole tiles, then single accesses, then the tail.
  void body(const Access &access, const Access &unit, Value head) {
    // Tiles have 2 KiB and more: 31 bits count those of 4 TiB.
    uint64_t tileBytes = uint64_t(access.bytes) * access.unroll * blockSize;
    Value tile = code.c64(tileBytes);
    Value rest = code.sub(bytes, head);
    Value whole = code.truncate(code.divide(rest, tile), code.i32);
    Value left = code.truncate(code.remainder(rest, tile), code.i32);
    Value mine = placeInTile(access);
    Values start = opaque(code.add(head, widen(mine)));
    Values stop = tiles(start, whole, tileBytes, access);
    Value full = code.bitAnd(left, code.c32(-int64_t(access.bytes)));
    // Addresses are relative to where the thread is: with those of the block in
    // use here, LLVM would keep them in the main loop, and add `mine` there.
    code.loop(times(thread, access.bytes), full,
              code.c32(access.bytes * blockSize), [&](Value offset) {
                accesses(at(stop, widen(code.sub(offset, mine))), access, 1);
              });
    Value tail = code.sub(left, full);
    edge(stop, code.sub(full, mine), tail, unit);
  }

  /// The offset of the thread's first access in a tile, as i32.
  Value placeInTile(const Access &access) {
    if (lanes == blockSize)
      return times(thread, access.bytes);
    Value size = code.c32(lanes);
    Value group = code.divide(thread, size);
    Value lane = code.remainder(thread, size);
    Value inGroup = times(lane, access.bytes);
    Value toGroup = times(group, access.bytes * access.unroll * lanes);
    return code.add(toGroup, inGroup);
  }

  /// The loop that does the work. Returns where the pointers have come to.
  Values tiles(const Values &start, Value count, uint64_t tileBytes,
               const Access &access) {
    return code.loop(code.c32(0), count, code.c32(1), start,
                     [&](Value, ValueRange places) {
                       accesses(places, access, access.unroll);
                       return llvm::map_to_vector(places, [&](Value place) {
                         return plus(place, tileBytes);
                       });
                     });
  }

  /// Accesses of one unit each, where pointers do not agree.
  void units(const Access &unit) {
    Value from = widen(times(thread, unit.bytes));
    code.loop(from, bytes, code.c64(unit.bytes * blockSize),
              [&](Value offset) { accesses(at(pointers, offset), unit, 1); });
  }

  /// Access number `i` of a thread.
  Value placeOf(Value base, const Access &access, unsigned i) {
    return plus(base, uint64_t(access.bytes) * lanes * i);
  }
  Value load(Value base, const Access &access, unsigned i) {
    return code.load(access.type, placeOf(base, access, i), access.bytes);
  }

  /// `unroll` accesses of one thread, with all loads before all stores.
  void accesses(ValueRange bases, const Access &access, unsigned unroll) {
    Values results;
    if (hasTerms)
      results = sums(bases, access, unroll);
    for (unsigned i = 0; !hasTerms && i < unroll; ++i) {
      Values operands;
      for (Value base : bases.drop_front())
        operands.push_back(load(base, access, i));
      results.push_back(reduces()
                            ? reducer(access).reduce(operands[0], operands[1],
                                                     averages[access.lanes])
                            : operands[0]);
    }
    for (unsigned i = 0; i < unroll; ++i)
      code.store(results[i], placeOf(bases.front(), access, i), access.bytes);
  }

  /// The sums of all terms. Of one access several are loaded at once.
  Values sums(ValueRange bases, const Access &access, unsigned unroll) {
    ReduceBuilder builder = reducer(access);
    const AverageOperands &average = averages[access.lanes];
    size_t each = 0;
    // The place of the last term, how many are left, and the sums.
    Values all = {bases[2], code.sub(terms, code.c32(1))};
    for (unsigned i = 0; i < unroll; ++i) {
      Value first = load(bases[1], access, i);
      Value second = load(bases[2], access, i);
      Values own = builder.begin(first, average);
      builder.add(own, second, average);
      each = own.size();
      llvm::append_range(all, own);
    }
    auto sumsOf = [&](ValueRange values, unsigned i) {
      return Values(values.slice(2 + i * each, each));
    };
    // Conversions of 8 bits are long, and each term of a group has its own.
    bool isOne = unroll > 1 || takesWord() || op->element.saturates();
    for (unsigned group = isOne ? 1 : termsAtOnce; group > 0; group /= 2)
      all = code.whileLoop(
          all, SmallVector<Type>(ValueRange(all).getTypes()),
          [&](ValueRange at) -> CodeBuilder::Decision {
            return {code.is(Compare::AtLeast, at[1], code.c32(group)),
                    Values(at)};
          },
          [&](ValueRange before) {
            Values places = {before[0]}, loaded;
            for (unsigned term = 0; term < group; ++term) {
              places.push_back(code.at(places.back(), apart));
              for (unsigned i = 0; i < unroll; ++i)
                loaded.push_back(load(places.back(), access, i));
            }
            Values now = {places.back(), code.sub(before[1], code.c32(group))};
            for (unsigned i = 0; i < unroll; ++i) {
              Values own = sumsOf(before, i);
              for (unsigned term = 0; term < group; ++term)
                builder.add(own, loaded[term * unroll + i], average);
              llvm::append_range(now, own);
            }
            return now;
          });
    return llvm::map_to_vector(llvm::seq(unroll), [&](unsigned i) {
      return builder.finish(sumsOf(all, i), average);
    });
  }

  CodeBuilder &code;
  unsigned blockSize;
  unsigned lanes;
  Action action;
  const ElementOp *op;                          ///< unless it copies
  std::map<unsigned, AverageOperands> averages; ///< by the lanes of an access
  Values pointers;                              ///< the destination first
  Values addresses;                             ///< the same as integers
  bool hasTerms;
  Value terms, apart; ///< how many, and bytes from one to the next
  Value bytes, thread;
};
} // namespace

/// Independent 16-byte loads of a thread before its first store (gate K2).
static constexpr unsigned wideUnroll = 8;

/// Accesses of a thread that a reduction of 16 bytes leaves registers for.
static unsigned reduceUnroll(const ElementOp &op, Action action,
                             bool hasTerms) {
  const ElementType &element = op.element;
  // Sums of bytes are four times as wide.
  if (hasTerms && element.saturates())
    return 1;
  // Averages weigh their operands. Divisions are long, and those of integers
  // are subroutines.
  if (action == Action::Average || (op.averages() && element.isFloat()))
    return element.isFloat() && element.bytes >= 4 ? wideUnroll / 4 : 1;
  // Small elements are unpacked to be reduced, which takes registers.
  bool isHalf = element.isFloat() && element.bytes == 2;
  return isHalf || element.bytes == 1 ? wideUnroll / 4 : wideUnroll / 2;
}

/// Builds the loops of all reductions, of two operands or of several terms.
static void buildReductions(CodeBuilder &code, const HelperOptions &options,
                            unsigned lanes, bool hasTerms) {
  std::string suffix =
      TransferShape{.reduces = true, .hasTerms = hasTerms}.suffix();
  for (const ReductionLoop &loop : reductionLoops(options, suffix)) {
    Action action = loop.divides ? Action::Average : Action::Reduce;
    unsigned bytes = loop.op.element.bytes;
    Type type = loop.op.type(code.loc().getContext());
    Access wide{code.vector(16 / bytes, type), 16,
                reduceUnroll(loop.op, action, hasTerms), 16 / bytes};
    Access unit{type, bytes, 1};
    BlockLoopBuilder(code, options.blockSize, lanes, action, &loop.op, hasTerms)
        .build(loop.name, wide, unit, unit);
  }
  SmallVector<Type> types = {code.pointer, code.pointer, code.pointer,
                             code.i64};
  if (hasTerms)
    types.append({code.i32, code.i64});
  buildReductionChoice(code, options, suffix, types);
}

void coll::buildBlockLoops(CodeBuilder &code, const HelperOptions &options,
                           bool hasTerms) {
  unsigned lanes = lanesOf(options);
  BlockLoopBuilder(code, options.blockSize, lanes, Action::Copy)
      .build(helper::copy, {code.vector(4, code.i32), 16, wideUnroll},
             {code.i32, 4, wideUnroll}, {code.i8, 1, 1});
  buildReductions(code, options, lanes, /*hasTerms=*/false);
  if (hasTerms)
    buildReductions(code, options, lanes, /*hasTerms=*/true);
}
