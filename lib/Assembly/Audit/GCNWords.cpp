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
    for (const Instruction &load : function.code) {
      auto compares = [&](const Instruction &op) {
        return comparesNumber(load, op);
      };
      if (!isPoll(load))
        continue;
      requireComparison(load, isStore, compares);
      if (comesTooLate(load, compares))
        report(load, "an LL word is compared before it has come");
    }
  }

private:
  /// True if a way from `load` to an op that `compares` has no wait for it. A
  /// wait lets so many accesses be under way, and those behind `load` are the
  /// last to come: the way with the fewest of them counts.
  bool comesTooLate(const Instruction &load, Condition compares) const {
    constexpr unsigned unseen = ~0u;
    std::vector<unsigned> fewest(function.code.size(), unseen);
    std::vector<unsigned> open;
    auto reach = [&](unsigned index, unsigned behind) {
      if (behind >= fewest[index])
        return;
      fewest[index] = behind;
      open.push_back(index);
    };
    for (unsigned next : load.next)
      reach(next, 0);
    while (!open.empty()) {
      const Instruction &op = function.code[open.back()];
      unsigned behind = fewest[open.back()];
      open.pop_back();
      if (&op == &load || mayBeUnderWay(op) <= behind)
        continue;
      if (compares(op))
        return true;
      for (unsigned next : op.next)
        reach(next, behind + isLoad(op));
    }
    return false;
  }

  /// How many loads `op` lets be under way.
  static unsigned mayBeUnderWay(const Instruction &op) {
    StringRef count = StringRef(op.operands).split("vmcnt(").second;
    unsigned number;
    bool waits = op.opcode == "s_waitcnt" && !count.consumeInteger(10, number);
    return waits ? number : ~0u;
  }

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
