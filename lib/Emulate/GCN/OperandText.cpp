//===- OperandText.cpp - Operands of GCN as text --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandText.h"

#include "Emulate/Floats.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <bit>

using namespace sccl::emulate;
using namespace sccl::emulate::gcn;
using llvm::StringRef;

unsigned gcn::wordsOf(Kind kind) { return bitsOf(kind) == 64 ? 2 : 1; }

std::optional<Part> gcn::parsePart(StringRef text) {
  return llvm::StringSwitch<std::optional<Part>>(text)
      .Case("BYTE_0", Part{0, 8})
      .Case("BYTE_1", Part{8, 8})
      .Case("BYTE_2", Part{16, 8})
      .Case("BYTE_3", Part{24, 8})
      .Case("WORD_0", Part{0, 16})
      .Case("WORD_1", Part{16, 16})
      .Case("DWORD", Part{0, 32})
      .Default(std::nullopt);
}

std::optional<Operand> gcn::parseRegister(StringRef text) {
  Operand operand;
  operand.place = Place::Scalar;
  operand.words = 2;
  if (text == "vcc" || text == "exec") {
    operand.first = text == "vcc" ? VccRegister : ExecRegister;
    return operand;
  }
  char file = text.empty() ? ' ' : text.front();
  if (!StringRef("vsa").contains(file))
    return std::nullopt;
  StringRef numbers = text.drop_front();
  unsigned first, last;
  if (numbers.consume_front("[")) {
    if (!numbers.consume_back("]") || numbers.consumeInteger(10, first) ||
        !numbers.consume_front(":") || numbers.getAsInteger(10, last) ||
        last < first)
      return std::nullopt;
  } else {
    if (numbers.getAsInteger(10, first))
      return std::nullopt;
    last = first;
  }
  if (last > (file == 's' ? 101 : 255))
    return std::nullopt;
  operand.place = file == 's' ? Place::Scalar : Place::Vector;
  operand.first = first + (file == 'a' ? firstAccumulator : 0);
  operand.words = last - first + 1;
  return operand;
}

/// What "1.0" is where an instruction wants `kind`.
static std::optional<uint64_t> encode(double number, Kind kind) {
  switch (kind) {
  case Kind::Float64:
    return std::bit_cast<uint64_t>(number);
  case Kind::Float32:
  case Kind::Int32:
    return std::bit_cast<uint32_t>(float(number));
  case Kind::Float16:
    return encodeHalf(llvm::APFloat::IEEEhalf(), float(number), /*none=*/0);
  default:
    return std::nullopt;
  }
}

/// A number in the instruction: -16 to 64 have an encoding of their own, which
/// is extended by its sign; others have 32 bits.
static std::optional<uint64_t> parseNumber(StringRef text, Kind kind) {
  double fraction;
  if (text.contains('.') && !text.starts_with("0x"))
    return text.getAsDouble(fraction) ? std::nullopt : encode(fraction, kind);
  int64_t number;
  if (text.getAsInteger(0, number))
    return std::nullopt;
  bool isInline = number >= -16 && number <= 64;
  switch (kind) {
  case Kind::Short32:
    return uint32_t(int32_t(int16_t(number)));
  case Kind::Halves:
  case Kind::Floats:
    return number == 0 ? std::optional<uint64_t>(0) : std::nullopt;
  case Kind::Mask:
  case Kind::Int64:
    if (!isInline && (number < 0 || number >= int64_t(1) << 31))
      return std::nullopt; // how it is extended depends on the instruction
    return uint64_t(number);
  case Kind::Float64:
    return isInline ? std::optional(uint64_t(number)) : std::nullopt;
  default:
    return uint32_t(number);
  }
}

/// "NAME@rel32@lo+4": its distance from the number's own address.
static std::optional<uint64_t>
parseDistance(StringRef text, const Symbols &symbols, uint64_t literal) {
  auto [name, rest] = text.split("@rel32@");
  bool isHigh = rest.starts_with("hi");
  int64_t addend;
  auto found = symbols.addresses.find(name);
  if (found == symbols.addresses.end() ||
      (!isHigh && !rest.starts_with("lo")) || rest.drop_front(2).empty() ||
      rest.drop_front(3).getAsInteger(10, addend) || rest[2] != '+')
    return std::nullopt;
  uint64_t distance = found->second + addend - literal;
  return isHigh ? distance >> 32 : uint32_t(distance);
}

std::optional<Operand> gcn::parseOperand(StringRef text, Kind kind,
                                         const Symbols &symbols,
                                         uint64_t literal) {
  bool isSigned = text.consume_front("sext(") && text.consume_back(")");
  bool isNegated = text.starts_with("-") && text.size() > 1 &&
                   !llvm::isDigit(text[1]) && text.consume_front("-");
  bool isAbsolute = text.consume_front("|") && text.consume_back("|");
  std::optional<Operand> operand = parseRegister(text);
  bool isFloat =
      kind == Kind::Float16 || kind == Kind::Float32 || kind == Kind::Float64;
  if (operand) {
    if (operand->words != wordsOf(kind) ||
        ((isNegated || isAbsolute) && !isFloat))
      return std::nullopt;
  } else {
    std::optional<uint64_t> number = text.contains("@rel32@")
                                         ? parseDistance(text, symbols, literal)
                                         : parseNumber(text, kind);
    if (!number || isNegated || isAbsolute || isSigned)
      return std::nullopt;
    operand = Operand();
    operand->number = *number;
  }
  operand->kind = kind;
  operand->isNegated = isNegated;
  operand->isAbsolute = isAbsolute;
  operand->isSigned = isSigned;
  return operand;
}
