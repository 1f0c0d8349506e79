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
  return isSync && !op.predicated && op.operands.trim() == "0";
}

static bool isReturn(const Instruction &op) { return op.isReturn; }

/// The function that `op` calls, or nothing if it is no call.
static StringRef calleeOf(const Instruction &op) {
  if (verb(op) != "call")
    return "";
  for (StringRef operand : operandsOf(op))
    if (!operand.starts_with("("))
      return operand;
  return "";
}

static bool callsFunction(const Instruction &op, StringRef name) {
  return calleeOf(op) == name;
}

/// True for a branch that some threads may take and others not.
static bool isCondition(const Instruction &op) {
  return verb(op) == "bra" && op.predicated && op.next.size() == 2;
}

/// An access to memory by other means than loads and stores, whose order the
/// protocol says nothing about.
static bool isOtherAccess(const Instruction &op) {
  StringRef name = verb(op);
  bool isPlain = name == "ld" || name == "st";
  return op.operands.contains('[') &&
         (!isPlain || has(op.opcode, "async") || has(op.opcode, "bulk"));
}

static bool is64Bit(const Instruction &op) {
  return has(op.opcode, "b64") || has(op.opcode, "u64") ||
         has(op.opcode, "s64");
}

/// A load or store of 16 bytes.
static bool is16Bytes(const Instruction &op) {
  bool isWide = (has(op.opcode, "v4") && op.opcode.ends_with("32")) ||
                (has(op.opcode, "v2") && op.opcode.ends_with("64"));
  return isWide && (isAccess(op, "ld") || isAccess(op, "st"));
}

namespace {
class PTXAudit : FunctionAudit {
public:
  using FunctionAudit::FunctionAudit;

  void run() {
    for (const Instruction &op : function.code)
      checkInstruction(op);
    bool isHelper = StringRef(function.name).starts_with("coll_");
    if (isHelper && !hasHelperSize())
      return;
    if (function.name == "coll_signal")
      checkSignal();
    else if (function.name == "coll_wait")
      checkWait();
    else
      checkOther();
    if (function.name == "coll_begin" || function.name == "coll_end")
      checkEpoch();
    checkBlocks(callsFunction, isReturn, isStore);
    if (function.name == "coll_copy" || function.name == "coll_combine" ||
        function.name == "coll_average")
      checkAlignment();
    if (StringRef operands = llOperands(function.name); !operands.empty())
      checkLL(operands.front() == 'p', operands.drop_front());
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

  /// An access of 16 bytes traps where an address is not aligned: a branch on
  /// the low bits of the addresses must lead there (check B2).
  void checkAlignment() {
    auto isGuard = [&](const Instruction &op) {
      size_t at = &op - function.code.data();
      return at >= 2 && verb(op) == "bra" && op.predicated &&
             verb(function.code[at - 1]) == "setp" &&
             verb(function.code[at - 2]) == "and" &&
             function.code[at - 2].operands.ends_with(" 15");
    };
    if (const Instruction *found = fromEntry(isGuard, is16Bytes))
      report(*found, "an access of 16 bytes without a look at the alignment",
             "B2");
  }

  /// Parameter `number` of this function.
  std::string parameter(unsigned number) const {
    return function.name + "_param_" + std::to_string(number);
  }

  /// What decides whether a helper does its work would be spread over two
  /// places if some of its instructions were not executed by all that come by.
  void requirePlainConditions() {
    for (const Instruction &op : function.code) {
      if (op.predicated && verb(op) != "bra")
        report(op, "a helper for flags has conditions on branches only");
      llvm::SmallVector<StringRef> operands = operandsOf(op);
      if (verb(op) == "setp" && operands.size() == 3 &&
          operands[1] == operands[2])
        report(op, "a word is compared with itself");
    }
  }

  void checkSignal() {
    if (llvm::none_of(function.code, isPublish))
      reportFunction("publishes no flag");
    for (const Instruction &op : function.code) {
      if (isPlainStore(op))
        report(op, "the flag is stored without release");
      if (isPublish(op))
        checkFlagStore(op);
    }
    if (const Instruction *store = afterAny(isBarrier, isFence, isRelaxedStore))
      report(*store,
             "no fence between the block barrier and the store of the "
             "flag",
             "H2");
    requireFromEntry(isBarrier, isStore,
                     "no block barrier before the store of the flag", "H2");
    requireFromEntry(isBarrier, isReturn,
                     "a thread may return without the block barrier", "H2");
    requirePlainConditions();
  }

  /// Parameters of @coll_signal: rows, count, peers, block, launch.
  void checkFlagStore(const Instruction &store) {
    llvm::SmallVector<StringRef> operands = operandsOf(store);
    if (operands.size() != 2)
      return report(store, "a flag is one word");
    requireSource(store, operands[0], {parameter(2)},
                  "the flag that is stored is not in the memory of a peer");
    requireSource(store, operands[1], {parameter(4)},
                  "the value of the flag does not grow with the launches",
                  "D4");
    for (const Instruction &op : function.code)
      if (decides(op, store) && !asksForFlag(op, store))
        report(op, "the threads that store are not those with a flag");
  }

  /// True if it depends on the branch `op` whether `goal` comes before the
  /// block joins.
  bool decides(const Instruction &op, const Instruction &goal) const {
    return isCondition(op) &&
           leadsTo(op.next[0], goal) != leadsTo(op.next[1], goal);
  }
  bool leadsTo(unsigned start, const Instruction &goal) const {
    auto isGoal = [&](const Instruction &op) { return &op == &goal; };
    return findPath(function, {start}, isBarrier, isGoal);
  }

  /// The predicate of a branch, and whether it must hold for `goal` to follow.
  std::pair<StringRef, bool> predicateOf(const Instruction &branch,
                                         const Instruction &goal) const {
    StringRef guard =
        branch.text.drop_front().split(' ').first.split('\t').first;
    bool isNegated = guard.consume_front("!");
    return {guard, leadsTo(branch.next[0], goal) != isNegated};
  }

  /// True if threads get from `branch` to `goal` whose number is less than the
  /// number of flags, and no others.
  bool asksForFlag(const Instruction &branch, const Instruction &goal) const {
    auto [guard, holds] = predicateOf(branch, goal);
    llvm::ArrayRef<const Instruction *> writers = flow.writersOf(guard);
    if (writers.size() != 1)
      return false;
    llvm::SmallVector<StringRef> operands = operandsOf(*writers[0]);
    bool fits = writers[0]->opcode == (holds ? "setp.lt.u32" : "setp.ge.u32");
    return fits && operands.size() == 3 &&
           flow.sourcesOf(operands[1]).contains("%tid.x") &&
           flow.sourcesOf(operands[2]).contains(parameter(1));
  }

  /// How good a condition for another poll is.
  enum class Again {
    Wrong,   ///< may be false with a small flag and no abort, or knows neither
    IfAlive, ///< true unless aborted
    IfEarly, ///< true if the flag is too small, unless aborted
  };

  /// What follows from a predicate that is `value`. `depth` bounds cycles.
  Again conditionOf(StringRef predicate, bool value, const Instruction &poll,
                    unsigned depth = 8) const {
    llvm::ArrayRef<const Instruction *> writers = flow.writersOf(predicate);
    Again result = writers.empty() || !depth ? Again::Wrong : Again::IfEarly;
    for (const Instruction *writer : writers)
      if (depth)
        result = std::min(result, conditionOf(*writer, value, poll, depth - 1));
    return result;
  }

  Again conditionOf(const Instruction &op, bool value, const Instruction &poll,
                    unsigned depth) const {
    llvm::SmallVector<StringRef> operands = operandsOf(op);
    if (op.opcode == (value ? "and.pred" : "or.pred") && operands.size() == 3) {
      Again first = conditionOf(operands[1], value, poll, depth);
      Again second = conditionOf(operands[2], value, poll, depth);
      return std::min(first, second) == Again::Wrong ? Again::Wrong
                                                     : std::max(first, second);
    }
    if (op.opcode == "not.pred" && operands.size() == 2)
      return conditionOf(operands[1], !value, poll, depth);
    if (op.opcode == "mov.pred" && operands.size() == 2)
      return operands[1] == (value ? "-1" : "0") ? Again::IfAlive
                                                 : Again::Wrong;
    if (verb(op) != "setp" || operands.size() != 3)
      return Again::Wrong;
    return comparisonOf(op.opcode, operands[1], operands[2], value, poll);
  }

  Again comparisonOf(StringRef opcode, StringRef left, StringRef right,
                     bool value, const Instruction &poll) const {
    StringRef flag = operandsOf(poll)[0];
    StringRef bound = left == flag ? right : left;
    if ((left == flag) != (right == flag)) {
      StringRef expected = left == flag
                               ? (value ? "setp.lt.u64" : "setp.ge.u64")
                               : (value ? "setp.gt.u64" : "setp.le.u64");
      bool grows = flow.sourcesOf(bound).contains(parameter(4));
      return opcode == expected && grows ? Again::IfEarly : Again::Wrong;
    }
    bool isEqual = opcode.starts_with(value ? "setp.eq." : "setp.ne.");
    return isEqual && opcode.ends_with("64") && right == "0" &&
                   isAbortWord(left)
               ? Again::IfAlive
               : Again::Wrong;
  }

  bool isAbortWord(StringRef word) const {
    llvm::ArrayRef<const Instruction *> writers = flow.writersOf(word);
    return writers.size() == 1 &&
           (isRelaxedLoad(*writers[0]) || isAcquire(*writers[0])) &&
           flow.sourcesOf(word).contains(parameter(5));
  }

  /// The loop around a poll. Parameters of @coll_wait: rows, count, control,
  /// block, launch, abort word.
  void checkLoop(const Instruction &poll) {
    llvm::SmallVector<StringRef> operands = operandsOf(poll);
    if (operands.size() != 2)
      return report(poll, "a flag is one word");
    requireSource(poll, operands[1], {parameter(2)},
                  "what is polled is not a flag of this rank");
    requireEnd(poll, [](const Instruction &op) {
      return isBarrier(op) || isReturn(op);
    });
    bool comesAgain = false;
    for (const Instruction &op : function.code) {
      auto isThis = [&](const Instruction &other) { return &other == &op; };
      if (!decides(op, poll))
        continue;
      if (!after(poll, isBarrier, isThis)) {
        if (!asksForFlag(op, poll))
          report(op, "the threads that poll are not those with a flag");
        continue;
      }
      comesAgain = true;
      auto [guard, holds] = predicateOf(op, poll);
      if (conditionOf(guard, holds, poll) != Again::IfEarly)
        report(op,
               "polling ends by something else than a flag of at least the "
               "launch's value, or the abort word",
               "D4");
    }
    if (!comesAgain)
      report(poll, "a flag that is too small is not polled again", "D4");
    auto looksForAbort = [&](const Instruction &op) {
      return verb(op) == "setp" && operandsOf(op).size() == 3 &&
             isAbortWord(operandsOf(op)[1]);
    };
    if (!after(poll, isBarrier, looksForAbort))
      report(poll, "the abort word does not end the polling");
  }

  /// The word of an epoch is read plus one, and stored at the end.
  void checkEpoch() {
    requirePlainConditions();
    auto isWord = [&](const Instruction &op) {
      return isAccess(op, "ld") && is64Bit(op);
    };
    if (function.name == "coll_end") {
      if (llvm::none_of(function.code, isStore))
        reportFunction("stores no epoch", "D4");
      for (const Instruction &op : function.code)
        if (isStore(op))
          checkEpochStore(op);
      return;
    }
    bool isNext = llvm::any_of(function.code, [&](const Instruction &op) {
      llvm::SmallVector<StringRef> operands = operandsOf(op);
      if (!op.opcode.starts_with("add.") || operands.size() != 3 ||
          operands[2] != "1")
        return false;
      llvm::ArrayRef<const Instruction *> writers = flow.writersOf(operands[1]);
      auto returnsIt = [&](const Instruction &other) {
        return other.opcode.starts_with("st.param") &&
               namesRegister(other.operands, operands[0]);
      };
      return writers.size() == 1 && isWord(*writers[0]) &&
             llvm::any_of(function.code, returnsIt);
    });
    if (!isNext)
      reportFunction("does not return the epoch plus one", "D4");
  }

  /// What is stored is an argument of its own, not where the word is.
  void checkEpochStore(const Instruction &store) {
    llvm::SmallVector<StringRef> operands = operandsOf(store);
    if (operands.size() != 2 || !is64Bit(store))
      return report(store, "an epoch is a word of 64 bits");
    llvm::StringSet<> address = flow.sourcesOf(operands[0]);
    for (const auto &source : flow.sourcesOf(operands[1]))
      if (source.getKey().contains("_param_") &&
          !address.contains(source.getKey()))
        return;
    report(store, "the epoch that is stored is not the launch's", "D4");
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
    auto isPoll = [&](const Instruction &op) {
      return isAcquire(op) || isRelaxedLoad(op);
    };
    if (const Instruction *load = afterAny(isPoll, isBarrier, isPlainLoad))
      report(*load, "a load between a poll and the block barrier is no poll");
    for (const Instruction &op : function.code)
      if (acquires(op))
        checkLoop(op);
    requireFromEntry(isBarrier, isReturn,
                     "a thread may return without the block barrier");
    checkPolls(isReturn, "the function may return after the poll without a "
                         "block barrier");
    requirePlainConditions();
  }

  void checkPolls(Condition goal, StringRef message) {
    if (const Instruction *found = afterAny(isAcquire, isBarrier, goal))
      report(*found, message);
  }

  /// An LL word is one access, so nothing else has to be ordered.
  void checkLL(bool sends, StringRef sources) {
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

  /// Flags in other functions, such as a helper that was inlined.
  void checkOther() {
    checkPolls(isPlainLoad,
               "no block barrier between a poll and what it guards");
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
