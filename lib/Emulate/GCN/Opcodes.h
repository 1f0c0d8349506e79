//===- Opcodes.h - What GCN instructions compute ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions whose result depends on their operands only. Operands and
// results are bits of 16, 32 or 64; what is narrower than its register is in
// the low ones, and the high ones get zeros.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_GCN_OPCODES_H
#define SCCL_LIB_EMULATE_GCN_OPCODES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sccl::emulate::gcn {

/// What one lane computes, or the scalar unit.
struct Lane {
  uint64_t in[3] = {};
  uint64_t out = 0;
  /// A carry or condition, in and out: the lane's bit of a mask, or SCC.
  bool flag = false;
  /// Why the result is not known, if it is not.
  const char *refusal = nullptr;
};

/// What an operand is, by its letter in the signature of an opcode.
enum class Kind : char {
  Int16 = 'h',
  Int32 = 'i',
  Int64 = 'l',
  Short32 = 'k', ///< 16 bits in the instruction, extended by their sign
  Float16 = 'H',
  Float32 = 'F',
  Float64 = 'D',
  Halves = 'p', ///< two of 16 bits
  Floats = 'P', ///< two of 32 bits
  Mask = 'm',   ///< a bit for each lane
  SCC = 's',    ///< not written in the text, as the following ones
  VCC = 'v',    ///< a bit for each lane
  Result = '^', ///< what the result was before
};

/// How many bits an operand has: 16, 32 or 64.
inline unsigned bitsOf(Kind kind) {
  switch (kind) {
  case Kind::Int16:
  case Kind::Float16:
    return 16;
  case Kind::Int64:
  case Kind::Float64:
  case Kind::Floats:
  case Kind::Mask:
    return 64;
  default:
    return 32;
  }
}

struct Opcode {
  void (*evaluate)(Lane &lane) = nullptr;
  llvm::SmallVector<Kind, 2> results;
  llvm::SmallVector<Kind, 4> sources;
};

/// What computes `name` without its encoding, as "v_add_u32" for
/// "v_add_u32_e32"; null if nothing here does.
const Opcode *findOpcode(llvm::StringRef name);

/// The names of all opcodes that findOpcode() knows, sorted.
std::vector<std::string> knownOpcodes();

/// Adds to what findOpcode() knows. `signature` is results = sources.
using AddOpcode = void (*)(const char *name, const char *signature,
                           void (*evaluate)(Lane &lane));
void addScalarOpcodes(AddOpcode add);
void addIntegerOpcodes(AddOpcode add);
void addFloatOpcodes(AddOpcode add);

} // namespace sccl::emulate::gcn

#endif // SCCL_LIB_EMULATE_GCN_OPCODES_H
