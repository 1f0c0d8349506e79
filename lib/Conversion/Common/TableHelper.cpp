//===- TableHelper.cpp - The interpreter of tables ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TableHelper.h"

#include "ProgramCode.h"

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

// Executes %count rows of a table, see CodeRow. What decides where the block
// goes on is made uniform, so that AMD's back end sees that whole waves go
// there together.
static constexpr llvm::StringLiteral execute = R"mlir(
  llvm.func LINKAGE @coll_execute(%code: PTR, %count_any: i32, %flags: PTR,
      %input: PTR, %output: PTR, %scratch: PTR, %control: PTR, %peers: PTR,
      %abort: PTR, %segment: i64, %distance: i64, %chunks: i32, %block: i32,
      %blocks: i32, %launch: i64) attributes {no_inline} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %launch32 = arith.trunci %launch : i64 to i32
    %odd = arith.andi %launch32, %c1 : i32
    %count = UNIFORM %count_any : i32
    scf.for %i = %c0 to %count step %c1 : i32 {
      %row_bytes = arith.constant CODE_ROW_BYTES : i32
      %at32 = arith.muli %i, %row_bytes : i32
      %at = arith.extui %at32 : i32 to i64
      %row = llvm.getelementptr %code[%at] : (PTR, i64) -> PTR, i8
      WORD(opcode, 0)
      %moves = arith.cmpi ult, %opcode, %c2 : i32
      scf.if %moves {
        SLOT(dst, 1)
        SLOT(src0, 5)
        WORD(position, 13)
        WORD(chunk_count, 14)
        REDUCE_OR_TRANSFER
      } else {
      PACKETS_OR_ELSE
        WORD(first, 1)
        WORD(flag_count, 2)
        %flag_bytes = arith.constant ROW_BYTES : i32
        %flags_at32 = arith.muli %first, %flag_bytes : i32
        %flags_at = arith.extui %flags_at32 : i32 to i64
        %rows = llvm.getelementptr %flags[%flags_at] : (PTR, i64) -> PTR, i8
        %signals = arith.cmpi eq, %opcode, %c2 : i32
        scf.if %signals {
          llvm.call @coll_signal(%rows, %flag_count, %peers, %block, %launch)
              : (PTR, i32, PTR, i32, i64) -> ()
        } else {
          llvm.call @coll_wait(%rows, %flag_count, %control, %block, %launch, %abort)
              : (PTR, i32, PTR, i32, i64, PTR) -> ()
        }
      END_OF_PACKETS
      }
    }
    llvm.return
  }

  llvm.func internal @coll_buffer(%where: i32, %input: PTR, %output: PTR,
      %scratch: PTR, %peers: PTR) -> PTR {
    %c0 = arith.constant 0 : i32
    %own_input = arith.constant -1 : i32
    %own_output = arith.constant -2 : i32
    %width = arith.constant 8 : i64
    %is_peer = arith.cmpi sge, %where, %c0 : i32
    %address = scf.if %is_peer -> (PTR) {
      %where64 = arith.extui %where : i32 to i64
      %at = arith.muli %where64, %width : i64
      %entry = llvm.getelementptr %peers[%at] : (PTR, i64) -> PTR, i8
      %peer = llvm.load %entry {alignment = 8 : i64} : PTR -> PTR
      scf.yield %peer : PTR
    } else {
      %is_input = arith.cmpi eq, %where, %own_input : i32
      %is_output = arith.cmpi eq, %where, %own_output : i32
      %other = arith.select %is_output, %output, %scratch : PTR
      %own = arith.select %is_input, %input, %other : PTR
      scf.yield %own : PTR
    }
    llvm.return %address : PTR
  }
)mlir";

static constexpr llvm::StringLiteral wordOfRow = R"mlir(
      %NAME_at = llvm.getelementptr %row[BYTE] : (PTR) -> PTR, i8
      %NAME_any = llvm.load %NAME_at {alignment = 4 : i64} : PTR -> i32
      %NAME = UNIFORM %NAME_any : i32
)mlir";

static constexpr llvm::StringLiteral slotOfRow = R"mlir(
        %NAME_shift = arith.muli %odd, %NAME_odd : i32
        %NAME_chunk = arith.addi %NAME_even, %NAME_shift : i32
        %NAME = llvm.call @coll_buffer(%NAME_where, %input, %output, %scratch,
            %peers) : (i32, PTR, PTR, PTR, PTR) -> PTR
)mlir";

static constexpr llvm::StringLiteral callTransfer = R"mlir(
        llvm.call @coll_transfer(%dst, %dst_segment, %dst_chunk, %src0,
            %src0_segment, %src0_chunk, %position, %chunk_count, %segment,
            %distance, %chunks, %block, %blocks)
            : (PTR, i32, i32, PTR, i32, i32, i32, i32, i64, i64, i32, i32, i32) -> ()
)mlir";

static constexpr llvm::StringLiteral callReduceOrTransfer = R"mlir(
        %reduces = arith.cmpi eq, %opcode, %c1 : i32
        scf.if %reduces {
          SLOT(src1, 9)
          READ_DIVISOR
          llvm.call @coll_reduce(%dst, %dst_segment, %dst_chunk, %src0,
              %src0_segment, %src0_chunk, %src1, %src1_segment, %src1_chunk,
              %position, %chunk_count, %segment, %distance, %chunks, %block,
              %blocksDIVISOR_OPERAND)
              : (PTR, i32, i32, PTR, i32, i32, PTR, i32, i32, i32, i32, i64,
                 i64, i32, i32, i32DIVISOR_TYPE) -> ()
        } else {
CALL_TRANSFER
        }
)mlir";

// Rows with LL words, see CodeRow.
static constexpr llvm::StringLiteral callLL = R"mlir(
      %first_shape = arith.constant FIRST_SHAPE : i32
      %has_ll = arith.cmpi uge, %opcode, %first_shape : i32
      scf.if %has_ll {
        SLOT(dst, 1)
        SLOT(src0, 5)
        SLOT(src1, 9)
        WORD(position, 13)
        WORD(chunk_count, 14)
        READ_DIVISOR
        SHAPES
      } else {
)mlir";

static constexpr llvm::StringLiteral callShape = R"mlir(
        %shapeNUMBER = arith.constant NUMBER : i32
        %isNUMBER = arith.cmpi eq, %opcode, %shapeNUMBER : i32
        scf.if %isNUMBER {
          llvm.call @HELPER(%dst, %dst_segment, %dst_chunk, %src0,
              %src0_segment, %src0_chunk, SECOND%position, %chunk_count,
              %segment, %distance, %chunks, %block, %blocks, %launch32,
              %abortDIVIDE)
              : (PTR, i32, i32, PTR, i32, i32, TYPES_OF_2ND i32, i32, i64, i64,
                 i32, i32, i32, i32, PTRTYPE_OF_DIVIDE) -> ()
        } else {
OTHERS
        }
)mlir";

/// The calls of all helpers that have to do with LL words, each within the else
/// of another: then nothing has to be kept across a call.
static std::string shapesText(const HelperOptions &options) {
  std::string text;
  for (const LLShape &shape : options.ll) {
    bool divides = shape.combines && options.averages();
    std::string call = callShape.str();
    for (auto [hole, part] :
         {std::pair<const char *, std::string>(
              "NUMBER", std::to_string(CodeRow::LL + shape.number())),
          {"HELPER",
           (shape.combines ? "coll_reduce" : "coll_transfer") + shape.suffix()},
          {"SECOND",
           shape.combines ? "%src1, %src1_segment, %src1_chunk, " : ""},
          {"TYPES_OF_2ND", shape.combines ? "PTR, i32, i32," : ""},
          {"TYPE_OF_DIVIDE", divides ? ", i32" : ""},
          {"DIVIDE", divides ? ", %divisor" : ""}})
      call = replaceAll(std::move(call), hole, part);
    text = replaceAll(std::move(call), "OTHERS", text);
  }
  return text;
}

static std::string wordText(llvm::StringRef name, unsigned word) {
  return replaceAll(replaceAll(wordOfRow.str(), "NAME", name), "BYTE",
                    std::to_string(word * sizeof(int32_t)));
}

static std::string slotText(llvm::StringRef name, unsigned word) {
  std::string text;
  for (llvm::StringRef part : {"where", "segment", "even", "odd"})
    text += wordText((name + "_" + part).str(), word++);
  return text + replaceAll(slotOfRow.str(), "NAME", name);
}

/// Puts the text of `WORD(name, number)` and `SLOT(name, number)` in its place.
static std::string expandRowReads(std::string text) {
  for (auto [macro, expand] :
       {std::pair("WORD(", &wordText), std::pair("SLOT(", &slotText)})
    for (size_t at; (at = text.find(macro)) != std::string::npos;) {
      size_t end = text.find(')', at);
      auto [name, number] =
          llvm::StringRef(text).slice(at + 5, end).split(", ");
      unsigned word = 0;
      number.getAsInteger(10, word);
      std::string part = expand(name, word);
      text.replace(at, end + 1 - at, part);
    }
  return text;
}

std::string coll::tableHelperText(const HelperOptions &options) {
  std::string text = execute.str();
  std::string call =
      options.combine ? callReduceOrTransfer.str() : callTransfer.str();
  text = replaceAll(std::move(text), "REDUCE_OR_TRANSFER",
                    replaceAll(call, "CALL_TRANSFER", callTransfer));
  bool hasLL = !options.ll.empty();
  for (auto [hole, part] : {std::pair<const char *, std::string>(
                                "PACKETS_OR_ELSE", hasLL ? callLL : ""),
                            {"SHAPES", shapesText(options)},
                            {"FIRST_SHAPE", std::to_string(CodeRow::LL)},
                            {"END_OF_PACKETS", hasLL ? "}" : ""}})
    text = replaceAll(std::move(text), hole, part);
  bool averages = options.averages();
  for (auto [hole, part] : {std::pair("READ_DIVISOR", "WORD(divisor, 15)"),
                            {"DIVISOR_OPERAND", ", %divisor"},
                            {"DIVISOR_TYPE", ", i32"}})
    text = replaceAll(std::move(text), hole, averages ? part : "");
  text = expandRowReads(std::move(text));
  bool isHost = options.target == HelperTarget::Host;
  text = replaceAll(std::move(text), "LINKAGE", isHost ? "internal" : "hidden");
  text = replaceAll(std::move(text), "CODE_ROW_BYTES",
                    std::to_string(CodeRow::words * sizeof(int32_t)));
  text = replaceAll(std::move(text), "ROW_BYTES",
                    std::to_string(FlagRow::words * sizeof(int32_t)));
  text = replaceAll(std::move(text), "UNIFORM",
                    options.target == HelperTarget::ROCDL
                        ? "rocdl.readfirstlane"
                        : "llvm.freeze");
  text = replaceAll(std::move(text), "PTR",
                    isHost ? "!llvm.ptr" : "!llvm.ptr<1>");
  return "module {\n" + text + "}\n";
}
