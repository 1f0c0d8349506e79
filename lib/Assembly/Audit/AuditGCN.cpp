//===- AuditGCN.cpp - The order of flags in GCN assembly ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AuditRules.h"

#include "sccl/Model/Chip.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sccl;
using namespace sccl::assembly;
using llvm::StringRef;

static bool hasWord(const Instruction &op, StringRef word) {
  for (StringRef rest = op.operands; !rest.empty();) {
    StringRef one;
    std::tie(one, rest) = rest.ltrim().split(' ');
    if (one == word)
      return true;
  }
  return false;
}

/// A load or store of memory that a peer may use, too.
static bool isAccess(const Instruction &op, StringRef kind) {
  for (StringRef space : {"global_", "flat_", "buffer_"})
    if (StringRef rest = op.opcode; rest.consume_front(space))
      return rest.starts_with(kind);
  return false;
}
static bool isLoad(const Instruction &op) { return isAccess(op, "load_"); }
static bool isStore(const Instruction &op) { return isAccess(op, "store_"); }
static bool isBarrier(const Instruction &op) {
  return op.opcode == "s_barrier";
}
static bool isReturn(const Instruction &op) { return op.isReturn; }
static bool isWaitForMemory(const Instruction &op) {
  return op.opcode == "s_waitcnt" && op.operands.contains("vmcnt(0)");
}

/// Accesses to memory whose order the protocol says nothing about.
static bool isOtherAccess(const Instruction &op) {
  bool isScalar = op.opcode.starts_with("s_store") ||
                  op.opcode.starts_with("s_buffer_store") ||
                  op.opcode.starts_with("s_atomic");
  return isScalar || op.opcode.contains("_lds") ||
         op.opcode.starts_with("image_") || op.opcode.starts_with("tbuffer_");
}

/// The symbol whose address `op` takes, as all calls do, or nothing.
static StringRef symbolOf(const Instruction &op) {
  auto [before, after] = op.operands.split("@rel32@lo");
  return after.empty() ? "" : before.rsplit(',').second.trim();
}

static bool callsFunction(const Instruction &op, StringRef name) {
  return symbolOf(op) == name;
}

static bool isCall(const Instruction &op) {
  return op.opcode == "s_swappc_b64" ||
         (op.opcode == "s_setpc_b64" && op.operands != "s[30:31]");
}

namespace {
class GCNAudit : FunctionAudit {
public:
  GCNAudit(const Function &function, std::vector<AuditFinding> &findings,
           MemoryModel memoryModel, bool isOneWave)
      : FunctionAudit(function, findings), memoryModel(memoryModel),
        isOneWave(isOneWave) {}

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
    else if (function.name == "coll_end")
      checkEnd();
    else if (function.name == "coll_begin")
      checkBegin();
    checkBlocks(callsFunction, isReturn, isStore);
    if (StringRef operands = llOperands(function.name); !operands.empty())
      checkLL(operands.front() == 'p', operands.drop_front());
  }

private:
  /// At system scope, where the generation has scopes.
  bool hasSystemScope(const Instruction &op) const {
    return memoryModel != MemoryModel::ScopeBits ||
           (hasWord(op, "sc0") && hasWord(op, "sc1"));
  }
  bool isWriteBack(const Instruction &op) const {
    return op.opcode == "buffer_wbl2" && hasSystemScope(op);
  }
  /// The instructions that together drop what caches hold of peers' memory.
  llvm::SmallVector<StringRef, 2> invalidations() const {
    if (memoryModel == MemoryModel::ScopeBits)
      return {"buffer_inv"};
    if (memoryModel == MemoryModel::L2)
      return {"buffer_invl2", "buffer_wbinvl1_vol"};
    return {"buffer_wbinvl1_vol"};
  }
  bool isCoherentLoad(const Instruction &op) const {
    return isLoad(op) &&
           (memoryModel == MemoryModel::ScopeBits ? hasSystemScope(op)
                                                  : hasWord(op, "glc"));
  }

  /// Rules for every function.
  void checkInstruction(const Instruction &op) {
    if (isAccess(op, "atomic_"))
      report(op, "read-modify-write; the protocol has none");
    if (isOtherAccess(op))
      report(op, "memory is accessed by other means than loads and stores of "
                 "vectors");
    bool isCacheControl =
        op.opcode == "buffer_wbl2" || op.opcode == "buffer_inv";
    if (isCacheControl && !hasSystemScope(op))
      report(op, "scope is not sc0 sc1, so peers need not see it");
    bool isScalarLoad = op.opcode.starts_with("s_load") ||
                        op.opcode.starts_with("s_buffer_load");
    if (isScalarLoad && StringRef(function.name).starts_with("coll_"))
      report(op, "load through the scalar cache, which is not coherent with "
                 "peers");
  }

  void checkSignal() {
    if (llvm::none_of(function.code, isStore))
      reportFunction("publishes no flag");
    for (const Instruction &op : function.code) {
      if (isStore(op) && !op.opcode.ends_with("dwordx2"))
        report(op, "flags are words of 64 bits");
      if (isStore(op) && !hasSystemScope(op))
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
    if (memoryModel != MemoryModel::L1Only)
      checkWriteBack();
    checkGuard("the threads that store are not those with a flag");
  }

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
  }

  /// And stored at the end.
  void checkEnd() {
    // One wave is always in one place: LLVM may leave its barriers out.
    if (!isOneWave)
      requireFromEntry(isBarrier, isStore,
                       "the epoch word is stored before the block barrier");
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

  void checkWriteBack() {
    auto writesBack = [&](const Instruction &op) { return isWriteBack(op); };
    requireFromEntry(writesBack, isBarrier,
                     "a wave may join the block without writing its cache "
                     "back",
                     "H2");
    for (const Instruction &op : function.code)
      if (isWriteBack(op))
        if (const Instruction *found = after(op, isWaitForMemory, isBarrier)) {
          report(*found,
                 "a wave may join the block before its cache is "
                 "written back",
                 "H2");
          return;
        }
  }

  /// An LL word is one access, so nothing else has to be ordered.
  void checkLL(bool sends, StringRef sources) {
    auto isWord = [](const Instruction &op) {
      return op.opcode.ends_with("dwordx2");
    };
    auto isPoll = [&](const Instruction &op) {
      return isCoherentLoad(op) && isWord(op);
    };
    bool hasPlainSource = sources.contains('m');
    for (const Instruction &op : function.code) {
      if (isLoad(op) && !isCoherentLoad(op) && (!hasPlainSource || isWord(op)))
        report(op, "an LL word is loaded from a cache");
      if (isCoherentLoad(op) && !isWord(op))
        report(op, "LL words are words of 64 bits");
      if (sends && isStore(op) && !isWord(op))
        report(op, "LL words are words of 64 bits");
      if (sends && isStore(op) && !hasSystemScope(op))
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

  /// True if nothing that follows can overtake the load.
  bool acquires(const Instruction &load) const {
    if (!isCoherentLoad(load))
      return false;
    auto isEnd = [&](const Instruction &op) {
      return isBarrier(op) || isReturn(op) || &op == &load;
    };
    for (StringRef name : invalidations()) {
      auto invalidates = [&](const Instruction &op) {
        return op.opcode == name && hasSystemScope(op);
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
      return isThis(op) || isCoherentLoad(op);
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
           sources.contains("v6");
  }

  /// The loop must look at the abort word, too.
  void checkAbort(const Instruction &poll) {
    for (const Instruction &op : function.code) {
      llvm::SmallVector<StringRef> operands = operandsOf(op);
      if (!isCoherentLoad(op) || operands.size() < 2 || &op == &poll ||
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

  void checkWait() {
    auto isPoll = [&](const Instruction &op) { return acquires(op); };
    if (llvm::none_of(function.code, isPoll))
      reportFunction("polls no flag with a coherent load, vmcnt(0) and " +
                     llvm::join(invalidations(), ", "));
    requireAcquire(isPoll, isLoad, isBarrier);
    for (const Instruction &op : function.code) {
      if (isLoad(op) && !isCoherentLoad(op) && comesAgain(op))
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

  MemoryModel memoryModel;
  bool isOneWave; ///< the blocks of all kernels
};
} // namespace

/// Calls are known by the addresses that they take; each must be used.
static void auditCallCount(const Function &function,
                           const llvm::StringSet<> &names,
                           std::vector<AuditFinding> &findings) {
  size_t addresses = llvm::count_if(function.code, [&](const Instruction &op) {
    return names.contains(symbolOf(op));
  });
  size_t calls = llvm::count_if(function.code, isCall);
  if (calls < addresses)
    findings.push_back({"P1", function.name, function.line, function.text.str(),
                        "takes the addresses of " + std::to_string(addresses) +
                            " functions but calls " + std::to_string(calls)});
}

/// True if there is a table of flags that is more than the word of an empty
/// one.
static bool hasFlags(StringRef text) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    StringRef size = line.split("_flags,").second.trim();
    unsigned bytes = 0;
    if (line.trim().starts_with(".size") && !size.consumeInteger(10, bytes) &&
        bytes > 4)
      return true;
  }
  return false;
}

/// True if no kernel of `text` has blocks of more than one wave.
static bool hasOneWave(StringRef text) {
  constexpr unsigned waveThreads = 64;
  StringRef key = ".max_flat_workgroup_size:";
  bool isFound = false;
  for (StringRef rest = text.split(key).second; !rest.empty();
       rest = rest.split(key).second) {
    unsigned threads = 0;
    rest = rest.ltrim();
    if (rest.consumeInteger(10, threads) || threads > waveThreads)
      return false;
    isFound = true;
  }
  return isFound;
}

std::vector<AuditFinding> sccl::auditGCN(StringRef text, StringRef chip) {
  std::vector<AuditFinding> findings;
  Result<Chip> known = findChip(chip.split(':').first);
  if (!known || known->isNVIDIA()) {
    findings.push_back({"P1", "", 1, "",
                        "no rules for the chip '" + chip.str() +
                            "'; gfx906 to gfx950 have some"});
    return findings;
  }
  Text parsed = parseGCN(text);
  llvm::StringSet<> names;
  for (const Function &function : parsed.functions)
    names.insert(function.name);
  llvm::SmallVector<StringRef> calls;
  bool isOneWave = hasOneWave(text);
  for (const Function &function : parsed.functions) {
    GCNAudit(function, findings, known->memoryModel, isOneWave).run();
    auditCallCount(function, names, findings);
    for (const Instruction &op : function.code)
      if (names.contains(symbolOf(op)))
        calls.push_back(symbolOf(op));
  }
  llvm::sort(calls);
  calls.erase(llvm::unique(calls), calls.end());
  auditWhole(parsed, calls, hasFlags(text), findings);
  return findings;
}

std::string sccl::chipOfGCN(StringRef text) {
  StringRef rest = text.split(".amdgcn_target").second.split('\n').first;
  return rest.trim(" \t\r\"").rsplit("--").second.str();
}
