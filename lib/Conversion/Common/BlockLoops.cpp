//===- BlockLoops.cpp - Loops of a thread block ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockLoops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <map>

using namespace sccl;
using namespace sccl::coll;

namespace {
/// One width of access: `type` has `bytes` bytes; `unroll` accesses are in
/// flight at once. It holds `lanes` elements, see CombineWriter.
struct Access {
  std::string type;
  unsigned bytes;
  unsigned unroll;
  unsigned lanes = 0;
};

/// What a loop does with elements.
enum class Action { Copy, Combine, Average };

/// Writes loops in which the threads of a block walk over memory. With one
/// source the loop copies, with two it combines.
///
/// What lives across the main loop is kept small, because the callers' values
/// take a part of the registers: each pointer advances by itself, and counts
/// have 32 bits.
class BlockLoopWriter {
public:
  /// `lanes` threads side by side access memory side by side; the unrolled
  /// accesses of a thread are that far apart.
  BlockLoopWriter(unsigned blockSize, unsigned lanes, Action action,
                  const std::optional<ElementOp> &op)
      : blockSize(blockSize), lanes(lanes), action(action), op(op) {
    pointers = {"%dst", "%src0"};
    if (combines())
      pointers.push_back("%src1");
  }

  /// A function that handles `bytes` bytes at %dst: with `wide` accesses where
  /// all pointers agree modulo its width, else with `narrow` ones. `unit`
  /// accesses cover head and tail.
  std::string function(llvm::StringRef name, const Access &wide,
                       const Access &narrow, const Access &unit) {
    text = "  llvm.func internal @" + name.str() + "(%dst: PTR, %src0: PTR, ";
    text += combines() ? "%src1: PTR, " : "";
    text += "%bytes: i64";
    text += action == Action::Average ? ", %divisor: i32" : "";
    text += ") attributes {no_inline} {\n";
    prologue();
    if (action == Action::Average)
      for (const Access *access : {&wide, &narrow, &unit})
        divisors.try_emplace(access->lanes,
                             combineWriter(*access).divisor("%divisor"));
    aligned(wide, unit, /*elseBranch=*/[&] {
      if (narrow.bytes == unit.bytes)
        return units(unit);
      aligned(narrow, unit, [&] { units(unit); });
    });
    text += "    llvm.return\n  }\n";
    return text;
  }

private:
  using Names = llvm::SmallVector<std::string, 3>;

  bool combines() const { return action != Action::Copy; }
  CombineWriter combineWriter(const Access &access) {
    return CombineWriter(*op, access.lanes, definer);
  }

  std::string fresh() { return "%v" + std::to_string(next++); }
  void line(const std::string &s) { text += "    " + s + "\n"; }
  std::string define(const std::string &s) {
    std::string name = fresh();
    line(name + " = " + s);
    return name;
  }
  std::string constant(int64_t value, llvm::StringRef type) {
    return define("arith.constant " + std::to_string(value) + " : " +
                  type.str());
  }
  std::string binary(llvm::StringRef op, const std::string &lhs,
                     const std::string &rhs, llvm::StringRef type) {
    return define("arith." + op.str() + " " + lhs + ", " + rhs + " : " +
                  type.str());
  }
  std::string times(const std::string &value, uint64_t factor,
                    llvm::StringRef type) {
    return binary("muli", value, constant(factor, type), type);
  }
  std::string widen(const std::string &value) {
    return define("arith.extsi " + value + " : i32 to i64");
  }
  std::string narrow(const std::string &value) {
    return define("arith.trunci " + value + " : i64 to i32");
  }
  /// All pointers of `bases`, `offset` (i64) bytes further.
  Names at(const Names &bases, const std::string &offset) {
    Names result;
    for (const std::string &base : bases)
      result.push_back(define("llvm.getelementptr " + base + "[" + offset +
                              "] : (PTR, i64) -> PTR, i8"));
    return result;
  }
  /// The pointers, `offset` bytes further, by way of integers: LLVM cannot take
  /// the sum apart then, and leave an addition in the main loop.
  Names opaque(const std::string &offset) {
    Names result;
    for (const std::string &pointer : pointers)
      result.push_back(define("llvm.inttoptr " +
                              binary("addi", pointer + "_int", offset, "i64") +
                              " : i64 to PTR"));
    return result;
  }
  std::string plus(const std::string &base, uint64_t bytes) {
    if (bytes == 0)
      return base;
    return define("llvm.getelementptr " + base + "[" + std::to_string(bytes) +
                  "] : (PTR) -> PTR, i8");
  }

  void prologue() {
    line("%tid_index = gpu.thread_id x");
    line("%tid = arith.index_cast %tid_index : index to i32");
    line("%zero = arith.constant 0 : i64");
    line("%zero32 = arith.constant 0 : i32");
    line("%one32 = arith.constant 1 : i32");
    for (const std::string &pointer : pointers)
      line(pointer + "_int = llvm.ptrtoint " + pointer + " : PTR to i64");
  }

  /// Head, wide body and tail where all pointers agree modulo the width.
  template <typename Else>
  void aligned(const Access &access, const Access &unit, Else elseBranch) {
    std::string mask = constant(access.bytes - 1, "i64");
    std::string differ = binary("xori", "%dst_int", "%src0_int", "i64");
    if (combines())
      differ = binary("ori", differ,
                      binary("xori", "%dst_int", "%src1_int", "i64"), "i64");
    std::string low = binary("andi", differ, mask, "i64");
    line("scf.if " + binary("cmpi eq,", low, "%zero", "i64") + " {");
    std::string minus = binary("subi", "%zero", "%dst_int", "i64");
    std::string toEdge = binary("andi", minus, mask, "i64");
    std::string head = binary("minui", toEdge, "%bytes", "i64");
    edge(pointers, "%zero32", narrow(head), unit);
    body(access, unit, head);
    line("} else {");
    elseBranch();
    line("}");
  }

  /// Less than 16 bytes, one unit per thread, `from` (i32) bytes behind
  /// `bases`.
  void edge(const Names &bases, const std::string &from,
            const std::string &bytes, const Access &unit) {
    std::string mine = times("%tid", unit.bytes, "i32");
    line("scf.if " + binary("cmpi ult,", mine, bytes, "i32") + " {");
    accesses(at(bases, widen(binary("addi", from, mine, "i32"))), unit, 1);
    line("}");
  }

  /// What follows the head: whole tiles, then single accesses, then the tail.
  void body(const Access &access, const Access &unit, const std::string &head) {
    // Tiles have 2 KiB and more: 31 bits count those of 4 TiB.
    uint64_t tileBytes = uint64_t(access.bytes) * access.unroll * blockSize;
    std::string tile = constant(tileBytes, "i64");
    std::string rest = binary("subi", "%bytes", head, "i64");
    std::string whole = narrow(binary("divui", rest, tile, "i64"));
    std::string left = narrow(binary("remui", rest, tile, "i64"));
    std::string mine = placeInTile(access);
    Names start = opaque(binary("addi", head, widen(mine), "i64"));
    Names stop = tiles(start, whole, tileBytes, access);
    std::string mask = constant(-int64_t(access.bytes), "i32");
    std::string full = binary("andi", left, mask, "i32");
    std::string step = constant(uint64_t(access.bytes) * blockSize, "i32");
    std::string from = times("%tid", access.bytes, "i32");
    std::string offset = fresh();
    // Addresses are relative to where the thread is: with those of the block in
    // use here, LLVM would keep them in the main loop, and add `mine` there.
    line("scf.for " + offset + " = " + from + " to " + full + " step " + step +
         " : i32 {");
    accesses(at(stop, widen(binary("subi", offset, mine, "i32"))), access, 1);
    line("}");
    edge(stop, binary("subi", full, mine, "i32"),
         binary("subi", left, full, "i32"), unit);
  }

  /// The offset of the thread's first access in a tile, as i32.
  std::string placeInTile(const Access &access) {
    if (lanes == blockSize)
      return times("%tid", access.bytes, "i32");
    std::string size = constant(lanes, "i32");
    std::string group = binary("divui", "%tid", size, "i32");
    std::string lane = binary("remui", "%tid", size, "i32");
    return binary(
        "addi",
        times(group, uint64_t(access.bytes) * access.unroll * lanes, "i32"),
        times(lane, access.bytes, "i32"), "i32");
  }

  /// The loop that does the work. Returns where the pointers have come to.
  Names tiles(const Names &start, const std::string &count, uint64_t tileBytes,
              const Access &access) {
    Names inside, result;
    std::string bindings, types, yields;
    std::string loop = fresh();
    for (auto [index, name] : llvm::enumerate(start)) {
      llvm::StringRef comma = index ? ", " : "";
      inside.push_back(fresh());
      bindings += comma.str() + inside.back() + " = " + name;
      types += comma.str() + "PTR";
      result.push_back(loop + "#" + std::to_string(index));
    }
    line(loop + ":" + std::to_string(start.size()) + " = scf.for " + fresh() +
         " = %zero32 to " + count + " step %one32 iter_args(" + bindings +
         ") -> (" + types + ") : i32 {");
    accesses(inside, access, access.unroll);
    for (auto [index, name] : llvm::enumerate(inside))
      yields += (index ? ", " : "") + plus(name, tileBytes);
    line("scf.yield " + yields + " : " + types);
    line("}");
    return result;
  }

  /// Accesses of one unit each, where pointers do not agree.
  void units(const Access &unit) {
    std::string from = widen(times("%tid", unit.bytes, "i32"));
    std::string step = constant(uint64_t(unit.bytes) * blockSize, "i64");
    std::string offset = fresh();
    line("scf.for " + offset + " = " + from + " to %bytes step " + step +
         " : i64 {");
    accesses(at(pointers, offset), unit, 1);
    line("}");
  }

  /// `unroll` accesses of one thread, with all loads before all stores.
  void accesses(const Names &bases, const Access &access, unsigned unroll) {
    llvm::SmallVector<std::string> values;
    std::string suffix =
        " {alignment = " + std::to_string(access.bytes) + " : i64} : ";
    uint64_t apart = uint64_t(access.bytes) * lanes;
    for (unsigned i = 0; i < unroll; ++i) {
      llvm::SmallVector<std::string, 2> operands;
      for (const std::string &base : llvm::drop_begin(bases))
        operands.push_back(define("llvm.load " + plus(base, apart * i) +
                                  suffix + "PTR -> " + access.type));
      values.push_back(operands.front());
      if (combines())
        values.back() = combineWriter(access).combine(operands[0], operands[1],
                                                      divisors[access.lanes]);
    }
    for (unsigned i = 0; i < unroll; ++i)
      line("llvm.store " + values[i] + ", " + plus(bases.front(), apart * i) +
           suffix + access.type + ", PTR");
  }

  unsigned blockSize;
  unsigned lanes;
  Action action;
  const std::optional<ElementOp> &op;
  std::function<std::string(const std::string &)> definer =
      [this](const std::string &s) { return define(s); };
  std::map<unsigned, std::string> divisors; ///< by the lanes of an access
  Names pointers;                           ///< the destination first
  std::string text;
  unsigned next = 0;
};
} // namespace

/// Independent 16-byte loads of a thread before its first store (gate K2).
static constexpr unsigned wideUnroll = 8;

/// Accesses of a thread that a combination of 16 bytes leaves registers for.
static unsigned combineUnroll(const ElementOp &op, Action action) {
  const ElementType &element = op.element;
  // Divisions are long, and those of integers are subroutines.
  if (action == Action::Average)
    return element.isFloat() && element.bytes >= 4 ? wideUnroll / 4 : 1;
  // Small elements are unpacked to be combined, which takes registers.
  bool isHalf = element.isFloat() && element.bytes == 2;
  return isHalf || element.bytes == 1 ? wideUnroll / 4 : wideUnroll / 2;
}

std::string coll::blockLoopsText(const HelperOptions &options) {
  // Offsets in an instruction of gfx9 have 13 bits: with the accesses of a
  // thread one wave apart most need no address of their own. On NVIDIA, where
  // all offsets fit, the whole block stays together.
  unsigned lanes =
      options.target == HelperTarget::ROCDL ? 64 : options.blockSize;
  std::string text =
      BlockLoopWriter(options.blockSize, lanes, Action::Copy, options.combine)
          .function("coll_copy", {"vector<4xi32>", 16, wideUnroll},
                    {"i32", 4, wideUnroll}, {"i8", 1, 1});
  if (!options.combine)
    return text;
  const ElementOp &op = *options.combine;
  auto combineLoop = [&](llvm::StringRef name, Action action) {
    unsigned elements = 16 / op.element.bytes;
    std::string vector =
        "vector<" + std::to_string(elements) + "x" + op.type() + ">";
    Access wide{vector, 16, combineUnroll(op, action), elements};
    Access unit{op.type(), op.element.bytes, 1};
    return BlockLoopWriter(options.blockSize, lanes, action, options.combine)
        .function(name, wide, unit, unit);
  };
  text += combineLoop("coll_combine", Action::Combine);
  if (op.averages())
    text += combineLoop("coll_average", Action::Average);
  return text;
}
