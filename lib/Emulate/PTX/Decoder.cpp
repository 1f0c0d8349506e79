//===- Decoder.cpp - Decoding PTX -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXCode.h"

#include "Emulate/Decoding.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

using namespace sccl;
using namespace sccl::emulate;
using llvm::StringRef;

namespace {
/// What functions of a module share while they are decoded.
struct Names {
  llvm::StringMap<uint32_t> functions, opcodes;
  llvm::StringMap<uint64_t> constants;
};

/// The operands in the brackets around `text`.
llvm::SmallVector<StringRef, 4> inBrackets(StringRef text) {
  return splitOperands(text.drop_front().drop_back());
}

std::optional<uint64_t> parseNumber(StringRef text) {
  uint64_t bits;
  if (text.starts_with("0f") || text.starts_with("0d"))
    return text.drop_front(2).getAsInteger(16, bits) ? std::nullopt
                                                     : std::optional(bits);
  int64_t number;
  text.consume_back("U");
  if (!text.getAsInteger(0, number))
    return uint64_t(number);
  return text.getAsInteger(0, bits) ? std::nullopt : std::optional(bits);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// The size of an element of type "b32", "s8", "f64".
bool decodeType(Op &op, StringRef type) {
  unsigned bits;
  op.isSigned = type.starts_with("s");
  if (type.empty() || !StringRef("bsuf").contains(type.front()) ||
      type.drop_front().getAsInteger(10, bits) || bits % 8 != 0 || bits > 64)
    return false;
  op.bytes = bits / 8;
  return true;
}

/// Reads ".relaxed.sys.global.v2.b64"; returns the number of elements, or 0.
unsigned decodeParts(Op &op, StringRef opcode, bool &isParameter) {
  llvm::SmallVector<StringRef> parts;
  opcode.split(parts, '.');
  unsigned elements = 1;
  bool isGlobal = false, isScoped = false;
  for (StringRef part : llvm::ArrayRef(parts).drop_front().drop_back()) {
    if (part == "param")
      isParameter = true;
    else if (part == "global")
      isGlobal = true;
    else if (part == "relaxed")
      op.order = Order::Relaxed;
    else if (part == "acquire" && parts.front() == "ld")
      op.order = Order::Acquire;
    else if (part == "release" && parts.front() == "st")
      op.order = Order::Release;
    else if (decodeScope(op, part))
      isScoped = true;
    else if (part == "v2" || part == "v4")
      elements = part == "v2" ? 2 : 4;
    else
      return 0;
  }
  bool isKnown = isGlobal != isParameter &&
                 isScoped == (op.order != Order::Weak) &&
                 decodeType(op, parts.back());
  return isKnown ? elements : 0;
}

/// Decodes one function. Errors are remembered; the first counts.
class FunctionDecoder {
public:
  FunctionDecoder(const assembly::Function &text, Names &names)
      : text(text), names(names) {
    for (StringRef special : {"%tid.x", "%ctaid.x", "%ntid.x", "%nctaid.x"})
      slotOf(special);
  }

  Result<Function> decode() {
    for (const assembly::Instruction &instruction : text.code) {
      function.ops.push_back(decodeOne(instruction));
      if (!error.empty())
        return Error{"line " + std::to_string(instruction.line) + ": " + error +
                     ": " + instruction.text.str()};
    }
    // By position, however few of them the text names.
    for (unsigned i = 0; i <= lastParameter; ++i)
      function.parameters.push_back(
          slotOf(text.name + "_param_" + std::to_string(i)));
    function.results.push_back(slotOf("func_retval0"));
    function.slots = slots.size();
    return std::move(function);
  }

private:
  void fail(const char *message) {
    if (error.empty())
      error = message;
  }

  uint32_t slotOf(StringRef name) {
    StringRef number = name;
    unsigned index;
    if (number.consume_front(text.name + "_param_") &&
        !number.getAsInteger(10, index))
      lastParameter = std::max(lastParameter, index);
    return slots.try_emplace(name, slots.size()).first->second;
  }

  uint32_t resultOf(StringRef name) {
    if (!name.starts_with("%"))
      fail("unknown operand");
    return slotOf(name);
  }

  Operand operandOf(StringRef name) {
    if (name.starts_with("%"))
      return {true, slotOf(name)};
    if (std::optional<uint64_t> number = parseNumber(name))
      return {false, *number};
    auto constant = names.constants.find(name);
    if (constant == names.constants.end())
      fail("unknown operand");
    return {false, constant == names.constants.end() ? 0 : constant->second};
  }

  Op decodeOne(const assembly::Instruction &instruction) {
    Op op;
    op.line = instruction.line;
    StringRef opcode = instruction.opcode;
    op.name =
        names.opcodes.try_emplace(opcode, names.opcodes.size()).first->second;
    if (instruction.predicated) {
      StringRef guard = instruction.text.split(' ').first.drop_front();
      op.isGuarded = true;
      op.isGuardNegated = guard.consume_front("!");
      op.guard = slotOf(guard);
    }
    llvm::SmallVector<StringRef, 4> operands =
        splitOperands(instruction.operands);
    StringRef verb = opcode.split('.').first;
    if (verb == "ld" || verb == "st" || verb == "multimem")
      decodeAccess(op, opcode, operands);
    else if (verb == "bra")
      decodeBranch(op, instruction);
    else if (verb == "call")
      decodeCall(op, operands);
    else if (!decodeControl(op, opcode, instruction.operands))
      decodeCompute(op, opcode, operands);
    return op;
  }

  /// "mov.b64 {%r1, %r2}, %rd1" and the other way round. A result that nobody
  /// needs is called "_", or "tmp", a register of its line, where PTX is too
  /// old.
  bool decodePack(Op &op, StringRef opcode,
                  llvm::ArrayRef<StringRef> operands) {
    if (!opcode.starts_with("mov.b") || operands.size() != 2 ||
        operands[0].starts_with("{") == operands[1].starts_with("{"))
      return false;
    bool isUnpack = operands[0].starts_with("{");
    op.form = isUnpack ? Form::Unpack : Form::Pack;
    llvm::SmallVector<StringRef, 4> narrow =
        inBrackets(operands[isUnpack ? 0 : 1]);
    decodeType(op, opcode.rsplit('.').second);
    op.bytes /= narrow.size();
    if (isUnpack)
      op.sources.push_back(operandOf(operands[1]));
    else
      op.results.push_back(resultOf(operands[0]));
    for (StringRef name : narrow)
      if (isUnpack)
        op.results.push_back(name == "_" || name == "tmp" ? slotOf(name)
                                                          : resultOf(name));
      else
        op.sources.push_back(operandOf(name));
    return true;
  }

  void decodeCompute(Op &op, StringRef opcode,
                     llvm::ArrayRef<StringRef> operands) {
    if (decodePack(op, opcode, operands))
      return;
    if (opcode == "mov.u64" && operands.size() == 2 &&
        operands[1] == "%globaltimer") {
      op.form = Form::ReadClock;
      op.results.push_back(resultOf(operands[0]));
      return;
    }
    op.opcode = findOpcode(opcode);
    if (!op.opcode)
      return fail("unknown opcode");
    if (operands.size() != op.opcode->operands + 1)
      return fail("unexpected number of operands");
    op.results.push_back(resultOf(operands.front()));
    for (StringRef operand : operands.drop_front())
      op.sources.push_back(operandOf(operand));
  }

  bool decodeControl(Op &op, StringRef opcode, StringRef operands) {
    if (opcode == "bar.sync" && operands == "0")
      op.form = Form::Barrier;
    else if (opcode == "ret")
      op.form = Form::Return;
    else if (opcode == "exit")
      op.form = Form::Exit;
    else if (opcode.starts_with("fence.acq_rel.") ||
             opcode.starts_with("fence.sc."))
      op.form = Form::Fence;
    else if (opcode == "fence.proxy.alias")
      op.form = Form::AliasFence;
    else
      return false;
    if (op.form == Form::Fence && !decodeScope(op, opcode.rsplit('.').second))
      fail("unknown scope");
    return true;
  }

  void decodeBranch(Op &op, const assembly::Instruction &instruction) {
    op.form = Form::Branch;
    if (instruction.next.empty())
      return fail("unknown label");
    op.target = instruction.next.front();
  }

  void decodeCall(Op &op, llvm::ArrayRef<StringRef> operands) {
    op.form = Form::Call;
    if (!operands.empty() && operands.front().starts_with("(")) {
      for (StringRef result : inBrackets(operands.front()))
        op.results.push_back(slotOf(result));
      operands = operands.drop_front();
    }
    if (operands.empty())
      return fail("unexpected call");
    auto callee = names.functions.find(operands.front());
    if (callee == names.functions.end())
      return fail("call of a function without a body");
    op.target = callee->second;
    if (operands.size() > 1)
      for (StringRef parameter : inBrackets(operands[1]))
        op.sources.push_back({true, slotOf(parameter)});
  }

  void decodeAccess(Op &op, StringRef opcode,
                    llvm::ArrayRef<StringRef> operands) {
    bool isParameter = false;
    op.form = opcode.starts_with("ld") ? Form::Load : Form::Store;
    unsigned elements = opcode.starts_with("multimem.")
                            ? decodeMultimem(op, opcode)
                            : decodeParts(op, opcode, isParameter);
    bool isLoad = op.form == Form::Load || op.form == Form::SwitchLoad;
    if (elements == 0 || operands.size() != 2)
      return fail("unknown opcode");
    StringRef place = operands[isLoad ? 1 : 0], data = operands[isLoad ? 0 : 1];
    if (!place.starts_with("[") || data.starts_with("{") != (elements > 1))
      return fail("unexpected operand");
    place = place.drop_front().drop_back();
    llvm::SmallVector<StringRef, 4> values;
    if (elements > 1)
      values = inBrackets(data);
    else
      values.push_back(data);
    if (values.size() != elements)
      return fail("unexpected operand");
    if (isParameter)
      return decodeParameter(op, isLoad, place, values);
    auto [base, offset] = place.split('+');
    op.sources.push_back(operandOf(base));
    if (std::optional<uint64_t> number = parseNumber(offset))
      op.offset = *number;
    else if (!offset.empty())
      fail("unexpected operand");
    for (StringRef value : values)
      if (isLoad)
        op.results.push_back(resultOf(value));
      else
        op.sources.push_back(operandOf(value));
  }

  void decodeParameter(Op &op, bool isLoad, StringRef place,
                       llvm::ArrayRef<StringRef> values) {
    op.form = Form::Move;
    if (values.size() != 1 || place.contains('+'))
      return fail("unexpected operand");
    if (isLoad) {
      op.results.push_back(resultOf(values.front()));
      op.sources.push_back({true, slotOf(place)});
    } else {
      op.results.push_back(slotOf(place));
      op.sources.push_back(operandOf(values.front()));
    }
  }

  const assembly::Function &text;
  Names &names;
  Function function;
  llvm::StringMap<uint32_t> slots;
  unsigned lastParameter = 0;
  std::string error;
};

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Reads ".visible .global .align 16 .b32 NAME[200] = {4, 1, ...};".
std::optional<Constant> parseConstant(StringRef line, uint64_t address) {
  auto [head, values] = line.split('=');
  size_t type = head.find(" .b");
  unsigned bits, count;
  StringRef rest = head.substr(type).drop_front(3);
  if (type == StringRef::npos || rest.consumeInteger(10, bits) ||
      bits % 8 != 0 || bits > 64)
    return std::nullopt;
  auto [name, length] = rest.trim().split('[');
  if (length.consumeInteger(10, count) || length.trim() != "]")
    return std::nullopt;
  Constant constant{name.str(), address, ""};
  llvm::SmallVector<StringRef> numbers;
  values.trim().trim("{};").split(numbers, ',');
  for (StringRef text : numbers) {
    std::optional<uint64_t> number = parseNumber(text.trim());
    if (!number)
      return std::nullopt;
    constant.bytes.append(reinterpret_cast<const char *>(&*number), bits / 8);
  }
  if (numbers.size() > count)
    return std::nullopt;
  constant.bytes.resize(uint64_t(count) * bits / 8);
  return constant;
}

Result<bool> parseConstants(StringRef text, Code::Parts &parts, Names &names) {
  uint64_t address = constantBase;
  unsigned number = 0;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    ++number;
    bool isVariable = line.starts_with(".global") ||
                      line.starts_with(".visible .global") ||
                      line.starts_with(".shared") || line.starts_with(".const");
    if (!isVariable)
      continue;
    std::optional<Constant> constant =
        line.contains(".shared") ? std::nullopt : parseConstant(line, address);
    if (!constant)
      return Error{"line " + std::to_string(number) +
                   ": unknown variable: " + line.substr(0, 60).str()};
    names.constants[constant->name] = address;
    address = nextConstant(address, constant->bytes.size());
    parts.constants.push_back(std::move(*constant));
  }
  return true;
}
} // namespace

bool emulate::decodeScope(Op &op, StringRef name) {
  if (name == "cta")
    op.scope = Scope::Block;
  else if (name == "gpu")
    op.scope = Scope::Device;
  else if (name == "sys")
    op.scope = Scope::System;
  else
    return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Adds a function to `code`.
static void add(PTXCode &code, const assembly::Function &text, Function body) {
  for (Op &op : body.ops) {
    op.number = code.ops.size();
    code.ops.push_back({op.name, op.line});
  }
  code.functions.push_back({text.name, text.isKernel});
  code.mostSlots = std::max(code.mostSlots, body.slots);
  code.bodies.push_back(std::move(body));
}

Result<std::unique_ptr<Code::Parts>> emulate::parsePTX(StringRef text) {
  auto code = std::make_unique<PTXCode>();
  assembly::Text assembly = assembly::parsePTX(text);
  if (std::optional<Error> error = findCut(assembly))
    return *error;
  Names names;
  if (Result<bool> constants = parseConstants(text, *code, names); !constants)
    return Error{constants.error()};
  for (const assembly::Function &function : assembly.functions)
    names.functions.try_emplace(function.name, names.functions.size());
  for (const assembly::Function &function : assembly.functions) {
    Result<Function> decoded = FunctionDecoder(function, names).decode();
    if (!decoded)
      return Error{decoded.error()};
    add(*code, function, std::move(*decoded));
  }
  code->opcodes = namesOf(names.opcodes);
  return std::unique_ptr<Code::Parts>(std::move(code));
}
