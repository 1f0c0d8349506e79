//===- DataFlow.cpp - What registers are made from ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sccl;
using namespace sccl::assembly;
using llvm::StringRef;

llvm::SmallVector<StringRef> assembly::operandsOf(const Instruction &op) {
  llvm::SmallVector<StringRef> result;
  StringRef rest = op.operands;
  int depth = 0;
  for (size_t at = 0; at < rest.size();) {
    char c = rest[at];
    depth += c == '[' || c == '{' || c == '(';
    depth -= c == ']' || c == '}' || c == ')';
    ++at;
    if (c != ',' || depth > 0)
      continue;
    result.push_back(rest.take_front(at - 1).trim());
    rest = rest.drop_front(at);
    at = 0;
  }
  if (!rest.trim().empty())
    result.push_back(rest.trim());
  return result;
}

/// Takes "[2:3]" off the front of `rest` and adds a register for each number.
/// Nothing is done where there is no such thing.
static void takeRange(StringRef file, StringRef &rest,
                      llvm::SmallVectorImpl<std::string> &words) {
  auto [range, behind] = rest.drop_front().split(']');
  auto [first, last] = range.split(':');
  unsigned begin = 0, end = 0;
  bool isRange = rest.starts_with("[") && !first.getAsInteger(10, begin) &&
                 !last.getAsInteger(10, end) && begin <= end &&
                 end < 512; // no chip has more
  if (!isRange)
    return;
  for (unsigned number = begin; number <= end; ++number)
    words.push_back(file.str() + std::to_string(number));
  rest = behind;
}

llvm::SmallVector<std::string> assembly::wordsIn(StringRef operand) {
  auto belongs = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '%' || c == '.' || c == '$';
  };
  llvm::SmallVector<std::string> words;
  while (!operand.empty()) {
    StringRef word = operand.take_while(belongs);
    operand = operand.drop_front(word.empty() ? 1 : word.size());
    size_t count = words.size();
    if (word == "v" || word == "s" || word == "a")
      takeRange(word, operand, words);
    if (!word.empty() && words.size() == count)
      words.push_back(word.str());
  }
  return words;
}

/// True if the first operand is read, or is no register.
static bool writesNothing(const Instruction &op) {
  if (op.opcode.contains("_store_"))
    return true;
  for (StringRef prefix : {"st.", "bra", "brx", "bar.", "barrier.", "call",
                           "s_branch", "s_cbranch", "s_barrier", "s_waitcnt"})
    if (op.opcode.starts_with(prefix))
      return true;
  return false;
}

DataFlow::DataFlow(const Function &function) {
  for (const Instruction &op : function.code)
    if (llvm::SmallVector<StringRef> operands = operandsOf(op);
        !operands.empty() && !writesNothing(op))
      for (const std::string &word : wordsIn(operands.front()))
        writers[word].push_back(&op);
}

llvm::ArrayRef<const Instruction *> DataFlow::writersOf(StringRef word) const {
  auto found = writers.find(word);
  if (found == writers.end())
    return {};
  return found->second;
}

llvm::StringSet<> DataFlow::sourcesOf(StringRef operand) const {
  llvm::StringSet<> seen;
  llvm::SmallVector<std::string> work = wordsIn(operand);
  while (!work.empty()) {
    std::string word = work.pop_back_val();
    // vcc is rewritten so often that everything would come from everything.
    if (!seen.insert(word).second || word == "vcc")
      continue;
    for (const Instruction *writer : writersOf(word)) {
      llvm::SmallVector<StringRef> operands = operandsOf(*writer);
      for (StringRef source : llvm::drop_begin(operands))
        for (std::string &part : wordsIn(source))
          work.push_back(std::move(part));
    }
  }
  return seen;
}
