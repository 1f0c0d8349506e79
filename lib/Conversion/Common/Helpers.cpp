//===- Helpers.cpp - Functions that generated code calls ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "BlockLoops.h"
#include "FlagHelpers.h"
#include "HostCombine.h"
#include "TableHelper.h"

#include "llvm/ADT/StringExtras.h"

using namespace sccl;
using namespace sccl::coll;

//===----------------------------------------------------------------------===//
// Geometry, the same on all targets
//===----------------------------------------------------------------------===//

// Moves the chunks [position, position + count) of a segment, as far as the
// segment reaches. A buffer is a pointer, the number of a segment in it and the
// number of a chunk in that segment; addresses and the stride of chunks, see
// chunkStride() of KernelABI.h, are computed here and not by the caller, whose
// registers they would fill, and what is a constant there comes in 32 bits.
// With one block the run moves in one piece; with several, block b takes the
// b-th slice of every chunk, so that a slice has the same blocks on every hop.
static constexpr llvm::StringLiteral geometry = R"mlir(
  llvm.func internal @NAME(BUFFERS
      %position32: i32, %count32: i32, %segment: i64,
      %distance: i64, %chunks32: i32, %block32: i32,
      %blocks32: i32LAUNCHDIVISOR) attributes {no_inline} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c15 = arith.constant 15 : i64
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %mask = arith.constant -16 : i64
    %chunks = arith.extui %chunks32 : i32 to i64
    %segment_up = arith.addi %segment, %chunks : i64
    %segment_up1 = arith.subi %segment_up, %c1 : i64
    %chunk = arith.divui %segment_up1, %chunks : i64
    %chunk15 = arith.addi %chunk, %c15 : i64
    %stride = arith.andi %chunk15, %mask : i64
    %position = arith.extui %position32 : i32 to i64
    %count = arith.extui %count32 : i32 to i64
    %start = arith.muli %position, %stride : i64
    %left0 = arith.subi %segment, %start : i64
    %left = arith.maxsi %left0, %c0 : i64
    %run = arith.muli %count, %stride : i64
    %bytes = arith.minsi %left, %run : i64
    %block = arith.extui %block32 : i32 to i64
    %blocks = arith.extui %blocks32 : i32 to i64
    %one_block = arith.cmpi eq, %blocks, %c1 : i64
    %pieces = arith.select %one_block, %c1_i32, %count32 : i32
    %piece = arith.select %one_block, %run, %stride : i64
    %piece_up = arith.addi %piece, %blocks : i64
    %piece_up1 = arith.subi %piece_up, %c1 : i64
    %even = arith.divui %piece_up1, %blocks : i64
    %even15 = arith.addi %even, %c15 : i64
    %slice = arith.andi %even15, %mask : i64
    %skip = arith.muli %block, %slice : i64
    %beyond = arith.subi %piece, %skip : i64
    %most = arith.minsi %slice, %beyond : i64
    %ahead0 = arith.subi %bytes, %skip : i64
ADDRESSES
DIFFER
    %end:RESULTS = scf.for %p = %c0_i32 to %pieces step %c1_i32
        iter_args(%ahead = %ahead0, BINDINGS) -> (i64, TYPES) : i32 {
      %length = arith.minsi %ahead, %most : i64
      %some = arith.cmpi sgt, %length, %c0 : i64
MOVES
      scf.if %SOME {
CALLS
      }
      %ahead_next = arith.subi %ahead, %piece : i64
ADVANCES
      scf.yield %ahead_next, YIELDS : i64, TYPES
    }
    llvm.return
  }
)mlir";

/// The address of the block's first slice in a buffer.
static constexpr llvm::StringLiteral chunkAddress = R"mlir(
    %NAME_segment64 = arith.extui %NAME_segment : i32 to i64
    %NAME_chunk64 = arith.extui %NAME_chunk : i32 to i64
    %NAME_bytes0 = arith.muli %NAME_segment64, %distance : i64
    %NAME_bytes1 = arith.muli %NAME_chunk64, %stride : i64
    %NAME_bytes2 = arith.addi %NAME_bytes0, %NAME_bytes1 : i64
    %NAME_bytes3 = arith.addi %NAME_bytes2, %skip : i64
    %NAME_first = llvm.getelementptr %NAME[%NAME_bytes3] : (PTR, i64) -> PTR, i8
)mlir";

/// The same in LL words, which take twice the bytes; the number of the chunk
/// counts that already.
static constexpr llvm::StringLiteral llAddress = R"mlir(
    %NAME_chunk64 = arith.extui %NAME_chunk : i32 to i64
    %NAME_bytes1 = arith.muli %NAME_chunk64, %stride : i64
    %NAME_bytes2 = arith.addi %NAME_bytes1, %skip : i64
    %NAME_bytes3 = arith.addi %NAME_bytes2, %skip : i64
    %NAME_first = llvm.getelementptr %NAME[%NAME_bytes3] : (PTR, i64) -> PTR, i8
    %NAME_piece = arith.addi %piece, %piece : i64
)mlir";

static constexpr llvm::StringLiteral callOfAction =
    "        llvm.call @ACTION(POINTERS, %lengthMORE) : (TYPES, i64MORE_TYPES) "
    "-> ()";

/// On the host, what does not fit in the cache bypasses it.
static constexpr llvm::StringLiteral callsOfStream = R"mlir(
        %stream_stride = arith.constant STREAM_STRIDE : i64
        %streams = arith.cmpi uge, %stride, %stream_stride : i64
        scf.if %streams {
          llvm.call @ACTION_stream(POINTERS, %length) : (TYPES, i64) -> ()
        } else {
          llvm.call @ACTION(POINTERS, %length) : (TYPES, i64) -> ()
        }
)mlir";

/// The combine that makes a chunk complete has a divisor that is not 0.
static constexpr llvm::StringLiteral callsOfAverage = R"mlir(
        %divides = arith.cmpi ne, %divisor, %c0_i32 : i32
        scf.if %divides {
          llvm.call @coll_averageSUFFIX(POINTERS, %lengthMORE, %divisor)
              : (TYPES, i64MORE_TYPES, i32) -> ()
        } else {
CALLS_OF_OTHERS
        }
)mlir";

/// The calls that do what `shape` says with a slice.
static std::string callsText(const HelperOptions &options,
                             const LLShape &shape) {
  bool streams = options.streamStride != 0 && !shape.any();
  std::string others = streams ? callsOfStream.str() : callOfAction.str();
  bool averages = shape.combines && options.averages();
  std::string text = averages ? callsOfAverage.str() : others;
  std::string suffix = shape.any() ? shape.suffix() : "";
  for (auto [hole, part] :
       {std::pair<const char *, std::string>("CALLS_OF_OTHERS", others),
        {"STREAM_STRIDE", std::to_string(options.streamStride)},
        {"MORE_TYPES", shape.any() ? ", i32, PTR" : ""},
        {"MORE", shape.any() ? ", %launch, %abort" : ""},
        {"ACTION", (shape.combines ? "coll_combine" : "coll_copy") + suffix},
        {"SUFFIX", suffix}})
    text = replaceAll(std::move(text), hole, part);
  return text + "\n";
}

namespace {
/// An operand of @coll_transfer or @coll_reduce.
struct BufferOperand {
  llvm::StringRef name;
  bool isLL;
};
} // namespace

/// A function that moves or combines chunks, as `shape` says.
static std::string geometryFunction(const HelperOptions &options,
                                    const LLShape &shape) {
  llvm::SmallVector<BufferOperand, 3> buffers = {{"dst", shape.dst},
                                                 {"src0", shape.src0}};
  if (shape.combines)
    buffers.push_back({"src1", shape.src1});
  // Repeats `part`, or `llPart`, for each buffer, in place of NAME.
  auto eachOf = [&](llvm::StringRef part, llvm::StringRef llPart,
                    llvm::StringRef separator) {
    return llvm::join(llvm::map_range(buffers,
                                      [&](const BufferOperand &buffer) {
                                        return replaceAll(
                                            (buffer.isLL ? llPart : part).str(),
                                            "NAME", buffer.name);
                                      }),
                      separator);
  };
  auto each = [&](llvm::StringRef part, llvm::StringRef separator) {
    return eachOf(part, part, separator);
  };
  std::string suffix = shape.any() ? shape.suffix() : "";
  std::string text = geometry.str();
  auto fill = [&](llvm::StringRef hole, const std::string &part) {
    text = replaceAll(std::move(text), hole, part);
  };
  fill("NAME", (shape.combines ? "coll_reduce" : "coll_transfer") + suffix);
  fill("LAUNCH", shape.any() ? ", %launch: i32, %abort: PTR" : "");
  bool averages = shape.combines && options.averages();
  fill("DIVISOR", averages ? ", %divisor: i32" : "");
  fill("CALLS\n", callsText(options, shape));
  // In place, a chunk may be where it is to be copied to.
  bool copies = !shape.combines && !shape.any();
  fill("DIFFER",
       copies ? "    %differ = llvm.icmp \"ne\" %dst_first, %src0_first : PTR"
              : "");
  fill("MOVES", copies ? "      %moves = arith.andi %some, %differ : i1" : "");
  fill("%SOME", copies ? "%moves" : "%some");
  fill("BUFFERS", each("\n      %NAME: PTR, %NAME_segment: i32, "
                       "%NAME_chunk: i32,",
                       ""));
  fill("ADDRESSES", eachOf(chunkAddress, llAddress, ""));
  fill("RESULTS", std::to_string(buffers.size() + 1));
  fill("BINDINGS", each("%NAME_at = %NAME_first", ", "));
  fill("POINTERS", each("%NAME_at", ", "));
  fill("ADVANCES", eachOf("      %NAME_next = llvm.getelementptr "
                          "%NAME_at[%piece] : (PTR, i64) -> PTR, i8",
                          "      %NAME_next = llvm.getelementptr "
                          "%NAME_at[%NAME_piece] : (PTR, i64) -> PTR, i8",
                          "\n"));
  fill("YIELDS", each("%NAME_next", ", "));
  fill("TYPES", each("PTR", ", "));
  return text;
}

static std::string geometryText(const HelperOptions &options) {
  std::string text = geometryFunction(options, {});
  if (options.combine)
    text += geometryFunction(options, {.combines = true});
  for (const LLShape &shape : options.ll)
    text += geometryFunction(options, shape) + llLoopsText(options, shape);
  return text;
}

//===----------------------------------------------------------------------===//
// Copying and combining on the host
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral hostCopy = R"mlir(
  llvm.func internal @coll_copy(%dst: PTR, %src: PTR, %bytes: i64)
      attributes {no_inline} {
    "llvm.intr.memcpy"(%dst, %src, %bytes) <{isVolatile = false}>
        : (PTR, PTR, i64) -> ()
    llvm.return
  }
)mlir";

// Stores that bypass the cache spare it the reading of lines that are about to
// be overwritten. On x86-64 a release does not order them, so that a fence ends
// the function.
static constexpr llvm::StringLiteral hostCopyStream = R"mlir(
  llvm.func internal @coll_copy_stream(%dst: PTR, %src: PTR, %bytes: i64)
      attributes {no_inline} {
    %zero = arith.constant 0 : i64
    %line_mask = arith.constant 63 : i64
    %tile = arith.constant 256 : i64
    %tile_mask = arith.constant -256 : i64
    %dst_int = llvm.ptrtoint %dst : PTR to i64
    %minus = arith.subi %zero, %dst_int : i64
    %to_line = arith.andi %minus, %line_mask : i64
    %head = arith.minui %to_line, %bytes : i64
    "llvm.intr.memcpy"(%dst, %src, %head) <{isVolatile = false}>
        : (PTR, PTR, i64) -> ()
    %rest = arith.subi %bytes, %head : i64
    %tiled = arith.andi %rest, %tile_mask : i64
    %end = arith.addi %head, %tiled : i64
    scf.for %at = %head to %end step %tile : i64 {
      %from = llvm.getelementptr %src[%at] : (PTR, i64) -> PTR, i8
      %to = llvm.getelementptr %dst[%at] : (PTR, i64) -> PTR, i8
LOADS
STORES
    }
    %left = arith.subi %bytes, %end : i64
    %from_end = llvm.getelementptr %src[%end] : (PTR, i64) -> PTR, i8
    %to_end = llvm.getelementptr %dst[%end] : (PTR, i64) -> PTR, i8
    "llvm.intr.memcpy"(%to_end, %from_end, %left) <{isVolatile = false}>
        : (PTR, PTR, i64) -> ()
    FENCE
    llvm.return
  }
)mlir";

// Combines into a piece of the stack, which stays in the cache, and copies from
// there.
static constexpr llvm::StringLiteral hostCombineStream = R"mlir(
  llvm.func internal @coll_combine_stream(%dst: PTR, %lhs: PTR, %rhs: PTR,
      %bytes: i64) attributes {no_inline} {
    %zero = arith.constant 0 : i64
    %piece = arith.constant 16384 : i64
    %tmp = llvm.alloca %piece x i8 {alignment = 64 : i64} : (i64) -> PTR
    scf.for %at = %zero to %bytes step %piece : i64 {
      %left = arith.subi %bytes, %at : i64
      %length = arith.minui %left, %piece : i64
      %to = llvm.getelementptr %dst[%at] : (PTR, i64) -> PTR, i8
      %pa = llvm.getelementptr %lhs[%at] : (PTR, i64) -> PTR, i8
      %pb = llvm.getelementptr %rhs[%at] : (PTR, i64) -> PTR, i8
      llvm.call @coll_combine(%tmp, %pa, %pb, %length) : (PTR, PTR, PTR, i64) -> ()
      llvm.call @coll_copy_stream(%to, %tmp, %length) : (PTR, PTR, i64) -> ()
    }
    llvm.return
  }
)mlir";

static std::string hostCopyStreamText() {
  std::string loads, stores;
  for (unsigned i = 0; i < 4; ++i) {
    std::string n = std::to_string(i), byte = std::to_string(i * 64);
    loads += "        %from" + n + " = llvm.getelementptr %from[" + byte +
             "] : (PTR) -> PTR, i8\n        %line" + n + " = llvm.load %from" +
             n + " {alignment = 1 : i64} : PTR -> vector<16xi32>\n";
    stores += "        %to" + n + " = llvm.getelementptr %to[" + byte +
              "] : (PTR) -> PTR, i8\n        llvm.store %line" + n + ", %to" +
              n +
              " {alignment = 64 : i64, nontemporal} : vector<16xi32>, PTR\n";
  }
  std::string text = replaceAll(hostCopyStream.str(), "LOADS", loads);
  text = replaceAll(std::move(text), "STORES", stores);
#if defined(__x86_64__)
  llvm::StringRef fence =
      "llvm.call_intrinsic \"llvm.x86.sse.sfence\"() : () -> ()";
#else
  llvm::StringRef fence = "llvm.fence release";
#endif
  return replaceAll(std::move(text), "FENCE", fence);
}

static std::string hostLoopsText(const HelperOptions &options) {
  bool streams = options.streamStride != 0;
  std::string text = hostCopy.str();
  if (streams)
    text += hostCopyStreamText();
  if (options.combine)
    text += hostCombineText(*options.combine);
  if (options.combine && streams)
    text += hostCombineStream.str();
  return text;
}

std::string coll::helperModuleText(const HelperOptions &options) {
  bool isHost = options.target == HelperTarget::Host;
  std::string text =
      geometryText(options) +
      (isHost ? hostLoopsText(options) : blockLoopsText(options)) +
      flagHelpersText(options) +
      (options.hasTables ? tableHelperText(options) : "");
  return "module {\n" +
         replaceAll(text, "PTR", isHost ? "!llvm.ptr" : "!llvm.ptr<1>") + "}\n";
}
