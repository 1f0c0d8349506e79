//===- PTXFlags.cpp - Helpers for flags and epochs in PTX -----------------===//
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
/// What rules for helpers of flags ask for.
class FlagAudit : public FunctionAudit {
public:
  using FunctionAudit::FunctionAudit;

protected:
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
};

class SignalAudit : FlagAudit {
public:
  using FlagAudit::FlagAudit;

  void run() {
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

private:
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
};

class WaitAudit : FlagAudit {
public:
  using FlagAudit::FlagAudit;

  void run() {
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
    if (const Instruction *found = afterAny(isAcquire, isBarrier, isReturn))
      report(*found, "the function may return after the poll without a block "
                     "barrier");
    requirePlainConditions();
  }

private:
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
};

class EpochAudit : FlagAudit {
public:
  using FlagAudit::FlagAudit;

  /// The word of an epoch is read plus one, which is also stored for blocks
  /// that are absent, and stored at the end.
  void run() {
    requirePlainConditions();
    if (llvm::none_of(function.code, isStore))
      reportFunction("stores no epoch", "D4");
    if (function.name == helper::end) {
      for (const Instruction &op : function.code)
        if (isStore(op))
          checkEpochStore(op);
      return;
    }
    bool returnsNext = llvm::any_of(function.code, [&](const Instruction &op) {
      auto returnsIt = [&](const Instruction &other) {
        return other.opcode.starts_with("st.param") &&
               namesRegister(other.operands, operandsOf(op)[0]);
      };
      return isNext(op) && llvm::any_of(function.code, returnsIt);
    });
    if (!returnsNext)
      reportFunction("does not return the epoch plus one", "D4");
    for (const Instruction &op : function.code)
      if (isStore(op) && !storesNext(op))
        report(op, "the epoch that is stored is not the launch's", "D4");
  }

private:
  /// True for one more than a word that was loaded.
  bool isNext(const Instruction &op) const {
    llvm::SmallVector<StringRef> operands = operandsOf(op);
    if (!op.opcode.starts_with("add.") || operands.size() != 3 ||
        operands[2] != "1")
      return false;
    llvm::ArrayRef<const Instruction *> writers = flow.writersOf(operands[1]);
    return writers.size() == 1 && isAccess(*writers[0], "ld") &&
           is64Bit(*writers[0]);
  }

  bool storesNext(const Instruction &store) const {
    llvm::SmallVector<StringRef> operands = operandsOf(store);
    if (operands.size() != 2 || !is64Bit(store))
      return false;
    llvm::ArrayRef<const Instruction *> writers = flow.writersOf(operands[1]);
    return writers.size() == 1 && isNext(*writers[0]);
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
};
} // namespace

void assembly::auditPTXFlags(const Function &function,
                             std::vector<AuditFinding> &findings) {
  if (function.name == helper::signal)
    SignalAudit(function, findings).run();
  else if (function.name == helper::wait)
    WaitAudit(function, findings).run();
  else if (function.name == helper::begin || function.name == helper::end)
    EpochAudit(function, findings).run();
}
