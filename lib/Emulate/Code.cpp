//===- Code.cpp - Assembly that can be executed ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::emulate;
using llvm::StringRef;

Code::Code(std::unique_ptr<Parts> parts) : theParts(std::move(parts)) {}
Code::Code(Code &&) = default;
Code::~Code() = default;

Result<Code> Code::parse(StringRef text) {
  Result<std::unique_ptr<Parts>> parts =
      text.contains(".amdgcn_target") ? parseGCN(text) : parsePTX(text);
  if (!parts)
    return Error{parts.error()};
  return Code(std::move(*parts));
}

const std::vector<std::string> &Code::opcodes() const {
  return theParts->opcodes;
}

bool Code::hasKernel(StringRef name) const {
  return llvm::any_of(theParts->functions, [&](const FunctionPlace &function) {
    return function.isKernel && function.name == name;
  });
}

std::string Code::functionAt(unsigned line) const {
  for (const FunctionPlace &function : theParts->functions)
    if (function.first <= line && line <= function.last)
      return function.name;
  return "";
}
