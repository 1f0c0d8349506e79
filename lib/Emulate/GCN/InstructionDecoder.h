//===- InstructionDecoder.h - Decoding an instruction of GCN ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_GCN_INSTRUCTIONDECODER_H
#define SCCL_LIB_EMULATE_GCN_INSTRUCTIONDECODER_H

#include "Assembly/Assembly.h"
#include "GCNCode.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace sccl::emulate::gcn {

/// Names with addresses, and where the operand that uses one stands.
struct Symbols {
  llvm::StringMap<uint64_t> addresses;
};

/// Reads "v[0:1]", "-|v3|", "sext(v2)", "vcc", "0x3ff", "1.0" as an operand of
/// `kind`. `literal` is the address of a number in the instruction, which
/// offsets to symbols ("f@rel32@lo+4") are relative to. Nothing for all else.
std::optional<Operand> parseOperand(llvm::StringRef text, Kind kind,
                                    const Symbols &symbols, uint64_t literal);

/// The register or registers that `text` names, and how many.
std::optional<Operand> parseRegister(llvm::StringRef text);

/// "BYTE_1" of an SDWA instruction.
std::optional<Part> parsePart(llvm::StringRef text);

/// The registers of 32 bits that `kind` fills.
unsigned wordsOf(Kind kind);

/// Decodes one instruction.
class InstructionDecoder {
public:
  /// `literal` is the address of a number in it.
  InstructionDecoder(const Symbols &symbols, uint64_t literal,
                     bool hasScopeBits)
      : symbols(symbols), literal(literal), hasScopeBits(hasScopeBits) {}

  /// Branches are relative to `first`, the number of the function's first
  /// instruction.
  Result<Op> decode(const assembly::Instruction &instruction, uint32_t first);

private:
  void fail(const char *message) {
    if (error.empty())
      error = message;
  }
  void splitText(const assembly::Instruction &instruction);
  bool decodeControl(const assembly::Instruction &instruction, uint32_t first);
  bool decodeJump();
  void decodeBranch(const assembly::Instruction &instruction, uint32_t first,
                    Condition condition);
  bool decodeMemory();
  bool decodeSpecial();
  void decodeWait();
  void decodeScalarLoad();
  void decodeGlobal();
  void decodePrivate();
  void decodeCaches();
  void decodeCompute();
  void decodeParts();
  void decodeScope();
  void addResult(llvm::StringRef text, Kind kind);
  void addSource(llvm::StringRef text, Kind kind);
  void addRegister(llvm::SmallVectorImpl<Operand> &to, llvm::StringRef text,
                   Place place, unsigned words);
  bool take(llvm::StringRef modifier);
  std::optional<llvm::StringRef> takeValue(llvm::StringRef name);
  void takeOffset();
  void takeHalves(llvm::StringRef name, uint8_t &bits);

  const Symbols &symbols;
  uint64_t literal;
  bool hasScopeBits;
  Op op;
  llvm::StringRef name; ///< of the opcode, without its encoding
  bool isSDWA = false;
  llvm::SmallVector<llvm::StringRef, 4> operands;
  llvm::SmallVector<llvm::StringRef, 8> modifiers;
  std::string error;
};

} // namespace sccl::emulate::gcn

#endif // SCCL_LIB_EMULATE_GCN_INSTRUCTIONDECODER_H
