//===- LLHelpers.cpp - Moving and combining LL words -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLHelpers.h"

#include "FlagHelpers.h"

#include <functional>

using namespace sccl;
using namespace sccl::coll;

std::string LLShape::suffix() const {
  std::string letters = "_";
  for (bool isLL : {dst, src0, src1})
    letters += isLL ? 'p' : 'm';
  return combines ? letters : letters.substr(0, 3);
}

// A thread takes every SPAN-th byte's word of 4 bytes; the last one may be cut
// short. A thread that gives up because the launch is aborted stores nothing
// and ends its loop.
static constexpr llvm::StringLiteral loop = R"mlir(
  llvm.func internal @NAME(PARAMETERS, %bytes: i64, %launch: i32,
      %abort: PTRDIVISOR_PARAMETER) attributes {no_inline} {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %four = arith.constant 4 : i64
    %eight = arith.constant 8 : i64
    %low_bits = arith.constant 3 : i64
    %half = arith.constant 32 : i64
    %often = arith.constant 63 : i64
    %patience = arith.constant 200 : i64
    %zero32 = arith.constant 0 : i32
    %eight32 = arith.constant 8 : i32
    %true = arith.constant true
    %span = arith.constant SPAN : i64
    %launch64 = arith.extui %launch : i32 to i64
    %stamp = arith.shli %launch64, %half : i64
PROLOGUE
    scf.while (%at = FIRST) : (i64) -> i64 {
      %more = arith.cmpi slt, %at, %bytes : i64
      scf.condition(%more) %at : i64
    } do {
    ^bb0(%at: i64):
      %left = arith.subi %bytes, %at : i64
      %size = arith.minsi %left, %four : i64
      %is_whole = arith.cmpi eq, %size, %four : i64
      %twice = arith.addi %at, %at : i64
BODY
      %after = arith.addi %at, %span : i64
      %next = arith.select %fine, %after, %bytes : i64
      scf.yield %next : i64
    }
    llvm.return
  }
)mlir";

static constexpr llvm::StringLiteral firstOfThread = R"mlir(
    %tid_index = gpu.thread_id x
    %tid = arith.index_cast %tid_index : index to i64
    %first = arith.muli %tid, %four : i64
)mlir";

// Number and data come in one access, so nothing has to be ordered. The abort
// word is looked at every 64 polls.
static constexpr llvm::StringLiteral pollLL = R"mlir(
      %SRC_at = llvm.getelementptr %SRC[%twice] : (PTR, i64) -> PTR, i8
      %SRC_end:3 = scf.while (%polls = %zero) : (i64) -> (i64, i1, i64) {
        %word = llvm.load %SRC_at atomic monotonic {alignment = 8 : i64}
            : PTR -> i64
        %high = arith.shrui %word, %half : i64
        %number = arith.trunci %high : i64 to i32
        %early = arith.cmpi ne, %number, %launch : i32
        %phase = arith.andi %polls, %often : i64
        %look = arith.cmpi eq, %phase, %often : i64
        %alive = scf.if %look -> (i1) {
          %abort_word = llvm.load %abort atomic monotonic {alignment = 8 : i64}
              : PTR -> i64
          %is_zero = arith.cmpi eq, %abort_word, %zero : i64
          scf.yield %is_zero : i1
        } else {
          scf.yield %true : i1
        }
        %again = arith.andi %early, %alive : i1
        scf.condition(%again) %word, %early, %polls : i64, i1, i64
      } do {
      ^bb0(%word: i64, %early: i1, %polls: i64):
        PAUSE
        %more_polls = arith.addi %polls, %one : i64
        scf.yield %more_polls : i64
      }
      %SRC_came = arith.xori %SRC_end#1, %true : i1
      %SRC_data = arith.trunci %SRC_end#0 : i64 to i32
)mlir";

// Ranks may outnumber cores.
static constexpr llvm::StringLiteral hostPause = R"mlir(
        %long = arith.cmpi ugt, %polls, %patience : i64
        scf.if %long {
          %ignored = llvm.call @sched_yield() : () -> i32
        }
)mlir";

// True if the 4 bytes at %POINTER_at can be accessed as one word.
static constexpr llvm::StringLiteral isWord = R"mlir(
      %POINTER_at = llvm.getelementptr %POINTER[%at] : (PTR, i64) -> PTR, i8
      %POINTER_int = llvm.ptrtoint %POINTER_at : PTR to i64
      %POINTER_low = arith.andi %POINTER_int, %low_bits : i64
      %POINTER_even = arith.cmpi eq, %POINTER_low, %zero : i64
      %POINTER_is_word = arith.andi %POINTER_even, %is_whole : i1
)mlir";

static constexpr llvm::StringLiteral loadPlain = R"mlir(
      %SRC_data = scf.if %SRC_is_word -> (i32) {
        %word = llvm.load %SRC_at {alignment = 4 : i64} : PTR -> i32
        scf.yield %word : i32
      } else {
        %bytes_of_word = scf.for %i = %zero to %size step %one
            iter_args(%below = %zero32) -> (i32) : i64 {
          %byte_at = llvm.getelementptr %SRC_at[%i] : (PTR, i64) -> PTR, i8
          %byte = llvm.load %byte_at {alignment = 1 : i64} : PTR -> i8
          %wide = arith.extui %byte : i8 to i32
          %i32 = arith.trunci %i : i64 to i32
          %shift = arith.muli %i32, %eight32 : i32
          %placed = arith.shli %wide, %shift : i32
          %joined = arith.ori %below, %placed : i32
          scf.yield %joined : i32
        }
        scf.yield %bytes_of_word : i32
      }
)mlir";

static constexpr llvm::StringLiteral storePlain = R"mlir(
      scf.if %fine {
        scf.if %dst_is_word {
          llvm.store RESULT, %dst_at {alignment = 4 : i64} : i32, PTR
        } else {
          scf.for %i = %zero to %size step %one : i64 {
            %i32 = arith.trunci %i : i64 to i32
            %shift = arith.muli %i32, %eight32 : i32
            %placed = arith.shrui RESULT, %shift : i32
            %byte = arith.trunci %placed : i32 to i8
            %byte_at = llvm.getelementptr %dst_at[%i] : (PTR, i64) -> PTR, i8
            llvm.store %byte, %byte_at {alignment = 1 : i64} : i8, PTR
          }
        }
      }
)mlir";

static constexpr llvm::StringLiteral storeLL = R"mlir(
      %dst_at = llvm.getelementptr %dst[%twice] : (PTR, i64) -> PTR, i8
      %data64 = arith.extui RESULT : i32 to i64
      %packet = arith.ori %data64, %stamp : i64
      scf.if %fine {
        llvm.store %packet, %dst_at atomic monotonic {alignment = 8 : i64}
            : i64, PTR
      }
)mlir";

namespace {
/// Writes one loop.
class LLLoopWriter {
public:
  LLLoopWriter(const HelperOptions &options, const LLShape &shape, bool divides)
      : options(options), shape(shape), divides(divides) {}

  std::string function(llvm::StringRef name) {
    bool isHost = options.target == HelperTarget::Host;
    std::string prologue = prologueText();
    std::string body = bodyText();
    std::string parameters = "%dst: PTR, %src0: PTR";
    if (shape.combines)
      parameters += ", %src1: PTR";
    std::string code = loop.str();
    for (auto [hole, part] :
         {std::pair<const char *, std::string>("PROLOGUE", prologue),
          {"BODY", body},
          {"PAUSE", isHost ? hostPause.str() : ""},
          {"FIRST", isHost ? "%zero" : "%first"},
          {"SPAN", std::to_string(llDataBytes * options.blockSize)},
          {"DIVISOR_PARAMETER", divides ? ", %divisor: i32" : ""},
          {"PARAMETERS", parameters},
          {"NAME", name.str()}})
      code = replaceAll(std::move(code), hole, part);
    return code;
  }

private:
  std::string fresh(const std::string &operation) {
    std::string name = "%v" + std::to_string(next++);
    text += "      " + name + " = " + operation + "\n";
    return name;
  }

  std::string prologueText() {
    if (options.target != HelperTarget::Host)
      text += firstOfThread;
    if (divides)
      divisor = writer().divisor("%divisor");
    return std::exchange(text, "");
  }

  std::string bodyText() {
    std::string result = "%src0_data";
    load("%src0", shape.src0);
    if (shape.combines) {
      load("%src1", shape.src1);
      result = combine();
    }
    std::string end = "      %fine = " + fine() + "\n";
    end += shape.dst ? storeLL.str()
                     : replaceAll(isWord.str(), "%POINTER", "%dst") +
                           storePlain.str();
    text += replaceAll(std::move(end), "RESULT", result);
    return std::exchange(text, "");
  }

  void load(const std::string &source, bool isLL) {
    text += replaceAll(isLL ? pollLL.str()
                            : replaceAll(isWord.str(), "%POINTER", "%SRC") +
                                  loadPlain.str(),
                       "%SRC", source);
  }

  /// Tells whether all LL words have come.
  std::string fine() const {
    std::string first = shape.src0 ? "%src0_came" : "%true";
    std::string second = shape.src1 ? "%src1_came" : "%true";
    return "arith.andi " + first + ", " + second + " : i1";
  }

  unsigned lanes() const {
    unsigned elements = llDataBytes / options.combine->element.bytes;
    return elements == 1 ? 0 : elements;
  }

  CombineWriter writer() {
    return CombineWriter(*options.combine, lanes(), definer);
  }

  /// The elements of a word are combined side by side, also those beyond the
  /// end.
  std::string combine() {
    std::string type = writer().memoryType();
    std::string operands[2];
    for (unsigned i = 0; i < 2; ++i) {
      operands[i] = "%src" + std::to_string(i) + "_data";
      if (type != "i32")
        operands[i] =
            fresh("llvm.bitcast " + operands[i] + " : i32 to " + type);
    }
    std::string result = writer().combine(operands[0], operands[1], divisor);
    if (type != "i32")
      result = fresh("llvm.bitcast " + result + " : " + type + " to i32");
    return result;
  }

  const HelperOptions &options;
  const LLShape &shape;
  bool divides;
  std::function<std::string(const std::string &)> definer =
      [this](const std::string &s) { return fresh(s); };
  std::string divisor;
  std::string text;
  unsigned next = 0;
};
} // namespace

std::optional<std::string> coll::whyNoLL(const ElementOp &op) {
  if (op.element.bytes <= llDataBytes)
    return std::nullopt;
  return "LL words carry " + std::to_string(llDataBytes) +
         " bytes each, but elements of " + std::string(op.element.name) +
         " have " + std::to_string(op.element.bytes);
}

std::string coll::llLoopsText(const HelperOptions &options,
                              const LLShape &shape) {
  auto write = [&](const char *name, bool divides) {
    return LLLoopWriter(options, shape, divides)
        .function(name + shape.suffix());
  };
  if (!shape.combines)
    return write("coll_copy", false);
  std::string text = write("coll_combine", false);
  if (options.averages())
    text += write("coll_average", true);
  return text;
}
