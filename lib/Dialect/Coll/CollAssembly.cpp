//===- CollAssembly.cpp - Custom assembly of coll ops ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pieces of syntax that ODS cannot spell, and the generated op classes that
// use them.
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/CollOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace sccl::coll;

/// "all_gather" or "@mine".
static ParseResult parseCollectiveRef(OpAsmParser &parser, Attribute &ref) {
  StringAttr symbol;
  if (succeeded(parser.parseOptionalSymbolName(symbol))) {
    ref = FlatSymbolRefAttr::get(symbol);
    return success();
  }
  std::string keyword;
  if (parser.parseKeywordOrString(&keyword))
    return failure();
  ref = parser.getBuilder().getStringAttr(keyword);
  return success();
}

static void printCollectiveRef(OpAsmPrinter &printer, Operation *,
                               Attribute ref) {
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(ref))
    printer.printSymbolName(symbol.getValue());
  else
    printer.printKeywordOrString(cast<StringAttr>(ref).getValue());
}

/// "all_gather".
static ParseResult parseKindName(OpAsmParser &parser, StringAttr &name) {
  std::string keyword;
  if (parser.parseKeywordOrString(&keyword))
    return failure();
  name = parser.getBuilder().getStringAttr(keyword);
  return success();
}

static void printKindName(OpAsmPrinter &printer, Operation *, StringAttr name) {
  printer.printKeywordOrString(name.getValue());
}

/// "bandwidth = 3", "unlimited" for 0, or nothing.
static OptionalParseResult parseLinkBandwidth(OpAsmParser &parser,
                                              IntegerAttr &bandwidth) {
  Type type = parser.getBuilder().getI32Type();
  if (succeeded(parser.parseOptionalKeyword("unlimited"))) {
    bandwidth = IntegerAttr::get(type, 0);
    return ParseResult::success();
  }
  if (failed(parser.parseOptionalKeyword("bandwidth")))
    return std::nullopt;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseEqual() || parser.parseAttribute(bandwidth, type))
    return ParseResult::failure();
  if (bandwidth.getValue().isZero())
    return parser.emitError(loc, "a bandwidth of 0 is none; say 'unlimited' "
                                 "if nothing bounds the link");
  return success();
}

static void printLinkBandwidth(OpAsmPrinter &printer, Operation *,
                               IntegerAttr bandwidth) {
  if (bandwidth.getValue().isZero())
    printer << "unlimited";
  else
    printer << "bandwidth = " << bandwidth.getValue();
}

/// "[0 -> 1, 0 -> 2]".
static ParseResult parseLinkList(OpAsmParser &parser, DenseI32ArrayAttr &srcs,
                                 DenseI32ArrayAttr &dsts) {
  SmallVector<int32_t> from, to;
  auto parseLink = [&] {
    return failure(parser.parseInteger(from.emplace_back()) ||
                   parser.parseArrow() ||
                   parser.parseInteger(to.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseLink))
    return failure();
  srcs = parser.getBuilder().getDenseI32ArrayAttr(from);
  dsts = parser.getBuilder().getDenseI32ArrayAttr(to);
  return success();
}

static void printLinkList(OpAsmPrinter &printer, Operation *,
                          DenseI32ArrayAttr srcs, DenseI32ArrayAttr dsts) {
  printer << '[';
  llvm::interleaveComma(
      llvm::zip(srcs.asArrayRef(), dsts.asArrayRef()), printer, [&](auto link) {
        printer << std::get<0>(link) << " -> " << std::get<1>(link);
      });
  printer << ']';
}

/// "3", "4 to 9" or "0 to 30 by 10".
static ParseResult parseChunkRange(OpAsmParser &parser,
                                   SmallVector<int32_t> &numbers) {
  int32_t first, last, stride = 1;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(first))
    return failure();
  if (failed(parser.parseOptionalKeyword("to"))) {
    numbers.append({first, 1, 1});
    return success();
  }
  if (parser.parseInteger(last) ||
      (succeeded(parser.parseOptionalKeyword("by")) &&
       parser.parseInteger(stride)))
    return failure();
  if (first < 0 || last < first || stride < 1 ||
      (int64_t(last) - first) % stride != 0)
    return parser.emitError(loc) << "no chunks lead from " << first << " to "
                                 << last << " by " << stride;
  int64_t count = (int64_t(last) - first) / stride + 1;
  if (count > std::numeric_limits<int32_t>::max())
    return parser.emitError(loc) << "a range of " << count << " chunks";
  numbers.append({first, int32_t(count), count == 1 ? 1 : stride});
  return success();
}

static ParseResult parseChunkRanges(OpAsmParser &parser,
                                    DenseI32ArrayAttr &ranges) {
  SmallVector<int32_t> numbers;
  if (parser.parseCommaSeparatedList(
          [&] { return parseChunkRange(parser, numbers); }))
    return failure();
  ranges = parser.getBuilder().getDenseI32ArrayAttr(numbers);
  return success();
}

static void printChunkRanges(OpAsmPrinter &printer, Operation *,
                             DenseI32ArrayAttr ranges) {
  llvm::interleaveComma(toChunkRanges(ranges), printer,
                        [&](const sccl::ChunkRange &range) {
                          printer << int32_t(range.first);
                          if (range.count > 1)
                            printer << " to " << range[range.count - 1];
                          if (range.count > 1 && range.stride > 1)
                            printer << " by " << range.stride;
                        });
}

/// "output[3]", or "output[3 by 8]" if repetitions are 8 slots apart.
static ParseResult parseBufferSlot(OpAsmParser &parser, BufferAttr &buffer,
                                   IntegerAttr &slot, IntegerAttr &stride) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  int32_t number, distance = 0;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Buffer> value = symbolizeBuffer(keyword);
  if (!value)
    return parser.emitError(loc)
           << "expected input, output or scratch, got " << keyword;
  if (parser.parseLSquare() || parser.parseInteger(number) ||
      (succeeded(parser.parseOptionalKeyword("by")) &&
       parser.parseInteger(distance)) ||
      parser.parseRSquare())
    return failure();
  buffer = BufferAttr::get(parser.getContext(), *value);
  slot = parser.getBuilder().getI32IntegerAttr(number);
  stride = parser.getBuilder().getI32IntegerAttr(distance);
  return success();
}

static void printBufferSlot(OpAsmPrinter &printer, Operation *,
                            BufferAttr buffer, IntegerAttr slot,
                            IntegerAttr stride) {
  printer << stringifyBuffer(buffer.getValue()) << '[' << slot.getInt();
  if (stride && stride.getInt() != 0)
    printer << " by " << stride.getInt();
  printer << ']';
}

/// "ready" or "arrival".
static ParseResult parseFlagKeyword(OpAsmParser &parser, FlagAttr &flag) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Flag> value = symbolizeFlag(keyword);
  if (!value)
    return parser.emitError(loc)
           << "expected ready or arrival, got " << keyword;
  flag = FlagAttr::get(parser.getContext(), *value);
  return success();
}

static void printFlagKeyword(OpAsmPrinter &printer, Operation *,
                             FlagAttr flag) {
  printer << stringifyFlag(flag.getValue());
}

#define GET_OP_CLASSES
#include "sccl/Dialect/Coll/CollOps.cpp.inc"
