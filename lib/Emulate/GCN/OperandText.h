//===- OperandText.h - Operands of GCN as text ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_GCN_OPERANDTEXT_H
#define SCCL_LIB_EMULATE_GCN_OPERANDTEXT_H

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

} // namespace sccl::emulate::gcn

#endif // SCCL_LIB_EMULATE_GCN_OPERANDTEXT_H
