//===- WideLoops.cpp - Loops where partial sums are f32 -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands have elements of different widths, so that places are counted in
// elements. On a GPU a thread has four of them at a time, which is 16 bytes of
// f32; on a host LLVM makes vectors of the loops.
//
//===----------------------------------------------------------------------===//

#include "HelperLoops.h"

#include "CodeBuilder.h"
#include "Helpers.h"
#include "ReductionChoice.h"

#include "sccl/ABI/HelperNames.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

std::optional<std::string> coll::whyNotWide(ArrayRef<ElementOp> ops,
                                            unsigned width) {
  unsigned wideBytes = elementType(Element::F32).bytes;
  for (const ElementOp &op : ops) {
    const ElementType &element = op.element;
    std::string name = element.name;
    if (element.id != ops.front().element.id)
      return "has partial sums in f32 for elements of " + name + " and of " +
             ops.front().element.name + ", expected one type of elements";
    if (!element.combinesAsF32() || element.bytes * width != wideBytes)
      return "has partial sums of " + std::to_string(width) +
             " times the bytes of an element, which is not f32 for " + name;
    bool selects =
        op.reduction == Reduction::Min || op.reduction == Reduction::Max;
    if (selects && element.saturates())
      return std::string("has partial results of ") + toString(op.reduction) +
             " in f32, which " + name + " does not need";
  }
  return std::nullopt;
}

namespace {
/// Builds one loop.
class WideLoopBuilder {
public:
  WideLoopBuilder(CodeBuilder &code, const HelperOptions &options,
                  const TransferShape &shape, const ReductionLoop &loop)
      : code(code), shape(shape), loop(loop),
        blockSize(options.isHost() ? 1 : options.blockSize), isWide{
                                                                 shape.dst,
                                                                 shape.src0,
                                                                 shape.src1} {}

  void build() {
    size_t numPointers = 1 + shape.sources();
    SmallVector<Type> types(numPointers, code.pointer);
    types.push_back(code.i64);
    if (shape.hasTerms)
      types.append({code.i32, code.i64});
    if (takesWord())
      types.push_back(code.i32);
    code.function(loop.name, types, [&](ValueRange arguments) {
      pointers = Values(arguments.take_front(numPointers));
      Value width = code.c64(loop.op.element.bytes);
      count = code.divide(arguments[numPointers], width);
      if (shape.hasTerms) {
        terms = arguments[numPointers + 1];
        apart = arguments[numPointers + 2];
      }
      if (takesWord())
        for (unsigned lanes : {0u, groupLanes})
          averages[lanes] =
              reducer(lanes).averageOperands(arguments.back(), loop.divides);
      if (blockSize == 1)
        return singles(code.c64(0));
      thread = code.threadId(code.i64);
      code.when(
          areAligned(), [&] { groups(); }, [&] { singles(thread); });
    });
  }

private:
  using Values = CodeBuilder::Values;
  /// Elements that a thread of a GPU has at a time.
  static constexpr unsigned groupLanes = 4;

  bool takesWord() const { return shape.reduces && loop.takesWord(); }
  ReduceBuilder reducer(unsigned lanes) {
    return ReduceBuilder(code, loop.op, lanes, shape.wideOperands());
  }
  unsigned bytesOf(size_t operand) const {
    return isWide[operand] ? elementType(Element::F32).bytes
                           : loop.op.element.bytes;
  }

  /// True if no pointer stands in the middle of a group.
  Value areAligned() {
    Value low;
    for (auto [operand, pointer] : llvm::enumerate(pointers)) {
      Value address = code.toInteger(pointer);
      Value own = code.bitAnd(
          address, code.c64(int64_t(groupLanes) * bytesOf(operand) - 1));
      low = low ? code.bitOr(low, own) : own;
    }
    return code.is(Compare::Equal, low, code.c64(0));
  }

  /// Whole tiles, then single groups, then single elements.
  void groups() {
    unsigned unroll = shape.reduces || loop.op.element.saturates() ? 2 : 4;
    if (takesWord() || shape.hasTerms)
      unroll = 1;
    int64_t perTile = int64_t(blockSize) * unroll;
    Value all = code.divide(count, code.c64(groupLanes));
    Value tiles = code.divide(all, code.c64(perTile));
    Value whole = code.mul(tiles, code.c64(perTile));
    code.loop(code.c64(0), whole, code.c64(perTile), [&](Value first) {
      accesses(code.add(first, thread), groupLanes, unroll);
    });
    Value next = code.add(whole, thread);
    code.loop(next, all, code.c64(blockSize),
              [&](Value group) { accesses(group, groupLanes, 1); });
    Value behind = code.mul(all, code.c64(groupLanes));
    singles(code.add(behind, thread));
  }

  /// The elements from number `from` on, one for each thread.
  void singles(Value from) {
    code.loop(from, count, code.c64(blockSize),
              [&](Value index) { accesses(index, /*lanes=*/0, 1); });
  }

  /// Where group `index` of `lanes` elements of an operand is, and as many
  /// blocks further as `ahead` says.
  Value placeOf(size_t operand, Value index, unsigned lanes, unsigned ahead) {
    int64_t bytes = int64_t(std::max(lanes, 1u)) * bytesOf(operand);
    Value place = code.at(pointers[operand], code.mul(index, code.c64(bytes)));
    return ahead == 0 ? place
                      : code.at(place, int32_t(bytes * blockSize * ahead));
  }
  Value load(size_t operand, Value place, unsigned lanes) {
    return code.load(reducer(lanes).memoryType(isWide[operand]), place);
  }

  /// `unroll` groups, with all loads before all stores.
  void accesses(Value index, unsigned lanes, unsigned unroll) {
    ReduceBuilder builder = reducer(lanes);
    std::vector<Values> loaded(unroll);
    for (unsigned i = 0; i < unroll; ++i)
      for (size_t operand = 1; operand < pointers.size(); ++operand)
        loaded[i].push_back(
            load(operand, placeOf(operand, index, lanes, i), lanes));
    for (unsigned i = 0; i < unroll; ++i) {
      Value result;
      if (!shape.reduces)
        result = builder.convert(loaded[i][0]);
      else if (shape.hasTerms)
        result = sum(builder, loaded[i], placeOf(2, index, lanes, i), lanes);
      else
        result = builder.reduce(loaded[i][0], loaded[i][1], averages[lanes]);
      code.store(result, placeOf(0, index, lanes, i));
    }
  }

  /// The sum of all terms, of which the first stands at `place`.
  Value sum(ReduceBuilder &builder, const Values &first, Value place,
            unsigned lanes) {
    const AverageOperands &average = averages[lanes];
    Values sums = builder.begin(first[0], average);
    builder.add(sums, first[1], average);
    Values carried = {place};
    llvm::append_range(carried, sums);
    Values last = code.loop(code.c32(1), terms, code.c32(1), carried,
                            [&](Value, ValueRange now) {
                              Value next = code.at(now[0], apart);
                              Values own(now.drop_front());
                              builder.add(own, load(2, next, lanes), average);
                              Values result = {next};
                              llvm::append_range(result, own);
                              return result;
                            });
    return builder.finish(Values(ArrayRef<Value>(last).drop_front()), average);
  }

  CodeBuilder &code;
  const TransferShape &shape;
  const ReductionLoop &loop;
  int64_t blockSize;                            ///< 1 on a host
  std::array<bool, 3> isWide;                   ///< the destination first
  std::map<unsigned, AverageOperands> averages; ///< by lanes
  Values pointers;                              ///< the destination first
  Value count, thread;
  Value terms, apart; ///< how many, and bytes from one to the next
};
} // namespace

void coll::buildWideLoops(CodeBuilder &code, const HelperOptions &options,
                          const TransferShape &shape) {
  if (!shape.reduces) {
    ReductionLoop copy{helper::copy + shape.suffix(),
                       options.reductions.front(), false};
    WideLoopBuilder(code, options, shape, copy).build();
    return;
  }
  for (const ReductionLoop &loop : reductionLoops(options, shape.suffix()))
    WideLoopBuilder(code, options, shape, loop).build();
  SmallVector<Type> types(3, code.pointer);
  types.push_back(code.i64);
  if (shape.hasTerms)
    types.append({code.i32, code.i64});
  buildReductionChoice(code, options, shape.suffix(), types);
}
