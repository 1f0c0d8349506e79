//===- AuditPTX.cpp - The order of flags in PTX ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AuditRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::assembly;
using llvm::StringRef;

/// True if `opcode` has `part` between its dots.
static bool has(StringRef opcode, StringRef part) {
  for (StringRef rest = opcode; !rest.empty();) {
    StringRef one;
    std::tie(one, rest) = rest.split('.');
    if (one == part)
      return true;
  }
  return false;
}

static StringRef verb(const Instruction &op) {
  return op.opcode.split('.').first;
}

/// A load or store that may reach memory of a peer.
static bool isAccess(const Instruction &op, StringRef kind) {
  return verb(op) == kind && !has(op.opcode, "param") &&
         !has(op.opcode, "local") && !has(op.opcode, "const") &&
         !op.opcode.contains(".shared");
}

static bool isOrdered(const Instruction &op) {
  return llvm::any_of(llvm::ArrayRef<StringRef>{"relaxed", "acquire", "release",
                                                "volatile", "mmio"},
                      [&](StringRef order) { return has(op.opcode, order); });
}

static bool isPlainLoad(const Instruction &op) {
  return isAccess(op, "ld") && !isOrdered(op);
}
static bool isPlainStore(const Instruction &op) {
  return isAccess(op, "st") && !isOrdered(op);
}
static bool isStore(const Instruction &op) { return isAccess(op, "st"); }

static bool hasOrder(const Instruction &op, StringRef kind, StringRef order) {
  return isAccess(op, kind) && has(op.opcode, order) && has(op.opcode, "sys");
}
static bool isAcquire(const Instruction &op) {
  return hasOrder(op, "ld", "acquire");
}
static bool isRelaxedLoad(const Instruction &op) {
  return hasOrder(op, "ld", "relaxed");
}
static bool isRelease(const Instruction &op) {
  return hasOrder(op, "st", "release");
}
static bool isRelaxedStore(const Instruction &op) {
  return hasOrder(op, "st", "relaxed");
}
static bool isPublish(const Instruction &op) {
  return isRelease(op) || isRelaxedStore(op);
}

static bool isFence(const Instruction &op) {
  return !op.predicated &&
         (op.opcode == "fence.acq_rel.sys" || op.opcode == "fence.sc.sys" ||
          op.opcode == "membar.sys");
}

/// A barrier of all threads of the block; one with an operand for their number
/// may be for some of them.
static bool isBarrier(const Instruction &op) {
  bool isSync = op.opcode.starts_with("bar.sync") ||
                op.opcode.starts_with("bar.cta.sync") ||
                op.opcode.starts_with("barrier.sync") ||
                op.opcode.starts_with("barrier.cta.sync");
  return isSync && !op.predicated && !op.operands.contains(',');
}

static bool isReturn(const Instruction &op) { return op.isReturn; }

static bool is64Bit(const Instruction &op) {
  return has(op.opcode, "b64") || has(op.opcode, "u64") ||
         has(op.opcode, "s64");
}

namespace {
class PTXAudit : FunctionAudit {
public:
  using FunctionAudit::FunctionAudit;

  void run() {
    for (const Instruction &op : function.code)
      checkInstruction(op);
    if (function.name == "coll_signal")
      checkSignal();
    else if (function.name == "coll_wait")
      checkWait();
    else
      checkOther();
    if (function.name == "coll_end")
      requireFromEntry(isBarrier, isStore,
                       "the epoch word is stored before the block barrier");
  }

private:
  /// Rules for every function.
  void checkInstruction(const Instruction &op) {
    StringRef name = verb(op);
    if (name == "atom" || name == "red" || name == "multimem")
      report(op, "read-modify-write, whose order and scope LLVM drops");
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
    if ((isAcquire(op) || isPublish(op)) && !is64Bit(op))
      report(op, "flags are words of 64 bits");
  }

  void checkSignal() {
    if (llvm::none_of(function.code, isPublish))
      reportFunction("publishes no flag");
    for (const Instruction &op : function.code) {
      if (isPlainStore(op))
        report(op, "the flag is stored without release");
      if (isBarrier(op))
        if (const Instruction *store = after(op, isFence, isRelaxedStore))
          report(*store, "no fence between the block barrier and the store of "
                         "the flag");
    }
    requireFromEntry(isBarrier, isStore,
                     "no block barrier before the store of the flag");
    requireFromEntry(isBarrier, isReturn,
                     "a thread may return without the block barrier");
  }

  void checkWait() {
    auto acquires = [&](const Instruction &op) {
      return isAcquire(op) ||
             (isRelaxedLoad(op) && !after(op, isFence, isBarrier) &&
              !after(op, isFence, isReturn));
    };
    if (llvm::none_of(function.code, acquires))
      reportFunction("polls no flag with acquire");
    requireAcquire(acquires, isRelaxedLoad, isBarrier);
    // What is loaded before the polls, such as where they are, may be plain.
    for (const Instruction &op : function.code)
      if (isAcquire(op) || isRelaxedLoad(op))
        if (const Instruction *load = after(op, isBarrier, isPlainLoad)) {
          report(*load, "a load between a poll and the block barrier is no "
                        "poll");
          break;
        }
    requireFromEntry(isBarrier, isReturn,
                     "a thread may return without the block barrier");
    checkPolls(isReturn, "the function may return after the poll without a "
                         "block barrier");
  }

  void checkPolls(Condition goal, StringRef message) {
    for (const Instruction &op : function.code)
      if (isAcquire(op))
        if (const Instruction *found = after(op, isBarrier, goal))
          report(*found, message);
  }

  /// Flags in other functions, such as a helper that was inlined.
  void checkOther() {
    checkPolls(isPlainLoad,
               "no block barrier between a poll and what it guards");
    for (const Instruction &op : function.code)
      if (isPlainStore(op))
        if (const Instruction *found = after(op, isBarrier, isPublish)) {
          report(*found, "no block barrier between stores and the flag that "
                         "announces them");
          return;
        }
  }
};
} // namespace

std::vector<AuditFinding> sccl::auditPTX(StringRef text) {
  std::vector<AuditFinding> findings;
  std::vector<Function> functions = parsePTX(text);
  for (const Function &function : functions)
    PTXAudit(function, findings).run();
  if (functions.empty())
    findings.push_back({"P1", "", 1, "", "no function to audit"});
  return findings;
}
