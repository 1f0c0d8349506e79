//===- SwitchLoops.cpp - Loops over what a switch moves -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HelperLoops.h"

#include "CodeBuilder.h"
#include "Helpers.h"
#include "ReductionChoice.h"

#include "sccl/Model/SwitchAccess.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

std::optional<std::string> coll::whyNotSwitched(ArrayRef<ElementOp> ops) {
  for (const ElementOp &op : ops)
    if (!switchReduces(op.element.id, op.reduction))
      return std::string("no instruction has a switch reduce ") +
             op.element.name + " by " + toString(op.reduction);
  return std::nullopt;
}

/// The type of a reduction in PTX: halves are pairs, which are added as f32.
/// The instruction for 16 bytes at a time is for floats of up to 32 bits.
static std::string reductionText(const ElementOp &op) {
  const ElementType &element = op.element;
  bool adds = op.reduction == Reduction::Sum;
  std::string text = adds ? "add." : std::string(toString(op.reduction)) + ".";
  if (element.isFloat() && element.bytes == 2)
    return text + (adds ? "acc::f32." : "") + "v4." + element.name + "x2";
  if (element.isFloat())
    return text + (element.bytes == 4 ? "v4." : "") + element.name;
  bool isSigned = element.kind == ElementKind::Signed && !adds;
  return text + (isSigned ? "s" : "u") + std::to_string(element.bits());
}

namespace {
class SwitchLoopBuilder {
public:
  using Values = CodeBuilder::Values;

  /// Copies to the switch if `op` is null, else reduces.
  SwitchLoopBuilder(CodeBuilder &code, unsigned blockSize, const ElementOp *op)
      : code(code), blockSize(blockSize), op(op) {}

  void build(StringRef name) {
    code.function(name, {code.pointer, code.pointer, code.i64},
                  [&](ValueRange arguments) {
                    buildBody(arguments.take_front(2), arguments[2]);
                  });
  }

private:
  static constexpr int32_t unitBytes = chunkAlignment;
  /// Units that a thread loads before it stores the first.
  static constexpr unsigned unroll = 8;

  /// The threads of a block have units side by side: whole tiles of several for
  /// each, then single ones.
  void buildBody(ValueRange bases, Value bytes) {
    int64_t rowBytes = int64_t(unitBytes) * blockSize;
    Value mine = code.mul(code.threadId(code.i32), code.c32(unitBytes));
    Value tile = code.c64(rowBytes * unroll);
    Value whole = code.truncate(code.divide(bytes, tile), code.i32);
    Value left = code.truncate(code.remainder(bytes, tile), code.i32);
    Values stop = code.loop(code.c32(0), whole, code.c32(1),
                            further(bases, code.zeroExtend(mine, code.i64)),
                            [&](Value, ValueRange places) {
                              units(places, unroll);
                              return further(places, tile);
                            });
    code.loop(mine, left, code.c32(rowBytes), [&](Value offset) {
      Value bytes = code.signExtend(code.sub(offset, mine), code.i64);
      units(further(stop, bytes), 1);
    });
  }

  Values further(ValueRange places, Value bytes) {
    return llvm::map_to_vector(
        places, [&](Value place) { return code.at(place, bytes); });
  }

  /// So many units of one thread, with all loads before all stores. Where one
  /// end is at the switch, instructions have the distance.
  void units(ValueRange places, unsigned count) {
    auto ahead = [&](unsigned i) { return int32_t(i * unitBytes * blockSize); };
    Type words = code.vector(4, code.i32);
    Values loaded;
    for (unsigned i = 0; i < count; ++i)
      loaded.push_back(
          op ? code.loadReduced(reductionText(*op), places[1], ahead(i))
             : code.load(words, code.at(places[1], ahead(i)), unitBytes));
    for (unsigned i = 0; i < count; ++i)
      if (op)
        code.store(loaded[i], code.at(places[0], ahead(i)), unitBytes);
      else
        code.multicast(loaded[i], places[0], ahead(i));
  }

  CodeBuilder &code;
  unsigned blockSize;
  const ElementOp *op;
};
} // namespace

void coll::buildSwitchLoops(CodeBuilder &code, const HelperOptions &options,
                            const TransferShape &shape) {
  if (!shape.reduces)
    return SwitchLoopBuilder(code, options.blockSize, nullptr)
        .build(helper::copy + shape.suffix());
  for (const ReductionLoop &loop : reductionLoops(options, shape.suffix()))
    SwitchLoopBuilder(code, options.blockSize, &loop.op).build(loop.name);
  buildReductionChoice(code, options, shape.suffix(),
                       {code.pointer, code.pointer, code.i64});
}
