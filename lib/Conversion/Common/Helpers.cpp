//===- Helpers.cpp - Functions that generated code calls ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "sccl/Conversion/KernelABI.h"

#include "llvm/ADT/StringExtras.h"

using namespace sccl;
using namespace sccl::coll;

/// Replaces every occurrence of `from` in `text`.
static std::string replaceAll(std::string text, llvm::StringRef from,
                              llvm::StringRef to) {
  for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to.str());
  return text;
}

//===----------------------------------------------------------------------===//
// Geometry, the same on all targets
//===----------------------------------------------------------------------===//

// Moves the chunks [position, position + count) of a segment, as far as the
// segment reaches. A buffer is a pointer, the number of a segment in it and the
// number of a chunk in that segment; addresses are computed here and not by the
// caller, whose registers they would fill, and what is a constant there comes
// in 32 bits. With one block the run moves in one piece; with several, block b
// takes the b-th slice of every chunk, so that a slice has the same blocks on
// every hop.
static constexpr llvm::StringLiteral geometryBody = R"mlir(
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c15 = arith.constant 15 : i64
    %mask = arith.constant -16 : i64
    %position = arith.extui %position32 : i32 to i64
    %count = arith.extui %count32 : i32 to i64
    %block = arith.extui %block32 : i32 to i64
    %blocks = arith.extui %blocks32 : i32 to i64
    %start = arith.muli %position, %stride : i64
    %left0 = arith.subi %segment, %start : i64
    %left = arith.maxsi %left0, %c0 : i64
    %run = arith.muli %count, %stride : i64
    %bytes = arith.minsi %left, %run : i64
    %one_block = arith.cmpi eq, %blocks, %c1 : i64
    %pieces = arith.select %one_block, %c1, %count : i64
    %piece = arith.select %one_block, %run, %stride : i64
    %padded = arith.addi %piece, %blocks : i64
    %padded1 = arith.subi %padded, %c1 : i64
    %even = arith.divui %padded1, %blocks : i64
    %even15 = arith.addi %even, %c15 : i64
    %slice = arith.andi %even15, %mask : i64
    scf.for %p = %c0 to %pieces step %c1 : i64 {
      %base = arith.muli %p, %piece : i64
      %skip = arith.muli %block, %slice : i64
      %lo = arith.addi %base, %skip : i64
      %end0 = arith.addi %lo, %slice : i64
      %next = arith.addi %base, %piece : i64
      %end1 = arith.minsi %end0, %next : i64
      %end = arith.minsi %end1, %bytes : i64
      %length = arith.subi %end, %lo : i64
      %some = arith.cmpi sgt, %length, %c0 : i64
      scf.if %some {
ACTION
      }
    }
    llvm.return
  }
)mlir";

static constexpr llvm::StringLiteral transferHead = R"mlir(
  llvm.func internal @coll_transfer(
      %dst: PTR, %dst_segment: i32, %dst_chunk: i32,
      %src0: PTR, %src0_segment: i32, %src0_chunk: i32,
      %position32: i32, %count32: i32, %segment: i64, %stride: i64,
      %block32: i32, %blocks32: i32) attributes {no_inline} {
)mlir";
static constexpr llvm::StringLiteral transferAction = R"mlir(
        %to = llvm.getelementptr %dst_base[%lo] : (PTR, i64) -> PTR, i8
        %from = llvm.getelementptr %src0_base[%lo] : (PTR, i64) -> PTR, i8
        llvm.call @coll_copy(%to, %from, %length) : (PTR, PTR, i64) -> ()
)mlir";
static constexpr llvm::StringLiteral reduceHead = R"mlir(
  llvm.func internal @coll_reduce(
      %dst: PTR, %dst_segment: i32, %dst_chunk: i32,
      %src0: PTR, %src0_segment: i32, %src0_chunk: i32,
      %src1: PTR, %src1_segment: i32, %src1_chunk: i32,
      %position32: i32, %count32: i32, %segment: i64, %stride: i64,
      %block32: i32, %blocks32: i32) attributes {no_inline} {
)mlir";
static constexpr llvm::StringLiteral reduceAction = R"mlir(
        %to = llvm.getelementptr %dst_base[%lo] : (PTR, i64) -> PTR, i8
        %a = llvm.getelementptr %src0_base[%lo] : (PTR, i64) -> PTR, i8
        %b = llvm.getelementptr %src1_base[%lo] : (PTR, i64) -> PTR, i8
        llvm.call @coll_combine(%to, %a, %b, %length)
            : (PTR, PTR, PTR, i64) -> ()
)mlir";

/// Computes %NAME_base, the address of a chunk.
static constexpr llvm::StringLiteral chunkAddress = R"mlir(
    %NAME_segment64 = arith.extui %NAME_segment : i32 to i64
    %NAME_chunk64 = arith.extui %NAME_chunk : i32 to i64
    %NAME_bytes0 = arith.muli %NAME_segment64, %segment : i64
    %NAME_bytes1 = arith.muli %NAME_chunk64, %stride : i64
    %NAME_bytes = arith.addi %NAME_bytes0, %NAME_bytes1 : i64
    %NAME_base = llvm.getelementptr %NAME[%NAME_bytes] : (PTR, i64) -> PTR, i8
)mlir";

static std::string geometryText(bool combines) {
  auto body = [](llvm::StringRef action) {
    return replaceAll(geometryBody.str(), "ACTION", action);
  };
  auto address = [](llvm::StringRef name) {
    return replaceAll(chunkAddress.str(), "NAME", name);
  };
  std::string text = transferHead.str() + address("dst") + address("src0") +
                     body(transferAction);
  if (combines)
    text += reduceHead.str() + address("dst") + address("src0") +
            address("src1") + body(reduceAction);
  return text;
}

//===----------------------------------------------------------------------===//
// Loops of a thread block
//===----------------------------------------------------------------------===//

namespace {
/// One width of access: `type` has `bytes` bytes; `unroll` accesses are in
/// flight at once.
struct Access {
  std::string type;
  unsigned bytes;
  unsigned unroll;
};

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
  BlockLoopWriter(unsigned blockSize, unsigned lanes,
                  const std::optional<ElementOp> &combine)
      : blockSize(blockSize), lanes(lanes), combine(combine) {
    pointers = {"%dst", "%src0"};
    if (combine)
      pointers.push_back("%src1");
  }

  /// A function that handles `bytes` bytes at %dst: with `wide` accesses where
  /// all pointers agree modulo its width, else with `narrow` ones. `unit`
  /// accesses cover head and tail.
  std::string function(llvm::StringRef name, const Access &wide,
                       const Access &narrow, const Access &unit) {
    text = "  llvm.func internal @" + name.str() + "(%dst: PTR, %src0: PTR, ";
    text += combine ? "%src1: PTR, " : "";
    text += "%bytes: i64) attributes {no_inline} {\n";
    prologue();
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
    return define("arith.extui " + value + " : i32 to i64");
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
    if (combine)
      differ = binary("ori", differ,
                      binary("xori", "%dst_int", "%src1_int", "i64"), "i64");
    std::string low = binary("andi", differ, mask, "i64");
    line("scf.if " + binary("cmpi eq,", low, "%zero", "i64") + " {");
    std::string minus = binary("subi", "%zero", "%dst_int", "i64");
    std::string toEdge = binary("andi", minus, mask, "i64");
    std::string head = binary("minui", toEdge, "%bytes", "i64");
    edge(pointers, narrow(head), unit);
    body(access, unit, head);
    line("} else {");
    elseBranch();
    line("}");
  }

  /// Less than 16 bytes at `bases`, one unit per thread.
  void edge(const Names &bases, const std::string &bytes, const Access &unit) {
    std::string mine = times("%tid", unit.bytes, "i32");
    line("scf.if " + binary("cmpi ult,", mine, bytes, "i32") + " {");
    accesses(at(bases, widen(mine)), unit, 1);
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
    std::string mine = widen(placeInTile(access));
    Names start = at(pointers, binary("addi", head, mine, "i64"));
    Names stop = tiles(start, whole, tileBytes, access);
    Names bases = at(stop, binary("subi", "%zero", mine, "i64"));
    std::string mask = constant(-int64_t(access.bytes), "i32");
    std::string full = binary("andi", left, mask, "i32");
    std::string step = constant(uint64_t(access.bytes) * blockSize, "i32");
    std::string from = times("%tid", access.bytes, "i32");
    std::string offset = fresh();
    line("scf.for " + offset + " = " + from + " to " + full + " step " + step +
         " : i32 {");
    accesses(at(bases, widen(offset)), access, 1);
    line("}");
    edge(at(bases, widen(full)), binary("subi", left, full, "i32"), unit);
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
      if (combine)
        values.back() = define(combine->mnemonic + " " + operands[0] + ", " +
                               operands[1] + " : " + access.type);
    }
    for (unsigned i = 0; i < unroll; ++i)
      line("llvm.store " + values[i] + ", " + plus(bases.front(), apart * i) +
           suffix + access.type + ", PTR");
  }

  unsigned blockSize;
  unsigned lanes;
  const std::optional<ElementOp> &combine;
  Names pointers; ///< the destination first
  std::string text;
  unsigned next = 0;
};
} // namespace

/// Independent 16-byte loads of a thread before its first store (gate K2).
static constexpr unsigned wideUnroll = 8;

static std::string blockLoopsText(const HelperOptions &options) {
  // Offsets in an instruction of gfx9 have 13 bits: with the accesses of a
  // thread one wave apart most need no address of their own. On NVIDIA, where
  // all offsets fit, the whole block stays together.
  unsigned lanes =
      options.target == HelperTarget::ROCDL ? 64 : options.blockSize;
  std::string text =
      BlockLoopWriter(options.blockSize, lanes, std::nullopt)
          .function("coll_copy", {"vector<4xi32>", 16, wideUnroll},
                    {"i32", 4, wideUnroll}, {"i8", 1, 1});
  if (!options.combine)
    return text;
  const ElementOp &op = *options.combine;
  std::string vector =
      "vector<" + std::to_string(16 / op.bytes) + "x" + op.type + ">";
  Access unit{op.type, op.bytes, 1};
  return text + BlockLoopWriter(options.blockSize, lanes, options.combine)
                    .function("coll_combine", {vector, 16, wideUnroll / 2},
                              unit, unit);
}

//===----------------------------------------------------------------------===//
// Flags and epochs
//===----------------------------------------------------------------------===//

// A flag is a row of words in control memory, one line per block; the value is
// relative to the number of the launch.
static constexpr llvm::StringLiteral flagParameters =
    "%control: PTR, %row: i32, %block: i32, %launch: i64, %per_launch: i32, "
    "%step: i32";
static constexpr llvm::StringLiteral flagAddress = R"mlir(
    %line = arith.constant LINE_BYTES : i32
    %skip = arith.muli %block, %line : i32
    %at32 = arith.addi %row, %skip : i32
    %at = arith.extui %at32 : i32 to i64
    %flag = llvm.getelementptr %control[%at] : (PTR, i64) -> PTR, i8
    %per_launch64 = arith.extui %per_launch : i32 to i64
    %before = arith.muli %launch, %per_launch64 : i64
    %step64 = arith.extui %step : i32 to i64
    %value = arith.addi %before, %step64 : i64
)mlir";

// A row of epoch words has no gaps: only the block itself touches its word.
static constexpr llvm::StringLiteral epochParameters =
    "%control: PTR, %row: i32, %block: i32";
static constexpr llvm::StringLiteral epochAddress = R"mlir(
    %width = arith.constant WORD_BYTES : i32
    %skip = arith.muli %block, %width : i32
    %at32 = arith.addi %row, %skip : i32
    %at = arith.extui %at32 : i32 to i64
    %epoch = llvm.getelementptr %control[%at] : (PTR, i64) -> PTR, i8
)mlir";

// The abort word is looked at every 64 polls.
static constexpr llvm::StringLiteral deviceFlags = R"mlir(
  llvm.func internal @coll_signal(FLAG_PARAMETERS) attributes {no_inline} {
FLAG_ADDRESS
    FENCE
    gpu.barrier
    %zero = arith.constant 0 : index
    %tid = gpu.thread_id x
    %leads = arith.cmpi eq, %tid, %zero : index
    scf.if %leads {
      llvm.store %value, %flag atomic release {alignment = 8 : i64} : i64, PTR
    }
    llvm.return
  }

  llvm.func internal @coll_wait(FLAG_PARAMETERS, %abort: PTR) attributes {no_inline} {
FLAG_ADDRESS
    %zero = arith.constant 0 : index
    %tid = gpu.thread_id x
    %leads = arith.cmpi eq, %tid, %zero : index
    scf.if %leads {
      %none = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %often = arith.constant 63 : i64
      %true = arith.constant true
      scf.while (%polls = %none) : (i64) -> i64 {
        %now = llvm.load %flag atomic acquire {alignment = 8 : i64} : PTR -> i64
        %early = arith.cmpi ult, %now, %value : i64
        %phase = arith.andi %polls, %often : i64
        %look = arith.cmpi eq, %phase, %often : i64
        %alive = scf.if %look -> (i1) {
          %word = llvm.load %abort atomic monotonic {alignment = 8 : i64} : PTR -> i64
          %fine = arith.cmpi eq, %word, %none : i64
          scf.yield %fine : i1
        } else {
          scf.yield %true : i1
        }
        %again = arith.andi %early, %alive : i1
        scf.condition(%again) %polls : i64
      } do {
      ^bb0(%polls: i64):
        %more = arith.addi %polls, %one : i64
        scf.yield %more : i64
      }
    }
    gpu.barrier
    llvm.return
  }

  llvm.func internal @coll_begin(EPOCH_PARAMETERS) -> i64 attributes {no_inline} {
EPOCH_ADDRESS
    %one = arith.constant 1 : i64
    %finished = llvm.load %epoch {alignment = 8 : i64} : PTR -> i64
    %launch = arith.addi %finished, %one : i64
    llvm.return %launch : i64
  }

  llvm.func internal @coll_end(EPOCH_PARAMETERS, %launch: i64) attributes {no_inline} {
EPOCH_ADDRESS
    gpu.barrier
    %zero = arith.constant 0 : index
    %tid = gpu.thread_id x
    %leads = arith.cmpi eq, %tid, %zero : index
    scf.if %leads {
      llvm.store %launch, %epoch {alignment = 8 : i64} : i64, PTR
    }
    llvm.return
  }
)mlir";

// After some polls the waiting thread gives up its core: ranks may outnumber
// cores.
static constexpr llvm::StringLiteral hostFlags = R"mlir(
  llvm.func @sched_yield() -> i32

  llvm.func internal @coll_signal(FLAG_PARAMETERS) attributes {no_inline} {
FLAG_ADDRESS
    llvm.store %value, %flag atomic release {alignment = 8 : i64} : i64, PTR
    llvm.return
  }

  llvm.func internal @coll_wait(FLAG_PARAMETERS, %abort: PTR) attributes {no_inline} {
FLAG_ADDRESS
    %none = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %patience = arith.constant 200 : i64
    scf.while (%polls = %none) : (i64) -> i64 {
      %now = llvm.load %flag atomic acquire {alignment = 8 : i64} : PTR -> i64
      %early = arith.cmpi ult, %now, %value : i64
      %word = llvm.load %abort atomic acquire {alignment = 8 : i64} : PTR -> i64
      %alive = arith.cmpi eq, %word, %none : i64
      %again = arith.andi %early, %alive : i1
      scf.condition(%again) %polls : i64
    } do {
    ^bb0(%polls: i64):
      %long = arith.cmpi ugt, %polls, %patience : i64
      scf.if %long {
        %ignored = llvm.call @sched_yield() : () -> i32
      }
      %more = arith.addi %polls, %one : i64
      scf.yield %more : i64
    }
    llvm.return
  }

  llvm.func internal @coll_begin(EPOCH_PARAMETERS) -> i64 attributes {no_inline} {
EPOCH_ADDRESS
    %one = arith.constant 1 : i64
    %finished = llvm.load %epoch {alignment = 8 : i64} : PTR -> i64
    %launch = arith.addi %finished, %one : i64
    llvm.return %launch : i64
  }

  llvm.func internal @coll_end(EPOCH_PARAMETERS, %launch: i64) attributes {no_inline} {
EPOCH_ADDRESS
    llvm.store %launch, %epoch {alignment = 8 : i64} : i64, PTR
    llvm.return
  }

  llvm.func internal @coll_copy(%dst: PTR, %src: PTR, %bytes: i64)
      attributes {no_inline} {
    "llvm.intr.memcpy"(%dst, %src, %bytes) <{isVolatile = false}>
        : (PTR, PTR, i64) -> ()
    llvm.return
  }
)mlir";

static constexpr llvm::StringLiteral hostCombine = R"mlir(
  llvm.func internal @coll_combine(%dst: PTR, %lhs: PTR, %rhs: PTR, %bytes: i64)
      attributes {no_inline} {
    %zero = arith.constant 0 : i64
    %width = arith.constant BYTES : i64
    scf.for %at = %zero to %bytes step %width : i64 {
      %to = llvm.getelementptr %dst[%at] : (PTR, i64) -> PTR, i8
      %pa = llvm.getelementptr %lhs[%at] : (PTR, i64) -> PTR, i8
      %pb = llvm.getelementptr %rhs[%at] : (PTR, i64) -> PTR, i8
      %a = llvm.load %pa : PTR -> TYPE
      %b = llvm.load %pb : PTR -> TYPE
      %c = MNEMONIC %a, %b : TYPE
      llvm.store %c, %to : TYPE, PTR
    }
    llvm.return
  }
)mlir";

static std::string flagsText(const HelperOptions &options) {
  if (options.target == HelperTarget::Host) {
    std::string text = hostFlags.str();
    if (!options.combine)
      return text;
    std::string combine = hostCombine.str();
    combine =
        replaceAll(combine, "BYTES", std::to_string(options.combine->bytes));
    combine = replaceAll(combine, "TYPE", options.combine->type);
    return text + replaceAll(combine, "MNEMONIC", options.combine->mnemonic);
  }
  // On gfx90a and gfx942, LLVM 22 joins a block without waiting for its stores,
  // and drops the wait after a cache write-back where no store of the same
  // function is pending: here always, because a function begins with a wait.
  // A fence and an explicit wait by every thread before the barrier restore
  // both. Remove them when LLVM PR 178316 is in the oldest LLVM supported.
  // 3952 is vmcnt(0), on all of gfx9.
  return replaceAll(deviceFlags.str(), "FENCE",
                    options.target == HelperTarget::ROCDL
                        ? "llvm.fence release\n    rocdl.s.waitcnt 3952"
                        : "");
}

std::string coll::helperModuleText(const HelperOptions &options) {
  bool isHost = options.target == HelperTarget::Host;
  std::string text = geometryText(options.combine.has_value());
  if (!isHost)
    text += blockLoopsText(options);
  std::string flags = flagsText(options);
  auto define = [&](llvm::StringRef name, llvm::StringRef body) {
    flags = replaceAll(std::move(flags), name, body);
  };
  define("FLAG_PARAMETERS", flagParameters);
  define("FLAG_ADDRESS", flagAddress);
  define("EPOCH_PARAMETERS", epochParameters);
  define("EPOCH_ADDRESS", epochAddress);
  define("LINE_BYTES", std::to_string(ControlLayout::lineBytes));
  define("WORD_BYTES", std::to_string(ControlLayout::wordBytes));
  text += flags;
  return "module {\n" +
         replaceAll(text, "PTR", isHost ? "!llvm.ptr" : "!llvm.ptr<1>") + "}\n";
}
