//===- AuditRules.h - What rules for PTX and GCN share ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule says that no path leads from some instructions to another without a
// third between them.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ASSEMBLY_AUDIT_AUDITRULES_H
#define SCCL_LIB_ASSEMBLY_AUDIT_AUDITRULES_H

#include "Assembly/Assembly.h"
#include "Assembly/DataFlow.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/Assembly/Audit.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

namespace sccl::assembly {

/// Rules that look at each instruction of a helper together with all others are
/// for functions of a helper's size. For flags that is 45 instructions today,
/// for payload 2,341: it grows with the conversions of the element type.
inline size_t maxHelperSize(llvm::StringRef name) {
  bool isForFlags = name == helper::signal || name == helper::wait ||
                    name == helper::begin || name == helper::end ||
                    name == helper::mark || name == helper::record;
  return isForFlags ? 200 : 5000;
}

/// The name of a helper, without that of its reduction among several, and
/// without saying that it has several terms or is for a team.
inline llvm::StringRef helperName(llvm::StringRef name) {
  name = name.take_front(name.find(helper::choiceMark));
  name.consume_back(helper::termsSuffix);
  name.consume_back(helper::teamSuffix);
  return name;
}

/// The operands of a helper for LL words by its name, see LLHelpers.h: a
/// letter for the destination and one for each source, p for LL words and m for
/// plain memory. Empty for other functions.
inline llvm::StringRef llOperands(llvm::StringRef name) {
  name = helperName(name);
  for (llvm::StringRef loop :
       {helper::copy, helper::reduceElements, helper::average})
    if (llvm::StringRef rest = name;
        rest.consume_front(loop) && rest.consume_front("_") &&
        rest.size() > 1 &&
        rest.find_first_not_of("pm") == llvm::StringRef::npos)
      return rest;
  return "";
}

/// True if `operands` name `reg`, which no other name may contain.
inline bool namesRegister(llvm::StringRef operands, llvm::StringRef reg) {
  for (size_t at = 0; (at = operands.find(reg, at)) != llvm::StringRef::npos;
       ++at) {
    llvm::StringRef before = operands.take_front(at);
    llvm::StringRef after = operands.drop_front(at + reg.size());
    bool isWhole = (before.empty() || !llvm::isAlnum(before.back())) &&
                   (after.empty() || !llvm::isAlnum(after.front()));
    if (isWhole)
      return true;
  }
  return false;
}

/// The audit of one function.
class FunctionAudit {
public:
  FunctionAudit(const Function &function, std::vector<AuditFinding> &findings)
      : function(function), findings(findings) {}

  /// Reports a helper that is too large for the rules of helpers.
  bool hasHelperSize() {
    size_t limit = maxHelperSize(function.name);
    if (function.code.size() <= limit)
      return true;
    reportFunction("has " + llvm::Twine(function.code.size()) +
                   " instructions, but a helper has " + llvm::Twine(limit) +
                   " at most");
    return false;
  }

protected:
  void report(const Instruction &where, const llvm::Twine &message,
              const char *check = "P1") {
    findings.push_back(
        {check, function.name, where.line, where.text.str(), message.str()});
  }
  void reportFunction(const llvm::Twine &message, const char *check = "P1") {
    findings.push_back({check, function.name, function.line,
                        function.text.str(), message.str()});
  }

  /// A `goal` that the function can reach without a `stop` before it.
  const Instruction *fromEntry(Condition stop, Condition goal) const {
    return findPath(function, {0}, stop, goal);
  }
  /// The same behind `from`.
  const Instruction *after(const Instruction &from, Condition stop,
                           Condition goal) const {
    return findPath(function, from.next, stop, goal);
  }
  /// The same behind any of `sources`.
  const Instruction *afterAny(Condition sources, Condition stop, Condition goal,
                              PathSearch find = findPath) const {
    llvm::SmallVector<unsigned> starts;
    for (const Instruction &op : function.code)
      if (sources(op))
        starts.append(op.next.begin(), op.next.end());
    return find(function, starts, stop, goal);
  }
  /// The instructions for which `condition` holds, to ask for them often.
  std::vector<bool> all(Condition condition) const {
    std::vector<bool> result;
    for (const Instruction &op : function.code)
      result.push_back(condition(op));
    return result;
  }
  size_t indexOf(const Instruction &op) const {
    return &op - function.code.data();
  }
  /// Reports the first `goal` that is reached so.
  void requireFromEntry(Condition stop, Condition goal,
                        const llvm::Twine &message, const char *check = "P1") {
    if (const Instruction *found = fromEntry(stop, goal))
      report(*found, message, check);
  }

  /// Reports a way through the function that has a `reader` but no `acquirer`.
  void requireAcquire(Condition isAcquirer, Condition reader,
                      Condition leaves) {
    std::vector<bool> acquirers = all(isAcquirer);
    auto acquirer = [&](const Instruction &op) {
      return bool(acquirers[indexOf(op)]);
    };
    for (const Instruction &op : function.code) {
      auto isThis = [&](const Instruction &other) { return &other == &op; };
      if (!reader(op) || acquirer(op) || !fromEntry(acquirer, isThis) ||
          !after(op, acquirer, leaves))
        continue;
      report(op, "a thread may stop waiting by a load without acquire");
    }
  }

  /// Reports what is stored behind `load` before an op that `compares` the
  /// launch number that came with an LL word.
  void requireComparison(const Instruction &load, Condition isStore,
                         Condition compares) {
    if (after(load, compares, isStore))
      report(load, "an LL word is used before its launch number is compared");
  }

  /// Reports `where` unless `operand` is made from one of `words`.
  void requireSource(const Instruction &where, llvm::StringRef operand,
                     llvm::ArrayRef<llvm::StringRef> words,
                     const llvm::Twine &message, const char *check = "P1") {
    llvm::StringSet<> sources = flow.sourcesOf(operand);
    auto isSource = [&](llvm::StringRef word) {
      return sources.contains(word);
    };
    if (llvm::none_of(words, isSource))
      report(where, message, check);
  }

  /// Reports a loop around `poll` that nothing leads out of.
  void requireEnd(const Instruction &poll, Condition leaves) {
    auto isNone = [](const Instruction &) { return false; };
    if (!after(poll, isNone, leaves))
      report(poll, "the polling has no end", "D4");
  }

  /// A block that has read its epoch must store it before it returns, or all
  /// its flags are behind in the next launch. What a block stores in its own
  /// code, rather than in a helper, is no part of the protocol.
  void checkBlocks(
      llvm::function_ref<bool(const Instruction &, llvm::StringRef)> calls,
      Condition isReturn, Condition isStore, PathSearch find = findPath) {
    auto begins = [&](const Instruction &op) {
      return calls(op, helper::begin);
    };
    auto ends = [&](const Instruction &op) { return calls(op, helper::end); };
    if (const Instruction *found = afterAny(begins, ends, isReturn, find))
      report(*found, "a block may return without a call of @coll_end", "D2");
    if (llvm::any_of(function.code, begins))
      for (const Instruction &op : function.code)
        if (isStore(op))
          report(op, "a kernel stores by itself, outside of the helpers");
  }

  /// What tells of a channel waits for nobody, and touches nothing but memory
  /// that its table names, which is in `table`. `addressOf` gives the operand
  /// of an access, or nothing for another op.
  void checkMark(
      llvm::ArrayRef<llvm::StringRef> table, Condition isBarrier,
      llvm::function_ref<llvm::StringRef(const Instruction &)> addressOf) {
    if (function.name != helper::mark && function.name != helper::record)
      return;
    for (const Instruction &op : function.code) {
      if (isBarrier(op))
        report(op, "a mark waits for other threads");
      if (llvm::StringRef address = addressOf(op); !address.empty())
        requireSource(op, address, table,
                      "a mark touches memory that is not of the trace");
    }
  }

  const Function &function;
  std::vector<AuditFinding> &findings;
  const DataFlow flow{function};
};

/// Rules for the text as a whole. `calls` are the functions that are called, in
/// any order, and `hasFlags` tells of a table of flags.
void auditWhole(const Text &text, llvm::ArrayRef<llvm::StringRef> calls,
                bool hasFlags, std::vector<AuditFinding> &findings);

} // namespace sccl::assembly

#endif // SCCL_LIB_ASSEMBLY_AUDIT_AUDITRULES_H
