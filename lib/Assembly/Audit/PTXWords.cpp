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
    bool hasPlainSource = sources.contains('m');
    for (const Instruction &op : function.code) {
      if (isPlainLoad(op) && (!hasPlainSource || is64Bit(op)))
        report(op, "an LL word is loaded without relaxed order");
      if (isPlainStore(op) && (sends || is64Bit(op)))
        report(op, "an LL word is stored without relaxed order");
    }
    if (sends && llvm::none_of(function.code, isRelaxedStore))
      reportFunction("sends no LL word");
    if (!sources.contains('p'))
      return;
    if (llvm::none_of(function.code, isRelaxedLoad))
      reportFunction("polls no LL word");
    requireComparison(isRelaxedLoad, isStore, [&](const Instruction &load) {
      return [registers = registersWithNumber(load)](const Instruction &op) {
        bool isComparison = op.opcode.starts_with("setp.eq.") ||
                            op.opcode.starts_with("setp.ne.");
        return isComparison && llvm::any_of(registers, [&](StringRef each) {
                 return namesRegister(op.operands, each);
               });
      };
    });
  }

private:
  /// Where the high half of what `load` has loaded stands, or, as for the abort
  /// word, all of it.
  llvm::SmallVector<StringRef>
  registersWithNumber(const Instruction &load) const {
    StringRef word = load.operands.split(',').first.trim();
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

void assembly::auditPTXWords(const Function &function,
                             std::vector<AuditFinding> &findings) {
  if (StringRef operands = llOperands(function.name); !operands.empty())
    WordAudit(function, findings)
        .run(/*sends=*/operands.front() == 'p', operands.drop_front());
}
