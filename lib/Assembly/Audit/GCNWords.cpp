//===- GCNWords.cpp - LL words in GCN -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GCNRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sccl;
using namespace sccl::assembly;
using namespace sccl::assembly::gcn;
using llvm::StringRef;

namespace {
class WordAudit : FunctionAudit {
public:
  WordAudit(const Function &function, std::vector<AuditFinding> &findings,
            const Coherence &caches)
      : FunctionAudit(function, findings), caches(caches) {}

  /// An LL word is one access, so nothing else has to be ordered.
  void run(bool sends, StringRef sources) {
    auto isWord = [](const Instruction &op) {
      return op.opcode.ends_with("dwordx2");
    };
    auto isPoll = [&](const Instruction &op) {
      return caches.isCoherentLoad(op) && isWord(op);
    };
    bool hasPlainSource = sources.contains('m');
    for (const Instruction &op : function.code) {
      if (isLoad(op) && !caches.isCoherentLoad(op) &&
          (!hasPlainSource || isWord(op)))
        report(op, "an LL word is loaded from a cache");
      if (caches.isCoherentLoad(op) && !isWord(op))
        report(op, "LL words are words of 64 bits");
      if (sends && isStore(op) && !isWord(op))
        report(op, "LL words are words of 64 bits");
      if (sends && isStore(op) && !caches.hasSystemScope(op))
        report(op, "an LL word is stored without sc0 sc1");
    }
    if (sends && llvm::none_of(function.code, isStore))
      reportFunction("sends no LL word");
    if (!sources.contains('p'))
      return;
    if (llvm::none_of(function.code, isPoll))
      reportFunction("polls no LL word");
    requireComparison(isPoll, isStore, [](const Instruction &load) {
      return
          [&load](const Instruction &op) { return comparesNumber(load, op); };
    });
    for (const Instruction &load : function.code) {
      auto compares = [&](const Instruction &op) {
        return comparesNumber(load, op);
      };
      if (isPoll(load) && after(load, isWaitForMemory, compares))
        report(load, "an LL word is compared before it has come");
    }
  }

private:
  /// True if `op` compares the high half of what `load` has loaded, or, as for
  /// the abort word, all of it.
  static bool comparesNumber(const Instruction &load, const Instruction &op) {
    if (!op.opcode.starts_with("v_cmp_eq_") &&
        !op.opcode.starts_with("v_cmp_ne_"))
      return false;
    StringRef pair = load.operands.split(',').first.trim();
    std::string high = "v" + pair.split(':').second.trim(" ]").str();
    return op.operands.contains(pair) || namesRegister(op.operands, high);
  }

  const Coherence &caches;
};
} // namespace

void assembly::auditGCNWords(const Function &function,
                             std::vector<AuditFinding> &findings,
                             const Coherence &caches) {
  if (StringRef operands = llOperands(function.name); !operands.empty())
    WordAudit(function, findings, caches)
        .run(/*sends=*/operands.front() == 'p', operands.drop_front());
}
