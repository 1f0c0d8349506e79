//===- Nesting.cpp - How deep brackets in MLIR may nest -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/Nesting.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace sccl;

/// The end of the comment or string that begins at `at`; `at` if none does.
static size_t skipText(llvm::StringRef text, size_t at) {
  if (text.substr(at).starts_with("//"))
    return std::min(text.find('\n', at), text.size());
  if (text[at] != '"')
    return at;
  // A string ends with its line even if it lacks its quote.
  for (size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '"')
      return i + 1;
    i += text[i] == '\\';
  }
  return std::min(text.find('\n', at), text.size());
}

/// True for the '<' and '>' of arrows and comparisons.
static bool isNoBracket(llvm::StringRef text, size_t at) {
  bool isArrow = text[at] == '>' && at > 0 && text[at - 1] == '-';
  bool isCompared = at + 1 < text.size() && text[at + 1] == '=';
  return isArrow || isCompared;
}

/// Where brackets first nest too deep; npos if they do not.
static size_t findTooDeep(llvm::StringRef text) {
  unsigned depth = 0;
  for (size_t i = 0; (i = text.find_first_of("/\"([{<)]}>", i)) != text.npos;
       ++i) {
    if (size_t end = skipText(text, i); end != i) {
      i = end - 1;
      continue;
    }
    llvm::StringRef c = text.substr(i, 1);
    bool isAngle = c == "<" || c == ">";
    if (isAngle && isNoBracket(text, i))
      continue;
    if (llvm::StringRef("([{<").contains(c) && ++depth > maxNesting)
      return i;
    // What is closed too often is for the parser to report.
    if (llvm::StringRef(")]}>").contains(c))
      depth -= depth > 0;
  }
  return llvm::StringRef::npos;
}

bool sccl::checkNesting(llvm::MemoryBufferRef source) {
  // The reader of bytecode does not call itself.
  if (mlir::isBytecode(source))
    return true;
  llvm::StringRef text = source.getBuffer();
  size_t at = findTooDeep(text);
  if (at == text.npos)
    return true;
  llvm::StringRef before = text.substr(0, at);
  // The line itself may be very long.
  llvm::errs() << source.getBufferIdentifier() << ':' << before.count('\n') + 1
               << ':' << at - (before.rfind('\n') + 1) + 1
               << ": error: brackets nest more than " << maxNesting
               << " deep\n";
  return false;
}
