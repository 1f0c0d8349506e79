//===- DataFlow.h - What registers are made from ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which values an operand may be made from. Knows no paths and next to no
// instructions: the first operand is what an instruction writes, unless it
// stores or branches, and the others are what it reads. So an operand that is
// said not to depend on something does not, apart from carries, and the
// converse need not hold.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ASSEMBLY_DATAFLOW_H
#define SCCL_LIB_ASSEMBLY_DATAFLOW_H

#include "Assembly.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace sccl::assembly {

/// The operands of an instruction; commas in brackets and braces belong to one.
llvm::SmallVector<llvm::StringRef> operandsOf(const Instruction &op);

/// The words of an operand: "%rd4" and "8" of "[%rd4+8]", "v2" and "v3" of
/// "v[2:3]".
llvm::SmallVector<std::string> wordsIn(llvm::StringRef operand);

class DataFlow {
public:
  explicit DataFlow(const Function &function);

  /// All words that `operand` may be made from, its own among them.
  llvm::StringSet<> sourcesOf(llvm::StringRef operand) const;

  /// What writes a register, in the order of the text.
  llvm::ArrayRef<const Instruction *> writersOf(llvm::StringRef word) const;

private:
  llvm::StringMap<llvm::SmallVector<const Instruction *, 1>> writers;
};

} // namespace sccl::assembly

#endif // SCCL_LIB_ASSEMBLY_DATAFLOW_H
