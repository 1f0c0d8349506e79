//===- Opcodes.cpp - What GCN instructions compute ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace sccl::emulate;
using namespace sccl::emulate::gcn;

namespace {
using Table = llvm::StringMap<Opcode>;

Table &table() {
  static Table table;
  return table;
}

void add(const char *name, const char *signature,
         void (*evaluate)(Lane &lane)) {
  Opcode &opcode = table()[name];
  opcode.evaluate = evaluate;
  auto [results, sources] = llvm::StringRef(signature).split('=');
  for (char letter : results)
    opcode.results.push_back(Kind(letter));
  for (char letter : sources)
    opcode.sources.push_back(Kind(letter));
}

const Table &filledTable() {
  static const bool isFilled = [] {
    addScalarOpcodes(add);
    addIntegerOpcodes(add);
    addFloatOpcodes(add);
    return true;
  }();
  (void)isFilled;
  return table();
}
} // namespace

const Opcode *gcn::findOpcode(llvm::StringRef name) {
  auto found = filledTable().find(name);
  return found == filledTable().end() ? nullptr : &found->second;
}

std::vector<std::string> gcn::knownOpcodes() {
  std::vector<std::string> names;
  for (const auto &entry : filledTable())
    names.push_back(entry.first().str());
  std::sort(names.begin(), names.end());
  return names;
}
