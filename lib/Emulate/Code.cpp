//===- Code.cpp - Assembly that can be executed ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

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
