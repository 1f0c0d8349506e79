//===- GCNPaths.cpp - Paths that a wave of GCN can take -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GCNPaths.h"

#include "GCNInstructions.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace sccl;
using namespace sccl::assembly;
using llvm::StringRef;

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

const Instruction *gcn::findPossiblePath(const Function &function,
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
