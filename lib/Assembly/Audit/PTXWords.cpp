//===- PTXWords.cpp - LL words in PTX -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXRules.h"

#include "PTXInstructions.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::assembly;
using namespace sccl::assembly::ptx;
using llvm::StringRef;

namespace {
class WordAudit : FunctionAudit {
public:
  using FunctionAudit::FunctionAudit;

  /// An LL word is one access, so nothing else has to be ordered.
  void run(bool sends, StringRef sources) {
    for (const Instruction &op : function.code) {
      if (isPlainLoad(op) && reachesWords(function, flow, op))
        report(op, "an LL word is loaded without relaxed order");
      if (isPlainStore(op) && (sends || reachesWords(function, flow, op)))
        report(op, "an LL word is stored without relaxed order");
    }
    if (sends && llvm::none_of(function.code, isRelaxedStore))
      reportFunction("sends no LL word");
    if (!sources.contains('p'))
      return;
    if (llvm::none_of(function.code, isRelaxedLoad))
      reportFunction("polls no LL word");
    for (const Instruction &load : function.code)
      if (isRelaxedLoad(load))
        for (StringRef word : wordsOf(load))
          requireComparison(
              load, isStore,
              [registers = registersWithNumber(word)](const Instruction &op) {
                bool isComparison = op.opcode.starts_with("setp.eq.") ||
                                    op.opcode.starts_with("setp.ne.");
                auto names = [&](StringRef each) {
                  return namesRegister(op.operands, each);
                };
                return isComparison && llvm::any_of(registers, names);
              });
  }

private:
  /// The registers that `load` loads: those of a vector are in braces.
  static llvm::SmallVector<StringRef> wordsOf(const Instruction &load) {
    StringRef target = load.operands.split('[').first.trim(" ,");
    llvm::SmallVector<StringRef> words;
    target.trim("{}").split(words, ',');
    for (StringRef &word : words)
      word = word.trim();
    return words;
  }

  /// Where the high half of `word` stands, or, as for the abort word, all of
  /// it.
  llvm::SmallVector<StringRef> registersWithNumber(StringRef word) const {
    llvm::SmallVector<StringRef> registers = {word};
    for (const Instruction &split : function.code) {
      auto [halves, source] = split.operands.rsplit(',');
      StringRef high;
      if (verb(split) == "mov" && halves.trim().starts_with("{"))
        high = halves.split(',').second.trim(" {}");
      else if (verb(split) == "shr")
        std::tie(high, source) = split.operands.split(',');
      if (!high.empty() && namesRegister(source, word))
        registers.push_back(high);
    }
    return registers;
  }
};
} // namespace

bool assembly::reachesWords(const Function &function, const DataFlow &flow,
                            const Instruction &access) {
  llvm::SmallVector<StringRef> operands = operandsOf(access);
  StringRef letters = llOperands(function.name);
  bool isLoad = isAccess(access, "ld");
  if (operands.size() != 2 || letters.empty())
    return false;
  llvm::StringSet<> sources = flow.sourcesOf(operands[isLoad]);
  for (auto [index, letter] : llvm::enumerate(letters))
    if (letter == 'p' &&
        sources.contains(function.name + "_param_" + std::to_string(index)))
      return true;
  return false;
}

void assembly::auditPTXWords(const Function &function,
                             std::vector<AuditFinding> &findings) {
  if (StringRef operands = llOperands(function.name); !operands.empty())
    WordAudit(function, findings)
        .run(/*sends=*/operands.front() == 'p', operands.drop_front());
}
