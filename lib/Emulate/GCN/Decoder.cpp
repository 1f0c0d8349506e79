//===- Decoder.cpp - Decoding GCN -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Directives.h"
#include "InstructionDecoder.h"

#include "Emulate/Decoding.h"

using namespace sccl;
using namespace sccl::emulate;
using namespace sccl::emulate::gcn;
using llvm::StringRef;

namespace {
/// An instruction that has a distance to a symbol in it takes 8 bytes. How long
/// others are does not matter, so they take 4.
unsigned bytesOf(const assembly::Instruction &instruction) {
  return instruction.operands.contains("@rel32@") ? 8 : 4;
}

/// Decodes a module, once all addresses are known.
class Decoder {
public:
  Decoder(const assembly::Text &text, Directives directives)
      : text(text), directives(std::move(directives)),
        code(std::make_unique<GCNCode>()) {
    code->hasScopeBits = this->directives.chip == "gfx942";
    code->constants = this->directives.objects;
    for (const Constant &object : code->constants)
      symbols.addresses[object.name] = object.address;
  }

  Result<std::unique_ptr<Code::Parts>> decode() {
    if (directives.chip != "gfx942" && directives.chip != "gfx90a")
      return Error{"no machine here is a " + directives.chip};
    placeAll();
    uint32_t first = 0;
    for (const assembly::Function &function : text.functions) {
      if (Result<bool> done = decodeFunction(function, first); !done)
        return Error{done.error()};
      first += function.code.size();
    }
    code->opcodes = namesOf(opcodes);
    return std::unique_ptr<Code::Parts>(std::move(code));
  }

private:
  void placeAll() {
    uint64_t address = codeBase;
    for (const assembly::Function &function : text.functions) {
      symbols.addresses[function.name] = address;
      for (const assembly::Instruction &instruction : function.code) {
        code->opAt[address] = code->addresses.size();
        code->addresses.push_back(address);
        address += bytesOf(instruction);
      }
    }
  }

  Result<bool> decodeFunction(const assembly::Function &function,
                              uint32_t first) {
    KernelRegisters registers = directives.kernels.lookup(function.name);
    registers.firstOp = first;
    if (function.isKernel && !directives.kernels.contains(function.name))
      return Error{"kernel " + function.name + " has no descriptor"};
    code->functions.push_back({function.name, function.isKernel});
    code->kernels.push_back(registers);
    for (const assembly::Instruction &instruction : function.code) {
      uint64_t literal = code->addresses[code->body.size()] + 4;
      InstructionDecoder decoder(symbols, literal, code->hasScopeBits);
      Result<Op> op = decoder.decode(instruction, first);
      if (!op)
        return Error{"line " + std::to_string(instruction.line) + ": " +
                     op.error() + ": " + instruction.text.str()};
      noteRegisters(*op);
      uint32_t name =
          opcodes.try_emplace(instruction.opcode, opcodes.size()).first->second;
      code->ops.push_back({name, instruction.line});
      code->body.push_back(std::move(*op));
    }
    return true;
  }

  void noteRegisters(const Op &op) {
    for (const auto &operands : {llvm::ArrayRef<Operand>(op.results),
                                 llvm::ArrayRef<Operand>(op.sources)})
      for (const Operand &operand : operands) {
        unsigned end = operand.first + operand.words;
        if (operand.place != Place::Vector)
          continue;
        if (operand.first < firstAccumulator)
          code->usedVectors = std::max(code->usedVectors, end);
        else
          code->usedAccumulators =
              std::max(code->usedAccumulators, end - firstAccumulator);
      }
  }

  const assembly::Text &text;
  Directives directives;
  std::unique_ptr<GCNCode> code;
  Symbols symbols;
  llvm::StringMap<uint32_t> opcodes;
};
} // namespace

Result<std::unique_ptr<Code::Parts>> emulate::parseGCN(StringRef text) {
  assembly::Text assembly = assembly::parseGCN(text);
  if (std::optional<Error> error = findCut(assembly))
    return *error;
  Result<Directives> directives = parseDirectives(text);
  if (!directives)
    return Error{directives.error()};
  return Decoder(assembly, std::move(*directives)).decode();
}
