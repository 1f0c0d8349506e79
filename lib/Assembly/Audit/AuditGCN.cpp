//===- AuditGCN.cpp - The order of flags in GCN assembly ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assembly/Assembly.h"
#include "AuditRules.h"
#include "GCNInstructions.h"
#include "GCNRules.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace sccl;
using namespace sccl::assembly;
using namespace sccl::assembly::gcn;
using llvm::StringRef;

// LLVM joins the ends of blocks that do the same, and remembers in pairs of
// scalar registers, all ones or zero, where to go behind them. So some paths of
// the text are none of the program's.

namespace {
/// Pairs of scalar registers, by their names, that are all ones or zero.
using Known = std::map<StringRef, bool>;

/// Where a path has come to, and what it knows there.
struct State {
  unsigned index;
  Known known;
  bool operator<(const State &other) const {
    return std::tie(index, known) < std::tie(other.index, other.known);
  }
};

/// "s[4:5]" and "s5" have one in common.
bool overlap(StringRef a, StringRef b) {
  if (a.starts_with("vcc") || b.starts_with("vcc"))
    return a.starts_with("vcc") && b.starts_with("vcc");
  auto rangeOf = [](StringRef name, unsigned &first, unsigned &last) {
    if (!name.consume_front("s"))
      return false;
    bool isRange = name.consume_front("[");
    if (name.consumeInteger(10, first))
      return false;
    last = first;
    return !isRange || (name.consume_front(":") &&
                        !name.consumeInteger(10, last) && name == "]");
  };
  unsigned firstA, lastA, firstB, lastB;
  if (!rangeOf(a, firstA, lastA) || !rangeOf(b, firstB, lastB))
    return a == b;
  return firstA <= lastB && firstB <= lastA;
}

bool mayWriteExec(const Instruction &op) {
  return op.opcode.contains("saveexec") || op.opcode.starts_with("v_cmpx") ||
         op.operands.starts_with("exec");
}

/// Forgets what `op` may write: any of its operands, and all at a call.
void forget(Known &known, const Instruction &op) {
  if (gcn::isCall(op))
    return known.clear();
  llvm::SmallVector<StringRef> operands;
  op.operands.split(operands, ',');
  bool isRead =
      op.opcode.starts_with("s_cmp") || op.opcode.starts_with("s_cbranch");
  for (StringRef operand : operands) {
    StringRef name = operand.trim().split(' ').first;
    bool mayWrite =
        operand.data() == op.operands.data() || op.opcode.starts_with("v_");
    if (mayWrite && !isRead)
      std::erase_if(
          known, [&](const auto &entry) { return overlap(entry.first, name); });
  }
}

/// Learns from "s_mov_b64 s[4:5], -1", and from "s_and_b64 vcc, exec, s[4:5]"
/// and "s_andn2_b64 vcc, exec, s[4:5]", as some lanes are active.
void learn(Known &known, const Instruction &op) {
  llvm::SmallVector<StringRef> operands;
  op.operands.split(operands, ',');
  for (StringRef &operand : operands)
    operand = operand.trim();
  Known before = known;
  forget(known, op);
  if (op.opcode == "s_mov_b64" && operands.size() == 2 &&
      (operands[1] == "0" || operands[1] == "-1")) {
    known[operands[0]] = operands[1] == "-1";
    return;
  }
  bool isNot = op.opcode == "s_andn2_b64";
  if ((!isNot && op.opcode != "s_and_b64") || operands.size() != 3 ||
      operands[0] != "vcc" || operands[1] != "exec")
    return;
  if (auto found = before.find(operands[2]); found != before.end())
    known["vcc"] = found->second != isNot;
}

/// What may come after `op`; the target of a branch is the first.
llvm::ArrayRef<unsigned> possibleNext(const Instruction &op,
                                      const Known &known) {
  llvm::ArrayRef<unsigned> next = op.next;
  bool isVcc = op.opcode.starts_with("s_cbranch_vcc");
  bool isExec = op.opcode.starts_with("s_cbranch_exec");
  auto vcc = known.find("vcc");
  if (next.size() != 2 || (!isExec && (!isVcc || vcc == known.end())))
    return next;
  bool isSet = isExec || vcc->second;
  bool isTaken = isSet == op.opcode.ends_with("nz");
  return isTaken ? next.take_front(1) : next.drop_front(1);
}
} // namespace

/// As assembly::findPath(), but leaves out paths on which a branch goes against
/// a constant that was put into its register on the way. Where lanes may be
/// switched off, or paths are too many, it leaves out none.
static const Instruction *findPossiblePath(const Function &function,
                                           llvm::ArrayRef<unsigned> starts,
                                           Condition stop, Condition goal) {
  constexpr size_t mostStates = 1 << 18;
  const Instruction *any = findPath(function, starts, stop, goal);
  if (!any || llvm::any_of(function.code, mayWriteExec))
    return any;
  std::set<State> seen;
  std::vector<State> work;
  for (unsigned start : starts)
    work.push_back({start, {}});
  while (!work.empty()) {
    State state = std::move(work.back());
    work.pop_back();
    if (state.index >= function.code.size() || !seen.insert(state).second)
      continue;
    if (seen.size() > mostStates)
      return any;
    const Instruction &op = function.code[state.index];
    if (stop(op))
      continue;
    if (goal(op))
      return &op;
    learn(state.known, op);
    for (unsigned next : possibleNext(op, state.known))
      work.push_back({next, state.known});
  }
  return nullptr;
}

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
