//===- Decoder.cpp - Decoding GCN -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulate/Decoding.h"
#include "GCNCode.h"
#include "InstructionDecoder.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace sccl;
using namespace sccl::emulate;
using namespace sccl::emulate::gcn;
using llvm::StringRef;

namespace {
struct Directives {
  std::string chip;
  llvm::StringMap<KernelRegisters> kernels;
  std::vector<Constant> objects;
};
} // namespace

namespace {
/// What the machine has one value for. All that is not here is about how many
/// registers there are, or about exceptions, which are off.
std::optional<unsigned> requiredValue(StringRef name) {
  return llvm::StringSwitch<std::optional<unsigned>>(name)
      .Case("group_segment_fixed_size", 0)
      .Case("tg_split", 0) // else a block's caches are not shared
      .Case("uses_dynamic_stack", 0)
      .Case("system_vgpr_workitem_id", 0)
      .Case("system_sgpr_workgroup_id_x", 1)
      .Case("user_sgpr_kernarg_segment_ptr", 1)
      .Case("user_sgpr_kernarg_preload_length", 0)
      .Case("user_sgpr_kernarg_preload_offset", 0)
      .Case("float_round_mode_32", 0)
      .Case("float_round_mode_16_64", 0)
      .Case("float_denorm_mode_32", 3)
      .Case("float_denorm_mode_16_64", 3)
      .Case("dx10_clamp", 1)
      .Case("ieee_mode", 1)
      .Case("fp16_overflow", 0)
      .Default(std::nullopt);
}

bool isOfNoMatter(StringRef name) {
  for (StringRef prefix :
       {"exception_", "next_free_", "reserve_", "accum_offset", "kernarg_size",
        "private_segment_fixed_size", "user_sgpr_", "system_sgpr_",
        "enable_private_segment"})
    if (name.starts_with(prefix))
      return true;
  return false;
}

using Values = llvm::StringMap<unsigned>;

/// Registers that the hardware fills, in the order of the ABI: those of users,
/// then those of the system.
Result<KernelRegisters> layOut(const Values &values) {
  KernelRegisters kernel;
  unsigned next = 0;
  auto has = [&](StringRef name, unsigned size) {
    unsigned at = next;
    bool isThere = values.lookup(name) != 0;
    next += isThere ? size : 0;
    return isThere ? int(at) : -1;
  };
  kernel.privateBuffer = has("user_sgpr_private_segment_buffer", 4);
  has("user_sgpr_dispatch_ptr", 2);
  has("user_sgpr_queue_ptr", 2);
  kernel.arguments = has("user_sgpr_kernarg_segment_ptr", 2);
  has("user_sgpr_dispatch_id", 2);
  has("user_sgpr_flat_scratch_init", 2);
  has("user_sgpr_private_segment_size", 1);
  if (next != values.lookup("user_sgpr_count"))
    return Error{"registers of users in an unknown order"};
  kernel.block = has("system_sgpr_workgroup_id_x", 1);
  has("system_sgpr_workgroup_id_y", 1);
  has("system_sgpr_workgroup_id_z", 1);
  has("system_sgpr_workgroup_info", 1);
  kernel.privateOffset = has("system_sgpr_private_segment_wavefront_offset", 1);
  kernel.privateBytes = values.lookup("private_segment_fixed_size");
  return kernel;
}

/// Goes through a text line by line.
class Reader {
public:
  Result<Directives> read(StringRef text) {
    for (unsigned number = 1; !text.empty() && error.empty(); ++number) {
      StringRef line;
      std::tie(line, text) = text.split('\n');
      line = line.split(';').first.trim();
      auto [name, value] = line.split(line.contains('\t') ? '\t' : ' ');
      readLine(line, name, value.trim());
      if (!error.empty())
        error = "line " + std::to_string(number) + ": " + error + ": " +
                line.substr(0, 60).str();
    }
    if (!error.empty())
      return Error{error};
    return std::move(directives);
  }

private:
  void readLine(StringRef line, StringRef name, StringRef value) {
    if (name == ".amdgcn_target") {
      directives.chip = value.trim('"').rsplit('-').second.str();
    } else if (line.starts_with(".amdhsa_kernel")) {
      kernel = line.split(' ').second.trim();
      values.clear();
    } else if (line == ".end_amdhsa_kernel") {
      endKernel();
    } else if (line.consume_front(".amdhsa_") && !kernel.empty()) {
      readValue(line);
    } else if (name == ".type") {
      auto [symbol, kind] = value.split(',');
      if (kind.trim() == "@object")
        names.insert(symbol);
    } else if (names.contains(line.split(':').first) && line.ends_with(":")) {
      beginObject(line.drop_back());
    } else if (isInObject) {
      readData(name, value);
    }
  }

  void endKernel() {
    Result<KernelRegisters> registers = layOut(values);
    if (registers)
      directives.kernels[kernel] = *registers;
    else
      error = registers.error();
    kernel = "";
  }

  void readValue(StringRef line) {
    auto [name, text] = line.split(' ');
    unsigned number;
    if (text.trim().getAsInteger(0, number)) {
      error = "unknown value";
      return;
    }
    std::optional<unsigned> required = requiredValue(name);
    if (required ? *required != number : !isOfNoMatter(name))
      error = "no machine here has this";
    values[name] = number;
  }

  void beginObject(StringRef name) {
    directives.objects.push_back({name.str(), next, ""});
    isInObject = true;
  }

  void readData(StringRef name, StringRef value) {
    std::string &bytes = directives.objects.back().bytes;
    unsigned size = llvm::StringSwitch<unsigned>(name)
                        .Case(".byte", 1)
                        .Case(".short", 2)
                        .Case(".long", 4)
                        .Case(".quad", 8)
                        .Default(0);
    uint64_t number = 0;
    if (name == ".size") {
      isInObject = false;
      next = nextConstant(next, bytes.size());
    } else if (name == ".zero" && !value.getAsInteger(0, number)) {
      bytes.append(number, 0);
    } else if (size == 0) {
      error = "unknown data";
    } else {
      llvm::SmallVector<StringRef> numbers;
      value.split(numbers, ',');
      for (StringRef text : numbers) {
        if (parseData(text.trim(), number))
          error = "unknown data";
        bytes.append(reinterpret_cast<const char *>(&number), size);
      }
    }
  }

  /// Numbers below zero are written with their sign.
  static bool parseData(StringRef text, uint64_t &number) {
    int64_t negative;
    if (!text.getAsInteger(0, number))
      return false;
    if (text.getAsInteger(0, negative))
      return true;
    number = uint64_t(negative);
    return false;
  }

  Directives directives;
  StringRef kernel;
  Values values;
  llvm::StringSet<> names;
  bool isInObject = false;
  uint64_t next = constantBase;
  std::string error;
};
} // namespace

/// Reads .amdgcn_target, .amdhsa_ and the data of objects. Fails at what
/// kernels ask for and the machine does not have.
static Result<Directives> parseDirectives(StringRef text) {
  return Reader().read(text);
}

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
