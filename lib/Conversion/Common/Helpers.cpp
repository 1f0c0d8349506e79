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

/// Writes loops in which the threads of a block walk over memory side by side.
/// With one source the loop copies, with two it combines.
class BlockLoopWriter {
public:
  BlockLoopWriter(unsigned blockSize, const std::optional<ElementOp> &combine)
      : blockSize(blockSize), combine(combine) {}

  /// A function that handles `bytes` bytes at %dst: with `wide` accesses where
  /// all pointers agree modulo its width, else with `narrow` ones. `byte`
  /// accesses cover head and tail.
  std::string function(llvm::StringRef name, const Access &wide,
                       const Access &narrow, const Access &unit) {
    text = "  llvm.func internal @" + name.str() + "(%dst: PTR, %src0: PTR, ";
    text += combine ? "%src1: PTR, " : "";
    text += "%bytes: i64) attributes {no_inline} {\n";
    prologue();
    aligned(wide, unit, /*elseBranch=*/[&] {
      if (narrow.bytes == unit.bytes)
        return tiles(unit, "%dst", sources(""), "%bytes");
      aligned(narrow, unit,
              [&] { tiles(unit, "%dst", sources(""), "%bytes"); });
    });
    text += "    llvm.return\n  }\n";
    return text;
  }

private:
  unsigned numSources() const { return combine ? 2 : 1; }
  std::string fresh() { return "%v" + std::to_string(next++); }
  void line(const std::string &s) { text += "    " + s + "\n"; }
  std::string define(const std::string &s) {
    std::string name = fresh();
    line(name + " = " + s);
    return name;
  }
  std::string constant(int64_t value) {
    return define("arith.constant " + std::to_string(value) + " : i64");
  }
  llvm::SmallVector<std::string> sources(llvm::StringRef offset) {
    llvm::SmallVector<std::string> result;
    for (unsigned i = 0; i < numSources(); ++i)
      result.push_back(at("%src" + std::to_string(i), offset));
    return result;
  }
  std::string at(const std::string &pointer, llvm::StringRef offset) {
    if (offset.empty())
      return pointer;
    return define("llvm.getelementptr " + pointer + "[" + offset.str() +
                  "] : (PTR, i64) -> PTR, i8");
  }

  void prologue() {
    line("%tid_index = gpu.thread_id x");
    line("%tid = arith.index_cast %tid_index : index to i64");
    line("%zero = arith.constant 0 : i64");
    line("%dst_int = llvm.ptrtoint %dst : PTR to i64");
    for (unsigned i = 0; i < numSources(); ++i)
      line("%src_int" + std::to_string(i) + " = llvm.ptrtoint %src" +
           std::to_string(i) + " : PTR to i64");
  }

  /// Head, wide body and tail where all pointers agree modulo the width.
  template <typename Else>
  void aligned(const Access &access, const Access &unit, Else elseBranch) {
    std::string mask = constant(access.bytes - 1);
    std::string differ = define("arith.xori %dst_int, %src_int0 : i64");
    if (combine) {
      std::string other = define("arith.xori %dst_int, %src_int1 : i64");
      differ = define("arith.ori " + differ + ", " + other + " : i64");
    }
    std::string low = define("arith.andi " + differ + ", " + mask + " : i64");
    std::string same = define("arith.cmpi eq, " + low + ", %zero : i64");
    line("scf.if " + same + " {");
    std::string minus = define("arith.subi %zero, %dst_int : i64");
    std::string toEdge = define("arith.andi " + minus + ", " + mask + " : i64");
    std::string head = define("arith.minsi " + toEdge + ", %bytes : i64");
    tiles(withoutUnroll(unit), "%dst", sources(""), head);
    std::string rest = define("arith.subi %bytes, " + head + " : i64");
    std::string inverse = constant(-int64_t(access.bytes));
    std::string body = define("arith.andi " + rest + ", " + inverse + " : i64");
    tiles(access, at("%dst", head), sources(head), body);
    std::string done = define("arith.addi " + head + ", " + body + " : i64");
    std::string tail = define("arith.subi %bytes, " + done + " : i64");
    tiles(withoutUnroll(unit), at("%dst", done), sources(done), tail);
    line("} else {");
    elseBranch();
    line("}");
  }

  static Access withoutUnroll(Access access) {
    access.unroll = 1;
    return access;
  }

  /// Covers `bytes` bytes: whole tiles of `unroll` accesses per thread first,
  /// with all loads before all stores, then one access per thread at a time.
  void tiles(const Access &access, const std::string &dst,
             const llvm::SmallVector<std::string> &srcs,
             const std::string &bytes) {
    std::string width = constant(access.bytes);
    std::string first = define("arith.muli %tid, " + width + " : i64");
    std::string begin = first;
    if (access.unroll > 1) {
      int64_t tileBytes = int64_t(access.bytes) * access.unroll * blockSize;
      std::string tile = constant(tileBytes);
      std::string over =
          define("arith.remui " + bytes + ", " + tile + " : i64");
      std::string whole =
          define("arith.subi " + bytes + ", " + over + " : i64");
      loop(first, whole, tile, access, access.unroll, dst, srcs);
      begin = define("arith.addi " + whole + ", " + first + " : i64");
    }
    std::string stride = constant(int64_t(access.bytes) * blockSize);
    loop(begin, bytes, stride, access, 1, dst, srcs);
  }

  void loop(const std::string &from, const std::string &to,
            const std::string &step, const Access &access, unsigned unroll,
            const std::string &dst,
            const llvm::SmallVector<std::string> &srcs) {
    std::string offset = fresh();
    line("scf.for " + offset + " = " + from + " to " + to + " step " + step +
         " : i64 {");
    llvm::SmallVector<std::string> values;
    std::string suffix =
        " {alignment = " + std::to_string(access.bytes) + " : i64} : ";
    for (unsigned i = 0; i < unroll; ++i) {
      llvm::SmallVector<std::string, 2> operands;
      for (const std::string &src : srcs)
        operands.push_back(define("llvm.load " +
                                  element(at(src, offset), access, i) + suffix +
                                  "PTR -> " + access.type));
      values.push_back(operands.front());
      if (combine)
        values.back() = define(combine->mnemonic + " " + operands[0] + ", " +
                               operands[1] + " : " + access.type);
    }
    for (unsigned i = 0; i < unroll; ++i)
      line("llvm.store " + values[i] + ", " +
           element(at(dst, offset), access, i) + suffix + access.type +
           ", PTR");
    line("}");
  }

  /// The address of the `i`-th access of a thread's tile.
  std::string element(const std::string &base, const Access &access,
                      unsigned i) {
    if (i == 0)
      return base;
    uint64_t offset = uint64_t(access.bytes) * blockSize * i;
    return define("llvm.getelementptr " + base + "[" + std::to_string(offset) +
                  "] : (PTR) -> PTR, i8");
  }

  unsigned blockSize;
  const std::optional<ElementOp> &combine;
  std::string text;
  unsigned next = 0;
};
} // namespace

/// Independent 16-byte loads of a thread before its first store (gate K2).
static constexpr unsigned wideUnroll = 8;

static std::string blockLoopsText(const HelperOptions &options) {
  std::string text =
      BlockLoopWriter(options.blockSize, std::nullopt)
          .function("coll_copy", {"vector<4xi32>", 16, wideUnroll},
                    {"i32", 4, 4}, {"i8", 1, 1});
  if (!options.combine)
    return text;
  const ElementOp &op = *options.combine;
  std::string vector =
      "vector<" + std::to_string(16 / op.bytes) + "x" + op.type + ">";
  Access unit{op.type, op.bytes, 1};
  return text + BlockLoopWriter(options.blockSize, options.combine)
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
