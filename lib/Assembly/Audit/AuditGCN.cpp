//===- AuditGCN.cpp - The order of flags in GCN assembly ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AuditRules.h"
#include "GCNInstructions.h"
#include "GCNPaths.h"
#include "GCNRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::assembly;
using namespace sccl::assembly::gcn;
using llvm::StringRef;

namespace {
class GCNAudit : FunctionAudit {
public:
  GCNAudit(const Function &function, std::vector<AuditFinding> &findings,
           const Coherence &caches, bool isOneWave)
      : FunctionAudit(function, findings), caches(caches),
        isOneWave(isOneWave) {}

  void run() {
    for (const Instruction &op : function.code)
      checkInstruction(op);
    bool isHelper = StringRef(function.name).starts_with(helper::prefix);
    if (isHelper && !hasHelperSize())
      return;
    auditGCNFlags(function, findings, caches, isOneWave);
    checkBlocks(callsFunction, isReturn, isStore, findPossiblePath);
    auditGCNWords(function, findings, caches);
    checkMark({"v0", "v1"}, isBarrier, [](const Instruction &op) -> StringRef {
      llvm::SmallVector<StringRef> operands = operandsOf(op);
      bool isKnown = (isLoad(op) || isStore(op)) && operands.size() > 1;
      return isKnown ? operands[isLoad(op)] : "";
    });
  }

private:
  /// Rules for every function.
  void checkInstruction(const Instruction &op) {
    if (isAccess(op, "atomic_"))
      report(op, "read-modify-write; the protocol has none");
    if (isOtherAccess(op))
      report(op, "memory is accessed by other means than loads and stores of "
                 "vectors");
    bool isCacheControl =
        op.opcode == "buffer_wbl2" || op.opcode == "buffer_inv";
    if (isCacheControl && !caches.hasSystemScope(op))
      report(op, "scope is not sc0 sc1, so peers need not see it");
    bool isScalarLoad = op.opcode.starts_with("s_load") ||
                        op.opcode.starts_with("s_buffer_load");
    if (isScalarLoad && StringRef(function.name).starts_with(helper::prefix))
      report(op, "load through the scalar cache, which is not coherent with "
                 "peers");
  }

  const Coherence &caches;
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
  Coherence caches{known->memoryModel};
  for (const Function &function : parsed.functions) {
    GCNAudit(function, findings, caches, isOneWave).run();
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
