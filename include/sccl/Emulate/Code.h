//===- Code.h - Assembly that can be executed -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EMULATE_CODE_H
#define SCCL_EMULATE_CODE_H

#include "sccl/Model/Result.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace sccl::emulate {

/// A module of PTX, or of GCN for gfx90a or gfx942: the subset that this
/// compiler emits, and no more.
class Code {
public:
  /// Decodes `text`. Fails at the first thing that is not known: an opcode, an
  /// operand, a variable that is no constant, a call of a function without a
  /// body.
  static Result<Code> parse(llvm::StringRef text);

  Code(Code &&);
  ~Code();

  /// The opcodes that the text has, each once, in the order of the text.
  const std::vector<std::string> &opcodes() const;

  struct Parts;
  const Parts &parts() const { return *theParts; }

private:
  explicit Code(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> theParts;
};

} // namespace sccl::emulate

#endif // SCCL_EMULATE_CODE_H
