//===- Opcodes.h - What PTX instructions compute ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions whose result depends on their operands only. Registers hold 64
// bits: a narrower value is read from the low ones, and a result of a signed
// type is extended by its sign.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_PTX_OPCODES_H
#define SCCL_LIB_EMULATE_PTX_OPCODES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sccl::emulate {

struct Opcode {
  uint64_t (*evaluate)(const uint64_t *operands);
  unsigned operands;
};

/// What computes `name`, as "add.s32"; null if nothing here does.
const Opcode *findOpcode(llvm::StringRef name);

/// The names of all opcodes that findOpcode() knows, sorted.
std::vector<std::string> knownOpcodes();

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_PTX_OPCODES_H
