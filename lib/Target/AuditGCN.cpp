//===- AuditGCN.cpp - The order of flags in GCN assembly ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AuditRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace sccl;
using namespace sccl::assembly;
using llvm::StringRef;

namespace {
/// How a generation keeps memory coherent at system scope.
enum class Coherence {
  Unknown,
  L1Only,    ///< gfx906: glc loads, buffer_wbinvl1_vol
  L2,        ///< gfx90a: and buffer_wbl2, buffer_invl2
  ScopeBits, ///< gfx942: sc0 sc1 on everything
};
} // namespace

static Coherence coherenceOf(StringRef chip) {
  return llvm::StringSwitch<Coherence>(chip.split(':').first)
      .Cases({"gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909",
              "gfx90c"},
             Coherence::L1Only)
      .Case("gfx90a", Coherence::L2)
      .Cases({"gfx940", "gfx941", "gfx942", "gfx950"}, Coherence::ScopeBits)
      .Default(Coherence::Unknown);
}

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

namespace {
class GCNAudit : FunctionAudit {
public:
  GCNAudit(const Function &function, std::vector<AuditFinding> &findings,
           Coherence coherence)
      : FunctionAudit(function, findings), coherence(coherence) {}

  void run() {
    for (const Instruction &op : function.code)
      checkInstruction(op);
    if (function.name == "coll_signal")
      checkSignal();
    else if (function.name == "coll_wait")
      checkWait();
    else if (function.name == "coll_end")
      requireFromEntry(isBarrier, isStore,
                       "the epoch word is stored before the block barrier");
  }

private:
  /// At system scope, where the generation has scopes.
  bool hasSystemScope(const Instruction &op) const {
    return coherence != Coherence::ScopeBits ||
           (hasWord(op, "sc0") && hasWord(op, "sc1"));
  }
  bool isWriteBack(const Instruction &op) const {
    return op.opcode == "buffer_wbl2" && hasSystemScope(op);
  }
  /// The instructions that together drop what caches hold of peers' memory.
  llvm::SmallVector<StringRef, 2> invalidations() const {
    if (coherence == Coherence::ScopeBits)
      return {"buffer_inv"};
    if (coherence == Coherence::L2)
      return {"buffer_invl2", "buffer_wbinvl1_vol"};
    return {"buffer_wbinvl1_vol"};
  }
  bool isCoherentLoad(const Instruction &op) const {
    return isLoad(op) &&
           (coherence == Coherence::ScopeBits ? hasSystemScope(op)
                                              : hasWord(op, "glc"));
  }

  /// Rules for every function.
  void checkInstruction(const Instruction &op) {
    if (isAccess(op, "atomic_"))
      report(op, "read-modify-write; the protocol has none");
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
    }
    requireFromEntry(isBarrier, isStore,
                     "no block barrier before the store of the flag");
    requireFromEntry(isBarrier, isReturn,
                     "a wave may return without the block barrier");
    requireFromEntry(isWaitForMemory, isBarrier,
                     "a wave may join the block before its stores are done");
    if (coherence != Coherence::L1Only)
      checkWriteBack();
  }

  void checkWriteBack() {
    auto writesBack = [&](const Instruction &op) { return isWriteBack(op); };
    requireFromEntry(writesBack, isBarrier,
                     "a wave may join the block without writing its cache "
                     "back");
    for (const Instruction &op : function.code)
      if (isWriteBack(op))
        if (const Instruction *found = after(op, isWaitForMemory, isBarrier)) {
          report(*found, "a wave may join the block before its cache is "
                         "written back");
          return;
        }
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
    return after(load, isBarrier, isThis) ||
           llvm::any_of(function.code, [&](const Instruction &op) {
             return isCoherentLoad(op) && after(op, isBarrier, isThis);
           });
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
  }

  Coherence coherence;
};
} // namespace

std::vector<AuditFinding> sccl::auditGCN(StringRef text, StringRef chip) {
  std::vector<AuditFinding> findings;
  Coherence coherence = coherenceOf(chip);
  if (coherence == Coherence::Unknown) {
    findings.push_back({"P1", "", 1, "",
                        "no rules for the chip '" + chip.str() +
                            "'; gfx906 to gfx950 have some"});
    return findings;
  }
  std::vector<Function> functions = parseGCN(text);
  for (const Function &function : functions)
    GCNAudit(function, findings, coherence).run();
  if (functions.empty())
    findings.push_back({"P1", "", 1, "", "no function to audit"});
  return findings;
}

std::string sccl::chipOfGCN(StringRef text) {
  StringRef rest = text.split(".amdgcn_target").second.split('\n').first;
  return rest.trim(" \t\r\"").rsplit("--").second.str();
}

std::string AuditFinding::str() const {
  std::string result = check + ": " + message;
  if (!function.empty())
    result += ", in @" + function + ": " + text;
  return result;
}
