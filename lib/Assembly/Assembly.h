//===- Assembly.h - Functions in assembly text ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of an assembler as the audit needs: which instructions a function has
// and which may follow which. Layout says nothing about order; LLVM likes to
// put the end of a function before its loop.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ASSEMBLY_ASSEMBLY_H
#define SCCL_LIB_ASSEMBLY_ASSEMBLY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace sccl::assembly {

/// The strings point into the text that was parsed.
struct Instruction {
  unsigned line = 0;
  llvm::StringRef text;
  llvm::StringRef opcode;
  llvm::StringRef operands;
  /// Not executed by all threads that come by.
  bool predicated = false;
  bool isReturn = false;
  /// What may come next, as indices into the function's code.
  llvm::SmallVector<unsigned, 2> next;
};

struct Function {
  std::string name;
  bool isKernel = false;
  unsigned line = 0;
  llvm::StringRef text;
  std::vector<Instruction> code;
};

struct Text {
  std::vector<Function> functions; ///< those with a body, in order
  /// Where the text ends inside of something, or before what ends all text of
  /// this kind; 0 if it is whole.
  unsigned cutOffLine = 0;
};

/// Text that is no assembly yields no functions.
Text parsePTX(llvm::StringRef text);
Text parseGCN(llvm::StringRef text);

using Condition = llvm::function_ref<bool(const Instruction &)>;

/// findPath(), or one that leaves out paths that nothing takes.
using PathSearch = const Instruction *(*)(const Function &function,
                                          llvm::ArrayRef<unsigned> starts,
                                          Condition stop, Condition goal);

/// Walks along all paths that begin with one of `starts`, each up to the first
/// instruction that is a `stop`. Returns a `goal` on the way, if there is any.
const Instruction *findPath(const Function &function,
                            llvm::ArrayRef<unsigned> starts, Condition stop,
                            Condition goal);

} // namespace sccl::assembly

#endif // SCCL_LIB_ASSEMBLY_ASSEMBLY_H
