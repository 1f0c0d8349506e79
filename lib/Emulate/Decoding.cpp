//===- Decoding.cpp - What decoders have in common ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoding.h"

using namespace sccl;
using namespace sccl::emulate;
using llvm::StringRef;

std::optional<Error> emulate::findCut(const assembly::Text &text) {
  if (text.cutOffLine != 0 || text.functions.empty())
    return Error{"the text ends early"};
  return std::nullopt;
}

std::vector<std::string>
emulate::namesOf(const llvm::StringMap<uint32_t> &numbers) {
  std::vector<std::string> names(numbers.size());
  for (const auto &entry : numbers)
    names[entry.second] = entry.first().str();
  return names;
}

llvm::SmallVector<StringRef, 4> emulate::splitOperands(StringRef text) {
  llvm::SmallVector<StringRef, 4> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (StringRef part = text.slice(begin, i).trim(); !part.empty())
        parts.push_back(part);
      begin = i + 1;
    } else if (StringRef("([{").contains(text[i])) {
      ++depth;
    } else if (StringRef(")]}").contains(text[i])) {
      --depth;
    }
  }
  return parts;
}
