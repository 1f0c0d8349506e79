//===- InstructionDecoder.cpp - Decoding an instruction of GCN ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstructionDecoder.h"

#include "Emulate/Decoding.h"
#include "Emulate/Floats.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <bit>

using namespace sccl;
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

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Modifiers follow the last operand, between spaces.
void InstructionDecoder::splitText(const assembly::Instruction &instruction) {
  name = instruction.opcode;
  isSDWA = name.consume_back("_sdwa");
  if (!isSDWA && !name.consume_back("_e32"))
    name.consume_back("_e64");
  operands = splitOperands(instruction.operands);
  if (operands.empty())
    return;
  // Those without operands have modifiers only.
  bool hasOperands = !name.starts_with("buffer_wb") &&
                     !name.starts_with("buffer_inv") && name != "s_waitcnt";
  StringRef rest = operands.back();
  if (hasOperands)
    std::tie(operands.back(), rest) = rest.split(' ');
  else
    operands.pop_back();
  rest.split(modifiers, ' ', -1, /*KeepEmpty=*/false);
}

bool InstructionDecoder::take(StringRef modifier) {
  auto found = llvm::find(modifiers, modifier);
  if (found == modifiers.end())
    return false;
  modifiers.erase(found);
  return true;
}

std::optional<StringRef> InstructionDecoder::takeValue(StringRef name) {
  for (StringRef &modifier : modifiers) {
    StringRef value = modifier;
    if (!value.consume_front(name))
      continue;
    modifiers.erase(&modifier);
    return value;
  }
  return std::nullopt;
}

void InstructionDecoder::takeOffset() {
  std::optional<StringRef> value = takeValue("offset:");
  if (value && value->getAsInteger(0, op.offset))
    fail("unknown offset");
}

/// "op_sel:[0,1]": a bit for each source.
void InstructionDecoder::takeHalves(StringRef name, uint8_t &bits) {
  std::optional<StringRef> value = takeValue(name);
  if (!value)
    return;
  bits = 0;
  llvm::SmallVector<StringRef, 3> parts = {};
  value->trim("[]").split(parts, ',');
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (part != "0" && part != "1")
      fail("unknown modifier");
    bits |= (part == "1") << i;
  }
}

void InstructionDecoder::addResult(StringRef text, Kind kind) {
  std::optional<Operand> operand = parseOperand(text, kind, symbols, literal);
  if (!operand || operand->place == Place::Number)
    return fail("unknown operand");
  op.results.push_back(*operand);
}

void InstructionDecoder::addSource(StringRef text, Kind kind) {
  std::optional<Operand> operand = parseOperand(text, kind, symbols, literal);
  if (!operand)
    return fail("unknown operand");
  op.sources.push_back(*operand);
}

/// Adds `words` registers as they are.
void InstructionDecoder::addRegister(llvm::SmallVectorImpl<Operand> &to,
                                     StringRef text, Place place,
                                     unsigned words) {
  std::optional<Operand> operand = parseRegister(text);
  if (!operand || operand->place != place || operand->words != words)
    return fail("unknown operand");
  to.push_back(*operand);
}

Result<Op> InstructionDecoder::decode(const assembly::Instruction &instruction,
                                      uint32_t first) {
  splitText(instruction);
  if (!decodeControl(instruction, first) && !decodeJump() && !decodeMemory() &&
      !decodeSpecial())
    decodeCompute();
  if (!modifiers.empty())
    fail("unknown modifier");
  if (!error.empty())
    return Error{error};
  return std::move(op);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

bool InstructionDecoder::decodeControl(const assembly::Instruction &instruction,
                                       uint32_t first) {
  auto condition = llvm::StringSwitch<std::optional<Condition>>(name)
                       .Case("s_branch", Condition::Always)
                       .Case("s_cbranch_scc0", Condition::SCC0)
                       .Case("s_cbranch_scc1", Condition::SCC1)
                       .Case("s_cbranch_vccz", Condition::VccZero)
                       .Case("s_cbranch_vccnz", Condition::VccNotZero)
                       .Case("s_cbranch_execz", Condition::ExecZero)
                       .Case("s_cbranch_execnz", Condition::ExecNotZero)
                       .Default(std::nullopt);
  if (condition)
    decodeBranch(instruction, first, *condition);
  else if (name == "s_barrier")
    op.form = Form::Barrier;
  else if (name == "s_endpgm")
    op.form = Form::End;
  else if (name == "s_waitcnt")
    decodeWait();
  else if (name != "s_nop") // which is Form::Nothing
    return false;
  return true;
}

void InstructionDecoder::decodeBranch(const assembly::Instruction &instruction,
                                      uint32_t first, Condition condition) {
  op.form = Form::Branch;
  op.condition = condition;
  // The one that comes next is among them, too.
  bool isFound =
      instruction.next.size() == (condition == Condition::Always ? 1 : 2);
  if (!isFound)
    return fail("unknown label");
  op.target = first + instruction.next.front();
}

/// Accesses of lanes end in their order, and scalar ones in any.
void InstructionDecoder::decodeWait() {
  op.form = Form::Wait;
  unsigned count;
  if (std::optional<StringRef> value = takeValue("vmcnt(")) {
    if (!value->consume_back(")") || value->getAsInteger(10, count) ||
        count > 63)
      return fail("unknown count");
    op.vectorWait = count;
  }
  op.scalarWait = take("lgkmcnt(0)");
  take("expcnt(0)"); // exports: none
}

bool InstructionDecoder::decodeJump() {
  if (name == "s_getpc_b64") {
    op.form = Form::GetPC;
    if (operands.size() == 1)
      addRegister(op.results, operands[0], Place::Scalar, 2);
  } else if (name == "s_swappc_b64") {
    op.form = Form::Call;
    if (operands.size() == 2) {
      addRegister(op.results, operands[0], Place::Scalar, 2);
      addRegister(op.sources, operands[1], Place::Scalar, 2);
    }
  } else if (name == "s_setpc_b64") {
    op.form = Form::Jump;
    if (operands.size() == 1)
      addRegister(op.sources, operands[0], Place::Scalar, 2);
  } else {
    return false;
  }
  if (op.results.empty() && op.sources.empty())
    fail("unexpected number of operands");
  return true;
}

//===----------------------------------------------------------------------===//
// Registers and numbers
//===----------------------------------------------------------------------===//

/// What does more than to compute in each lane.
bool InstructionDecoder::decodeSpecial() {
  StringRef saveExec = name;
  bool isRead = name == "v_readlane_b32", isWrite = name == "v_writelane_b32";
  if (saveExec.consume_front("s_") && saveExec.consume_back("_saveexec_b64")) {
    op.form = Form::SaveExec;
    op.opcode = findOpcode("s_" + saveExec.str() + "_b64");
    if (!op.opcode || operands.size() != 2)
      return fail("unknown opcode"), true;
    addResult(operands[0], Kind::Int64);
    addSource(operands[1], Kind::Int64);
    return true;
  }
  if (name == "v_readfirstlane_b32" && operands.size() == 2) {
    op.form = Form::ReadFirst;
    addRegister(op.results, operands[0], Place::Scalar, 1);
    addRegister(op.sources, operands[1], Place::Vector, 1);
    return true;
  }
  if (name == "s_memrealtime" && operands.size() == 1) {
    op.form = Form::ReadClock;
    addRegister(op.results, operands[0], Place::Scalar, 2);
    return true;
  }
  if ((!isRead && !isWrite) || operands.size() != 3)
    return false;
  op.form = isRead ? Form::ReadLane : Form::WriteLane;
  addRegister(op.results, operands[0], isRead ? Place::Scalar : Place::Vector,
              1);
  if (isRead)
    addRegister(op.sources, operands[1], Place::Vector, 1);
  else
    addSource(operands[1], Kind::Int32);
  addSource(operands[2], Kind::Int32);
  return true;
}

void InstructionDecoder::decodeCompute() {
  op.opcode = findOpcode(name);
  if (!op.opcode)
    return fail("unknown opcode");
  op.form = name.starts_with("s_") ? Form::Scalar : Form::Vector;
  size_t next = 0;
  auto takeOperand = [&] {
    return next < operands.size() ? operands[next++] : StringRef();
  };
  for (Kind kind : op.opcode->results)
    if (kind != Kind::SCC)
      addResult(takeOperand(), kind);
  for (Kind kind : op.opcode->sources) {
    if (kind == Kind::Result) {
      op.sources.push_back(op.results.empty() ? Operand() : op.results[0]);
    } else if (kind == Kind::VCC) {
      addSource("vcc", Kind::Mask);
    } else if (kind != Kind::SCC) {
      addSource(takeOperand(), kind);
    }
  }
  if (next != operands.size())
    fail("unexpected number of operands");
  bool isVector = op.form == Form::Vector;
  for (const Operand &result : op.results)
    if ((result.place == Place::Vector) !=
        (isVector && result.kind != Kind::Mask))
      fail("unexpected operand");
  for (const Operand &source : op.sources)
    if (!isVector && source.place == Place::Vector)
      fail("unexpected operand");
  decodeParts();
}

/// SDWA, and halves of registers.
void InstructionDecoder::decodeParts() {
  if (llvm::is_contained({Kind::Halves, Kind::Floats},
                         op.opcode->sources.front())) {
    op.form = Form::Packed;
    op.high = 3;
    takeHalves("op_sel:", op.low);
    takeHalves("op_sel_hi:", op.high);
    return;
  }
  if (!isSDWA)
    return;
  auto takePart = [&](StringRef name, Part &part) {
    std::optional<StringRef> text = takeValue(name);
    std::optional<Part> found = text ? parsePart(*text) : std::nullopt;
    if (!found)
      return fail("unknown modifier");
    part = *found;
  };
  if (op.results.empty() || op.sources.empty())
    return fail("unexpected operand");
  if (op.results.front().kind != Kind::Mask) {
    takePart("dst_sel:", op.part);
    if (!take("dst_unused:UNUSED_PAD"))
      fail("unknown modifier");
  }
  takePart("src0_sel:", op.sources[0].part);
  if (op.sources.size() > 1)
    takePart("src1_sel:", op.sources[1].part);
}
