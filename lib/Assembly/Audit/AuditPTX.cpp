//===- AuditPTX.cpp - The order of flags in PTX ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AuditRules.h"
#include "PTXInstructions.h"
#include "PTXRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::assembly;
using namespace sccl::assembly::ptx;
using llvm::StringRef;

namespace {
class PTXAudit : FunctionAudit {
public:
  using FunctionAudit::FunctionAudit;

  void run() {
    for (const Instruction &op : function.code)
      checkInstruction(op);
    bool isHelper = StringRef(function.name).starts_with(helper::prefix);
    if (isHelper && !hasHelperSize())
      return;
    auditPTXFlags(function, findings);
    if (function.name != helper::signal && function.name != helper::wait)
      checkOther();
    checkSwitchFences();
    checkBlocks(callsFunction, isReturn, isStore);
    StringRef name = helperName(function.name);
    if (name == helper::copy || name == helper::reduceElements ||
        name == helper::average)
      checkAlignment();
    auditPTXWords(function, findings);
    std::string table = function.name + "_param_0";
    checkMark({table}, isBarrier, [](const Instruction &op) -> StringRef {
      llvm::SmallVector<StringRef> operands = operandsOf(op);
      bool isLoad = isAccess(op, "ld"), isStore = isAccess(op, "st");
      return (isLoad || isStore) && operands.size() > 1 ? operands[isLoad] : "";
    });
    if (function.name == helper::end)
      requireFromEntry(isBarrier, isStore,
                       "the epoch word is stored before the block barrier");
  }

private:
  /// Rules for every function.
  void checkInstruction(const Instruction &op) {
    StringRef name = verb(op);
    if (name == "multimem")
      checkSwitched(op);
    else if (name == "atom" || name == "red")
      report(op, "read-modify-write, whose order and scope LLVM drops");
    else if (isOtherAccess(op))
      report(op, "memory is accessed by other means than ld and st");
    if (has(op.opcode, "nc") || name == "ldu")
      report(op, "load through the read-only cache, which is not coherent with "
                 "peers");
    if (has(op.opcode, "volatile"))
      report(op, "volatile access, which orders nothing");
    bool isFenceLike =
        (name == "fence" && !has(op.opcode, "proxy")) || name == "membar";
    bool hasScope = isFenceLike || (isAccess(op, "ld") && isOrdered(op)) ||
                    (isAccess(op, "st") && isOrdered(op));
    if (hasScope && !has(op.opcode, "volatile") && !has(op.opcode, "sys"))
      report(op, "scope is not .sys, so peers need not see it");
    if ((isAcquire(op) || isRelaxedLoad(op) || isPublish(op)) && !is64Bit(op))
      report(op, "flags and LL words are words of 64 bits");
  }

  /// An access through a switch, which only loops for it have.
  void checkSwitched(const Instruction &op) {
    StringRef name = helperName(function.name);
    bool stores = has(op.opcode, "st"), reduces = has(op.opcode, "ld_reduce");
    if (!stores && !reduces)
      report(op, "a switch copies and reduces, but does nothing else");
    if (!has(op.opcode, "relaxed") || !has(op.opcode, "sys"))
      report(op, "an access through a switch is relaxed, at scope .sys");
    std::string loop = stores ? helper::copy : helper::reduceElements;
    if (name != loop + helper::switchSuffix)
      report(op, "an access through a switch outside of the loops for it");
  }

  /// Addresses at a switch and plain ones reach the same memory by different
  /// proxies: what calls loops through a switch fences before and after.
  void checkSwitchFences() {
    auto isFence = [](const Instruction &op) {
      return op.opcode == "fence.proxy.alias" && !op.predicated;
    };
    auto callsLoop = [](const Instruction &op) {
      StringRef callee = helperName(calleeOf(op));
      return callee.consume_back(helper::switchSuffix) &&
             (callee == helper::copy || callee == helper::reduceElements ||
              callee == helper::chooseElements);
    };
    if (helperName(function.name) ==
        std::string(helper::chooseElements) + helper::switchSuffix)
      return;
    requireFromEntry(isFence, callsLoop,
                     "no fence between proxies before a transfer through a "
                     "switch",
                     "H2");
    if (const Instruction *found = afterAny(callsLoop, isFence, isReturn))
      report(*found,
             "no fence between proxies after a transfer through a switch",
             "H2");
  }

  /// An access of 16 bytes traps where an address is not aligned: a branch on
  /// the low bits of the addresses must lead there (check B2).
  void checkAlignment() {
    // Moves of other registers may stand between the three.
    auto before = [&](const Instruction *op) -> const Instruction * {
      const Instruction *first = function.code.data();
      while (op != first) {
        --op;
        if (verb(*op) != "cvt" && verb(*op) != "mov")
          return op;
      }
      return nullptr;
    };
    auto isGuard = [&](const Instruction &op) {
      if (verb(op) != "bra" || !op.predicated)
        return false;
      const Instruction *compares = before(&op);
      if (!compares || verb(*compares) != "setp")
        return false;
      const Instruction *masks = before(compares);
      return masks && verb(*masks) == "and" && masks->operands.ends_with(" 15");
    };
    if (const Instruction *found = fromEntry(isGuard, is16Bytes))
      report(*found, "an access of 16 bytes without a look at the alignment",
             "B2");
  }

  /// Flags in other functions, such as a helper that was inlined.
  void checkOther() {
    if (const Instruction *found = afterAny(isAcquire, isBarrier, isPlainLoad))
      report(*found, "no block barrier between a poll and what it guards");
    if (!llOperands(function.name).empty())
      return;
    if (const Instruction *found = afterAny(isPlainStore, isBarrier, isPublish))
      report(*found,
             "no block barrier between stores and the flag that "
             "announces them",
             "H2");
    else
      requireFromEntry(isBarrier, isPublish,
                       "no block barrier before the store of a flag", "H2");
  }
};
} // namespace

/// True if there is a table of flags that is more than the word of an empty
/// one.
static bool hasFlags(StringRef text) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    StringRef size = line.split("_flags[").second;
    unsigned bytes = 0;
    if (line.starts_with(".global") && !size.consumeInteger(10, bytes) &&
        bytes > 4)
      return true;
  }
  return false;
}

std::vector<AuditFinding> sccl::auditPTX(StringRef text) {
  std::vector<AuditFinding> findings;
  Text parsed = parsePTX(text);
  llvm::SmallVector<StringRef> calls;
  for (const Function &function : parsed.functions) {
    PTXAudit(function, findings).run();
    for (const Instruction &op : function.code)
      if (StringRef callee = calleeOf(op); !callee.empty())
        calls.push_back(callee);
  }
  llvm::sort(calls);
  calls.erase(llvm::unique(calls), calls.end());
  auditWhole(parsed, calls, hasFlags(text), findings);
  return findings;
}
