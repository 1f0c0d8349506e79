//===- LitmusFuzz.cpp - Litmus tests --------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Litmus/Axioms.h"

using namespace sccl::litmus;

/// What is read is read again from its print, and has an answer.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto programs = readLitmus(text);
  if (!programs)
    return 0;
  for (const Program &program : *programs) {
    std::string printed = printLitmus(program);
    auto again = readLitmus(printed);
    demand(bool(again) && again->size() == 1, "its print is not read");
    demand(printLitmus(again->front()) == printed, "it is read as another");
    (void)check(program, /*most=*/200);
  }
  return 0;
}
