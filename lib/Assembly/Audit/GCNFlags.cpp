//===- GCNFlags.cpp - Helpers for flags and epochs in GCN -----------------===//
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
/// What rules for helpers of flags ask for.
class FlagAudit : public FunctionAudit {
public:
  FlagAudit(const Function &function, std::vector<AuditFinding> &findings,
            const Coherence &caches)
      : FunctionAudit(function, findings), caches(caches) {}

protected:
  /// The threads that go on behind a condition are those whose number, from
  /// v31, is less than the number of flags, in v2.
  void checkGuard(StringRef message) {
    bool hasGuard = false;
    for (const Instruction &op : function.code) {
      if (op.opcode != "s_and_saveexec_b64")
        continue;
      hasGuard = true;
      StringRef mask = op.operands.split(',').second.trim();
      auto writesMask = [&](const Instruction &other) {
        return other.operands.split(',').first.trim() == mask;
      };
      llvm::ArrayRef<Instruction> before(function.code.data(), indexOf(op));
      auto found = llvm::find_if(llvm::reverse(before), writesMask);
      if (found == before.rend() || !asksForFlag(*found))
        report(op, message);
    }
    if (!hasGuard)
      reportFunction(message);
  }

  bool asksForFlag(const Instruction &op) const {
    llvm::SmallVector<StringRef> operands = operandsOf(op);
    if (operands.size() != 3)
      return false;
    bool isLess = op.opcode.starts_with("v_cmp_lt_u32");
    bool isGreater = op.opcode.starts_with("v_cmp_gt_u32");
    StringRef thread = operands[isLess ? 1 : 2];
    return (isLess || isGreater) && operands[isLess ? 2 : 1] == "v2" &&
           flow.sourcesOf(thread).contains("v31");
  }

  const Coherence &caches;
};

class SignalAudit : FlagAudit {
public:
  using FlagAudit::FlagAudit;

  void run() {
    if (llvm::none_of(function.code, isStore))
      reportFunction("publishes no flag");
    for (const Instruction &op : function.code) {
      if (isStore(op) && !op.opcode.ends_with("dwordx2"))
        report(op, "flags are words of 64 bits");
      if (isStore(op) && !caches.hasSystemScope(op))
        report(op, "the flag is stored without sc0 sc1");
      if (isStore(op))
        checkFlagStore(op);
    }
    requireFromEntry(isBarrier, isStore,
                     "no block barrier before the store of the flag", "H2");
    requireFromEntry(isBarrier, isReturn,
                     "a wave may return without the block barrier", "H2");
    requireFromEntry(isWaitForMemory, isBarrier,
                     "a wave may join the block before its stores are done",
                     "H2");
    if (caches.memoryModel != MemoryModel::L1Only)
      checkWriteBack();
    checkGuard("the threads that store are not those with a flag");
  }

private:
  /// Arguments of @coll_signal: rows v[0:1], count v2, peers v[3:4], block v5,
  /// launch v[6:7].
  void checkFlagStore(const Instruction &store) {
    llvm::SmallVector<StringRef> operands = operandsOf(store);
    if (operands.size() < 2)
      return report(store, "a store has two operands");
    requireSource(store, operands[0], {"v3", "v4"},
                  "the flag that is stored is not in the memory of a peer");
    requireSource(store, operands[1], {"v6"},
                  "the value of the flag does not grow with the launches",
                  "D4");
  }

  void checkWriteBack() {
    auto writesBack = [&](const Instruction &op) {
      return caches.isWriteBack(op);
    };
    requireFromEntry(writesBack, isBarrier,
                     "a wave may join the block without writing its cache "
                     "back",
                     "H2");
    for (const Instruction &op : function.code)
      if (caches.isWriteBack(op))
        if (const Instruction *found = after(op, isWaitForMemory, isBarrier)) {
          report(*found,
                 "a wave may join the block before its cache is "
                 "written back",
                 "H2");
          return;
        }
  }
};

class WaitAudit : FlagAudit {
public:
  using FlagAudit::FlagAudit;

  void run() {
    auto isPoll = [&](const Instruction &op) { return acquires(op); };
    if (llvm::none_of(function.code, isPoll))
      reportFunction("polls no flag with a coherent load, vmcnt(0) and " +
                     llvm::join(caches.invalidations(), ", "));
    requireAcquire(isPoll, isLoad, isBarrier);
    for (const Instruction &op : function.code) {
      if (isLoad(op) && !caches.isCoherentLoad(op) && comesAgain(op))
        report(op, "a load that caches may answer is no poll");
      if (acquires(op) && !op.opcode.ends_with("dwordx2"))
        report(op, "flags are words of 64 bits");
      if (isLoad(op))
        if (const Instruction *found = after(op, isBarrier, isReturn))
          report(*found, "the function may return after the poll without a "
                         "block barrier");
    }
    requireFromEntry(isBarrier, isReturn,
                     "a wave may return without the block barrier");
    for (const Instruction &op : function.code)
      if (isPoll(op))
        checkLoop(op);
    checkGuard("the threads that poll are not those with a flag");
  }

private:
  /// True if nothing that follows can overtake the load.
  bool acquires(const Instruction &load) const {
    if (!caches.isCoherentLoad(load))
      return false;
    auto isEnd = [&](const Instruction &op) {
      return isBarrier(op) || isReturn(op) || &op == &load;
    };
    for (StringRef name : caches.invalidations()) {
      auto invalidates = [&](const Instruction &op) {
        return op.opcode == name && caches.hasSystemScope(op);
      };
      auto isEarly = [&](const Instruction &op) {
        return isEnd(op) || invalidates(op);
      };
      if (after(load, invalidates, isEnd) ||
          after(load, isWaitForMemory, isEarly))
        return false;
    }
    return true;
  }

  /// True if `load` may be executed again, or after a poll, before the block
  /// joins. What is loaded before the polls, such as where they are, is not.
  bool comesAgain(const Instruction &load) const {
    auto isThis = [&](const Instruction &op) { return &op == &load; };
    auto isEarlier = [&](const Instruction &op) {
      return isThis(op) || caches.isCoherentLoad(op);
    };
    return afterAny(isEarlier, isBarrier, isThis);
  }

  /// The loop around a poll. Arguments of @coll_wait: rows v[0:1], count v2,
  /// control v[3:4], block v5, launch v[6:7], abort word v[8:9]. Threads leave
  /// the loop one by one; `exec` has those that stay.
  void checkLoop(const Instruction &poll) {
    llvm::SmallVector<StringRef> operands = operandsOf(poll);
    if (operands.size() < 2)
      return report(poll, "a load has two operands");
    requireSource(poll, operands[1], {"v3", "v4"},
                  "what is polled is not a flag of this rank");
    auto isThis = [&](const Instruction &op) { return &op == &poll; };
    auto leaves = [](const Instruction &op) {
      return op.opcode == "s_andn2_b64" &&
             op.operands.starts_with("exec, exec");
    };
    if (!after(poll, isBarrier, isThis) || !after(poll, isBarrier, leaves))
      report(poll, "a flag that is too small is not polled again", "D4");
    auto compares = [&](const Instruction &op) {
      return op.opcode.starts_with("v_cmp") &&
             llvm::is_contained(operandsOf(op), operands[0]);
    };
    if (after(poll, compares, isBarrier))
      report(poll, "a flag is not compared", "D4");
    for (const Instruction &op : function.code)
      if (compares(op) && !isAtLeast(op, operands[0]))
        report(op,
               "polling ends by something else than a flag of at least the "
               "launch's value",
               "D4");
    requireEnd(poll, [](const Instruction &op) {
      return isBarrier(op) || isReturn(op);
    });
    checkAbort(poll);
  }

  bool isAtLeast(const Instruction &op, StringRef flag) const {
    llvm::SmallVector<StringRef> operands = operandsOf(op);
    if (operands.size() != 3)
      return false;
    bool isFirst = operands[1] == flag;
    llvm::StringSet<> sources = flow.sourcesOf(operands[isFirst ? 2 : 1]);
    return op.opcode.starts_with(isFirst ? "v_cmp_ge_u64" : "v_cmp_le_u64") &&
           sources.contains("v6") && sources.contains("v7");
  }

  /// The loop must look at the abort word, too.
  void checkAbort(const Instruction &poll) {
    for (const Instruction &op : function.code) {
      llvm::SmallVector<StringRef> operands = operandsOf(op);
      if (!caches.isCoherentLoad(op) || operands.size() < 2 || &op == &poll ||
          operands[1] != "v[8:9]")
        continue;
      auto isThis = [&](const Instruction &other) { return &other == &op; };
      auto compares = [&](const Instruction &other) {
        return other.opcode.starts_with("v_cmp_eq_u64") ||
                       other.opcode.starts_with("v_cmp_ne_u64")
                   ? llvm::is_contained(operandsOf(other), operands[0])
                   : false;
      };
      if (after(poll, isBarrier, isThis) && !after(op, compares, isBarrier))
        return;
    }
    report(poll, "the abort word does not end the polling");
  }
};

class EpochAudit : FunctionAudit {
public:
  using FunctionAudit::FunctionAudit;

  /// The word of an epoch is read plus one.
  void checkBegin() {
    auto addsOne = [](const Instruction &op) {
      bool isAdd = op.opcode.starts_with("v_add_") ||
                   op.opcode.starts_with("v_lshl_add_u64");
      return isAdd && llvm::is_contained(operandsOf(op), "1");
    };
    if (llvm::none_of(function.code, isLoad) ||
        afterAny(isLoad, addsOne, isReturn))
      reportFunction("does not return the epoch plus one", "D4");
    checkStores();
  }

  /// And stored at the end.
  void checkEnd(bool isOneWave) {
    // One wave is always in one place: LLVM may leave its barriers out.
    if (!isOneWave)
      requireFromEntry(isBarrier, isStore,
                       "the epoch word is stored before the block barrier");
    checkStores();
  }

private:
  void checkStores() {
    if (llvm::none_of(function.code, isStore))
      reportFunction("stores no epoch", "D4");
    for (const Instruction &op : function.code) {
      if (!isStore(op))
        continue;
      if (!op.opcode.ends_with("dwordx2") || operandsOf(op).size() < 2)
        report(op, "an epoch is a word of 64 bits");
      else if (isConstant(operandsOf(op)[1]))
        report(op, "the epoch that is stored is not the launch's", "D4");
    }
  }

  /// True if a register of `operand` is made from numbers only.
  bool isConstant(StringRef operand) const {
    return llvm::any_of(wordsIn(operand), [&](const std::string &word) {
      if (flow.writersOf(word).empty())
        return false; // an argument
      for (const auto &source : flow.sourcesOf(word))
        if (source.getKey() != word && source.getKey().starts_with("v"))
          return false;
      return true;
    });
  }
};
} // namespace

void assembly::auditGCNFlags(const Function &function,
                             std::vector<AuditFinding> &findings,
                             const Coherence &caches, bool isOneWave) {
  if (function.name == helper::signal)
    SignalAudit(function, findings, caches).run();
  else if (function.name == helper::wait)
    WaitAudit(function, findings, caches).run();
  else if (function.name == helper::end)
    EpochAudit(function, findings).checkEnd(isOneWave);
  else if (function.name == helper::begin)
    EpochAudit(function, findings).checkBegin();
}
